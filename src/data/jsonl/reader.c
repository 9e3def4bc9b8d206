/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON lines. Lines come from the block reader of CSV, told that a field ends
 * only at a line end, so that blocks, places and splits are the same for both. Each line
 * is parsed into the row's columns at once (fill.c). A line that fails is undone
 * and, when that is allowed, left out; the first fault is kept for the message.
 */
#include "data/jsonl/jsonl.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/jsonl/jsonl_private.h"

#define INFER_BYTES ((int64_t)64 << 20)
#define BATCH_BYTES ((int64_t)1 << 30) /* so that no column overflows its offsets */

void jsonl_close(struct jsonl_reader *r)
{
    if (!r)
        return;
    csv_block_release(&r->block);
    stream_close(r->in);
    data_schema_release(&r->schema);
    map_release(&r->by_name);
    jsonl_token_release(&r->json);
    mem_free(r->exact);
    mem_free(r);
}

const struct data_schema *jsonl_schema(const struct jsonl_reader *r)
{
    return &r->schema;
}

const char *jsonl_first_bad(const struct jsonl_reader *r)
{
    return r->first_bad.msg;
}

/* A value in a message ends where a reader would see it end. */
static size_t value_length(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q = p + (p < end);
    bool quoted = p < end && *p == '"';
    while (q < end && (quoted ? *q != '"' : *q != ',' && *q != '}' && *q != ']'))
        q++;
    if (quoted && q < end)
        q++;
    return (size_t)(q - p);
}

static const struct data_field *field_of(const struct jsonl_reader *r, const char *name)
{
    struct map_entry *e = map_find(&r->by_name, str_c(name));
    return e ? &r->schema.at[(uintptr_t)e->value - 1] : NULL;
}

enum rc jsonl_fault_error(const struct csv_block *b, const struct jsonl_tokens *j,
                          const char *name, struct err *err)
{
    int64_t line, column;
    struct buf value;
    char place[64];
    size_t at = (size_t)(j->fault - b->text);
    enum rc rc = j->code == E0001 ? RC_NOMEM : j->code == E1090 ? RC_INVAL : RC_FORMAT;
    csv_block_place(b, at, &line, &column);
    if (line)
        snprintf(place, sizeof(place), "line %jd, column %jd", (intmax_t)line,
                 (intmax_t)column);
    else
        snprintf(place, sizeof(place), "byte %jd", (intmax_t)(b->offset + (int64_t)at));
    buf_init(&value, CSV_EXCERPT);
    csv_excerpt(&value, j->fault, value_length(j->fault, j->end));
    (void)err_coded(err, rc, j->code, "'%s': %s: %s%s%s%s, found %s%s%s",
                    stream_name(b->in), place, *name ? "'" : "", name, *name ? "': " : "",
                    j->what, value.n ? "'" : "the end of the line", buf_str(&value),
                    value.n ? "'" : "");
    buf_release(&value);
    return rc;
}

/* The message of a fault; the type of the column belongs to some of them. */
static enum rc line_error(const struct jsonl_reader *r, const char *name, struct err *err)
{
    struct jsonl_tokens j = r->json;
    const struct data_field *f = field_of(r, name);
    struct buf what;
    buf_init(&what, 300);
    buf_puts(&what, j.what);
    if (f && (j.code == E1152 || j.code == E1155 || j.code == E1119)) {
        buf_putc(&what, ' ');
        type_print(&f->type, &what);
        if (f->why)
            buf_printf(&what, ", %s", f->why);
    }
    j.what = buf_str(&what);
    enum rc rc = jsonl_fault_error(&r->block, &j, name, err);
    buf_release(&what);
    return rc;
}

static enum rc bad_line(struct jsonl_reader *r, const char *name, struct err *err)
{
    if (r->json.code == E0001 || r->json.code == E1090 || !r->skip_bad)
        return line_error(r, name, err);
    if (!r->first_bad.msg[0])
        (void)line_error(r, name, &r->first_bad);
    int64_t bad = r->record - r->good;
    if (r->max_bad && bad > r->max_bad)
        return err_coded(err, RC_FORMAT, E1117,
                         "more than %jd malformed records; the first: %s",
                         (intmax_t)r->max_bad, r->first_bad.msg);
    return RC_OK;
}

/* The next line that is not blank; *there is false at the end. */
static enum rc next_line(struct jsonl_reader *r, bool *there, struct err *err)
{
    struct csv_block *b = &r->block;
    for (;;) {
        while (r->loaded && csv_walk_next(b, &r->walk)) {
            if (r->walk.blank)
                continue;
            *there = true;
            return RC_OK;
        }
        if (r->loaded)
            b->used = b->whole;
        r->loaded = false;
        r->walk = (struct csv_walk){0};
        enum rc rc = csv_block_fill(b, err);
        *there = false;
        if (rc || b->n_ends == 0)
            return rc;
        r->loaded = true;
    }
}

