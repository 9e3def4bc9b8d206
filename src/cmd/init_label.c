/* SPDX-License-Identifier: Apache-2.0 */
/* Which column is the label, and which others give it away.
 *
 * A label is asked for by name, or has a usual name, or is the only column of two values.
 * Two texts become 0 and 1, the one that sounds like a yes or else the rarer one being 1.
 * A column gives the label away when each of its few values goes with one label only, or
 * when it alone puts all rows in order: told from the sample, where both kinds of rows
 * have to be frequent enough for that to be no chance.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "cmd/init_private.h"

#define LEAK_VALUES 64 /* different values of a column that is compared by value */
#define LEAK_ROWS 20   /* of each kind, else all is chance */
#define LEAK_AUC 0.9995

static const char *const label_words[] = {
    "label",  "clk",     "click",  "buy",     "purchase",  "conversion", "pay",
    "rating", "clicked", "target", "outcome", "converted", "churn",      "churned"};
static const char *const text_label_words[] = {"label", "target",  "class", "income",
                                               "y",     "outcome", "churn", "clicked"};

static bool is_number(const struct type *t)
{
    return init_is_integer(t) || init_is_float(t) || t->id == TYPE_BOOL;
}

static bool is_binary(const struct stats_view *v)
{
    return is_number(v->type) && v->distinct == 2 && v->min == 0 && v->max == 1 &&
           v->n_null == 0;
}

/* Exactly two texts and nothing missing. */
static bool is_two_texts(const struct init_seen *seen, size_t i,
                         const struct stats_view *v)
{
    const struct init_words *w = &seen->sample->words[i];
    return v->type->id == TYPE_STR && w->at[1] && !w->more && w->blank == 0;
}

static enum rc no_label(const struct init_plan *p, const struct init_seen *seen,
                        struct err *err)
{
    char names[300] = "";
    size_t n = 0;
    for (size_t i = 0; i < p->n && n < sizeof(names) - 80; i++) {
        struct stats_view v;
        stats_view(seen->stats, i, &v);
        if (is_binary(&v) || is_two_texts(seen, i, &v))
            n += (size_t)snprintf(names + n, sizeof(names) - n, "%s'%.60s'",
                                  n ? ", " : "", v.name);
    }
    return err_coded(err, RC_INVAL, E1220,
                     "which column is the label? none has a usual name%s%s; use --label",
                     n ? ", but these hold only two values: "
                       : ", and none holds only two values",
                     names);
}

/* 1 stands for what a person would call the event. */
static bool sounds_positive(const char *s)
{
    static const char *const words[] = {
        "1",   "y",        "yes", "t",     "true",    "click",   "clk", "clicked",
        "pos", "positive", "buy", "churn", "churned", "success", "p"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(s, words[i]) == 0)
            return true;
    return false;
}

static enum rc two_texts(struct init_column *c, const struct init_words *w,
                         const char *positive, double *share, struct err *err)
{
    bool first = sounds_positive(w->at[0]) ||
                 (!sounds_positive(w->at[1]) && w->count[0] < w->count[1]);
    if (positive) {
        first = strcmp(positive, w->at[0]) == 0;
        if (!first && strcmp(positive, w->at[1]) != 0)
            return err_coded(err, RC_INVAL, E1207,
                             "--positive: label '%.60s' is '%.60s' or '%.60s', never "
                             "'%.60s'",
                             c->name, w->at[0], w->at[1], positive);
    }
    c->one = w->at[first ? 0 : 1];
    c->zero = w->at[first ? 1 : 0];
    *share = (double)w->count[first ? 0 : 1] / (double)(w->count[0] + w->count[1]);
    return RC_OK;
}

