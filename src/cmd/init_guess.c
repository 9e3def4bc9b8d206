/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of thumb, each with the reason that ends up in the config. Where a column can be
 * several things, the one is taken with which a model trains, and the comment says so.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "cmd/init_private.h"

#define BUCKETS_MAX 10000000 /* rows of a table that nobody asked for */
#define STEPS_MAX 200

static const char *const id_words[] = {"id",    "code", "key",   "no",    "cat",   "cate",
                                       "brand", "type", "class", "level", "group", "tag"};
static const char *const number_words[] = {
    "price", "cnt", "count", "num",   "amount", "score", "days",   "ratio",  "rate",
    "sum",   "avg", "mean",  "int",   "income", "dist",  "weight", "height", "duration",
    "size",  "ctr", "cvr",   "hours", "value",  "float", "dense"};
static const char *const time_words[] = {"time", "timestamp", "date", "datetime", "ts"};
static const char *const sequence_words[] = {"seq",  "sequence", "hist",    "history",
                                             "last", "recent",   "behavior"};
static const char *const text_words[] = {"title", "text",    "query",   "description",
                                         "desc",  "content", "comment", "review"};

/* Whether one of the words that the name is made of is in the list. */
static bool named(const char *name, const char *const *words, size_t n)
{
    const char *at = name;
    while (*at) {
        size_t len = 0;
        while (isalpha((unsigned char)at[len]))
            len++;
        for (size_t i = 0; len && i < n; i++)
            if (strlen(words[i]) == len && strncasecmp(at, words[i], len) == 0)
                return true;
        at += len ? len : 1;
    }
    return false;
}
#define NAMED(name, words) named((name), (words), ARRAY_LEN(words))

/* A little more than `v`, with two digits: room for ids that are not in this file. */
static uint64_t roomy(double v)
{
    double unit = 1;
    v = v < 10 ? 10 : v;
    while (v / unit >= 100)
        unit *= 10;
    double up = ceil(v / unit) * unit;
    return up > BUCKETS_MAX ? BUCKETS_MAX : (uint64_t)up;
}

static void init_guess_skip(struct init_column *c, const char *why)
{
    c->use = INIT_SKIP;
    c->why = why;
}

static void hashed(struct init_plan *p, struct init_column *c, double distinct)
{
    c->hash = true;
    c->buckets = roomy(4 * distinct);
    if (!c->why)
        c->why = arena_printf(&p->mem,
                              "%.0f distinct values; hashed into 4 times as many rows to "
                              "limit collisions",
                              distinct);
}

static bool is_integer(const struct type *t)
{
    return (t->id == TYPE_I32 || t->id == TYPE_I64 || t->id == TYPE_U32) &&
           t->logical == LOGICAL_NONE;
}

static bool is_float(const struct type *t)
{
    return (t->id == TYPE_F32 || t->id == TYPE_F64) &&
           (t->logical == LOGICAL_NONE || t->logical == LOGICAL_DECIMAL ||
            t->logical == LOGICAL_FLOAT16);
}

static void as_number(struct init_plan *p, struct init_column *c,
                      const struct stats_view *v)
{
    c->use = INIT_NUMBER;
    if (v->min >= 0 && v->max > 10 * v->mean) {
        c->normalizer = "method=expression,expr=log(x+1)";
        c->why = arena_printf(&p->mem, "from %g to %g, mostly small: log-transformed",
                              v->min, v->max);
    } else if (v->stddev > 0) {
        c->normalizer =
            arena_printf(&p->mem, "method=zscore,mean=%.6g,standard_deviation=%.6g",
                         v->mean, v->stddev);
        c->why = arena_printf(&p->mem,
                              "from %g to %g; standardized to mean 0 and "
                              "deviation 1",
                              v->min, v->max);
    }
}

/* Ids: as they are when they fill their range, else hashed. */
static void as_ids(struct init_plan *p, struct init_column *c, const struct stats_view *v)
{
    double range = v->max + 1;
    if (v->min >= 0 && range <= BUCKETS_MAX &&
        (range <= 1e6 || range <= 100 * (double)v->distinct)) {
        c->buckets = roomy(range);
        if (!c->why)
            c->why = arena_printf(&p->mem,
                                  "ids up to %.0f, %jd distinct; larger ones map to 0",
                                  v->max, (intmax_t)v->distinct);
        return;
    }
    hashed(p, c, (double)v->distinct);
}

