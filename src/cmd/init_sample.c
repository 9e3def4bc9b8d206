/* SPDX-License-Identifier: Apache-2.0 */
/* What init sees of the rows while they pass: which separators texts hold, the one or two
 * texts of a column that has no more, and a random sample of whole rows (reservoir: row r
 * replaces a kept one with probability kept / r), from which quantiles, dates and leaks
 * are told later. Memory is bounded by the number of columns.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cmd/init_private.h"
#include "data/rows.h"
#include "feature/tidy.h"

#define SEED 1

const char init_separators[INIT_SEPARATORS] = {'\x1d', '\x03', '|', ';', ',', ' '};

static void look_at(struct init_texts *t, struct str s, size_t k)
{
    struct str rest = s, part;
    int64_t n = 0;
    bool numbers = true;
    double v;
    while (str_split(&rest, init_separators[k], &part)) {
        n++;
        numbers = numbers && str_to_f64(part, &v);
    }
    if (n < 2)
        return;
    t->with[k]++;
    t->parts[k] += n;
    t->most[k] = n > t->most[k] ? n : t->most[k];
    t->numbers[k] += numbers;
    if (init_separators[k] == ' ')
        t->words += n >= 4;
}

void init_look(struct init_texts *t, const struct column *c)
{
    if (c->type->id != TYPE_STR)
        return;
    for (int64_t i = 0; i < c->n; i++) {
        struct str s = column_is_null(c, i) ? str_of("", 0) : tidy_text(column_str(c, i));
        if (s.n == 0)
            continue;
        t->rows++;
        for (size_t k = 0; k < INIT_SEPARATORS; k++)
            look_at(t, s, k);
    }
}

void init_sample_init(struct init_sample *s, size_t n_columns)
{
    size_t n = (n_columns + 1) * INIT_SAMPLE_ROWS;
    *s = (struct init_sample){.n_columns = n_columns};
    s->number = mem_calloc(n, sizeof(*s->number));
    s->hash = mem_calloc(n, sizeof(*s->hash));
    s->words = mem_calloc(n_columns + 1, sizeof(*s->words));
    s->values = mem_calloc(n_columns + 1, sizeof(*s->values));
}

void init_sample_release(struct init_sample *s)
{
    for (size_t i = 0; s->words && i < s->n_columns; i++) {
        mem_free(s->words[i].at[0]);
        mem_free(s->words[i].at[1]);
        init_values_release(&s->values[i]);
    }
    mem_free(s->number);
    mem_free(s->hash);
    mem_free(s->words);
    mem_free(s->values);
    *s = (struct init_sample){0};
}

static void count_word(struct init_words *w, struct str raw)
{
    struct str s = tidy_text(raw);
    w->untidy = w->untidy || s.n != raw.n;
    if (s.n == 0) {
        w->blank++;
        return;
    }
    for (size_t k = 0; k < 2; k++) {
        if (!w->at[k]) {
            w->at[k] = mem_alloc(s.n + 1);
            memcpy(w->at[k], s.p, s.n);
            w->at[k][s.n] = '\0';
        }
        if (str_is(s, w->at[k])) {
            w->count[k]++;
            return;
        }
    }
    w->more = true;
}

static void count_words(struct init_words *w, const struct column *c)
{
    for (int64_t i = 0; i < c->n && !(w->more && w->untidy); i++) {
        if (column_is_null(c, i))
            w->blank++;
        else
            count_word(w, column_str(c, i));
    }
}

uint64_t init_text_hash(struct str clean)
{
    return clean.n ? hash_xxh3(clean.p, clean.n) | 1 : 0;
}

static void keep_value(struct init_sample *s, size_t at, const struct column *c,
                       int64_t i)
{
    s->number[at] = (double)NAN;
    s->hash[at] = 0;
    if (column_is_null(c, i) || type_is_nested(c->type->id))
        return;
    if (c->type->id == TYPE_STR) {
        struct str text = tidy_text(column_str(c, i));
        double seconds;
        s->hash[at] = init_text_hash(text);
        if (tidy_seconds(text, &seconds))
            s->number[at] = seconds;
        return;
    }
    double v = column_number(c, i);
    s->number[at] = v;
    s->hash[at] = hash_xxh3(&v, sizeof(v)) | 1;
}

static void keep_row(struct init_sample *s, int64_t slot, const struct batch *b,
                     int64_t i)
{
    for (size_t k = 0; k < s->n_columns; k++)
        keep_value(s, k * INIT_SAMPLE_ROWS + (size_t)slot, &b->cols[k], i);
}

void init_sample_add(struct init_sample *s, const struct batch *b)
{
    for (int64_t i = 0; i < b->n; i++, s->seen++) {
        struct rng r;
        if (s->n < INIT_SAMPLE_ROWS) {
            keep_row(s, s->n++, b, i);
            continue;
        }
        rng_init(&r, SEED, 0, 0, (uint64_t)s->seen);
        uint64_t slot = rng_u64(&r) % (uint64_t)(s->seen + 1);
        if (slot < INIT_SAMPLE_ROWS)
            keep_row(s, (int64_t)slot, b, i);
    }
    for (size_t k = 0; k < s->n_columns; k++) {
        if (b->cols[k].type->id == TYPE_STR)
            count_words(&s->words[k], &b->cols[k]);
        init_values_add(&s->values[k], &b->cols[k]);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t init_sample_sorted(const struct init_sample *s, size_t column, double *out)
{
    size_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double v = s->number[column * INIT_SAMPLE_ROWS + (size_t)i];
        if (!isnan(v))
            out[n++] = v;
    }
    qsort(out, n, sizeof(*out), by_value);
    return n;
}

bool init_sample_whole(const struct init_sample *s, size_t column)
{
    bool any = false;
    for (int64_t i = 0; i < s->n; i++) {
        double v = s->number[column * INIT_SAMPLE_ROWS + (size_t)i];
        if (isnan(v))
            continue;
        if (v != floor(v) || fabs(v) >= 9e15)
            return false;
        any = true;
    }
    return any;
}
