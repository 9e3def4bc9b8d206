/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as CSV text. A field is quoted only when it has to be: it holds the delimiter, a
 * quote or a line end, or it is empty where empty would read as null. Rows are put
 * together in memory, 256 at a time, and handed to the file about a mebibyte at a time.
 * Lists and maps have no form in CSV and are refused when the writer is opened.
 */
#include "data/csv/writer.h"

#include <string.h>

#include "base/mem.h"
#include "io/out.h"

#define FLUSH_BYTES ((size_t)1 << 20)
#define TEXT_MAX ((size_t)1 << 30)
#define ROWS_AT_ONCE 256

struct csv_writer {
    struct io_out *file;
    struct csv_style style;
    struct buf text;
};

static char delim_of(const struct csv_style *style)
{
    return style->delim ? style->delim : ',';
}

enum rc csv_check_style(const struct data_schema *schema, const struct csv_style *style,
                        struct err *err)
{
    char d = delim_of(style);
    if (d == '\n' || d == '\r' || d == '"')
        return err_coded(err, RC_INVAL, E1101,
                         "delimiter: a line end or a quote cannot be one");
    for (size_t k = 0; k < schema->n; k++)
        if (type_is_nested(schema->at[k].type.id)) {
            struct buf type;
            buf_init(&type, 200);
            type_print(&schema->at[k].type, &type);
            (void)err_coded(err, RC_UNSUPPORTED, E1114, "column '%s': CSV cannot hold %s",
                            schema->at[k].name, buf_str(&type));
            buf_release(&type);
            return RC_UNSUPPORTED;
        }
    return RC_OK;
}

static bool needs_quotes(struct str s, char delim)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == delim || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r')
            return true;
    return false;
}

static void put_text(struct buf *out, struct str s, char delim, bool quote_empty)
{
    if (s.n == 0 ? !quote_empty : !needs_quotes(s, delim)) {
        buf_add(out, s.p, s.n);
        return;
    }
    buf_putc(out, '"');
    while (s.n) {
        const char *quote = memchr(s.p, '"', s.n);
        size_t n = quote ? (size_t)(quote - s.p) + 1 : s.n;
        buf_add(out, s.p, n);
        if (quote)
            buf_putc(out, '"');
        s = str_of(s.p + n, s.n - n);
    }
    buf_putc(out, '"');
}

static void put_int(struct buf *out, bool negative, uint64_t v)
{
    char text[24];
    size_t at = sizeof(text);
    do {
        text[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    if (negative)
        text[--at] = '-';
    buf_add(out, text + at, sizeof(text) - at);
}

static void put_i64(struct buf *out, int64_t v)
{
    put_int(out, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Dates, times and the like: as in JSON, without its quotes. */
static void put_logical(const struct column *c, int64_t i, char delim, struct buf *out)
{
    struct buf text;
    buf_init(&text, 200);
    column_print_json(c, i, &text);
    struct str s = str_of(buf_str(&text), text.n);
    if (s.n >= 2 && s.p[0] == '"')
        s = str_of(s.p + 1, s.n - 2);
    put_text(out, s, delim, false);
    buf_release(&text);
}

static void put_value(const struct column *c, int64_t i, char delim, bool quote_empty,
                      struct buf *out)
{
    char text[32];
    if (c->type->logical >= LOGICAL_DATE && c->type->logical != LOGICAL_DECIMAL &&
        c->type->logical != LOGICAL_FLOAT16 && c->type->logical != LOGICAL_UINT8) {
        put_logical(c, i, delim, out);
        return;
    }
    if (c->dict) {
        i = column_code(c, i);
        c = &c->dict->values;
    }
    switch (c->type->id) {
    case TYPE_BOOL:
        buf_puts(out, column_bool(c, i) ? "true" : "false");
        break;
    case TYPE_I32:
        put_i64(out, column_i32(c, i));
        break;
    case TYPE_I64:
        put_i64(out, column_i64(c, i));
        break;
    case TYPE_U32:
        put_int(out, false, column_u32(c, i));
        break;
    case TYPE_U64:
        put_int(out, false, column_u64(c, i));
        break;
    case TYPE_F32:
        str_from_f32(column_f32(c, i), text);
        put_text(out, str_c(text), delim, false);
        break;
    case TYPE_F64:
        str_from_f64(column_f64(c, i), text);
        put_text(out, str_c(text), delim, false);
        break;
    default:
        put_text(out, column_str(c, i), delim, quote_empty);
    }
}

void csv_print_header(const struct data_schema *schema, const struct csv_style *style,
                      struct buf *out)
{
    char delim = delim_of(style);
    for (size_t k = 0; k < schema->n; k++) {
        if (k)
            buf_putc(out, delim);
        put_text(out, str_c(schema->at[k].name), delim, schema->n == 1);
    }
    buf_putc(out, '\n');
}

void csv_print_rows(const struct batch *b, int64_t from, int64_t to,
                    const struct csv_style *style, struct buf *out)
{
    char delim = delim_of(style);
    bool alone = b->n_cols == 1; /* an empty line would be no record at all */
    for (int64_t i = from; i < to; i++) {
        for (size_t k = 0; k < b->n_cols; k++) {
            const struct column *c = &b->cols[k];
            if (k)
                buf_putc(out, delim);
            if (!column_is_null(c, i))
                put_value(c, i, delim, alone || style->empty_is_null, out);
            else if (alone)
                buf_puts(out, "\"\"");
        }
        buf_putc(out, '\n');
    }
}

enum rc csv_create(const char *path, const struct data_schema *schema,
                   const struct csv_style *style, struct csv_writer **out,
                   struct err *err)
{
    struct io_out *file = NULL;
    enum rc rc = csv_check_style(schema, style, err);
    if (rc)
        return err_wrap(err, rc, "'%s'", path);
    rc = io_create(path, &file, err);
    if (rc)
        return rc;
    struct csv_writer *w = mem_calloc(1, sizeof(*w));
    w->file = file;
    w->style = *style;
    buf_init(&w->text, TEXT_MAX);
    if (!style->no_header)
        csv_print_header(schema, style, &w->text);
    *out = w;
    return RC_OK;
}

static enum rc csv_writer_flush(struct csv_writer *w, struct err *err)
{
    enum rc rc = buf_check(&w->text, err);
    if (rc == RC_OK)
        rc = io_append(w->file, buf_str(&w->text), w->text.n, err);
    buf_clear(&w->text);
    return rc;
}

enum rc csv_write(struct csv_writer *w, const struct batch *b, struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t i = 0; rc == RC_OK && i < b->n; i += ROWS_AT_ONCE) {
        int64_t to = b->n - i < ROWS_AT_ONCE ? b->n : i + ROWS_AT_ONCE;
        csv_print_rows(b, i, to, &w->style, &w->text);
        if (w->text.n >= FLUSH_BYTES || w->text.failed)
            rc = csv_writer_flush(w, err);
    }
    return rc;
}

enum rc csv_commit(struct csv_writer *w, struct err *err)
{
    enum rc rc = csv_writer_flush(w, err);
    if (rc == RC_OK) {
        rc = io_commit(w->file, err);
        w->file = NULL;
    }
    csv_abandon(w);
    return rc;
}

void csv_abandon(struct csv_writer *w)
{
    if (!w)
        return;
    io_abandon(w->file);
    buf_release(&w->text);
    mem_free(w);
}