static void guess_integer(struct init_plan *p, struct init_column *c,
                          const struct stats_view *v)
{
    bool id = NAMED(c->name, id_words);
    if (NAMED(c->name, time_words) && v->min > 1e8) {
        init_guess_skip(c, "a timestamp: it only grows, so a model would memorize it");
        return;
    }
    if (!id && (v->min < 0 || (NAMED(c->name, number_words) && v->distinct > 20))) {
        as_number(p, c, v);
        return;
    }
    c->use = INIT_ID;
    if (!id && v->distinct > 100)
        c->why =
            arena_printf(&p->mem,
                         "an integer from %.0f to %.0f, treated as an id; if it is a "
                         "quantity, make it a raw_feature",
                         v->min, v->max);
    as_ids(p, c, v);
}

/* The separator that a third of the texts hold; the one with the most parts. */
static int separator_of(const struct init_texts *t)
{
    int best = -1;
    for (int k = 0; k < INIT_SEPARATORS; k++)
        if (t->with[k] * 3 > t->rows && (best < 0 || t->parts[k] > t->parts[best]))
            best = k;
    return best;
}

static void guess_list(struct init_plan *p, struct init_column *c, double mean,
                       double most)
{
    bool seq = NAMED(c->name, sequence_words) || mean > 8;
    c->use = seq ? INIT_SEQUENCE : INIT_IDS;
    c->length = most > STEPS_MAX ? STEPS_MAX : most < 1 ? 1 : (uint32_t)most;
    c->why = arena_printf(&p->mem, "%.1f values on average, up to %.0f", mean, most);
}

static void guess_text(struct init_plan *p, struct init_column *c,
                       const struct stats_view *v, const struct init_texts *t)
{
    int k = separator_of(t);
    if (k >= 0 && init_separators[k] == ' ' &&
        (t->words * 2 > t->rows || NAMED(c->name, text_words))) {
        init_guess_skip(
            c, "free text: a tokenize_feature with a tokenizer file could read it");
        return;
    }
    if (k < 0) {
        if (v->distinct * 10 > v->n * 9 && v->n > 1000) {
            init_guess_skip(c, "a different text in nearly every row: nothing to learn "
                               "from");
            return;
        }
        c->use = INIT_ID;
        hashed(p, c, (double)v->distinct);
        return;
    }
    double mean = (double)(t->parts[k] + (t->rows - t->with[k])) / (double)t->rows;
    guess_list(p, c, mean, (double)t->most[k]);
    c->sep = init_separators[k];
    c->hash = true;
    /* the values inside were not counted: as many as texts is a guess upwards */
    c->buckets = roomy(4 * (double)v->distinct);
}

static void guess_elements(struct init_plan *p, struct init_column *c,
                           const struct stats_view *list, const struct stats_view *v)
{
    if (is_float(v->type) && list->min == list->max && list->n_null == 0 &&
        list->min >= 1) {
        c->use = INIT_VECTOR;
        c->length = (uint32_t)list->min;
        c->why = arena_printf(&p->mem, "always %u numbers", c->length);
    } else if (is_integer(v->type) || v->type->id == TYPE_STR) {
        guess_list(p, c, list->mean, list->max);
        if (v->type->id == TYPE_STR)
            hashed(p, c, (double)v->distinct);
        else
            as_ids(p, c, v);
    } else {
        init_guess_skip(c, is_float(v->type)
                               ? "numbers, not the same count in every row"
                               : "a list of values that features cannot read");
    }
}

static void guess_column(struct init_plan *p, struct init_column *c,
                         const struct stats *s, size_t i, const struct init_texts *t)
{
    struct stats_view v, element;
    stats_view(s, i, &v);
    c->name = c->column = arena_strdup(&p->mem, v.name);
    if (v.n_null == v.n)
        init_guess_skip(c, "empty in every row");
    else if (v.distinct == 1 && v.n_null == 0)
        init_guess_skip(c, "the same in every row");
    else if (stats_view_element(s, i, &element))
        guess_elements(p, c, &v, &element);
    else if (is_integer(v.type))
        guess_integer(p, c, &v);
    else if (is_float(v.type))
        as_number(p, c, &v);
    else if (v.type->id == TYPE_STR)
        guess_text(p, c, &v, t);
    else
        init_guess_skip(c, v.type->id == TYPE_BOOL
                               ? "a boolean: make it an integer to use it"
                           : v.type->id == TYPE_MAP
                               ? "a map: a lookup_feature with a key could read it"
                               : "of a type that features cannot read");
}

