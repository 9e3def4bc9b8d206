/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of thumb, each with the reason that ends up in the config. A column is told by its
 * type, its name and its values, in this order: dates, weights of rows, ids, numbers,
 * texts. An integer that may be an id or a quantity becomes both: buckets and the number
 * for its order, a table of its own for the values as they are. Columns that are left out
 * keep the reason, too.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "cmd/init_private.h"

#define BUCKETS_MAX 10000000 /* rows of a table that nobody asked for */
#define STEPS_MAX 200
#define BINS 32         /* of a number, by its quantiles */
#define EXACT_MAX 1000  /* different values of a number that are learned one by one */
#define ROWS_ENOUGH 100 /* to say that every row differs */
#define HASH_FEW 10000  /* values up to which rows of a hashed table are cheap */

static const char *const id_words[] = {
    "id",    "code",   "key",   "no",      "cat",     "cate",     "brand", "type",
    "class", "level",  "group", "tag",     "user",    "item",     "zip",   "zipcode",
    "city",  "movie",  "shop",  "seller",  "product", "campaign", "ad",    "device",
    "site",  "author", "store", "country", "region",  "state"};
static const char *const number_words[] = {
    "price", "cnt", "count", "num",   "amount", "score", "days",   "ratio",  "rate",
    "sum",   "avg", "mean",  "int",   "income", "dist",  "weight", "height", "duration",
    "size",  "ctr", "cvr",   "hours", "value",  "float", "dense"};
static const char *const time_words[] = {"time", "timestamp", "date", "datetime",
                                         "ts",   "hour",      "day",  "dt"};
static const char *const weight_names[] = {"fnlwgt",          "wgt",
                                           "sample_weight",   "sample weight",
                                           "instance_weight", "instance weight",
                                           "row_weight",      "sampling_weight",
                                           "case_weight",     "class_weight"};
static const char *const sequence_words[] = {"seq",  "sequence", "hist",    "history",
                                             "last", "recent",   "behavior"};
static const char *const text_words[] = {"title", "text",    "query",   "description",
                                         "desc",  "content", "comment", "review"};

bool init_named(const char *name, const char *const *words, size_t n)
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
#define NAMED(name, words) init_named((name), (words), ARRAY_LEN(words))

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

void init_skip(struct init_column *c, const char *why)
{
    c->use = INIT_SKIP;
    c->why = why;
}

/* Rows for so many hashed values: while they are cheap, so many that a value which is not
 * in this file seldom gets the row of one that is.
 */
static uint64_t hash_rows(double distinct)
{
    return roomy((distinct <= HASH_FEW ? 10 : 4) * distinct);
}

static void hashed(struct init_column *c, double distinct)
{
    c->hash = true;
    c->distinct = distinct;
    c->buckets = hash_rows(distinct);
}

bool init_is_integer(const struct type *t)
{
    return (t->id == TYPE_I32 || t->id == TYPE_I64 || t->id == TYPE_U32) &&
           t->logical == LOGICAL_NONE;
}

bool init_is_float(const struct type *t)
{
    return (t->id == TYPE_F32 || t->id == TYPE_F64) &&
           (t->logical == LOGICAL_NONE || t->logical == LOGICAL_DECIMAL ||
            t->logical == LOGICAL_FLOAT16);
}

/* A feature beside those that columns are called after. */
static const char *name_beside(struct init_plan *p, const char *name, const char *what)
{
    const char *full = arena_printf(&p->mem, "%s_%s", name, what);
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].name && strcmp(p->at[i].name, full) == 0)
            return name_beside(p, full, "of");
    return full;
}

static size_t add_quantiles(const double *v, size_t n, double *out)
{
    size_t k = 0;
    for (size_t i = 1; n && i < BINS; i++)
        out[k++] = v[n * i / BINS];
    return k;
}

/* The values apart from the most frequent one: counts are mostly 0, and what matters is
 * how they differ where they are not.
 */
