/* SPDX-License-Identifier: Apache-2.0 */
/* From a file and what the caller knows of it to a reader: names from the header, the
 * wanted columns, their types.
 */
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "data/csv/reader_private.h"

#define COLUMNS_MAX 1000000
#define INFER_DEFAULT ((int64_t)64 << 20)

static enum rc check_conf(const struct csv_conf *c, const char *name, struct err *err)
{
    if (c->delim == '\n' || c->delim == '\r' || (c->delim == '"' && !c->no_quotes))
        return err_coded(err, RC_INVAL, E1101,
                         "'%s': delimiter: a line end or a quote cannot be one", name);
    if (c->max_bad < 0 || c->end < 0 || c->infer_bytes < 0)
        return err_coded(err, RC_INVAL, E1101,
                         "'%s': max_bad, end and infer_bytes cannot be negative", name);
    for (size_t i = 0; i < c->n_fields; i++) {
        enum type_id t = c->fields[i].type;
        if (!c->fields[i].inferred && t != TYPE_I32 && t != TYPE_I64 && t != TYPE_F32 &&
            t != TYPE_F64 && t != TYPE_STR)
            return err_coded(err, RC_INVAL, E1116,
                             "'%s': column '%s': a column of CSV is INT32, INT64, FLOAT, "
                             "DOUBLE or STRING",
                             name, c->fields[i].name);
    }
    return RC_OK;
}

static enum rc take_names(struct csv_reader *r, const struct csv_walk *w, struct err *err)
{
    struct csv_block *b = &r->block;
    for (size_t k = 0; k < r->n_cols; k++) {
        const unsigned char *p = b->text + b->ends[w->from + k];
        size_t n = b->ends[w->from + k + 1] - b->ends[w->from + k] - 1;
        if (k + 1 == r->n_cols && n && p[n - 1] == '\r')
            n--;
        unsigned char *room = mem_try_alloc(n + 1, 1);
        if (!room)
            return err_set(err, RC_NOMEM, "'%s': no memory for the header",
                           stream_name(r->in));
        bool quoted = b->quoting && n && *p == '"';
        bool ok = (!quoted || csv_unquote(&p, &n, '"', room)) && !memchr(p, '\0', n);
        r->names[k] = ok ? mem_strndup((const char *)p, n) : NULL;
        mem_free(room);
        if (!ok)
            return err_coded(err, RC_FORMAT, E1109,
                             "'%s': the name of column %zu in the header is malformed",
                             stream_name(r->in), k + 1);
    }
    return RC_OK;
}

/* The first record that is not blank; *there is false when there is none. */
static enum rc first_record(struct csv_block *b, struct csv_walk *w, bool *there,
                            struct err *err)
{
    for (;;) {
        *w = (struct csv_walk){0};
        while (csv_walk_next(b, w))
            if (!w->blank) {
                *there = true;
                return RC_OK;
            }
        b->used = b->whole;
        *there = false;
        enum rc rc = csv_block_fill(b, err);
        if (rc || b->n_ends == 0)
            return rc;
    }
}

static enum rc name_columns(struct csv_reader *r, const struct csv_conf *conf,
                            struct err *err)
{
    struct csv_walk w = {0};
    bool given = conf->names == CSV_NAMES_GIVEN && conf->n_fields;
    bool any, header = !given && conf->names != CSV_NAMES_NUMBER;
    r->least = r->block.offset;
    enum rc rc = first_record(&r->block, &w, &any, err);
    if (rc)
        return rc;
    if (!any && !given)
        return err_coded(err, RC_FORMAT, E1113, "'%s': no header: the file is empty",
                         stream_name(r->in));
    r->n_cols = given ? conf->n_fields : w.end - w.from;
    if (r->n_cols > COLUMNS_MAX)
        return err_coded(err, RC_FORMAT, E1109,
                         "'%s': %zu columns; at most %d can be read", stream_name(r->in),
                         r->n_cols, COLUMNS_MAX);
    r->names = mem_calloc(r->n_cols, sizeof(*r->names));
    if (header) {
        r->block.used = r->block.ends[w.end];
        r->least = r->block.offset + (int64_t)r->block.used;
        return take_names(r, &w, err);
    }
    for (size_t k = 0; k < r->n_cols; k++)
        r->names[k] = given ? mem_strdup(conf->fields[k].name) : mem_printf("c%zu", k);
    return RC_OK;
}