/* ---- labels ---- */

static bool is_number(const struct type *t)
{
    return is_integer(t) || is_float(t) || t->id == TYPE_BOOL;
}

static bool is_binary(const struct stats_view *v)
{
    return is_number(v->type) && v->distinct == 2 && v->min == 0 && v->max == 1 &&
           v->n_null == 0;
}

static enum rc no_label(const struct init_plan *p, const struct stats *s, struct err *err)
{
    char names[300] = "";
    size_t n = 0;
    for (size_t i = 0; i < p->n && n < sizeof(names) - 80; i++) {
        struct stats_view v;
        stats_view(s, i, &v);
        if (is_binary(&v))
            n += (size_t)snprintf(names + n, sizeof(names) - n, "%s'%.60s'",
                                  n ? ", " : "", v.name);
    }
    return err_coded(
        err, RC_INVAL, E1220,
        "which column is the label? none has a usual name%s%s; use --label",
        n ? ", but these hold only 0 and 1: " : ", and none holds only 0 and 1", names);
}

static void take_label(struct init_plan *p, size_t i, const struct stats_view *v)
{
    if (!p->labels.n) {
        p->positive = v->mean;
        p->binary = true;
    }
    p->binary = p->binary && is_binary(v);
    p->at[i].use = INIT_LABEL;
    VEC_PUSH(&p->labels, p->at[i].name);
}

static enum rc asked_labels(struct init_plan *p, const struct stats *s,
                            const char *const *labels, size_t n, struct err *err)
{
    for (size_t k = 0; k < n; k++) {
        struct stats_view v;
        size_t i = 0;
        while (i < p->n && strcmp(p->at[i].name, labels[k]) != 0)
            i++;
        if (i == p->n)
            return err_coded(err, RC_INVAL, E1204, "there is no column '%.100s'",
                             labels[k]);
        stats_view(s, i, &v);
        if (!is_number(v.type) || v.type->id == TYPE_BOOL)
            return err_coded(err, RC_INVAL, E1207,
                             "label '%.100s' is not a column of integers or floats",
                             labels[k]);
        take_label(p, i, &v);
    }
    return RC_OK;
}

/* By name, those of 0 and 1 first; else the only column of 0 and 1. Others with such
 * names are known only afterwards, like the label: no feature may see them.
 */
static enum rc find_labels(struct init_plan *p, const struct stats *s, bool all,
                           struct err *err)
{
    bool any_binary = false;
    size_t n_binary = 0, last = 0;
    struct stats_view v;
    for (size_t i = 0; i < p->n; i++) {
        stats_view(s, i, &v);
        any_binary |= v.is_label && is_binary(&v);
        if (is_binary(&v)) {
            n_binary++;
            last = i;
        }
    }
    for (size_t i = 0; i < p->n; i++) {
        stats_view(s, i, &v);
        if (!v.is_label || v.type->id == TYPE_BOOL)
            continue;
        bool fits = is_binary(&v) || (!any_binary && v.n_null == 0);
        if (fits && (all || !p->labels.n))
            take_label(p, i, &v);
        else
            init_guess_skip(&p->at[i], "looks like another label: known only after the "
                                       "event");
    }
    if (!p->labels.n && n_binary == 1) {
        stats_view(s, last, &v);
        take_label(p, last, &v);
        p->at[last].why = "used as the label: the only column of zeros and ones";
    }
    return p->labels.n ? RC_OK : no_label(p, s, err);
}

/* ---- sequences ---- */

static struct init_column *init_guess_find(struct init_plan *p, const char *name,
                                           enum init_use use)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].use == use && strcmp(p->at[i].name, name) == 0)
            return &p->at[i];
    return NULL;
}

