/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the reader: file, line and column in it, name, value. */
#include <stdio.h>

#include "base/utf8.h"
#include "data/csv/reader_private.h"

#define EXCERPT_MAX 40

const char *csv_type_name(enum type_id type)
{
    switch (type) {
    case TYPE_I32:
        return "INT32";
    case TYPE_I64:
        return "INT64";
    case TYPE_F32:
        return "FLOAT";
    case TYPE_F64:
        return "DOUBLE";
    default:
        return "STRING";
    }
}

void csv_excerpt(struct buf *out, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t k = utf8_len((const char *)p + i, n - i);
        if (i >= EXCERPT_MAX) {
            buf_puts(out, "...");
            return;
        }
        if (k == 0 || (k == 1 && (p[i] < 0x20 || p[i] == 0x7f))) {
            buf_printf(out, "\\x%02x", p[i]);
            i++;
        } else {
            buf_add(out, p + i, k);
            i += k;
        }
    }
}

static void place_of(const struct csv_reader *r, size_t at, char text[64])
{
    int64_t line, column;
    csv_block_place(&r->block, at, &line, &column);
    if (line)
        snprintf(text, 64, "line %jd, column %jd", (intmax_t)line, (intmax_t)column);
    else
        snprintf(text, 64, "byte %jd", (intmax_t)(r->block.offset + (int64_t)at));
}

enum rc csv_odd_error(const struct csv_reader *r, const struct csv_odd *odd,
                      struct err *err)
{
    char place[64];
    place_of(r, odd->at, place);
    return err_coded(err, RC_FORMAT, E1102,
                     "'%s': %s: %zu field%s, where %zu are expected", stream_name(r->in),
                     place, odd->n_fields, odd->n_fields == 1 ? "" : "s", r->n_cols);
}

enum rc csv_fault_error(const struct csv_reader *r, enum csv_fault fault,
                        const uint32_t *row, size_t col, struct err *err)
{
    char place[64];
    struct buf value;
    const unsigned char *p = r->rows.text + row[col];
    size_t n = row[col + 1] - row[col] - 1, k = 0;
    while (k < r->schema.n && r->plan[k] != col)
        k++;
    const char *type = csv_type_name(r->schema.at[k].type.id);
    if (col + 1 == r->n_cols && n && p[n - 1] == '\r')
        n--;
    place_of(r, row[col], place);
    buf_init(&value, CSV_EXCERPT);
    csv_excerpt(&value, p, n);
    enum code code = E1106;
    const char *what = "", *of = "", *why = "";
    switch (fault) {
    case CSV_FAULT_QUOTE:
        code = E1103;
        what = "has text behind its closing quote";
        break;
    case CSV_FAULT_RANGE:
        code = E1107;
        what = "does not fit type ";
        of = type;
        why = r->schema.at[k].why;
        break;
    case CSV_FAULT_EXACT:
        code = E1119;
        what = "would be another text as type ";
        of = type;
        why = r->schema.at[k].why;
        break;
    case CSV_FAULT_UTF8:
        code = E1108;
        what = "is not UTF-8";
        break;
    default:
        what = "is not of type ";
        of = type;
        why = r->schema.at[k].why;
    }
    (void)err_coded(err, RC_FORMAT, code, "'%s': %s: '%s' (field %zu): '%s' %s%s%s%s",
                    stream_name(r->in), place, r->schema.at[k].name, col + 1,
                    buf_str(&value), what, of, why && *why ? ", " : "", why ? why : "");
    buf_release(&value);
    return RC_FORMAT;
}
