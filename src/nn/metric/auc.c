/* SPDX-License-Identifier: Apache-2.0 */
/* Binned AUC: of two classes, and of each class against the rest. Scores outside [0, 1]
 * are taken for logits, batch by batch.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "nn/metric/bins.h"
#include "text/pipeline/pipeline.h"

static bool all_probabilities(const float *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(p[i] >= 0.0f && p[i] <= 1.0f))
            return false;
    return true;
}

struct auc {
    struct metric base;
    struct metric_bins bins;
};

struct metric_bins *metric_auc_bins(struct metric *m)
{
    return &((struct auc *)m)->bins;
}

static enum rc auc_init(struct metric *m, const struct msg *conf, struct err *err)
{
    const struct pc_AUC *c = (const void *)conf;
    return metric_bins_init(metric_auc_bins(m), c->thresholds, err);
}

static void auc_release(struct metric *m)
{
    metric_bins_release(metric_auc_bins(m));
}

static void auc_reset(struct metric *m)
{
    metric_bins_reset(metric_auc_bins(m));
}

static enum rc auc_update(struct metric *m, const struct metric_rows *rows,
                          struct err *err)
{
    struct metric_bins *b = metric_auc_bins(m);
    bool logits = !all_probabilities(rows->pred, rows->n);
    enum rc rc = metric_check_binary(rows, err);
    if (rc)
        return rc;
    for (int64_t i = 0; i < rows->n; i++) {
        float p = rows->pred[i];
        if (logits)
            p = (float)(1 / (1 + exp(-(double)p)));
        double *count = rows->label[i] == 1.0f ? b->positive : b->negative;
        count[metric_bins_find(b->threshold, b->n, p)] += 1;
    }
    return RC_OK;
}

static enum rc auc_merge(struct metric *m, const struct metric *from, struct err *err)
{
    const struct metric_bins *other = &((const struct auc *)from)->bins;
    if (other->n != metric_auc_bins(m)->n)
        return err_set(err, RC_INVAL, "%jd thresholds cannot be merged with %jd",
                       (intmax_t)metric_auc_bins(m)->n, (intmax_t)other->n);
    metric_bins_add(metric_auc_bins(m), other);
    return RC_OK;
}

static enum rc auc_compute(const struct metric *m, struct metric_value *out,
                           struct err *err)
{
    *out = metric_bins_auc(&((const struct auc *)m)->bins);
    return RC_OK;
}

static void auc_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    metric_bins_save(&((const struct auc *)m)->bins, prefix, out);
}

static enum rc auc_load(struct metric *m, const char *prefix, const struct nn_state *in,
                        struct err *err)
{
    return metric_bins_load(metric_auc_bins(m), prefix, in, err);
}

const struct metric_ops metric_auc = {
    .name = "auc",
    .size = sizeof(struct auc),
    .wants = METRIC_PROB,
    .init = auc_init,
    .release = auc_release,
    .reset = auc_reset,
    .update = auc_update,
    .merge = auc_merge,
    .compute = auc_compute,
    .save = auc_save,
    .load = auc_load,
};

/* The number of classes is that of the first batch. */
struct multi {
    struct metric base;
    struct metric_bins first; /* for its thresholds; holds no counts */
    bool weighted;
    int64_t classes;
    double *negative, *positive; /* [classes][n] */
};

static enum rc multi_init(struct metric *m, const struct msg *conf, struct err *err)
{
    struct multi *u = (struct multi *)m;
    const struct pc_MulticlassAUC *c = (const void *)conf;
    u->weighted = strcmp(c->average, "weighted") == 0;
    if (!u->weighted && strcmp(c->average, "macro") != 0)
        return err_set(err, RC_INVAL, "average '%s' is neither macro nor weighted",
                       c->average);
    return metric_bins_init(&u->first, c->thresholds, err);
}

static void multi_reset(struct metric *m)
{
    struct multi *u = (struct multi *)m;
    mem_free(u->negative);
    mem_free(u->positive);
    u->negative = u->positive = NULL;
    u->classes = 0;
}

static void multi_release(struct metric *m)
{
    multi_reset(m);
    metric_bins_release(&((struct multi *)m)->first);
}

static enum rc multi_size(struct multi *u, int64_t classes, struct err *err)
{
    if (u->classes == classes)
        return RC_OK;
    if (u->classes)
        return err_set(err, RC_INVAL, "%jd classes after %jd", (intmax_t)classes,
                       (intmax_t)u->classes);
    if (classes > INT64_MAX / u->first.n)
        return err_set(err, RC_INVAL, "%jd classes are too many", (intmax_t)classes);
    size_t n = (size_t)(classes * u->first.n);
    u->negative = mem_try_calloc(n, sizeof(double));
    u->positive = mem_try_calloc(n, sizeof(double));
    if (!u->negative || !u->positive) {
        multi_reset(&u->base);
        return err_set(err, RC_NOMEM, "no memory for %jd thresholds of %jd classes",
                       (intmax_t)u->first.n, (intmax_t)classes);
    }
    u->classes = classes;
    return RC_OK;
}

