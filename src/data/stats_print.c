/* SPDX-License-Identifier: Apache-2.0 */
/* What stats.c counted, for people and as JSON. The table is made in two passes: all
 * cells as texts, then the widths that follow from them. Widths are those of characters
 * on a terminal; a text is cut between characters, never within one.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "data/rows.h"
#include "data/stats_private.h"

#define TEXT_MAX ((size_t)64 << 20)
#define TOP_SHOWN 5
#define LABELS_SHOWN 10
#define CELL_MAX 28 /* characters of one value in the table */

/* Exact for whole numbers, which the running mean is not. */
static double mean(const struct stats_part *p)
{
    return p->n_number ? p->sum / (double)p->n_number : (double)NAN;
}

static double stddev(const struct stats_part *p)
{
    return p->n_number ? sqrt(p->m2 / (double)p->n_number) : 0;
}

static int64_t distinct(const struct stats_part *p, bool *exact)
{
    *exact = p->top.lost == 0;
    return *exact ? (int64_t)p->top.n : (int64_t)(hll_count(p->distinct) + 0.5);
}

static void view(const struct stats_part *p, struct stats_view *out)
{
    bool exact;
    *out = (struct stats_view){.name = p->name,
                               .type = p->type,
                               .is_label = p->is_label,
                               .n = p->n,
                               .n_null = p->n_null,
                               .n_number = p->n_number,
                               .min = p->min,
                               .max = p->max,
                               .mean = mean(p),
                               .stddev = stddev(p)};
    if (p->distinct)
        out->distinct = distinct(p, &exact);
}

void stats_view(const struct stats *s, size_t i, struct stats_view *out)
{
    view(&s->parts[i], out);
}

bool stats_view_element(const struct stats *s, size_t i, struct stats_view *out)
{
    if (s->parts[i].type->id != TYPE_LIST)
        return false;
    view(&s->parts[i].kids[0], out);
    return true;
}

/* The value behind an entry of the sketch, as JSON. */
static void put_item(const struct stats_part *p, const struct top_item *item,
                     struct buf *out)
{
    struct column c;
    if (p->type->id == TYPE_STR) {
        buf_json_str(out, item->text, item->n < TOP_TEXT ? item->n : TOP_TEXT);
        return;
    }
    column_init(&c, p->type);
    c.n = 1;
    c.values = &item->bits;
    column_print_json(&c, 0, out);
    c.values = NULL;
    column_release(&c);
}

static void put_number(struct buf *out, double v)
{
    char text[32];
    str_from_f64(v, text);
    buf_puts(out, isfinite(v) ? text : "null");
}

static void json_numbers(const struct stats_part *p, struct buf *out)
{
    const char *what = p->type->id == TYPE_STR       ? "length_"
                       : type_is_nested(p->type->id) ? "items_"
                                                     : "";
    const double v[] = {p->min, p->max, mean(p), stddev(p)};
    static const char *const names[] = {"min", "max", "mean", "stddev"};
    for (size_t i = 0; p->n_number && i < ARRAY_LEN(v); i++) {
        buf_printf(out, ", \"%s%s\": ", what, names[i]);
        put_number(out, v[i]);
    }
    if (p->n_nan)
        buf_printf(out, ", \"nan\": %jd", (intmax_t)p->n_nan);
    if (!what[0])
        buf_printf(out, ", \"zeros\": %jd", (intmax_t)p->n_zero);
}

