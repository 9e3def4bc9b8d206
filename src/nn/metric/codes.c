/* SPDX-License-Identifier: Apache-2.0 */
/* How good codes (semantic ids) are: how near what they stand for is to the items, and how evenly
 * and how distinctly they are given. No config names these: every evaluation of a model of codes
 * has them. Rows of codes are numbers side by side; those of mse and rel_loss single values.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "nn/metric/codes.h"
#include "nn/metric/metric_private.h"

#define RELATIVE_EPS 1e-4

/* --- means of values and of batches --- */

struct code_mean {
    struct metric base;
    double sums[2]; /* what is summed, and of how many */
};

static void mean_reset(struct metric *m)
{
    memset(((struct code_mean *)m)->sums, 0, sizeof(((struct code_mean *)m)->sums));
}

static enum rc mean_merge(struct metric *m, const struct metric *from, struct err *err)
{
    for (int i = 0; i < 2; i++)
        ((struct code_mean *)m)->sums[i] += ((const struct code_mean *)from)->sums[i];
    return RC_OK;
}

static enum rc mean_compute(const struct metric *m, struct metric_value *out,
                            struct err *err)
{
    const double *s = ((const struct code_mean *)m)->sums;
    *out = s[1] > 0 ? metric_number(s[0] / s[1]) : metric_none("no rows with codes");
    return RC_OK;
}

static void mean_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    nn_state_add(out, STATE_F64, ((const struct code_mean *)m)->sums, 2, "%ssums",
                 prefix);
}

static enum rc mean_load(struct metric *m, const char *prefix, const struct nn_state *in,
                         struct err *err)
{
    struct code_mean *s = (struct code_mean *)m;
    enum rc rc = metric_copy(in, prefix, "sums", STATE_F64, s->sums, 2, err);
    return rc ? rc : metric_check_counts(s->sums, 2, err);
}

static enum rc mse_update(struct metric *m, const struct metric_rows *rows,
                          struct err *err)
{
    struct code_mean *s = (struct code_mean *)m;
    for (int64_t i = 0; i < rows->n; i++) {
        double d = (double)rows->pred[i] - (double)rows->label[i];
        s->sums[0] += d * d;
    }
    s->sums[1] += (double)rows->n;
    return RC_OK;
}

static enum rc relative_update(struct metric *m, const struct metric_rows *rows,
                               struct err *err)
{
    struct code_mean *s = (struct code_mean *)m;
    for (int64_t i = 0; i < rows->n; i++) {
        double p = (double)rows->pred[i], t = (double)rows->label[i];
        s->sums[0] += fabs(t - p) / (fmax(fabs(t), fabs(p)) + RELATIVE_EPS);
    }
    s->sums[1] += (double)rows->n;
    return RC_OK;
}

/* A row of codes in one number: two rows that differ have the same once in 2^64. */
static int64_t row_hash(const struct metric_rows *rows, int64_t row)
{
    return (int64_t)hash_xxh3(rows->pred + row * rows->width,
                              (size_t)rows->width * sizeof(float));
}

static int by_value(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static int64_t count_distinct(int64_t *at, int64_t n)
{
    int64_t distinct = n > 0;
    qsort(at, (size_t)n, sizeof(*at), by_value);
    for (int64_t i = 1; i < n; i++)
        distinct += at[i] != at[i - 1];
    return distinct;
}

static enum rc unique_update(struct metric *m, const struct metric_rows *rows,
                             struct err *err)
{
    struct code_mean *s = (struct code_mean *)m;
    if (rows->n == 0)
        return RC_OK;
    int64_t *at = mem_try_alloc((size_t)rows->n, sizeof(*at));
    if (!at)
        return err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)rows->n);
    for (int64_t i = 0; i < rows->n; i++)
        at[i] = row_hash(rows, i);
    s->sums[0] += (double)count_distinct(at, rows->n) / (double)rows->n;
    s->sums[1] += 1;
    mem_free(at);
    return RC_OK;
}

#define CODE_MEAN_OPS                                                           \
    .size = sizeof(struct code_mean), .reset = mean_reset, .merge = mean_merge, \
    .compute = mean_compute, .save = mean_save, .load = mean_load