static enum rc take_label(struct init_plan *p, size_t i, const struct init_seen *seen,
                          const struct init_wish *wish, struct err *err)
{
    struct init_column *c = &p->at[i];
    struct stats_view v;
    stats_view(seen->stats, i, &v);
    double share = v.mean;
    bool texts = is_two_texts(seen, i, &v);
    if (v.type->id == TYPE_STR && !texts)
        return err_coded(err, RC_INVAL, E1207,
                         "label '%.100s' holds text; only text of exactly two values, in "
                         "every row, can be a label",
                         c->name);
    if (!texts && !is_number(v.type))
        return err_coded(err, RC_INVAL, E1207,
                         "label '%.100s' is not a column of integers or floats", c->name);
    if (v.n_null)
        return err_coded(err, RC_INVAL, E1208,
                         "label '%.100s' is missing in %jd of %jd rows", c->name,
                         (intmax_t)v.n_null, (intmax_t)v.n);
    if (v.distinct < 2)
        return err_coded(err, RC_INVAL, E1224,
                         "label '%.100s' is the same in all %jd rows (%g): there is "
                         "nothing to tell apart",
                         c->name, (intmax_t)v.n, v.min);
    enum rc rc = texts
                     ? two_texts(c, &seen->sample->words[i], wish->positive, &share, err)
                     : RC_OK;
    if (rc)
        return rc;
    if (!p->labels.n) {
        p->positive = share;
        p->binary = true;
    }
    p->binary = p->binary && (texts || is_binary(&v));
    c->use = INIT_LABEL;
    VEC_PUSH(&p->labels, c->name);
    return RC_OK;
}

static enum rc asked_labels(struct init_plan *p, const struct init_seen *seen,
                            const struct init_wish *wish, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t k = 0; !rc && k < wish->n_labels; k++) {
        size_t i = 0;
        while (i < p->n && strcmp(p->at[i].name, wish->labels[k]) != 0)
            i++;
        rc = i < p->n ? take_label(p, i, seen, wish, err)
                      : err_coded(err, RC_INVAL, E1204, "there is no column '%.100s'",
                                  wish->labels[k]);
    }
    return rc;
}

/* The only column with two values; of those with a label's name the first. */
static int64_t only_candidate(const struct init_plan *p, const struct init_seen *seen)
{
    int64_t last = -1;
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct stats_view v;
        stats_view(seen->stats, i, &v);
        bool texts = is_two_texts(seen, i, &v);
        if ((texts || (v.type->id == TYPE_BOOL && is_binary(&v))) &&
            init_named(v.name, text_label_words, ARRAY_LEN(text_label_words)))
            return (int64_t)i;
        if (is_binary(&v)) {
            n++;
            last = (int64_t)i;
        }
    }
    return n == 1 ? last : -1;
}

static void skip_as_label(struct init_column *c)
{
    init_skip(c, "looks like another label: known only after the event");
}

/* By name, those of 0 and 1 first; else the only column of 0 and 1. Others with such
 * names are known only afterwards, like the label: no feature may see them.
 */
static enum rc find_labels(struct init_plan *p, const struct init_seen *seen,
                           const struct init_wish *wish, struct err *err)
{
    bool any_binary = false, all = wish->model && strcmp(wish->model, "mmoe") == 0;
    struct stats_view v;
    enum rc rc = RC_OK;
    for (size_t i = 0; i < p->n; i++) {
        stats_view(seen->stats, i, &v);
        any_binary |= v.is_label && is_binary(&v);
    }
    for (size_t i = 0; !rc && i < p->n; i++) {
        stats_view(seen->stats, i, &v);
        if (!v.is_label)
            continue;
        bool fits = is_binary(&v) || (!any_binary && v.n_null == 0);
        if (fits && (all || !p->labels.n))
            rc = take_label(p, i, seen, wish, err);
        else
            skip_as_label(&p->at[i]);
    }
    int64_t only = p->labels.n ? -1 : only_candidate(p, seen);
    if (!rc && only >= 0) {
        rc = take_label(p, (size_t)only, seen, wish, err);
        if (!rc && !p->at[only].one)
            p->at[only].why = "used as the label: the only column of zeros and ones";
    }
    return rc ? rc : p->labels.n ? RC_OK : no_label(p, seen, err);
}

enum rc init_labels(struct init_plan *p, const struct init_seen *seen,
                    const struct init_wish *wish, struct err *err)
{
    enum rc rc = wish->n_labels ? asked_labels(p, seen, wish, err)
                                : find_labels(p, seen, wish, err);
    for (size_t i = 0; !rc && wish->n_labels && i < p->n; i++) {
        struct stats_view v;
        stats_view(seen->stats, i, &v);
        if (init_named(v.name, label_words, ARRAY_LEN(label_words)) &&
            is_number(v.type) && p->at[i].use != INIT_LABEL)
            skip_as_label(&p->at[i]);
    }
    return rc;
}

/* ---- leaks ---- */

struct pair {
    double x;
    bool y;
};