static size_t without_mode(const double *v, size_t n, double *out)
{
    size_t best = 0, best_n = 0, k = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && v[end] == v[i];)
            end++;
        if (end - i > best_n) {
            best = i;
            best_n = end - i;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (v[i] != v[best])
            out[k++] = v[i];
    return k;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ascending, each once, and above the smallest value: limits below it cut nothing off. */
static size_t tidy_limits(double *at, size_t n, double least)
{
    size_t k = 0;
    qsort(at, n, sizeof(*at), by_value);
    for (size_t i = 0; i < n; i++)
        if (at[i] > least && (k == 0 || (float)at[i] > (float)at[k - 1]))
            at[k++] = at[i];
    return k;
}

static size_t midpoints(const double *v, size_t n, double *out)
{
    size_t k = 0;
    for (size_t i = 1; i < n && k <= BINS; i++)
        if (v[i] != v[i - 1])
            out[k++] = (v[i] + v[i - 1]) / 2;
    return k;
}

/* One bucket per value when there are few, else by quantiles; an empty value gets one of
 * its own below them all.
 */
static void number_buckets(struct init_plan *p, struct init_column *c,
                           const struct stats_view *v, const struct init_sample *s,
                           size_t column)
{
    double *sorted = mem_calloc(2 * INIT_SAMPLE_ROWS, sizeof(*sorted));
    size_t n = init_sample_sorted(s, column, sorted);
    double *at = arena_alloc(&p->mem, (2 * BINS + 2) * sizeof(*at));
    size_t k = midpoints(sorted, n, at);
    if (k >= BINS) {
        double *rest = sorted + INIT_SAMPLE_ROWS;
        k = add_quantiles(sorted, n, at);
        k += add_quantiles(rest, without_mode(sorted, n, rest), at + k);
    }
    if (v->n_null > 0 && n > 0) {
        double room = fabs(v->min) / 100 > 1 ? fabs(v->min) / 100 : 1;
        c->missing = arena_printf(&p->mem, "%.6g", v->min - room);
        at[k++] = v->min - room / 2;
        c->n_limits = tidy_limits(at, k, -(double)INFINITY);
    } else {
        c->n_limits = tidy_limits(at, k, v->min);
    }
    c->limits = at;
    c->bin_name = name_beside(p, c->name, "bin");
    mem_free(sorted);
}

static void as_number(struct init_plan *p, struct init_column *c,
                      const struct stats_view *v, const struct init_sample *s,
                      size_t column)
{
    const char *how = "standardized to mean 0 and deviation 1";
    c->use = INIT_NUMBER;
    if (v->min >= 0 && v->max > 10 * v->mean) {
        c->normalizer = "method=expression,expr=log(x+1)";
        how = "mostly small: log-transformed";
    } else if (v->stddev > 0) {
        c->normalizer =
            arena_printf(&p->mem, "method=zscore,mean=%.6g,standard_deviation=%.6g",
                         v->mean, v->stddev);
    }
    number_buckets(p, c, v, s, column);
    bool whole = init_is_integer(v->type) && init_sample_whole(s, column);
    if (whole && v->distinct > BINS && v->distinct <= EXACT_MAX) {
        c->exact = hash_rows((double)v->distinct);
        c->exact_name = name_beside(p, c->name, "id");
    }
    c->why = arena_printf(&p->mem, "from %g to %g, %s; also in %zu buckets%s", v->min,
                          v->max, how, c->n_limits + 1,
                          c->exact ? " and, since it may be an id, by value" : "");
}

/* Ids: as they are when they fill their range and 0 is none of them, since ids beyond the
 * range count as 0; else hashed.
 */
static void as_ids(struct init_column *c, const struct stats_view *v)
{
    double range = v->max + 1;
    c->distinct = (double)v->distinct;
    c->max = v->max;
    if (v->min >= 1 && range <= BUCKETS_MAX &&
        (range <= 1e6 || range <= 100 * (double)v->distinct))
        c->buckets = roomy(range);
    else
        hashed(c, (double)v->distinct);
}

static int by_number(const void *a, const void *b)
{
    double x, y;
    const char *s = *(char *const *)a, *t = *(char *const *)b;
    if (str_to_f64(str_c(s), &x) && str_to_f64(str_c(t), &y) && x != y)
        return x < y ? -1 : 1;
    return strcmp(s, t);
}

/* Few values are a vocabulary: each has a row, and those that are not in it have one
 * together. Values seen once go there, too: they say nothing of their own, and the row
 * learns what a value is like of which nothing is known.
 */
static void as_vocabulary(struct init_plan *p, struct init_column *c,
                          const struct init_values *v)
{
    int64_t least = p->rows >= ROWS_ENOUGH ? 2 : 1;
    c->n_vocab = c->rare = 0;
    if (v->more)
        return;
    c->vocab = arena_alloc(&p->mem, (v->n + 1) * sizeof(*c->vocab));
    for (size_t i = 0; i < v->n; i++) {
        if (v->at[i].count >= least)
            c->vocab[c->n_vocab++] = arena_strdup(&p->mem, v->at[i].text);
        else
            c->rare++;
    }
    qsort(c->vocab, c->n_vocab, sizeof(*c->vocab), by_number);
}

/* Why ids have the rows they have. */
static void say_rows(struct init_plan *p, struct init_column *c)
{
    double met = 100 * c->distinct / (double)c->buckets;
    if (c->why || (c->use != INIT_ID && c->use != INIT_IDS))
        return;
    if (c->n_vocab)
        c->why = c->rare ? arena_printf(&p->mem,
                                        "%zu values, each with a row; those seen once "
                                        "(%zu) and all others share one",
                                        c->n_vocab, c->rare)
                         : arena_printf(&p->mem,
                                        "%zu values, each with a row; all others share "
                                        "one",
                                        c->n_vocab);
    else if (c->hash)
        c->why = arena_printf(&p->mem,
                              "%.0f distinct values, hashed; another one meets the row "
                              "of one of them in %.0f %% of cases",
                              c->distinct, met > 100 ? 100 : met);
    else
        c->why = arena_printf(&p->mem,
                              "ids up to %.0f, %.0f distinct; those from %ju on share "
                              "row 0, which no id of this file has",
                              c->max, c->distinct, (uintmax_t)c->buckets);
}

/* Of nearly all rows a value of its own. */
static bool differs_everywhere(const struct stats_view *v)
{
    return v->n >= ROWS_ENOUGH && v->distinct * 10 > v->n * 9;
}

/* Numbers from 0 or 1 on without gaps, too many for a class: somebody counted things. */
static bool is_enumerated(const struct stats_view *v)
{
    return v->min >= 0 && v->min <= 1 && v->distinct > EXACT_MAX &&
           v->max <= 2 * (double)v->distinct;
}

/* Numbers are floats where they are learned: whole numbers that lie closer together than
 * floats of their size do would become one, and beyond 2^53 nobody counts anything.
 */
static bool floats_merge(const struct stats_view *v)
{
    double size = fmax(fabs(v->min), fabs(v->max));
    double step = (v->max - v->min) / fmax((double)v->distinct - 1, 1);
    return v->distinct > 1 && (size >= 0x1p53 || step < size * 0x1p-24);
}

static void guess_integer(struct init_plan *p, struct init_column *c,
                          const struct stats_view *v, const struct init_sample *s,
                          size_t column)
{
    bool id = NAMED(c->name, id_words) || floats_merge(v);
    bool quantity = NAMED(c->name, number_words);
    if (differs_everywhere(v) && (id || (is_enumerated(v) && !quantity))) {
        init_skip(c, "a different id in nearly every row: a model would learn rows by "
                     "heart");
        return;
    }
    if (!id && (v->min < 0 || v->distinct > 20) && !(is_enumerated(v) && !quantity)) {
        as_number(p, c, v, s, column);
        return;
    }
    c->use = INIT_ID;
    as_ids(c, v);
    as_vocabulary(p, c, &s->values[column]);
}

/* ---- dates ---- */

/* All values of the sample are such dates, and none is missing. */
static bool all_dates(const struct init_sample *s, size_t column, enum init_clock clock)
{
    double seconds;
    for (int64_t i = 0; i < s->n; i++) {
        double v = s->number[column * INIT_SAMPLE_ROWS + (size_t)i];
        if (clock == INIT_CLOCK_TEXT ? isnan(v) : !init_clock_number(v, clock, &seconds))
            return false;
    }
    return s->n > 0;
}

static enum init_clock clock_of_type(const struct type *t)
{
    return t->logical == LOGICAL_DATE           ? INIT_CLOCK_DAYS
           : t->logical == LOGICAL_TIMESTAMP_MS ? INIT_CLOCK_MILLIS
           : t->logical == LOGICAL_TIMESTAMP_US ? INIT_CLOCK_MICROS
           : t->logical == LOGICAL_TIMESTAMP_NS ? INIT_CLOCK_NANOS
                                                : INIT_CLOCK_NONE;
}

/* Numbers are dates only under a name that says so. */
static enum init_clock clock_of(const struct init_column *c, const struct stats_view *v,
                                const struct init_sample *s, size_t column)
{
    static const enum init_clock numbers[] = {
        INIT_CLOCK_DAY,    INIT_CLOCK_HOUR,   INIT_CLOCK_SHORT_HOUR, INIT_CLOCK_SECONDS,
        INIT_CLOCK_MILLIS, INIT_CLOCK_MICROS, INIT_CLOCK_NANOS};
    enum init_clock known = clock_of_type(v->type);
    if (known != INIT_CLOCK_NONE)
        return v->n_null ? INIT_CLOCK_NONE : known;
    if (v->type->id == TYPE_STR)
        return all_dates(s, column, INIT_CLOCK_TEXT) ? INIT_CLOCK_TEXT : INIT_CLOCK_NONE;
    if (!init_is_integer(v->type) || v->n_null || !NAMED(c->name, time_words))
        return INIT_CLOCK_NONE;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (all_dates(s, column, numbers[i]))
            return numbers[i];
    return INIT_CLOCK_NONE;
}

/* Plain numbers that count from 1970 stay as they are: formulas divide them, so that rows
 * which come later need no change.
 */
static int64_t ticks_of(const struct type *t, enum init_clock clock)
{
    static const int64_t per_second[] = {[INIT_CLOCK_SECONDS] = 1,
                                         [INIT_CLOCK_MILLIS] = 1000,
                                         [INIT_CLOCK_MICROS] = 1000000,
                                         [INIT_CLOCK_NANOS] = 1000000000};
    bool plain = clock_of_type(t) == INIT_CLOCK_NONE;
    return plain && (size_t)clock < ARRAY_LEN(per_second) ? per_second[clock] : 0;
}

static bool is_word(const char *s)
{
    bool ok = isalpha((unsigned char)*s) || *s == '_';
    for (; *s; s++)
        ok = ok && (isalnum((unsigned char)*s) || *s == '_');
    return ok;
}

/* Hours and weekdays come again, moments do not. */
static void as_time(struct init_plan *p, struct init_column *c,
                    const struct init_sample *s, size_t column)
{
    double first = (double)INFINITY, last = -first, seconds = 0;
    bool hours = false;
    for (int64_t i = 0; i < s->n; i++) {
        double v = s->number[column * INIT_SAMPLE_ROWS + (size_t)i];
        if (c->clock == INIT_CLOCK_TEXT)
            seconds = v;
        else if (!init_clock_number(v, c->clock, &seconds))
            continue;
        hours = hours || fmod(seconds, 86400) >= 3600;
        first = fmin(first, seconds);
        last = fmax(last, seconds);
    }
    c->use = INIT_TIME;
    if (hours && last - first >= 3600)
        c->hour_name = name_beside(p, c->name, "hour");
    if (last - first >= 86400)
        c->weekday_name = name_beside(p, c->name, "weekday");
    c->why = arena_printf(&p->mem, "%s: hours and weekdays come again, moments do not",
                          init_clock_title(c->clock));
    if (!is_word(c->name))
        init_skip(c, "a time whose name a formula cannot hold: rename the column");
    else if (!c->hour_name && !c->weekday_name)
        init_skip(c, "times within one hour");
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

/* Few texts that come again and again are names of classes, with blanks in them. */
static bool are_classes(const struct stats_view *v)
{
    return v->distinct <= EXACT_MAX ? v->distinct * 2 <= v->n : v->distinct * 20 <= v->n;
}

static void guess_text(struct init_plan *p, struct init_column *c,
                       const struct stats_view *v, const struct init_texts *t,
                       const struct init_values *values)
{
    int k = separator_of(t);
    if (k >= 0 && init_separators[k] == ' ' && are_classes(v))
        k = -1;
    if (k >= 0 && init_separators[k] == ' ' &&
        (t->words * 2 > t->rows || NAMED(c->name, text_words))) {
        init_skip(c, "free text: a tokenize_feature with a tokenizer file could read it");
        return;
    }
    if (k < 0) {
        if (differs_everywhere(v)) {
            init_skip(c, "a different text in nearly every row: nothing to learn "
                         "from");
            return;
        }
        c->use = INIT_ID;
        hashed(c, (double)v->distinct);
        as_vocabulary(p, c, values);
        return;
    }
    double mean = (double)(t->parts[k] + (t->rows - t->with[k])) / (double)t->rows;
    guess_list(p, c, mean, (double)t->most[k]);
    c->sep = init_separators[k];
    /* the values inside were not counted: as many as texts is a guess upwards */
    hashed(c, (double)v->distinct);
}

static void guess_elements(struct init_plan *p, struct init_column *c,
                           const struct stats_view *list, const struct stats_view *v)
{
    if (init_is_float(v->type) && list->min == list->max && list->n_null == 0 &&
        list->min >= 1 && v->n_number == v->n) {
        c->use = INIT_VECTOR;
        c->length = (uint32_t)list->min;
        c->why = arena_printf(&p->mem, "always %u numbers", c->length);
    } else if (init_is_float(v->type) && v->n_number < v->n) {
        init_skip(c, "numbers, of which some are missing");
    } else if (init_is_integer(v->type) || v->type->id == TYPE_STR) {
        guess_list(p, c, list->mean, list->max);
        if (v->type->id == TYPE_STR)
            hashed(c, (double)v->distinct);
        else
            as_ids(c, v);
    } else {
        init_skip(c, init_is_float(v->type)
                         ? "numbers, not the same count in every row"
                         : "a list of values that features cannot read");
    }
}

static bool is_weight(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(weight_names); i++)
        if (strcasecmp(name, weight_names[i]) == 0)
            return true;
    return false;
}

static const char *unreadable(const struct type *t)
{
    return t->id == TYPE_MAP ? "a map: a lookup_feature with a key could read it"
                             : "of a type that features cannot read";
}

static void guess_flat(struct init_plan *p, size_t i, const struct init_seen *seen,
                       const struct stats_view *v)
{
    struct init_column *c = &p->at[i];
    if (c->clock != INIT_CLOCK_NONE)
        as_time(p, c, seen->sample, i);
    else if (is_weight(c->name))
        init_skip(c,
                  "says how much a row counts, not what it is; to use it so, name it in "
                  "sample_weight_fields");
    else if (init_is_integer(v->type) || v->type->id == TYPE_BOOL)
        guess_integer(p, c, v, seen->sample, i);
    else if (init_is_float(v->type))
        as_number(p, c, v, seen->sample, i);
    else if (v->type->id == TYPE_STR)
        guess_text(p, c, v, &seen->texts[i], &seen->sample->values[i]);
    else
        init_skip(c, unreadable(v->type));
}

static void guess_column(struct init_plan *p, size_t i, const struct init_seen *seen)
{
    struct init_column *c = &p->at[i];
    struct stats_view v, element;
    stats_view(seen->stats, i, &v);
    c->type = v.type->id;
    c->clock = clock_of(c, &v, seen->sample, i);
    c->ticks = ticks_of(v.type, c->clock);
    if (!*c->name || strchr(c->name, ':'))
        init_skip(c, *c->name
                         ? "a name with ':', which an expression cannot hold: rename "
                           "the column"
                         : "it has no name: give it one");
    else if (v.n_null == v.n)
        init_skip(c, "empty in every row");
    else if (v.distinct == 1 && v.n_null == 0)
        init_skip(c, "the same in every row");
    else if (stats_view_element(seen->stats, i, &element))
        guess_elements(p, c, &v, &element);
    else
        guess_flat(p, i, seen, &v);
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

/* One table: hashed when one of them must be, and no vocabulary, since a sequence may hold
 * values that the id never has.
 */
static void share_rows(struct init_column *c, struct init_column *id)
{
    uint64_t most = c->buckets > id->buckets ? c->buckets : id->buckets;
    if (id->hash != c->hash)
        most = hash_rows(fmax(c->distinct, id->distinct));
    c->hash = id->hash = id->hash || c->hash;
    c->buckets = id->buckets = most;
    id->n_vocab = id->rare = 0;
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
        share_rows(c, id);
    }
    for (size_t i = 0; i < p->n; i++) { /* a later one may have needed more rows */
        struct init_column *c = &p->at[i];
        if (c->use == INIT_SEQUENCE)
            share_rows(c, init_guess_find(p, c->column, INIT_ID));
    }
}

/* Features that a linear part can look up. */
static bool has_ids(const struct init_plan *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].use == INIT_ID || p->at[i].use == INIT_IDS ||
            p->at[i].use == INIT_NUMBER || p->at[i].use == INIT_TIME)
            return true;
    return false;
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
    bool ids = has_ids(p);
    bool seq = init_guess_has(p, INIT_SEQUENCE);
    if (!ids && !init_guess_has(p, INIT_VECTOR))
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
                         "%s needs ids or numbers, and all columns are vectors",
                         p->model);
    if (strcmp(p->model, "mmoe") == 0 && p->labels.n < 2)
        return err_coded(err, RC_INVAL, E1222,
                         "mmoe needs at least two labels: use --label A,B");
    return RC_OK;
}

enum rc init_guess(struct init_plan *p, const struct init_seen *seen,
                   const struct init_wish *wish, struct err *err)
{
    p->n = seen->sample->n_columns;
    p->at = arena_alloc(&p->mem, (p->n + 1) * sizeof(*p->at));
    memset(p->at, 0, (p->n + 1) * sizeof(*p->at));
    p->rows = stats_rows(seen->stats);
    for (size_t i = 0; i < p->n; i++) {
        struct stats_view v;
        stats_view(seen->stats, i, &v);
        p->at[i].name = p->at[i].column = arena_strdup(&p->mem, v.name);
    }
    for (size_t i = 0; i < p->n; i++)
        guess_column(p, i, seen);
    enum rc rc = init_labels(p, seen, wish, err);
    if (rc)
        return rc;
    init_leaks(p, seen);
    link_sequences(p);
    rc = choose_model(p, wish->model, err);
    for (size_t i = 0; i < p->n; i++)
        say_rows(p, &p->at[i]);
    return rc;
}
