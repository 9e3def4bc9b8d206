/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines behind the common table. */
#include <string.h>

#include "base/mem.h"
#include "data/jsonl/jsonl.h"
#include "data/reader_lines.h"

struct jsonl_state {
    struct jsonl_reader *r;
    struct csv_cursor start;
};

static int reader_jsonl_probe(const unsigned char *head, size_t n, const char *path)
{
    size_t i = n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < n && strchr(" \t\r\n", head[i]) && head[i])
        i++;
    return i < n && head[i] == '{' ? 95 : 0;
}

static enum rc open_jsonl(const char *path, const struct reader_conf *conf, void **state,
                          struct err *err)
{
    struct data_schema schema = {0};
    struct jsonl_reader *r = NULL;
    bool *loose = mem_calloc(conf->n_fields + 1, sizeof(*loose));
    for (size_t i = 0; i < conf->n_fields; i++) {
        data_field_explain(
            &schema,
            data_schema_add(&schema, str_c(conf->fields[i].name), &conf->fields[i].type),
            conf->fields[i].why);
        loose[i] = !conf->fields[i].exact;
    }
    struct jsonl_conf c = {
        .schema = conf->n_fields ? &schema : NULL,
        .types = conf->types,
        .n_types = conf->n_types,
        .want = conf->want,
        .n_want = conf->n_want,
        .skip_bad = conf->skip_bad,
        .max_bad = conf->max_bad,
        .read_ahead = conf->read_ahead,
        .end = conf->end,
        .exact = conf->exact,
        .all_keys = conf->exact && (conf->all || !conf->want),
        .loose = loose,
    };
    enum rc rc = jsonl_open(path, &c, &r, err);
    mem_free(loose);
    data_schema_release(&schema);
    if (rc)
        return rc;
    struct jsonl_state *s = mem_calloc(1, sizeof(*s));
    s->r = r;
    jsonl_tell(r, &s->start);
    *state = s;
    return RC_OK;
}

static const struct data_schema *schema_of(const void *state)
{
    return jsonl_schema(((const struct jsonl_state *)state)->r);
}

static int64_t reader_jsonl_rows(const void *state)
{
    return -1;
}

static enum rc reader_jsonl_next(void *state, int64_t max, struct batch *b,
                                 struct err *err)
{
    return jsonl_next(((struct jsonl_state *)state)->r, max, b, err);
}

static void reader_jsonl_tell(const void *state, struct reader_cursor *at)
{
    struct csv_cursor c;
    jsonl_tell(((const struct jsonl_state *)state)->r, &c);
    *at = lines_cursor(&c);
}

static enum rc reader_jsonl_seek(void *state, const struct reader_cursor *at,
                                 struct err *err)
{
    struct jsonl_state *s = state;
    struct csv_cursor c = lines_place(at);
    return jsonl_seek(s->r, at->offset < 0 ? &s->start : &c, err);
}

static enum rc reader_jsonl_split(const char *path, const struct reader_conf *conf,
                                  size_t n, struct csv_cursor *cuts, struct err *err)
{
    return jsonl_split(path, n, cuts, err);
}

static enum rc index_jsonl(const char *path, const struct reader_conf *conf,
                           struct reader_index *out, struct err *err)
{
    return lines_index(path, conf, reader_jsonl_split, out, err);
}

static const char *first_bad(const void *state)
{
    return jsonl_first_bad(((const struct jsonl_state *)state)->r);
}

static void close_jsonl(void *state)
{
    struct jsonl_state *s = state;
    if (!s)
        return;
    jsonl_close(s->r);
    mem_free(s);
}

const struct reader_ops reader_jsonl = {
    .name = "jsonl",
    .title = "JSON lines",
    .no_training = true,
    .text = true,
    .suffixes = "jsonl|ndjson|json",
    .probe = reader_jsonl_probe,
    .open = open_jsonl,
    .schema = schema_of,
    .rows = reader_jsonl_rows,
    .next = reader_jsonl_next,
    .tell = reader_jsonl_tell,
    .seek = reader_jsonl_seek,
    .index = index_jsonl,
    .first_bad = first_bad,
    .close = close_jsonl,
};