/* Largest logit, and the sum of exp(logit - largest). */
static double softmax_sum(const float *p, int64_t n, double *top)
{
    double sum = 0;
    *top = (double)p[0];
    for (int64_t k = 1; k < n; k++)
        *top = fmax(*top, (double)p[k]);
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)p[k] - *top);
    return sum;
}

static enum rc multi_update(struct metric *m, const struct metric_rows *rows,
                            struct err *err)
{
    struct multi *u = (struct multi *)m;
    int64_t n = u->first.n, width = rows->width;
    bool logits = !all_probabilities(rows->pred, rows->n * width);
    enum rc rc = metric_check_classes(rows, 0, err);
    for (int64_t i = 0; rc == RC_OK && logits && i < rows->n * width; i++)
        if (isinf(rows->pred[i]))
            rc = err_set(err, RC_INVAL, "row %jd: the prediction is infinite",
                         (intmax_t)(i / width));
    if (rc == RC_OK)
        rc = multi_size(u, width, err);
    if (rc)
        return rc;
    for (int64_t i = 0; i < rows->n; i++) {
        const float *p = rows->pred + i * width;
        double top = 0, sum = logits ? softmax_sum(p, width, &top) : 1;
        for (int64_t k = 0; k < width; k++) {
            float v = logits ? (float)(exp((double)p[k] - top) / sum) : p[k];
            double *count = rows->label[i] == (float)k ? u->positive : u->negative;
            count[k * n + metric_bins_find(u->first.threshold, n, v)] += 1;
        }
    }
    return RC_OK;
}

static enum rc multi_merge(struct metric *m, const struct metric *from, struct err *err)
{
    struct multi *u = (struct multi *)m;
    const struct multi *o = (const struct multi *)from;
    if (u->first.n != o->first.n || u->weighted != o->weighted)
        return err_set(err, RC_INVAL, "other settings cannot be merged");
    if (o->classes == 0)
        return RC_OK;
    enum rc rc = multi_size(u, o->classes, err);
    for (int64_t i = 0; rc == RC_OK && i < u->classes * u->first.n; i++) {
        u->negative[i] += o->negative[i];
        u->positive[i] += o->positive[i];
    }
    return rc;
}

static enum rc multi_compute(const struct metric *m, struct metric_value *out,
                             struct err *err)
{
    const struct multi *u = (const struct multi *)m;
    int64_t n = u->first.n, occurring = 0;
    double sum = 0, weights = 0;
    for (int64_t k = 0; k < u->classes; k++) {
        double support = metric_bins_sum(u->positive + k * n, n);
        double weight = u->weighted ? support : 1;
        sum += weight * metric_bins_area(u->negative + k * n, u->positive + k * n, n);
        weights += weight;
        occurring += support > 0;
    }
    if (occurring == 0)
        *out = metric_none("no rows");
    else if (occurring == 1)
        *out = metric_none("all labels are of one class");
    else
        *out = metric_number(sum / weights);
    return RC_OK;
}

static void multi_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    const struct multi *u = (const struct multi *)m;
    int64_t n = u->classes * u->first.n;
    nn_state_add(out, STATE_I64, &u->classes, 1, "%sclasses", prefix);
    nn_state_add(out, STATE_F64, u->negative, n, "%snegative", prefix);
    nn_state_add(out, STATE_F64, u->positive, n, "%spositive", prefix);
}

static enum rc multi_load(struct metric *m, const char *prefix, const struct nn_state *in,
                          struct err *err)
{
    struct multi *u = (struct multi *)m;
    int64_t classes = 0;
    enum rc rc = metric_copy(in, prefix, "classes", STATE_I64, &classes, 1, err);
    if (rc == RC_OK && (classes < 0 || classes > INT32_MAX))
        rc = err_set(err, RC_FORMAT, "%jd classes", (intmax_t)classes);
    if (rc || classes == 0)
        return rc;
    /* Before memory is taken for it: is it there? */
    char *name = mem_printf("%snegative", prefix);
    const struct nn_state_item *item;
    rc = nn_state_expect(in, name, STATE_F64, classes * u->first.n, &item, err);
    mem_free(name);
    if (rc == RC_OK)
        rc = multi_size(u, classes, err);
    if (rc)
        return rc;
    struct metric_bins b = {
        .n = classes * u->first.n, .negative = u->negative, .positive = u->positive};
    return metric_bins_load(&b, prefix, in, err);
}

const struct metric_ops metric_multiclass_auc = {
    .name = "multiclass_auc",
    .size = sizeof(struct multi),
    .wants = METRIC_PROBS,
    .init = multi_init,
    .release = multi_release,
    .reset = multi_reset,
    .update = multi_update,
    .merge = multi_merge,
    .compute = multi_compute,
    .save = multi_save,
    .load = multi_load,
};
