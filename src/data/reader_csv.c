/* SPDX-License-Identifier: Apache-2.0 */
/* CSV and TSV as one of the readers: the settings of struct reader_conf become those of
 * the CSV reader (data/csv), and its places become cursors. Any text may be CSV, so a
 * probe is sure only when the suffix says so. The delimiter, when it is not given, is
 * the usual one that the first line holds most of.
 */
#include <string.h>

#include "base/mem.h"
#include "data/reader_lines.h"
#include "data/suffix.h"
#include "io/stream.h"

struct csv_state {
    struct csv_reader *r;
    struct csv_cursor start;
};

/* Text is anything without control characters that text does not have. */
static int reader_csv_probe(const unsigned char *head, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (head[i] < 32 && (!head[i] || !strchr("\t\n\r\x01\x02\x03\x1f", head[i])))
            return 0;
    if (n == 0)
        return 0;
    return suffix_matches(path, "csv|tsv") ? 90 : 30;
}

enum rc reader_csv_delimiter(const char *path, char *out, struct err *err)
{
    static const char usual[] = {',', '\t', ';', '|', '\x01'};
    char head[65536];
    struct stream *in = NULL;
    size_t n = 0, most = 0;
    enum rc rc = stream_open(path, 0, &in, err);
    if (!rc)
        rc = stream_read(in, head, sizeof(head), &n, err);
    stream_close(in);
    if (rc)
        return rc;
    const char *end = n ? memchr(head, '\n', n) : NULL;
    size_t line = end ? (size_t)(end - head) : n;
    *out = ',';
    for (size_t k = 0; k < sizeof(usual); k++) {
        size_t count = 0;
        for (size_t i = 0; i < line; i++)
            count += head[i] == usual[k];
        if (count > most) {
            most = count;
            *out = usual[k];
        }
    }
    return RC_OK;
}

static void to_csv_fields(const struct reader_field *from, size_t n, struct csv_field *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (struct csv_field){.name = from[i].name,
                                   .type = from[i].type.id,
                                   .inferred = from[i].inferred,
                                   .widens = from[i].widens,
                                   .exact = from[i].exact,
                                   .why = from[i].why};
}

/* Those that a field of text can have; a list of another format cannot stand in one. */
static size_t to_csv_types(const struct reader_conf *c, struct csv_field *to)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_types; i++) {
        enum type_id t = c->types[i].type.id;
        if (t == TYPE_I32 || t == TYPE_I64 || t == TYPE_F32 || t == TYPE_F64 ||
            t == TYPE_STR)
            to_csv_fields(&c->types[i], 1, &to[n++]);
    }
    return n;
}

static enum rc to_csv_conf(const char *path, const struct reader_conf *c,
                           struct csv_conf *out, struct csv_field **fields,
                           struct err *err)
{
    *fields = mem_calloc(c->n_fields + c->n_types + 1, sizeof(**fields));
    to_csv_fields(c->fields, c->n_fields, *fields);
    *out = (struct csv_conf){
        .delim = c->delim,
        .no_quotes = c->no_quotes,
        .names = !c->no_header ? CSV_NAMES_HEADER
                 : c->n_fields ? CSV_NAMES_GIVEN
                               : CSV_NAMES_NUMBER,
        .fields = *fields,
        .n_fields = c->n_fields,
        .types = *fields + c->n_fields,
        .n_types = to_csv_types(c, *fields + c->n_fields),
        .exact = c->exact,
        .want = c->want,
        .n_want = c->n_want,
        .skip_bad = c->skip_bad,
        .max_bad = c->max_bad,
        .read_ahead = c->read_ahead,
        .end = c->end,
    };
    return c->delim ? RC_OK : reader_csv_delimiter(path, &out->delim, err);
}

static enum rc open_csv(const char *path, const struct reader_conf *conf, void **state,
                        struct err *err)
{
    struct csv_conf c;
    struct csv_field *fields = NULL;
    struct csv_reader *r = NULL;
    enum rc rc = to_csv_conf(path, conf, &c, &fields, err);
    if (!rc)
        rc = csv_open(path, &c, &r, err);
    mem_free(fields);
    if (rc)
        return rc;
    struct csv_state *s = mem_calloc(1, sizeof(*s));
    s->r = r;
    csv_tell(r, &s->start);
    *state = s;
    return RC_OK;
}

static const struct data_schema *reader_csv_schema(const void *state)
{
    return csv_schema(((const struct csv_state *)state)->r);
}

static int64_t reader_csv_rows(const void *state)
{
    return -1;
}

static enum rc reader_csv_next(void *state, int64_t max, struct batch *b, struct err *err)
{
    return csv_next(((struct csv_state *)state)->r, max, b, err);
}

static void reader_csv_tell(const void *state, struct reader_cursor *at)
{
    struct csv_cursor c;
    csv_tell(((const struct csv_state *)state)->r, &c);
    *at = lines_cursor(&c);
}

static enum rc reader_csv_seek(void *state, const struct reader_cursor *at,
                               struct err *err)
{
    struct csv_state *s = state;
    struct csv_cursor c = lines_place(at);
    return csv_seek(s->r, at->offset < 0 ? &s->start : &c, err);
}

static enum rc reader_csv_split(const char *path, const struct reader_conf *conf,
                                size_t n, struct csv_cursor *cuts, struct err *err)
{
    struct csv_conf c;
    struct csv_field *fields = NULL;
    enum rc rc = to_csv_conf(path, conf, &c, &fields, err);
    if (!rc)
        rc = csv_split(path, &c, n, cuts, err);
    mem_free(fields);
    return rc;
}

static enum rc index_csv(const char *path, const struct reader_conf *conf,
                         struct reader_index *out, struct err *err)
{
    return lines_index(path, conf, reader_csv_split, out, err);
}

static const char *first_bad(const void *state)
{
    return csv_first_bad(((const struct csv_state *)state)->r);
}

static void close_csv(void *state)
{
    struct csv_state *s = state;
    if (!s)
        return;
    csv_close(s->r);
    mem_free(s);
}

const struct reader_ops reader_csv = {
    .name = "csv",
    .title = "CSV",
    .delimited = true,
    .text = true,
    .suffixes = "csv|tsv|txt",
    .probe = reader_csv_probe,
    .open = open_csv,
    .schema = reader_csv_schema,
    .rows = reader_csv_rows,
    .next = reader_csv_next,
    .tell = reader_csv_tell,
    .seek = reader_csv_seek,
    .index = index_csv,
    .first_bad = first_bad,
    .close = close_csv,
};
