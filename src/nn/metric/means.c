/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics that are sums over rows: errors, accuracy, recall, normalised entropy. Sums are
 * kept in double.
 */
#include <math.h>
#include <stdio.h>

#include "nn/metric/metric_private.h"
#include "text/pipeline/pipeline.h"

#define SUMS 3

struct mean {
    struct metric base;
    double sum[SUMS]; /* what is summed; rows; positives */
    double setting;   /* threshold, eta */
    int64_t top_k;
};
enum { SUM, ROWS, POSITIVES };

static void mean_reset(struct metric *m)
{
    struct mean *s = (struct mean *)m;
    for (int i = 0; i < SUMS; i++)
        s->sum[i] = 0;
}

static enum rc mean_merge(struct metric *m, const struct metric *from, struct err *err)
{
    struct mean *s = (struct mean *)m;
    const struct mean *o = (const struct mean *)from;
    if (s->setting != o->setting || s->top_k != o->top_k)
        return err_set(err, RC_INVAL, "other settings cannot be merged");
    for (int i = 0; i < SUMS; i++)
        s->sum[i] += o->sum[i];
    return RC_OK;
}

static enum rc mean_compute(const struct metric *m, struct metric_value *out,
                            struct err *err)
{
    const struct mean *s = (const struct mean *)m;
    *out = s->sum[ROWS] > 0 ? metric_number(s->sum[SUM] / s->sum[ROWS])
                            : metric_none("no rows");
    return RC_OK;
}

static void mean_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    nn_state_add(out, STATE_F64, ((const struct mean *)m)->sum, SUMS, "%ssums", prefix);
}

static enum rc mean_load(struct metric *m, const char *prefix, const struct nn_state *in,
                         struct err *err)
{
    struct mean *s = (struct mean *)m;
    enum rc rc = metric_copy(in, prefix, "sums", STATE_F64, s->sum, SUMS, err);
    return rc ? rc : metric_check_counts(s->sum, SUMS, err);
}

/* What all of them do alike. */
#define MEAN_OPS                                                           \
    .size = sizeof(struct mean), .reset = mean_reset, .merge = mean_merge, \
    .save = mean_save, .load = mean_load

static enum rc absolute_update(struct metric *m, const struct metric_rows *rows,
                               struct err *err)
{
    struct mean *s = (struct mean *)m;
    for (int64_t i = 0; i < rows->n; i++)
        s->sum[SUM] += fabs((double)rows->pred[i] - (double)rows->label[i]);
    s->sum[ROWS] += (double)rows->n;
    return RC_OK;
}

const struct metric_ops metric_mean_absolute_error = {
    MEAN_OPS,
    .name = "mean_absolute_error",
    .wants = METRIC_VALUE,
    .update = absolute_update,
    .compute = mean_compute,
};

static enum rc squared_update(struct metric *m, const struct metric_rows *rows,
                              struct err *err)
{
    struct mean *s = (struct mean *)m;
    for (int64_t i = 0; i < rows->n; i++) {
        double d = (double)rows->pred[i] - (double)rows->label[i];
        s->sum[SUM] += d * d;
    }
    s->sum[ROWS] += (double)rows->n;
    return RC_OK;
}

const struct metric_ops metric_mean_squared_error = {
    MEAN_OPS,
    .name = "mean_squared_error",
    .wants = METRIC_VALUE,
    .update = squared_update,
    .compute = mean_compute,
};

static enum rc set_top_k(struct mean *s, uint32_t top_k, struct err *err)
{
    s->top_k = top_k;
    return top_k > 0 ? RC_OK : err_set(err, RC_INVAL, "top_k must be above 0");
}

static enum rc accuracy_init(struct metric *m, const struct msg *conf, struct err *err)
{
    const struct pc_Accuracy *c = (const void *)conf;
    ((struct mean *)m)->setting = c->threshold;
    return set_top_k((struct mean *)m, c->top_k, err);
}

/* Whether the label is among the k best classes; of equal ones the lower comes first. */
static bool class_in_top(const float *p, int64_t n, int64_t label, int64_t k)
{
    int64_t before = 0;
    for (int64_t i = 0; i < n; i++)
        before += p[i] > p[label] || (p[i] == p[label] && i < label);
    return before < k;
}

static enum rc accuracy_update(struct metric *m, const struct metric_rows *rows,
                               struct err *err)
{
    struct mean *s = (struct mean *)m;
    float threshold = (float)s->setting;
    bool binary = rows->width == 1;
    enum rc rc =
        binary ? metric_check_binary(rows, err) : metric_check_classes(rows, 0, err);
    if (rc)
        return rc;
    for (int64_t i = 0; i < rows->n; i++) {
        const float *p = rows->pred + i * rows->width;
        bool right =
            binary ? (p[0] > threshold) == (rows->label[i] == 1.0f)
                   : class_in_top(p, rows->width, (int64_t)rows->label[i], s->top_k);
        s->sum[SUM] += right;
    }
    s->sum[ROWS] += (double)rows->n;
    return RC_OK;
}