static void json_items(const struct stats_part *p, const char *name, size_t most,
                       struct buf *out)
{
    struct top_item items[LABELS_SHOWN];
    size_t n = top_list(&p->top, items, most);
    buf_printf(out, ", \"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        buf_puts(out, i ? ", {\"value\": " : "{\"value\": ");
        put_item(p, &items[i], out);
        buf_printf(out, ", \"count\": %jd", (intmax_t)items[i].count);
        if (p->top.lost)
            buf_printf(out, ", \"count_max\": %jd",
                       (intmax_t)(items[i].count + p->top.lost));
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

static void json_part(const struct stats_part *p, struct buf *out)
{
    bool exact;
    buf_puts(out, "{\"name\": ");
    buf_json_str(out, p->name, strlen(p->name));
    buf_puts(out, ", \"type\": \"");
    type_print(p->type, out);
    buf_printf(out, "\", \"count\": %jd, \"nulls\": %jd", (intmax_t)p->n,
               (intmax_t)p->n_null);
    json_numbers(p, out);
    if (p->distinct) {
        buf_printf(out, ", \"distinct\": %jd", (intmax_t)distinct(p, &exact));
        buf_printf(out, ", \"distinct_error\": %s", exact ? "0" : "0.0081");
        json_items(p, "top", TOP_SHOWN, out);
    }
    buf_putc(out, '}');
    for (size_t i = 0; p->kids && i < p->type->n_kids; i++) {
        buf_puts(out, ",\n  ");
        json_part(&p->kids[i], out);
    }
}

void stats_json(const struct stats *s, struct buf *out)
{
    size_t n = 0;
    buf_printf(out, "\"rows\": %jd, \"columns\": [", (intmax_t)s->rows);
    for (size_t i = 0; i < s->schema.n; i++) {
        buf_puts(out, i ? ",\n  " : "\n  ");
        json_part(&s->parts[i], out);
    }
    buf_puts(out, "],\n \"labels\": [");
    for (size_t i = 0; i < s->schema.n; i++) {
        const struct stats_part *p = &s->parts[i];
        if (!p->is_label || !p->distinct)
            continue;
        buf_puts(out, n++ ? ",\n  " : "\n  ");
        buf_puts(out, "{\"name\": ");
        buf_json_str(out, p->name, strlen(p->name));
        buf_puts(out, ", \"mean\": ");
        put_number(out, mean(p));
        json_items(p, "values", LABELS_SHOWN, out);
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

/* The table: rows of texts first, then the widths of the columns follow from them. */
#define N_CELLS 9
struct line {
    char *cell[N_CELLS]; /* owned */
};
static const char *const heads[N_CELLS] = {"column",   "type",   "nulls",
                                           "distinct", "min",    "mean",
                                           "max",      "stddev", "most frequent"};
static const bool right[N_CELLS] = {false, false, true, true, true,
                                    true,  true,  true, false};
typedef VEC(struct line) line_vec;

/* About four digits: enough to judge, short enough to compare. */
static char *short_number(double v)
{
    if (v == floor(v) && fabs(v) < 1e15)
        return mem_printf("%.0f", v);
    if (fabs(v) >= 1e-4 && fabs(v) < 1e7) {
        int digits = 3 - (int)floor(log10(fabs(v)));
        return mem_printf("%.*f", digits < 1 ? 1 : digits, v);
    }
    return mem_printf("%.4g", v);
}

static char *share(int64_t part, int64_t of)
{
    double percent = of ? 100.0 * (double)part / (double)of : 0;
    if (part && percent < 0.05)
        return mem_strdup("<0.1%");
    return mem_printf("%.1f%%", percent);
}

/* Cuts a text at a character, not within one. */
static void put_cut(struct buf *out, const char *text, size_t n)
{
    if (n <= CELL_MAX) {
        buf_add(out, text, n);
        return;
    }
    n = CELL_MAX - 3;
    while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    buf_add(out, text, n);
    buf_puts(out, "...");
}

static char *frequent(const struct stats_part *p, size_t most, bool counts)
{
    struct top_item items[LABELS_SHOWN];
    struct buf out, one;
    size_t n = top_list(&p->top, items, most);
    buf_init(&out, TEXT_MAX);
    buf_init(&one, TEXT_MAX);
    /* A list of values that all occur once says nothing. */
    if (!counts && n && items[0].count <= 1 && p->top.n > most)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        char *percent = share(items[i].count, p->n);
        buf_clear(&one);
        put_item(p, &items[i], &one);
        if (i)
            buf_puts(&out, counts ? ", " : "  ");
        put_cut(&out, buf_str(&one), one.n);
        if (counts)
            buf_printf(&out, ": %jd (%s)", (intmax_t)items[i].count, percent);
        else
            buf_printf(&out, " %s", percent);
        mem_free(percent);
    }
    buf_release(&one);
    return buf_take(&out);
}

static void add_lines(line_vec *lines, const struct stats_part *p)
{
    struct line l = {{0}};
    struct buf type;
    bool exact;
    const char *unit = p->type->id == TYPE_STR       ? " B"
                       : type_is_nested(p->type->id) ? " items"
                                                     : "";
    buf_init(&type, TEXT_MAX);
    type_print(p->type, &type);
    l.cell[0] = mem_printf("%s%s", p->name, p->is_label ? " *" : "");
    l.cell[1] = buf_take(&type);
    l.cell[2] = share(p->n_null, p->n);
    l.cell[3] = mem_strdup("");
    if (p->distinct) {
        int64_t n = distinct(p, &exact);
        mem_free(l.cell[3]);
        l.cell[3] = mem_printf("%s%jd", exact ? "" : "~", (intmax_t)n);
    }
    const double v[] = {p->min, mean(p), p->max, stddev(p)};
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        char *number = short_number(v[i]);
        l.cell[4 + i] =
            p->n_number ? mem_printf("%s%s", number, i == 3 ? "" : unit) : mem_strdup("");
        mem_free(number);
    }
    l.cell[8] = p->distinct ? frequent(p, TOP_SHOWN, false) : mem_strdup("");
    VEC_PUSH(lines, l);
    for (size_t i = 0; p->kids && i < p->type->n_kids; i++)
        add_lines(lines, &p->kids[i]);
}

static size_t columns_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void put_line(struct buf *out, const char *const cells[N_CELLS],
                     const size_t widths[N_CELLS])
{
    size_t end = N_CELLS;
    while (end > 1 && !cells[end - 1][0])
        end--;
    for (size_t c = 0; c < end; c++) {
        size_t pad = widths[c] - columns_of(cells[c]);
        if (c)
            buf_puts(out, "  ");
        for (size_t i = 0; right[c] && i < pad; i++)
            buf_putc(out, ' ');
        buf_puts(out, cells[c]);
        for (size_t i = 0; !right[c] && c + 1 < end && i < pad; i++)
            buf_putc(out, ' ');
    }
    buf_putc(out, '\n');
}

static void print_table(const line_vec *lines, struct buf *out)
{
    size_t widths[N_CELLS];
    for (size_t c = 0; c < N_CELLS; c++) {
        widths[c] = strlen(heads[c]);
        for (size_t i = 0; i < lines->n; i++) {
            size_t n = columns_of(lines->at[i].cell[c]);
            widths[c] = n > widths[c] ? n : widths[c];
        }
    }
    put_line(out, heads, widths);
    for (size_t i = 0; i < lines->n; i++)
        put_line(out, (const char *const *)lines->at[i].cell, widths);
}

static void print_labels(const struct stats *s, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < s->schema.n; i++) {
        const struct stats_part *p = &s->parts[i];
        if (!p->is_label || !p->distinct)
            continue;
        if (first)
            buf_puts(out, "\nlabels (*)\n");
        first = false;
        char *values = p->top.n <= LABELS_SHOWN && !p->top.lost
                           ? frequent(p, LABELS_SHOWN, true)
                           : mem_printf("mean %.6g", mean(p));
        buf_printf(out, "  %s: %s", p->name, values);
        if (p->n_null)
            buf_printf(out, ", missing: %jd", (intmax_t)p->n_null);
        buf_putc(out, '\n');
        mem_free(values);
    }
}

void stats_print(const struct stats *s, struct buf *out)
{
    line_vec lines = {0};
    for (size_t i = 0; i < s->schema.n; i++)
        add_lines(&lines, &s->parts[i]);
    print_table(&lines, out);
    print_labels(s, out);
    for (size_t i = 0; i < lines.n; i++)
        for (size_t c = 0; c < N_CELLS; c++)
            mem_free(lines.at[i].cell[c]);
    VEC_RELEASE(&lines);
}
