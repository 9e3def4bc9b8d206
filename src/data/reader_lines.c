/* SPDX-License-Identifier: Apache-2.0 */
#include "data/reader_lines.h"

#include "base/mem.h"
#include "io/stream.h"

#define INDEX_BYTES (INT64_C(1) << 20) /* distance of the places of an index */

struct reader_cursor lines_cursor(const struct csv_cursor *c)
{
    return (struct reader_cursor){
        .row = c->record, .offset = c->offset, .line = c->line, .bad = c->bad};
}

struct csv_cursor lines_place(const struct reader_cursor *at)
{
    return (struct csv_cursor){
        .offset = at->offset, .line = at->line, .record = at->row, .bad = at->bad};
}

/* How many parts the file is cut into. */
static enum rc count_parts(const char *path, size_t *n, struct err *err)
{
    struct stream *in = NULL;
    enum rc rc = stream_open(path, 0, &in, err);
    if (rc)
        return rc;
    int64_t size = stream_raw_size(in);
    bool plain = stream_kind(in) == STREAM_PLAIN && size >= 0;
    stream_close(in);
    if (!plain)
        return err_set(err, RC_UNSUPPORTED, "'%s' is compressed", path);
    *n = (size_t)(size / INDEX_BYTES) + 1;
    return RC_OK;
}

enum rc lines_index(const char *path, const struct reader_conf *conf,
                    lines_split_fn *split, struct reader_index *out, struct err *err)
{
    size_t n = 0;
    enum rc rc = count_parts(path, &n, err);
    if (rc)
        return rc;
    struct csv_cursor *cuts = mem_try_calloc(n + 1, sizeof(*cuts));
    struct reader_cursor *at = mem_try_calloc(n + 1, sizeof(*at));
    rc = cuts && at ? split(path, conf, n, cuts, err)
                    : err_set(err, RC_NOMEM, "'%s': no memory for its index", path);
    for (size_t i = 0; !rc && i <= n; i++)
        at[i] = lines_cursor(&cuts[i]);
    mem_free(cuts);
    if (rc)
        mem_free(at);
    else
        *out = (struct reader_index){.at = at, .n = n + 1};
    return rc;
}
