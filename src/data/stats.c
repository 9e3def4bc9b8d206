/* SPDX-License-Identifier: Apache-2.0 */
/* Counting. Each column has a part with a count of nulls, a running mean and deviation,
 * the range, and two sketches: one for the number of different values, one for the
 * frequent ones (sketch.c). A dictionary-encoded column is counted by entry: each text
 * is hashed once, with the number of its rows. stats_print.c shows what was counted.
 */
#include "data/stats_private.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "data/rows.h"

/* Names that people give to labels, in lower case. */
static const char *const label_names[] = {
    "buy", "click",    "click_label", "clk",    "conversion", "conversion_label",
    "ctr", "cvr",      "is_click",    "is_clk", "label",      "labels",
    "pay", "purchase", "rating",      "target",
};

static bool looks_like_label(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(label_names); i++)
        if (strcmp(name, label_names[i]) == 0)
            return true;
    return str_starts(name, "label_");
}

static void part_init(struct stats_part *p, char *name, const struct type *type)
{
    *p = (struct stats_part){.name = name, .type = type};
    p->min = (double)INFINITY;
    p->max = -(double)INFINITY;
    if (!type_is_nested(type->id)) {
        p->distinct = mem_calloc(1, sizeof(*p->distinct));
        top_init(&p->top);
        return;
    }
    p->kids = mem_calloc(type->n_kids, sizeof(*p->kids));
    for (size_t i = 0; i < type->n_kids; i++) {
        const char *kid = type->kids[i].name;
        char *full = type->id == TYPE_LIST     ? mem_printf("%s[]", name)
                     : type->id == TYPE_STRUCT ? mem_printf("%s.%s", name, kid)
                                               : mem_printf("%s{%s}", name, kid);
        part_init(&p->kids[i], full, &type->kids[i].type);
    }
}

static void part_release(struct stats_part *p)
{
    for (size_t i = 0; p->kids && i < p->type->n_kids; i++)
        part_release(&p->kids[i]);
    mem_free(p->kids);
    mem_free(p->distinct);
    top_release(&p->top);
    mem_free(p->name);
}

struct stats *stats_create(const struct data_schema *schema, const char *const *labels,
                           size_t n_labels)
{
    struct stats *s = mem_calloc(1, sizeof(*s));
    data_schema_copy(&s->schema, schema);
    s->parts = mem_calloc(schema->n ? schema->n : 1, sizeof(*s->parts));
    for (size_t i = 0; i < schema->n; i++) {
        const struct data_field *f = &s->schema.at[i];
        part_init(&s->parts[i], mem_strdup(f->name), &f->type);
        s->parts[i].is_label =
            n_labels == 0 && looks_like_label(f->name) && column_is_number(&f->type);
        for (size_t k = 0; k < n_labels; k++)
            s->parts[i].is_label |= strcmp(labels[k], f->name) == 0;
    }
    return s;
}

void stats_destroy(struct stats *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->schema.n; i++)
        part_release(&s->parts[i]);
    mem_free(s->parts);
    mem_free(s->codes);
    data_schema_release(&s->schema);
    mem_free(s);
}

int64_t stats_rows(const struct stats *s)
{
    return s->rows;
}

/* `count` times the number v. The deviation is kept relative to the running mean, so that
 * large values with small differences do not lose it.
 */
static void count_number(struct stats_part *p, double v, int64_t count)
{
    if (isnan(v)) {
        p->n_nan += count;
        return;
    }
    p->n_number += count;
    p->n_zero += v == 0 ? count : 0;
    if (v < p->min)
        p->min = v;
    if (v > p->max)
        p->max = v;
    double off = v - p->running;
    p->running += off * (double)count / (double)p->n_number;
    p->m2 += off * (v - p->running) * (double)count;
    p->sum += v * (double)count;
}

static void count_value(struct stats_part *p, const struct column *c, int64_t i,
                        int64_t count)
{
    if (p->type->id == TYPE_STR) {
        struct str s = column_str(c, i);
        uint64_t hash = hash_xxh3(s.p, s.n);
        count_number(p, (double)s.n, count);
        hll_add(p->distinct, hash);
        top_add(&p->top, hash, count, 0, s);
        return;
    }
    uint64_t bits = 0;
    size_t width = type_width(p->type->id);
    memcpy(&bits, (const char *)c->values + (size_t)i * width, width);
    uint64_t hash = hash_xxh3(&bits, sizeof(bits));
    count_number(p, column_number(c, i), count);
    hll_add(p->distinct, hash);
    top_add(&p->top, hash, count, bits, str_of("", 0));
}

/* Each entry of the dictionary once, with its number of rows. */
static void count_codes(struct stats *s, struct stats_part *p, const struct column *c)
{
    const struct column *values = &c->dict->values;
    size_t n = (size_t)values->n;
    if (n > s->n_codes) {
        s->codes = mem_realloc(s->codes, n, sizeof(*s->codes));
        s->n_codes = n;
    }
    memset(s->codes, 0, n * sizeof(*s->codes));
    for (int64_t i = 0; i < c->n; i++)
        if (!column_is_null(c, i))
            s->codes[column_code(c, i)]++;
    for (size_t i = 0; i < n; i++)
        if (s->codes[i])
            count_value(p, values, (int64_t)i, s->codes[i]);
}

static void count_column(struct stats *s, struct stats_part *p, const struct column *c)
{
    p->n += c->n;
    for (int64_t i = 0; c->valid && i < c->n; i++)
        p->n_null += column_is_null(c, i);
    if (type_is_nested(p->type->id)) {
        for (int64_t i = 0; p->type->id != TYPE_STRUCT && i < c->n; i++)
            if (!column_is_null(c, i))
                count_number(p, (double)(c->offsets[i + 1] - c->offsets[i]), 1);
        for (size_t k = 0; k < p->type->n_kids; k++)
            count_column(s, &p->kids[k], &c->kids[k]);
        return;
    }
    if (c->dict) {
        count_codes(s, p, c);
        return;
    }
    for (int64_t i = 0; i < c->n; i++)
        if (!column_is_null(c, i))
            count_value(p, c, i, 1);
}

void stats_add(struct stats *s, const struct batch *b)
{
    for (size_t i = 0; i < s->schema.n; i++)
        count_column(s, &s->parts[i], &b->cols[i]);
    s->rows += b->n;
}