/* The values of a sequence, without their order. */
static void init_guess_pool(struct init_plan *p, struct init_column *c,
                            const char *because)
{
    for (size_t i = 0; c->table && i < p->n; i++) /* who shares a table pools alike */
        p->at[i].mean |= p->at[i].table && strcmp(p->at[i].table, c->table) == 0;
    c->use = INIT_IDS;
    c->column = c->name;
    c->group = NULL;
    c->why = arena_printf(&p->mem, "%s; %s, so all are pooled", c->why, because);
}

/* "click_seq__item_id" is item_id of the group click_seq and shares its table. A sequence
 * without an id of the same name has nothing to be compared with: its values are pooled.
 */
static void link_sequences(struct init_plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct init_column *c = &p->at[i];
        const char *cut = strstr(c->name, "__");
        if (c->use != INIT_SEQUENCE)
            continue;
        struct init_column *id = cut ? init_guess_find(p, cut + 2, INIT_ID) : NULL;
        if (!id) {
            init_guess_pool(p, c, "no id to compare it with");
            continue;
        }
        c->group = arena_strndup(&p->mem, c->name, (size_t)(cut - c->name));
        c->column = cut + 2;
        c->table = id->table = arena_printf(&p->mem, "%s_emb", id->name);
        if (id->hash || !c->hash)
            id->buckets = c->buckets > id->buckets ? c->buckets : id->buckets;
        c->buckets = id->buckets;
        c->hash = id->hash;
    }
}

static bool init_guess_has(const struct init_plan *p, enum init_use use)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].use == use)
            return true;
    return false;
}

static enum rc choose_model(struct init_plan *p, const char *model, struct err *err)
{
    bool ids = init_guess_has(p, INIT_ID) || init_guess_has(p, INIT_IDS);
    bool seq = init_guess_has(p, INIT_SEQUENCE);
    if (!ids && !init_guess_has(p, INIT_NUMBER) && !init_guess_has(p, INIT_VECTOR))
        return err_coded(err, RC_INVAL, E1221,
                         "no feature column is left besides the label");
    p->model = model ? model : seq ? "multi_tower_din" : ids ? "deepfm" : "multi_tower";
    for (size_t i = 0; strcmp(p->model, "multi_tower_din") != 0 && i < p->n; i++)
        if (p->at[i].use == INIT_SEQUENCE)
            init_guess_pool(p, &p->at[i], "this model looks at no order");
    bool wide = strcmp(p->model, "deepfm") == 0 || strcmp(p->model, "wide_and_deep") == 0;
    if (strcmp(p->model, "multi_tower_din") == 0 && !seq)
        return err_coded(err, RC_INVAL, E1222,
                         "multi_tower_din needs a sequence and an id of the same name");
    if (wide && !ids)
        return err_coded(err, RC_INVAL, E1222,
                         "%s needs ids, and all columns are numbers", p->model);
    if (strcmp(p->model, "mmoe") == 0 && p->labels.n < 2)
        return err_coded(err, RC_INVAL, E1222,
                         "mmoe needs at least two labels: use --label A,B");
    return RC_OK;
}

enum rc init_guess(struct init_plan *p, const struct stats *s,
                   const struct init_texts *texts, size_t n_columns,
                   const char *const *labels, size_t n_labels, const char *model,
                   struct err *err)
{
    p->n = n_columns;
    p->at = arena_alloc(&p->mem, (n_columns + 1) * sizeof(*p->at));
    p->rows = stats_rows(s);
    for (size_t i = 0; i < n_columns; i++) {
        p->at[i] = (struct init_column){0};
        guess_column(p, &p->at[i], s, i, &texts[i]);
    }
    bool all = model && strcmp(model, "mmoe") == 0;
    enum rc rc = n_labels ? asked_labels(p, s, labels, n_labels, err)
                          : find_labels(p, s, all, err);
    if (rc)
        return rc;
    for (size_t i = 0; n_labels && i < n_columns; i++) {
        struct stats_view v;
        stats_view(s, i, &v);
        if (NAMED(v.name,
                  ((const char *const[]){"label", "clk", "click", "buy", "purchase",
                                         "conversion", "pay", "rating"})) &&
            is_number(v.type) && p->at[i].use != INIT_LABEL)
            init_guess_skip(&p->at[i], "looks like another label: known only after the "
                                       "event");
    }
    link_sequences(p);
    return choose_model(p, model, err);
}