static const struct metric_ops code_mse = {CODE_MEAN_OPS, .name = "mse",
                                           .wants = METRIC_VALUE, .update = mse_update};
static const struct metric_ops code_relative = {
    CODE_MEAN_OPS, .name = "rel_loss", .wants = METRIC_VALUE, .update = relative_update};
static const struct metric_ops code_unique = {CODE_MEAN_OPS, .name = "unique_sid_ratio",
                                              .wants = METRIC_SCORES,
                                              .update = unique_update};

/* --- how often each code of a layer was given --- */

struct code_counts {
    struct metric base;
    double *counts; /* [size]; owned */
    int64_t layer, size;
};

static void counts_release(struct metric *m)
{
    mem_free(((struct code_counts *)m)->counts);
}

static void counts_reset(struct metric *m)
{
    struct code_counts *s = (struct code_counts *)m;
    if (s->counts)
        memset(s->counts, 0, (size_t)s->size * sizeof(*s->counts));
}

static enum rc counts_update(struct metric *m, const struct metric_rows *rows,
                             struct err *err)
{
    struct code_counts *s = (struct code_counts *)m;
    for (int64_t i = 0; i < rows->n; i++) {
        float code = rows->pred[i * rows->width + s->layer];
        if (!(code >= 0 && code < (float)s->size))
            return err_set(err, RC_INVAL, "row %jd: %g is no code of layer %jd",
                           (intmax_t)i, (double)code, (intmax_t)s->layer);
        s->counts[(int64_t)code]++;
    }
    return RC_OK;
}

static enum rc counts_merge(struct metric *m, const struct metric *from, struct err *err)
{
    struct code_counts *s = (struct code_counts *)m;
    const struct code_counts *o = (const struct code_counts *)from;
    for (int64_t i = 0; i < s->size && i < o->size; i++)
        s->counts[i] += o->counts[i];
    return RC_OK;
}

static double counts_total(const struct code_counts *s)
{
    double sum = 0;
    for (int64_t i = 0; i < s->size; i++)
        sum += s->counts[i];
    return sum;
}

static enum rc use_compute(const struct metric *m, struct metric_value *out,
                           struct err *err)
{
    const struct code_counts *s = (const struct code_counts *)m;
    int64_t used = 0;
    for (int64_t i = 0; i < s->size; i++)
        used += s->counts[i] > 0;
    *out = used ? metric_number((double)used / (double)s->size)
                : metric_none("no rows with codes");
    return RC_OK;
}

/* Of the code that a row has, over that of codes given evenly. */
static enum rc entropy_compute(const struct metric *m, struct metric_value *out,
                               struct err *err)
{
    const struct code_counts *s = (const struct code_counts *)m;
    double total = counts_total(s), sum = 0;
    *out = metric_none(s->size < 2 ? "a layer of one code" : "no rows with codes");
    if (total <= 0 || s->size < 2)
        return RC_OK;
    for (int64_t i = 0; i < s->size; i++)
        if (s->counts[i] > 0)
            sum -= s->counts[i] / total * log(s->counts[i] / total);
    *out = metric_number(sum / log((double)s->size));
    return RC_OK;
}

static void counts_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    const struct code_counts *s = (const struct code_counts *)m;
    nn_state_add(out, STATE_F64, s->counts, s->size, "%scounts", prefix);
}

static enum rc counts_load(struct metric *m, const char *prefix,
                           const struct nn_state *in, struct err *err)
{
    struct code_counts *s = (struct code_counts *)m;
    enum rc rc = metric_copy(in, prefix, "counts", STATE_F64, s->counts, s->size, err);
    return rc ? rc : metric_check_counts(s->counts, s->size, err);
}

#define CODE_COUNTS_OPS                                                        \
    .size = sizeof(struct code_counts), .wants = METRIC_SCORES,                \
    .release = counts_release, .reset = counts_reset, .update = counts_update, \
    .merge = counts_merge, .save = counts_save, .load = counts_load

static const struct metric_ops code_use = {CODE_COUNTS_OPS, .name = "codebook_use",
                                           .compute = use_compute};
static const struct metric_ops code_entropy = {CODE_COUNTS_OPS, .name = "code_entropy",
                                               .compute = entropy_compute};

/* --- rows that share all codes with another --- */

