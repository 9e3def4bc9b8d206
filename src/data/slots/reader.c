/* SPDX-License-Identifier: Apache-2.0 */
/* Reading slot files. Lines come from the block reader of CSV, told that a field ends only
 * at a line end, so that blocks, places and splits are the same for both. A line that
 * fails leaves no trace and, when that is allowed, is left out; the first fault is kept for
 * the message.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/slots/slots_private.h"

#define INFER_LINES 1000
#define BATCH_VALUES ((int64_t)1 << 28) /* so that no column overflows its offsets */

struct slots_reader {
    struct stream *in;      /* owned */
    struct csv_block block; /* its fields are lines */
    struct data_schema schema;
    const struct slots_format *format;
    struct slots_set slots;
    struct slots_columns columns;
    struct slots_row row;
    int64_t padding;
    bool skip_bad;
    int64_t max_bad;
    int64_t start;        /* offset of the first line: behind a byte order mark */
    struct csv_walk walk; /* where the next line is looked for */
    bool loaded;          /* `walk` is in the block */
    int64_t record, good; /* lines that are not blank, and rows, up to `walk` */
    struct err first_bad;
};

void slots_close(struct slots_reader *r)
{
    if (!r)
        return;
    csv_block_release(&r->block);
    stream_close(r->in);
    data_schema_release(&r->schema);
    slots_columns_release(&r->columns);
    slots_set_release(&r->slots);
    slots_row_release(&r->row);
    mem_free(r);
}

const struct data_schema *slots_schema(const struct slots_reader *r)
{
    return &r->schema;
}

const char *slots_first_bad(const struct slots_reader *r)
{
    return r->first_bad.msg;
}

static enum rc line_error(const struct slots_reader *r, const struct slots_fault *f,
                          struct err *err)
{
    const struct csv_block *b = &r->block;
    struct buf value;
    int64_t line, column;
    char place[64];
    const unsigned char *from = b->text + r->walk.start;
    const unsigned char *at = f->at.p ? (const unsigned char *)f->at.p : from;
    csv_block_place(b, (size_t)(at - b->text), &line, &column);
    if (line)
        snprintf(place, sizeof(place), "line %jd, column %jd", (intmax_t)line,
                 (intmax_t)column);
    else
        snprintf(place, sizeof(place), "byte %jd",
                 (intmax_t)(b->offset + (int64_t)(at - b->text)));
    buf_init(&value, CSV_EXCERPT);
    csv_excerpt(&value, at, f->at.n);
    bool about = f->code == E1161;
    enum rc rc = f->code == E0001 ? RC_NOMEM : RC_FORMAT;
    (void)err_coded(err, rc, f->code, "'%s': %s: %s%.60s%s%s%s%s%s%s%s%s",
                    stream_name(b->in), place, f->slot ? "slot '" : "",
                    f->slot ? f->slot : "", f->slot ? "': " : "", about ? "'" : "",
                    about ? buf_str(&value) : "", about ? "' " : "", f->what,
                    about || !value.n ? "" : ", found '", about ? "" : buf_str(&value),
                    about || !value.n ? "" : "'");
    buf_release(&value);
    return rc;
}

static enum rc bad_line(struct slots_reader *r, const struct slots_fault *f,
                        struct err *err)
{
    if (f->code == E0001 || !r->skip_bad)
        return line_error(r, f, err);
    if (!r->first_bad.msg[0])
        (void)line_error(r, f, &r->first_bad);
    if (r->max_bad && r->record - r->good > r->max_bad)
        return err_coded(err, RC_FORMAT, E1117,
                         "more than %jd malformed records; the first: %s",
                         (intmax_t)r->max_bad, r->first_bad.msg);
    return RC_OK;
}