const struct metric_ops metric_accuracy = {
    MEAN_OPS,
    .name = "accuracy",
    .wants = METRIC_EITHER,
    .init = accuracy_init,
    .update = accuracy_update,
    .compute = mean_compute,
};

static enum rc recall_init(struct metric *m, const struct msg *conf, struct err *err)
{
    const struct pc_RecallAtK *c = (const void *)conf;
    snprintf(m->name, sizeof(m->name), "recall@%u", c->top_k);
    return set_top_k((struct mean *)m, c->top_k, err);
}

static enum rc recall_update(struct metric *m, const struct metric_rows *rows,
                             struct err *err)
{
    struct mean *s = (struct mean *)m;
    enum rc rc = metric_check_classes(rows, -1, err);
    if (rc)
        return rc;
    for (int64_t i = 0; i < rows->n; i++) {
        const float *p = rows->pred + i * rows->width;
        int64_t target = (int64_t)rows->label[i], before = 0;
        if (target < 0)
            continue;
        for (int64_t k = 0; k < rows->width; k++)
            before += k != target && p[k] >= p[target];
        s->sum[SUM] += before < s->top_k;
        s->sum[ROWS] += 1;
    }
    return RC_OK;
}

static enum rc recall_compute(const struct metric *m, struct metric_value *out,
                              struct err *err)
{
    const struct mean *s = (const struct mean *)m;
    *out = s->sum[ROWS] > 0 ? metric_number(s->sum[SUM] / s->sum[ROWS])
                            : metric_none("no targets");
    return RC_OK;
}

const struct metric_ops metric_recall_at_k = {
    MEAN_OPS,
    .name = "recall_at_k",
    .wants = METRIC_SCORES,
    .init = recall_init,
    .update = recall_update,
    .compute = recall_compute,
};

static enum rc entropy_init(struct metric *m, const struct msg *conf, struct err *err)
{
    double eta = ((const struct pc_NormalizedEntropy *)(const void *)conf)->eta;
    ((struct mean *)m)->setting = eta;
    if (!(eta >= 0 && eta < 0.5))
        return err_set(err, RC_INVAL, "eta: %g is outside [0, 0.5)", eta);
    return RC_OK;
}

static enum rc check_shares(const struct metric_rows *rows, struct err *err)
{
    for (int64_t i = 0; i < rows->n; i++) {
        double p = (double)rows->pred[i], y = (double)rows->label[i];
        if (!(p >= 0 && p <= 1))
            return err_set(err, RC_INVAL, "row %jd: prediction %g is outside [0, 1]",
                           (intmax_t)i, p);
        if (!(y >= 0 && y <= 1))
            return err_set(err, RC_INVAL, "row %jd: label %g is outside [0, 1]",
                           (intmax_t)i, y);
    }
    return RC_OK;
}

static enum rc entropy_update(struct metric *m, const struct metric_rows *rows,
                              struct err *err)
{
    struct mean *s = (struct mean *)m;
    enum rc rc = check_shares(rows, err);
    if (rc)
        return rc;
    for (int64_t i = 0; i < rows->n; i++) {
        double p = (double)rows->pred[i], y = (double)rows->label[i];
        s->sum[SUM] -= y * fmax(log(p), -100) + (1 - y) * fmax(log(1 - p), -100);
        s->sum[POSITIVES] += y;
    }
    s->sum[ROWS] += (double)rows->n;
    return RC_OK;
}

static enum rc entropy_compute(const struct metric *m, struct metric_value *out,
                               struct err *err)
{
    const struct mean *s = (const struct mean *)m;
    double n = s->sum[ROWS], p = s->sum[POSITIVES], q = n - p;
    if (n == 0 || p == 0 || q == 0) {
        *out = metric_none(n == 0   ? "no rows"
                           : p == 0 ? "all labels are 0"
                                    : "all labels are 1");
        return RC_OK;
    }
    double r = fmin(fmax(p / n, s->setting), 1 - s->setting);
    *out = metric_number(s->sum[SUM] / -(p * log(r) + q * log(1 - r)));
    return RC_OK;
}

const struct metric_ops metric_normalized_entropy = {
    MEAN_OPS,
    .name = "normalized_entropy",
    .wants = METRIC_PROB,
    .init = entropy_init,
    .update = entropy_update,
    .compute = entropy_compute,
};