enum rc jsonl_next(struct jsonl_reader *r, int64_t max, struct batch *b, struct err *err)
{
    struct csv_block *block = &r->block;
    const char *name;
    bool there = true;
    enum rc rc = RC_OK;
    int64_t bytes = 0;
    batch_clear(b);
    while (rc == RC_OK && b->n < max && bytes < BATCH_BYTES) {
        rc = next_line(r, &there, err);
        if (rc || !there)
            break;
        const unsigned char *end = block->text + block->ends[r->walk.end] - 1;
        jsonl_token_line(&r->json, block->text + r->walk.start, end);
        bytes += end - r->json.p;
        r->record++;
        if (jsonl_fill(&r->json, &r->by_name, b, b->n, &name)) {
            b->n++;
            r->good++;
            continue;
        }
        for (size_t k = 0; k < b->n_cols; k++)
            jsonl_truncate(&b->cols[k], b->n);
        rc = bad_line(r, name, err);
    }
    if (rc)
        batch_clear(b);
    return rc;
}

void jsonl_tell(const struct jsonl_reader *r, struct csv_cursor *at)
{
    const struct csv_block *b = &r->block;
    size_t start = r->loaded ? b->ends[r->walk.end] : b->used;
    int64_t column;
    *at = (struct csv_cursor){.offset = b->offset + (int64_t)start,
                              .record = r->record,
                              .bad = r->record - r->good};
    if (b->eof && at->offset > b->size_seen)
        at->offset = b->size_seen;
    csv_block_place(b, start, &at->line, &column);
}

static enum rc bad_cursor(const struct jsonl_reader *r, const struct csv_cursor *at,
                          const char *why, struct err *err)
{
    return err_coded(err, RC_INVAL, E1112, "'%s': cannot continue at byte %jd: %s",
                     stream_name(r->in), (intmax_t)at->offset, why);
}

enum rc jsonl_seek(struct jsonl_reader *r, const struct csv_cursor *at, struct err *err)
{
    char c[2];
    size_t got = 2;
    enum rc rc = RC_OK;
    if (at->offset < r->start || at->record < 0 || at->bad < 0 || at->bad > at->record)
        return bad_cursor(r, at, "not a position of this reader", err);
    if (at->offset > r->start) {
        rc = stream_seek(r->in, at->offset - 1, err);
        if (rc == RC_OK)
            rc = stream_read(r->in, c, 2, &got, err);
        if (rc == RC_INVAL || (rc == RC_OK && got == 0))
            return bad_cursor(r, at, "the file is shorter", err);
        if (rc == RC_OK && c[0] != '\n' && got == 2)
            return bad_cursor(r, at, "no record starts there", err);
    }
    if (rc == RC_OK)
        rc = csv_block_seek(&r->block, at->offset, at->line, err);
    if (rc)
        return rc;
    r->record = at->record;
    r->good = at->record - at->bad;
    r->loaded = false;
    return RC_OK;
}

static enum rc not_there(const struct jsonl_reader *r, const struct data_schema *all,
                         const char *name, struct err *err)
{
    const char **names = mem_calloc(all->n + 1, sizeof(*names));
    for (size_t k = 0; k < all->n; k++)
        names[k] = all->at[k].name;
    const char *near = str_nearest(str_c(name), names, all->n);
    (void)err_coded(err, RC_INVAL, E1159, "'%s': no column '%s'%s%s%s",
                    stream_name(r->in), name, near ? "; did you mean '" : "",
                    near ? near : "", near ? "'?" : "");
    mem_free(names);
    return RC_INVAL;
}

/* The wanted part of `all`, in its order. */
static enum rc jsonl_reader_choose(struct jsonl_reader *r, const struct data_schema *all,
                                   const struct jsonl_conf *conf, struct err *err)
{
    for (size_t i = 0; conf->want && i < conf->n_want; i++)
        if (data_schema_find(all, str_c(conf->want[i])) < 0)
            return not_there(r, all, conf->want[i], err);
    for (size_t k = 0; k < all->n; k++) {
        bool wanted = !conf->want;
        for (size_t i = 0; conf->want && i < conf->n_want && !wanted; i++)
            wanted = strcmp(conf->want[i], all->at[k].name) == 0;
        if (!wanted)
            continue;
        struct data_field *f =
            data_schema_add(&r->schema, str_c(all->at[k].name), &all->at[k].type);
        data_field_explain(&r->schema, f, all->at[k].why);
        f->unseen = all->at[k].unseen;
        map_put(&r->by_name, str_c(all->at[k].name))->value =
            (void *)(uintptr_t)r->schema.n;
    }
    return RC_OK;
}

/* Which columns a double may not round, and whether keys beside them are faults. */
static void be_exact(struct jsonl_reader *r, const struct jsonl_conf *conf)
{
    if (!conf->exact)
        return;
    r->exact = mem_calloc(r->schema.n + 1, sizeof(*r->exact));
    for (size_t k = 0; k < r->schema.n; k++) {
        const char *name = r->schema.at[k].name;
        int64_t at = conf->schema ? data_schema_find(conf->schema, str_c(name)) : -1;
        bool loose = conf->loose && at >= 0 && conf->loose[at];
        for (size_t i = 0; i < conf->n_types && !loose; i++)
            loose = strcmp(conf->types[i].name, name) == 0;
        r->exact[k] = !loose;
    }
    r->json.exact = r->exact;
    r->json.all_keys = conf->all_keys;
}

