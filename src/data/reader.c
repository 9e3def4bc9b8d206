/* SPDX-License-Identifier: Apache-2.0 */
/* The table of readers, and what is the same for all of them. A file's format is found by
 * asking every reader how sure it is of the first bytes; addresses are known by their
 * scheme. Going to a place is one call where the format allows it, and reading up to there
 * where it does not.
 */
#include "data/reader.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/suffix.h"
#include "io/stream.h"

#define HEAD_SIZE 4096 /* bytes that formats are told apart by */
#define SKIP_ROWS 4096 /* rows read at a time on the way to a place */

static const struct reader_ops *const readers[] = {
#define READER(name) &reader_##name,
#include "data/readers.def"
#undef READER
    NULL,
};

const struct reader_ops *const *reader_all(size_t *n)
{
    *n = ARRAY_LEN(readers) - 1;
    return readers;
}

const struct reader_ops *reader_find(const char *name)
{
    for (const struct reader_ops *const *o = readers; *o; o++)
        if (strcmp((*o)->name, name) == 0)
            return *o;
    return NULL;
}

void reader_index_release(struct reader_index *index)
{
    mem_free(index->at);
    *index = (struct reader_index){0};
}

/* The surest one. A name that fits decides between equals, and for an empty file. */
static const struct reader_ops *best_of(const unsigned char *head, size_t n,
                                        const char *path)
{
    const struct reader_ops *best = NULL;
    int most = 0;
    for (const struct reader_ops *const *o = readers; *o; o++) {
        if ((*o)->scheme)
            continue;
        int sure = 2 * (*o)->probe(head, n, path) + suffix_matches(path, (*o)->suffixes);
        if (sure > most && (sure > 1 || n == 0)) {
            most = sure;
            best = *o;
        }
    }
    return best;
}

const struct reader_ops *reader_of_scheme(const char *path)
{
    for (const struct reader_ops *const *o = readers; *o; o++) {
        size_t n = (*o)->scheme ? strlen((*o)->scheme) : 0;
        if (n && strncmp(path, (*o)->scheme, n) == 0 && str_starts(path + n, "://"))
            return *o;
    }
    return NULL;
}

/* "neither CSV, JSON lines nor Parquet" */
static enum rc unknown_format(const char *path, struct err *err)
{
    struct buf known;
    const char *last = NULL;
    buf_init(&known, 1024);
    for (const struct reader_ops *const *o = readers; *o; o++) {
        if ((*o)->scheme)
            continue;
        if (last)
            buf_printf(&known, "%s%s", known.n ? ", " : "", last);
        last = (*o)->title;
    }
    enum rc rc = err_coded(err, RC_FORMAT, E1203, "'%s' is neither %s nor %s", path,
                           buf_str(&known), last);
    buf_release(&known);
    return rc;
}

enum rc reader_detect(const char *path, const struct reader_ops **out, struct err *err)
{
    unsigned char head[HEAD_SIZE];
    struct stream *in = NULL;
    size_t n = 0;
    *out = reader_of_scheme(path);
    if (*out)
        return RC_OK;
    if (fs_is_dir(path))
        return err_coded(err, RC_FORMAT, E1203, "'%s' is a directory, not a data file",
                         path);
    enum rc rc = stream_open(path, 0, &in, err);
    if (rc)
        return rc;
    rc = stream_read(in, head, sizeof(head), &n, err);
    stream_close(in);
    if (rc)
        return rc;
    const struct reader_ops *ops = best_of(head, n, path);
    if (!ops && n == 0)
        return err_coded(err, RC_FORMAT, E1203,
                         "'%s' is empty and its name does not tell its format", path);
    if (!ops)
        return unknown_format(path, err);
    *out = ops;
    return RC_OK;
}

enum rc reader_open(const char *path, const struct reader_ops *ops,
                    const struct reader_conf *conf, struct reader **out, struct err *err)
{
    void *state = NULL;
    enum rc rc = ops ? RC_OK : reader_detect(path, &ops, err);
    if (!rc)
        rc = ops->open(path, conf, &state, err);
    if (rc)
        return rc;
    struct reader *r = mem_calloc(1, sizeof(*r));
    *r = (struct reader){.ops = ops, .state = state, .path = mem_strdup(path)};
    *out = r;
    return RC_OK;
}

void reader_close(struct reader *r)
{
    if (!r)
        return;
    r->ops->close(r->state);
    mem_free(r->path);
    mem_free(r);
}

const struct data_schema *reader_schema(const struct reader *r)
{
    return r->ops->schema(r->state);
}

int64_t reader_rows(const struct reader *r)
{
    return r->ops->rows(r->state);
}

enum rc reader_next(struct reader *r, int64_t max, struct batch *b, struct err *err)
{
    return r->ops->next(r->state, max, b, err);
}

void reader_tell(const struct reader *r, struct reader_cursor *at)
{
    r->ops->tell(r->state, at);
}

int64_t reader_time(const struct reader *r)
{
    return r->ops->time ? r->ops->time(r->state) : 0;
}

static enum rc past_end(const struct reader *r, int64_t row, struct err *err)
{
    return err_coded(err, RC_INVAL, E1210, "'%s' has fewer than %jd rows", r->path,
                     (intmax_t)row);
}

/* Reads on to row `to`; the reader stands before it. */
static enum rc read_up_to(struct reader *r, int64_t to, struct err *err)
{
    struct reader_cursor now;
    struct batch b;
    enum rc rc = RC_OK;
    batch_init(&b, reader_schema(r));
    reader_tell(r, &now);
    while (!rc && now.row < to) {
        int64_t left = to - now.row;
        rc = reader_next(r, left < SKIP_ROWS ? left : SKIP_ROWS, &b, err);
        if (!rc && b.n == 0)
            rc = past_end(r, to, err);
        reader_tell(r, &now);
    }
    batch_release(&b);
    return rc;
}

enum rc reader_seek(struct reader *r, const struct reader_cursor *at, struct err *err)
{
    int64_t rows = reader_rows(r);
    if (rows >= 0 && at->row > rows)
        return past_end(r, at->row, err);
    if (rows >= 0)
        return r->ops->seek(r->state, at, err);
    if (at->offset >= 0) {
        struct reader_cursor place = *at;
        place.row -= at->back;
        place.back = 0;
        enum rc rc = r->ops->seek(r->state, &place, err);
        return rc || !at->back ? rc : read_up_to(r, at->row, err);
    }
    struct reader_cursor now;
    reader_tell(r, &now);
    if (now.row > at->row) {
        enum rc rc = r->ops->seek(r->state, &(struct reader_cursor){.offset = -1}, err);
        if (rc)
            return rc;
    }
    return read_up_to(r, at->row, err);
}