struct leak {
    const struct init_sample *sample;
    bool *y; /* [sample->n], the first label */
    int64_t n_one, n_zero;
    struct pair *pairs; /* scratch */
};

static void leak_init(struct leak *k, const struct init_plan *p,
                      const struct init_seen *seen)
{
    size_t at = 0;
    while (strcmp(p->at[at].name, p->labels.at[0]) != 0)
        at++;
    const struct init_sample *s = k->sample = seen->sample;
    k->y = mem_calloc((size_t)s->n + 1, sizeof(*k->y));
    k->pairs = mem_calloc((size_t)s->n + 1, sizeof(*k->pairs));
    const char *one = p->at[at].one;
    uint64_t hash = one ? init_text_hash(str_c(one)) : 0;
    for (int64_t i = 0; i < s->n; i++) {
        size_t slot = at * INIT_SAMPLE_ROWS + (size_t)i;
        k->y[i] = one ? s->hash[slot] == hash : s->number[slot] > 0;
        k->n_one += k->y[i];
    }
    k->n_zero = s->n - k->n_one;
}

/* Each of its few values goes with one label only, and they come again: how many values,
 * or 0.
 */
static size_t values_tell(const struct leak *k, size_t column)
{
    uint64_t seen[LEAK_VALUES];
    bool label[LEAK_VALUES];
    size_t n = 0;
    for (int64_t i = 0; i < k->sample->n; i++) {
        uint64_t h = k->sample->hash[column * INIT_SAMPLE_ROWS + (size_t)i];
        size_t at = 0;
        while (at < n && seen[at] != h)
            at++;
        if (at == LEAK_VALUES)
            return 0;
        if (at == n) {
            seen[n] = h;
            label[n++] = k->y[i];
        } else if (label[at] != k->y[i]) {
            return 0;
        }
    }
    return n >= 2 && (int64_t)n * 2 <= k->sample->n ? n : 0;
}

static int by_x(const void *a, const void *b)
{
    double x = ((const struct pair *)a)->x, y = ((const struct pair *)b)->x;
    return (x > y) - (x < y);
}

/* AUC of the column alone; rows without a value are left out. NaN: too few have one. */
static double auc_of(const struct leak *k, size_t column)
{
    size_t n = 0;
    double one = 0, ranks = 0;
    for (int64_t i = 0; i < k->sample->n; i++) {
        double v = k->sample->number[column * INIT_SAMPLE_ROWS + (size_t)i];
        if (isnan(v))
            continue;
        k->pairs[n++] = (struct pair){.x = v, .y = k->y[i]};
        one += k->y[i];
    }
    double zero = (double)n - one;
    if (one < LEAK_ROWS || zero < LEAK_ROWS || (int64_t)n * 10 < k->sample->n * 9)
        return (double)NAN;
    qsort(k->pairs, n, sizeof(*k->pairs), by_x);
    for (size_t i = 0, end; i < n; i = end) {
        double here = 0;
        for (end = i; end < n && k->pairs[end].x == k->pairs[i].x; end++)
            here += k->pairs[end].y;
        ranks += here * ((double)(i + end + 1) / 2);
    }
    return (ranks - one * (one + 1) / 2) / (one * zero);
}

void init_leaks(struct init_plan *p, const struct init_seen *seen)
{
    struct leak k = {0};
    if (!p->binary)
        return;
    leak_init(&k, p, seen);
    bool enough = k.n_one >= LEAK_ROWS && k.n_zero >= LEAK_ROWS;
    for (size_t i = 0; enough && i < p->n; i++) {
        struct init_column *c = &p->at[i];
        if (c->use == INIT_SKIP || c->use == INIT_LABEL)
            continue;
        size_t values = values_tell(&k, i);
        double auc = values ? (double)NAN : auc_of(&k, i);
        if (values)
            init_skip(c, values == 2 ? "a leak: it equals the label, or its opposite, in "
                                       "every row"
                                     : "a leak: each of its values goes with one label "
                                       "only");
        else if (auc > LEAK_AUC || auc < 1 - LEAK_AUC)
            init_skip(c, arena_printf(&p->mem,
                                      "a leak: it alone puts the rows in order of their "
                                      "label (AUC %.4f)",
                                      auc));
    }
    mem_free(k.y);
    mem_free(k.pairs);
}