/* Types that are known from elsewhere instead of those that the rows suggest. */
static void take_types(struct data_schema *found, const struct jsonl_conf *conf)
{
    for (size_t i = conf->n_types; i-- > 0;) { /* the first one counts */
        const struct reader_field *t = &conf->types[i];
        int64_t k = data_schema_find(found, str_c(t->name));
        if (k < 0 && conf->exact) {
            data_schema_add(found, str_c(t->name), &t->type);
            k = (int64_t)found->n - 1;
        }
        struct data_field *f = k < 0 ? NULL : &found->at[k];
        if (!f || (t->widens && t->type.id == TYPE_I64 && f->type.id == TYPE_F64))
            continue;
        f->type = type_copy(&found->mem, &t->type);
        f->unseen = false;
        data_field_explain(found, f, t->why);
    }
}

static enum rc find_schema(struct jsonl_reader *r, const struct jsonl_conf *conf,
                           struct err *err)
{
    struct data_schema found = {0};
    if (conf->schema)
        return jsonl_reader_choose(r, conf->schema, conf, err);
    struct jsonl_infer_conf infer = {.rows =
                                         conf->infer_rows ? conf->infer_rows : INT64_MAX,
                                     .bytes = INFER_BYTES,
                                     .skip_bad = conf->skip_bad,
                                     .exact = conf->exact};
    enum rc rc = jsonl_infer(&r->block, &r->json, &infer, &found, err);
    if (rc == RC_OK && found.n == 0)
        rc = err_coded(err, RC_FORMAT, E1158,
                       "'%s': no columns: there is no row to infer them from",
                       stream_name(r->in));
    take_types(&found, conf);
    if (rc == RC_OK)
        rc = jsonl_reader_choose(r, &found, conf, err);
    data_schema_release(&found);
    if (rc)
        return rc;
    if (r->block.offset > r->start)
        return csv_block_seek(&r->block, r->start, 1, err);
    r->block.used = 0; /* all still there, to be scanned again */
    return RC_OK;
}

static enum rc open_stream(struct jsonl_reader *r, const struct jsonl_conf *conf,
                           struct err *err)
{
    struct csv_block *b = &r->block;
    struct csv_conf lines = {.delim = '\n',
                             .no_quotes = true,
                             .block = conf->block,
                             .max_record = conf->max_record};
    if (conf->max_bad < 0 || conf->end < 0 || conf->infer_rows < 0)
        return err_set(err, RC_INVAL,
                       "'%s': max_bad, end and infer_rows cannot be negative",
                       stream_name(r->in));
    r->skip_bad = conf->skip_bad;
    r->max_bad = conf->max_bad;
    enum rc rc = csv_block_init(b, &lines, r->in, err);
    if (rc == RC_OK)
        rc = csv_block_fill(b, err);
    if (rc == RC_OK && b->n >= 3 && memcmp(b->text, "\xef\xbb\xbf", 3) == 0) {
        b->used = 3;
        r->start = 3;
        rc = csv_block_fill(b, err);
    }
    if (rc == RC_OK)
        rc = find_schema(r, conf, err);
    if (rc == RC_OK)
        be_exact(r, conf);
    if (rc || conf->end == 0)
        return rc;
    b->end = conf->end;
    return csv_block_seek(b, r->start, 1, err);
}

static enum rc finish_open(struct stream *in, const struct jsonl_conf *conf,
                           struct jsonl_reader **out, struct err *err)
{
    struct jsonl_reader *r = mem_calloc(1, sizeof(*r));
    r->in = in;
    enum rc rc = open_stream(r, conf, err);
    if (rc == RC_OK) {
        *out = r;
        r = NULL;
    }
    jsonl_close(r);
    return rc;
}

enum rc jsonl_open(const char *path, const struct jsonl_conf *conf,
                   struct jsonl_reader **out, struct err *err)
{
    struct stream *in = NULL;
    enum rc rc = stream_open(path, conf->read_ahead, &in, err);
    return rc ? rc : finish_open(in, conf, out, err);
}

enum rc jsonl_open_memory(const char *name, const void *bytes, size_t n,
                          const struct jsonl_conf *conf, struct jsonl_reader **out,
                          struct err *err)
{
    struct stream *in = NULL;
    enum rc rc = stream_open_memory(name, bytes, n, &in, err);
    return rc ? rc : finish_open(in, conf, out, err);
}

enum rc jsonl_split(const char *path, size_t n, struct csv_cursor *out, struct err *err)
{
    static const struct csv_field line[] = {{.name = "line", .type = TYPE_STR}};
    struct csv_conf conf = {.delim = '\x01',
                            .no_quotes = true,
                            .names = CSV_NAMES_GIVEN,
                            .fields = line,
                            .n_fields = 1};
    return csv_split(path, &conf, n, out, err);
}