/* The next line that is not blank; *there is false at the end. */
static enum rc next_line(struct slots_reader *r, bool *there, struct str *line,
                         struct err *err)
{
    struct csv_block *b = &r->block;
    for (;;) {
        while (r->loaded && csv_walk_next(b, &r->walk)) {
            const char *from = (const char *)b->text + r->walk.start;
            *line = str_of(from, b->ends[r->walk.end] - r->walk.start - 1);
            *there = !r->walk.blank;
            if (*there)
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

static bool read_row(struct slots_reader *r, struct str line, struct slots_fault *fault)
{
    return slots_line_read(r->format, line, false, &r->slots, fault) &&
           slots_row_make(&r->row, &r->columns, &r->slots, r->padding, fault);
}

enum rc slots_next(struct slots_reader *r, int64_t max, struct batch *b, struct err *err)
{
    struct slots_fault fault;
    struct str line;
    bool there = true;
    enum rc rc = RC_OK;
    int64_t values = 0;
    batch_clear(b);
    while (!rc && b->n < max && values < BATCH_VALUES) {
        rc = next_line(r, &there, &line, err);
        if (rc || !there)
            break;
        r->record++;
        if (!read_row(r, line, &fault)) {
            rc = bad_line(r, &fault, err);
            continue;
        }
        rc = slots_row_put(&r->row, &r->columns, b, err);
        values += (int64_t)(r->row.ids.n + r->row.reals.n);
        b->n++;
        r->good++;
    }
    if (rc)
        batch_clear(b);
    return rc;
}

void slots_tell(const struct slots_reader *r, struct csv_cursor *at)
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

static enum rc bad_cursor(const struct slots_reader *r, const struct csv_cursor *at,
                          const char *why, struct err *err)
{
    return err_coded(err, RC_INVAL, E1112, "'%s': cannot continue at byte %jd: %s",
                     stream_name(r->in), (intmax_t)at->offset, why);
}

enum rc slots_seek(struct slots_reader *r, const struct csv_cursor *at, struct err *err)
{
    char c[2];
    size_t got = 2;
    enum rc rc = RC_OK;
    if (at->offset < r->start || at->record < 0 || at->bad < 0 || at->bad > at->record)
        return bad_cursor(r, at, "not a position of this reader", err);
    if (at->offset > r->start) {
        rc = stream_seek(r->in, at->offset - 1, err);
        if (!rc)
            rc = stream_read(r->in, c, 2, &got, err);
        if (rc == RC_INVAL || (!rc && got == 0))
            return bad_cursor(r, at, "the file is shorter", err);
        if (!rc && c[0] != '\n' && got == 2)
            return bad_cursor(r, at, "no record starts there", err);
    }
    if (!rc)
        rc = csv_block_seek(&r->block, at->offset, at->line, err);
    if (rc)
        return rc;
    r->record = at->record;
    r->good = at->record - at->bad;
    r->loaded = false;
    return RC_OK;
}

static bool is_real(struct str value)
{
    return memchr(value.p, '.', value.n) || memchr(value.p, 'e', value.n) ||
           memchr(value.p, 'E', value.n);
}

/* A column of lists for each slot of the first lines, whole numbers unless one is not. */
static enum rc infer_columns(struct slots_reader *r, struct err *err)
{
    VEC(bool) real = {0};
    struct slots_fault fault;
    struct str line;
    bool there = true;
    enum rc rc = RC_OK;
    for (int64_t n = 0; !rc && n < INFER_LINES; n++) {
        rc = next_line(r, &there, &line, err);
        if (rc || !there)
            break;
        if (!slots_line_read(r->format, line, true, &r->slots, &fault)) {
            rc = r->skip_bad ? RC_OK : line_error(r, &fault, err);
            continue;
        }
        for (size_t i = 0; i < r->slots.list.n; i++) {
            const struct slots_slot *s = &r->slots.list.at[i];
            if (i == real.n)
                VEC_PUSH(&real, false);
            for (size_t k = 0; k < s->n && !real.at[i]; k++)
                real.at[i] = s->at[k].n && is_real(s->at[k]);
        }
    }
    if (!rc && r->slots.list.n == 0)
        rc = err_coded(err, RC_FORMAT, E1158,
                       "'%s': no columns: there is no row to infer them from",
                       stream_name(r->in));
    while (real.n < r->slots.list.n) /* of lines that were left out */
        VEC_PUSH(&real, false);
    for (size_t i = 0; !rc && i < r->slots.list.n; i++)
        VEC_PUSH(&r->columns.list,
                 ((struct slots_column){
                     .name = arena_strdup(&r->columns.mem, r->slots.list.at[i].name),
                     .kind = real.at[i] ? SLOTS_FLOATS : SLOTS_IDS,
                     .slot = (int)i}));
    VEC_RELEASE(&real);
    r->slots.usual.n = 0;
    return rc;
}

/* Those that another file of the same data had. */
static void take_fields(struct slots_reader *r, const struct slots_conf *conf)
{
    for (size_t i = 0; i < conf->n_fields; i++) {
        const struct reader_field *f = &conf->fields[i];
        bool whole = f->type.n_kids && f->type.kids[0].type.id == TYPE_I64;
        VEC_PUSH(
            &r->columns.list,
            ((struct slots_column){.name = arena_strdup(&r->columns.mem, f->name),
                                   .kind = whole ? SLOTS_IDS : SLOTS_FLOATS,
                                   .slot = slots_set_add(&r->slots, str_c(f->name))}));
    }
}

static enum rc not_there(const struct slots_reader *r, const char *name, struct err *err)
{
    const struct slots_columns *c = &r->columns;
    const char **names = mem_calloc(c->list.n + 1, sizeof(*names));
    for (size_t k = 0; k < c->list.n; k++)
        names[k] = c->list.at[k].name;
    const char *near = str_nearest(str_c(name), names, c->list.n);
    (void)err_coded(err, RC_INVAL, E1159, "'%s': no column '%s'%s%s%s",
                    stream_name(r->in), name, near ? "; did you mean '" : "",
                    near ? near : "", near ? "'?" : "");
    mem_free(names);
    return RC_INVAL;
}

/* Leaves the wanted columns, in their order, and makes the schema of them. */
static enum rc choose(struct slots_reader *r, const struct slots_conf *conf,
                      struct err *err)
{
    struct slots_columns *c = &r->columns;
    struct map wanted = {0}, known = {0};
    enum rc rc = RC_OK;
    size_t n = 0;
    for (size_t k = 0; k < c->list.n; k++)
        map_put(&known, str_c(c->list.at[k].name))->value = r;
    for (size_t i = 0; !rc && conf->want && i < conf->n_want; i++) {
        map_put(&wanted, str_c(conf->want[i]))->value = r;
        if (!map_get(&known, conf->want[i]))
            rc = not_there(r, conf->want[i], err);
    }
    for (size_t k = 0; !rc && k < c->list.n; k++) {
        struct slots_column column = c->list.at[k];
        if (conf->want && !map_get(&wanted, column.name))
            continue;
        struct type t = slots_column_type(&column, &r->schema.mem);
        data_schema_add(&r->schema, str_c(column.name), &t);
        c->list.at[n++] = column;
    }
    c->list.n = n;
    map_release(&wanted);
    map_release(&known);
    return rc;
}

static enum rc find_columns(struct slots_reader *r, const struct slots_conf *conf,
                            struct err *err)
{
    enum rc rc = RC_OK;
    if (conf->columns)
        rc = slots_columns_parse(conf->columns, &r->columns, &r->slots, err);
    else if (conf->n_fields)
        take_fields(r, conf);
    else
        rc = infer_columns(r, err);
    if (!rc)
        rc = choose(r, conf, err);
    return rc ? rc
              : slots_seek(r, &(struct csv_cursor){.offset = r->start, .line = 1}, err);
}

static enum rc open_stream(struct slots_reader *r, const struct slots_conf *conf,
                           struct err *err)
{
    struct csv_block *b = &r->block;
    struct csv_conf lines = {.delim = '\n',
                             .no_quotes = true,
                             .block = conf->block,
                             .max_record = conf->max_record};
    r->format = slots_format_find(conf->format);
    if (!r->format)
        return err_coded(err, RC_INVAL, E1164,
                         "'%.40s' is not a line format; there are %s", conf->format,
                         slots_formats());
    r->padding = conf->padding;
    r->skip_bad = conf->skip_bad;
    r->max_bad = conf->max_bad;
    enum rc rc = csv_block_init(b, &lines, r->in, err);
    if (!rc)
        rc = csv_block_fill(b, err);
    if (!rc && b->n >= 3 && memcmp(b->text, "\xef\xbb\xbf", 3) == 0)
        r->start = 3;
    if (!rc)
        rc = csv_block_seek(b, r->start, 1, err);
    if (!rc)
        rc = find_columns(r, conf, err);
    b->end = conf->end > 0 ? conf->end : b->end;
    return rc;
}

static enum rc finish_open(struct stream *in, const struct slots_conf *conf,
                           struct slots_reader **out, struct err *err)
{
    struct slots_reader *r = mem_calloc(1, sizeof(*r));
    r->in = in;
    enum rc rc = open_stream(r, conf, err);
    if (!rc) {
        *out = r;
        r = NULL;
    }
    slots_close(r);
    return rc;
}

enum rc slots_open(const char *path, const struct slots_conf *conf,
                   struct slots_reader **out, struct err *err)
{
    struct stream *in = NULL;
    enum rc rc = stream_open(path, conf->read_ahead, &in, err);
    return rc ? rc : finish_open(in, conf, out, err);
}

enum rc slots_open_memory(const char *name, const void *bytes, size_t n,
                          const struct slots_conf *conf, struct slots_reader **out,
                          struct err *err)
{
    struct stream *in = NULL;
    enum rc rc = stream_open_memory(name, bytes, n, &in, err);
    return rc ? rc : finish_open(in, conf, out, err);
}