static enum rc not_there(const struct csv_reader *r, const char *name, struct err *err)
{
    const char *near = str_nearest(str_c(name), (const char *const *)r->names, r->n_cols);
    return err_coded(err, RC_INVAL, E1110, "'%s': no column '%s'%s%s%s",
                     stream_name(r->in), name, near ? "; did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
}

/* What is known about each column of the file. */
struct columns {
    struct map by_name; /* its index plus one */
    struct csv_column *at;
};

static struct csv_column *column_find(const struct columns *c, const char *name)
{
    size_t k = (size_t)(uintptr_t)map_get(&c->by_name, name);
    return k ? &c->at[k - 1] : NULL;
}

static enum rc find_wanted(struct csv_reader *r, const struct csv_conf *conf,
                           struct columns *c, struct err *err)
{
    for (size_t i = 0; conf->want && i < conf->n_want; i++) {
        struct csv_column *k = column_find(c, conf->want[i]);
        if (!k)
            return not_there(r, conf->want[i], err);
        k->wanted = true;
    }
    for (size_t k = 0; k < r->n_cols; k++) {
        c->at[k].wanted |= !conf->want;
        size_t first = (size_t)(column_find(c, r->names[k]) - c->at);
        if (first != k && c->at[first].wanted)
            return err_coded(err, RC_FORMAT, E1109,
                             "'%s': columns %zu and %zu have the same name '%s'",
                             stream_name(r->in), first + 1, k + 1, r->names[k]);
    }
    return RC_OK;
}

/* Types that the caller declares. */
static enum rc take_fields(struct csv_reader *r, const struct csv_conf *conf,
                           struct columns *c, struct err *err)
{
    for (size_t i = 0; i < conf->n_fields; i++) {
        const struct csv_field *f = &conf->fields[i];
        struct csv_column *k = column_find(c, f->name);
        if (!k && !conf->want)
            return not_there(r, f->name, err);
        if (!k)
            continue;
        k->type = f->type;
        k->inferred = f->inferred && k->wanted;
        k->exact = f->exact || (k->inferred && conf->exact);
        k->why = f->why;
    }
    return RC_OK;
}

/* Types that are known from elsewhere, of columns that are not declared. */
static void take_types(const struct csv_conf *conf, struct columns *c)
{
    for (size_t i = 0; i < conf->n_types; i++) {
        const struct csv_field *f = &conf->types[i];
        struct csv_column *k = column_find(c, f->name);
        if (!k || !k->inferred || k->widens) /* the first one counts */
            continue;
        k->type = f->type;
        k->why = f->why;
        k->exact = f->exact;
        k->widens = f->widens && f->type == TYPE_I64;
        k->inferred = k->widens;
    }
}

static enum rc find_types(struct csv_reader *r, const struct csv_conf *conf,
                          struct columns *c, struct err *err)
{
    bool any = false;
    for (size_t k = 0; k < r->n_cols; k++) {
        c->at[k].inferred = c->at[k].wanted;
        c->at[k].exact = conf->exact;
    }
    enum rc rc = take_fields(r, conf, c, err);
    if (rc)
        return rc;
    take_types(conf, c);
    for (size_t k = 0; k < r->n_cols; k++)
        any |= c->at[k].inferred;
    if (!any)
        return RC_OK;
    int64_t bytes = conf->infer_bytes ? conf->infer_bytes : INFER_DEFAULT;
    rc = csv_infer(&r->block, c->at, r->n_cols, bytes, err);
    if (rc)
        return rc;
    if (r->block.offset > r->start.offset)
        return csv_block_seek(&r->block, r->start.offset, r->start.line, err);
    r->block.used = 0; /* all still there, to be scanned again */
    return RC_OK;
}

static void add_column(struct csv_reader *r, size_t k, const struct csv_column *c,
                       bool empty_is_null)
{
    struct type type = type_of(c->type, c->type != TYPE_STR || empty_is_null);
    bool number = c->type == TYPE_I64 || c->type == TYPE_F64;
    r->plan[r->schema.n] = k;
    r->exact[r->schema.n] = c->exact && number;
    struct data_field *f = data_schema_add(&r->schema, str_c(r->names[k]), &type);
    data_field_explain(&r->schema, f, c->why);
    f->unseen = c->unseen;
}

static enum rc plan_columns(struct csv_reader *r, const struct csv_conf *conf,
                            struct err *err)
{
    struct columns c = {.at = mem_calloc(r->n_cols, sizeof(*c.at))};
    for (size_t k = 0; k < r->n_cols; k++) {
        struct map_entry *e = map_put(&c.by_name, str_c(r->names[k]));
        if (!e->value)
            e->value = (void *)(uintptr_t)(k + 1);
    }
    enum rc rc = find_wanted(r, conf, &c, err);
    if (rc == RC_OK)
        rc = find_types(r, conf, &c, err);
    r->plan = mem_calloc(r->n_cols, sizeof(*r->plan));
    r->exact = mem_calloc(r->n_cols, sizeof(*r->exact));
    for (size_t k = 0; rc == RC_OK && k < r->n_cols; k++)
        if (c.at[k].wanted)
            add_column(r, k, &c.at[k], conf->empty_is_null);
    map_release(&c.by_name);
    mem_free(c.at);
    return rc;
}

static enum rc skip_mark(struct csv_block *b, struct err *err)
{
    if (b->n < 3 || memcmp(b->text, "\xef\xbb\xbf", 3) != 0)
        return RC_OK;
    b->used = 3;
    return csv_block_fill(b, err);
}

static enum rc open_stream(struct csv_reader *r, const struct csv_conf *conf,
                           struct err *err)
{
    struct csv_block *b = &r->block;
    enum rc rc = check_conf(conf, stream_name(r->in), err);
    if (rc == RC_OK)
        rc = csv_block_init(b, conf, r->in, err);
    b->end = -1; /* header and types are those of the whole file */
    if (rc == RC_OK)
        rc = csv_block_fill(b, err);
    if (rc == RC_OK)
        rc = skip_mark(b, err);
    if (rc == RC_OK)
        rc = name_columns(r, conf, err);
    if (rc)
        return rc;
    int64_t column;
    csv_block_place(b, b->used, &r->start.line, &column);
    r->start.offset = b->offset + (int64_t)b->used;
    if (b->eof && r->start.offset > b->size_seen)
        r->start.offset = b->size_seen; /* a header without its line end */
    rc = plan_columns(r, conf, err);
    if (rc)
        return rc;
    r->empty_is_null = conf->empty_is_null;
    r->skip_bad = conf->skip_bad;
    r->max_bad = conf->max_bad;
    r->odd.at = SIZE_MAX;
    r->faults.at = mem_calloc(CSV_SLICE, sizeof(*r->faults.at));
    r->before = mem_calloc(r->schema.n, sizeof(*r->before));
    if (conf->end <= 0)
        return RC_OK;
    b->end = conf->end;
    return csv_block_seek(b, r->start.offset, r->start.line, err);
}

static enum rc finish_open(struct stream *in, const struct csv_conf *conf,
                           struct csv_reader **out, struct err *err)
{
    struct csv_reader *r = mem_calloc(1, sizeof(*r));
    r->in = in;
    enum rc rc = open_stream(r, conf, err);
    if (rc == RC_OK) {
        *out = r;
        r = NULL;
    }
    csv_close(r);
    return rc;
}

enum rc csv_open(const char *path, const struct csv_conf *conf, struct csv_reader **out,
                 struct err *err)
{
    struct stream *in = NULL;
    enum rc rc = stream_open(path, conf->read_ahead, &in, err);
    return rc ? rc : finish_open(in, conf, out, err);
}

enum rc csv_open_memory(const char *name, const void *bytes, size_t n,
                        const struct csv_conf *conf, struct csv_reader **out,
                        struct err *err)
{
    struct stream *in = NULL;
    enum rc rc = stream_open_memory(name, bytes, n, &in, err);
    return rc ? rc : finish_open(in, conf, out, err);
}