struct code_kept {
    struct metric base;
    struct metric_kept rows; /* hashes */
};

static enum rc kept_init(struct metric *m, const struct msg *conf, struct err *err)
{
    ((struct code_kept *)m)->rows.size = sizeof(int64_t);
    return RC_OK;
}

static void kept_release(struct metric *m)
{
    metric_kept_release(&((struct code_kept *)m)->rows);
}

static void kept_reset(struct metric *m)
{
    ((struct code_kept *)m)->rows.n = 0;
}

static enum rc kept_update(struct metric *m, const struct metric_rows *rows,
                           struct err *err)
{
    struct code_kept *s = (struct code_kept *)m;
    enum rc rc = metric_kept_reserve(&s->rows, rows->n, m->max_rows, err);
    for (int64_t i = 0; i < rows->n && !rc; i++) {
        int64_t h = row_hash(rows, i);
        metric_kept_add(&s->rows, &h, 1);
    }
    return rc;
}

static enum rc kept_merge(struct metric *m, const struct metric *from, struct err *err)
{
    struct code_kept *s = (struct code_kept *)m;
    const struct code_kept *o = (const struct code_kept *)from;
    enum rc rc = metric_kept_reserve(&s->rows, o->rows.n, m->max_rows, err);
    if (!rc)
        metric_kept_add(&s->rows, o->rows.at, o->rows.n);
    return rc;
}

static enum rc kept_compute(const struct metric *m, struct metric_value *out,
                            struct err *err)
{
    const struct code_kept *s = (const struct code_kept *)m;
    int64_t n = s->rows.n;
    *out = metric_none("no rows with codes");
    if (n == 0)
        return RC_OK;
    int64_t *at = mem_try_alloc((size_t)n, sizeof(*at));
    if (!at)
        return err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)n);
    memcpy(at, s->rows.at, (size_t)n * sizeof(*at));
    *out = metric_number(1.0 - (double)count_distinct(at, n) / (double)n);
    mem_free(at);
    return RC_OK;
}

static void kept_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    const struct code_kept *s = (const struct code_kept *)m;
    nn_state_add(out, STATE_I64, s->rows.at, s->rows.n, "%srows", prefix);
}

static enum rc kept_load(struct metric *m, const char *prefix, const struct nn_state *in,
                         struct err *err)
{
    return metric_kept_load(&((struct code_kept *)m)->rows, STATE_I64, prefix, "rows", in,
                            m->max_rows, err);
}

static const struct metric_ops code_collisions = {
    .name = "sid_collisions",
    .size = sizeof(struct code_kept),
    .wants = METRIC_SCORES,
    .init = kept_init,
    .release = kept_release,
    .reset = kept_reset,
    .update = kept_update,
    .merge = kept_merge,
    .compute = kept_compute,
    .save = kept_save,
    .load = kept_load,
};

enum rc metric_create_codes(enum metric_codes kind, int64_t layer, int64_t size,
                            const struct metric_options *options, struct metric **out,
                            struct err *err)
{
    static const struct metric_ops *const all[] = {
        [METRIC_CODES_MSE] = &code_mse,
        [METRIC_CODES_RELATIVE] = &code_relative,
        [METRIC_CODES_UNIQUE] = &code_unique,
        [METRIC_CODES_COLLISIONS] = &code_collisions,
        [METRIC_CODES_USE] = &code_use,
        [METRIC_CODES_ENTROPY] = &code_entropy,
    };
    struct metric *m = NULL;
    enum rc rc = metric_make(all[kind], NULL, options, &m, err);
    if (rc || (kind != METRIC_CODES_USE && kind != METRIC_CODES_ENTROPY)) {
        *out = m;
        return rc;
    }
    struct code_counts *s = (struct code_counts *)m;
    s->layer = layer;
    s->size = size;
    s->counts = mem_try_calloc((size_t)size, sizeof(*s->counts));
    snprintf(m->name, sizeof(m->name), "%s_%jd", all[kind]->name, (intmax_t)layer);
    if (!s->counts) {
        metric_destroy(m);
        return err_set(err, RC_NOMEM, "no memory for %jd codes", (intmax_t)size);
    }
    *out = m;
    return RC_OK;
}
