/* SPDX-License-Identifier: Apache-2.0 */
/* What all metrics share: the table of kinds, making one from its message, checks of rows and
 * labels before a kind sees them, and the steps in which every kind is used (update, merge,
 * compute, reset, save, load). Arrays that grow with the rows (struct metric_kept) are here too: they
 * have a limit, and fail rather than grow beyond it.
 */
#include "nn/metric/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "nn/metric/decayed.h"
#include "nn/metric/metric_private.h"
#include "text/pipeline/pipeline.h"

static const struct metric_ops *const all[] = {
#define METRIC(name, message, file, needs, doc) &metric_##name,
#include "text/pipeline/metrics.def"
};

const struct metric_ops *metric_ops_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

/* A failure with words gets the metric's name before them; one without, or with an answer that
 * is no code of failure, has it.
 */
static enum rc failed(const struct err_call *call, enum rc rc)
{
    bool spoke = call->err && call->err->msg[0];
    bool known = rc < RC_OK && rc >= RC_CANCELED;
    rc = err_leave(call, rc);
    return spoke && known ? err_wrap(call->err, rc, "%s", call->name) : rc;
}

static enum rc ended(const struct err_call *call, enum rc rc)
{
    return rc ? failed(call, rc) : err_leave(call, rc);
}

enum rc metric_make(const struct metric_ops *ops, const struct msg *conf,
                    const struct metric_options *options, struct metric **out,
                    struct err *err)
{
    struct metric *m = mem_calloc(1, ops->size);
    int64_t most = options->max_rows;
    m->ops = ops;
    m->seed = options->seed;
    m->max_rows = most > 0 && most < METRIC_ROWS_MAX ? most : METRIC_ROWS_MAX;
    snprintf(m->name, sizeof(m->name), "%s", ops->name);
    struct err_call call = err_enter(err, "metric", ops->name, "init");
    enum rc rc = ops->init ? ops->init(m, conf, err) : RC_OK;
    if (rc) {
        metric_destroy(m);
        return failed(&call, rc);
    }
    (void)err_leave(&call, rc);
    *out = m;
    return RC_OK;
}

static const struct metric_ops *named(const struct msg *m, const struct msg **conf,
                                      struct err *err)
{
    const struct field_def *f = schema_oneof(m, "metric", conf);
    const struct metric_ops *ops = f ? metric_ops_find(f->name) : NULL;
    if (!f)
        err_coded(err, RC_INVAL, E0382, "no metric is named");
    else if (!ops)
        err_set(err, RC_INVAL, "there is no metric '%s'", f->name);
    return ops;
}

enum rc metric_create(const struct pc_MetricConfig *conf,
                      const struct metric_options *options, struct metric **out,
                      struct err *err)
{
    const struct msg *inner = NULL;
    const struct metric_ops *ops = named(&conf->base, &inner, err);
    return ops ? metric_make(ops, inner, options, out, err) : RC_INVAL;
}

enum rc metric_create_train(const struct pc_TrainMetricConfig *conf,
                            const struct metric_options *options, struct metric **out,
                            struct err *err)
{
    const struct msg *inner = NULL;
    const struct metric_ops *ops = named(&conf->base, &inner, err);
    struct metric *window = NULL;
    if (!ops)
        return RC_INVAL;
    enum rc rc = metric_make(ops, inner, options, &window, err);
    return rc ? rc
              : metric_decayed_create(window, conf->decay_rate, conf->decay_step, out,
                                      err);
}

enum rc metric_create_exact_auc(const struct metric_options *options, struct metric **out,
                                struct err *err)
{
    return metric_make(&metric_exact_auc, NULL, options, out, err);
}

void metric_destroy(struct metric *m)
{
    if (!m)
        return;
    if (m->ops->release)
        m->ops->release(m);
    mem_free(m);
}

const char *metric_name(const struct metric *m)
{
    return m->name;
}

enum metric_wants metric_wants(const struct metric *m)
{
    return m->ops == &metric_decayed ? metric_wants(metric_decayed_window(m))
                                     : m->ops->wants;
}

const char *metric_grouping_key(const struct metric *m)
{
    return m->grouping_key;
}

/* The width that the metric can use, no NaN. */
static enum rc check_rows(const struct metric *m, const struct metric_rows *rows,
                          struct err *err)
{
    enum metric_wants wants = metric_wants(m);
    bool one = wants == METRIC_PROB || wants == METRIC_VALUE;
    bool many = wants == METRIC_PROBS || wants == METRIC_SCORES;
    if (rows->width < 1 || (one && rows->width != 1) ||
        (wants == METRIC_PROBS && rows->width < 2))
        return err_set(err, RC_INVAL, "%jd predictions per row, not %s",
                       (intmax_t)rows->width, many ? "one per class" : "1");
    if (m->ops->grouped && !rows->group)
        return err_set(err, RC_INVAL, "there are no ids of '%s' to group by",
                       m->grouping_key);
    for (int64_t i = 0; i < rows->n; i++) {
        if (isnan(rows->label[i]))
            return err_set(err, RC_INVAL, "row %jd: the label is NaN", (intmax_t)i);
        for (int64_t k = 0; k < rows->width; k++)
            if (isnan(rows->pred[i * rows->width + k]))
                return err_set(err, RC_INVAL, "row %jd: the prediction is NaN",
                               (intmax_t)i);
    }
    return RC_OK;
}

enum rc metric_update(struct metric *m, const struct metric_rows *rows, struct err *err)
{
    struct err_call call = err_enter(err, "metric", m->name, "update");
    enum rc rc = check_rows(m, rows, err);
    return ended(&call, rc ? rc : m->ops->update(m, rows, err));
}

enum rc metric_merge(struct metric *m, const struct metric *from, struct err *err)
{
    struct err_call call = err_enter(err, "metric", m->name, "merge");
    enum rc rc = RC_OK;
    if (m->ops != from->ops || strcmp(m->name, from->name) != 0)
        rc = err_set(err, RC_INVAL, "cannot be merged with %s", from->name);
    else
        rc = m->ops->merge(m, from, err);
    return ended(&call, rc);
}

enum rc metric_compute(const struct metric *m, struct metric_value *out, struct err *err)
{
    struct err_call call = err_enter(err, "metric", m->name, "compute");
    *out = metric_none(NULL);
    enum rc rc = ended(&call, m->ops->compute(m, out, err));
    if (!out->defined && !out->why)
        out->why = "it gives no reason";
    if (out->defined && isnan(out->value))
        out->value = (double)NAN; /* without a sign, which would be shown */
    return rc;
}

void metric_reset(struct metric *m)
{
    m->ops->reset(m);
}

void metric_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    m->ops->save(m, prefix, out);
}

enum rc metric_load(struct metric *m, const char *prefix, const struct nn_state *in,
                    struct err *err)
{
    metric_reset(m);
    struct err_call call = err_enter(err, "metric", m->name, "load");
    enum rc rc = ended(&call, m->ops->load(m, prefix, in, err));
    if (rc)
        metric_reset(m);
    return rc;
}

enum rc metric_check_binary(const struct metric_rows *rows, struct err *err)
{
    for (int64_t i = 0; i < rows->n; i++)
        if (rows->label[i] != 0.0f && rows->label[i] != 1.0f)
            return err_set(err, RC_INVAL, "row %jd: label %g is neither 0 nor 1",
                           (intmax_t)i, (double)rows->label[i]);
    return RC_OK;
}

enum rc metric_check_classes(const struct metric_rows *rows, int low, struct err *err)
{
    for (int64_t i = 0; i < rows->n; i++) {
        float v = rows->label[i];
        if (!(v >= (float)low && v < (float)rows->width) || v != floorf(v))
            return err_set(err, RC_INVAL, "row %jd: label %g is none of %d to %jd",
                           (intmax_t)i, (double)v, low, (intmax_t)rows->width - 1);
    }
    return RC_OK;
}

enum rc metric_copy(const struct nn_state *in, const char *prefix, const char *key,
                    enum nn_state_type type, void *to, int64_t n, struct err *err)
{
    char *name = mem_printf("%s%s", prefix, key);
    enum rc rc = nn_state_copy(in, name, type, to, n, err);
    mem_free(name);
    return rc;
}

enum rc metric_check_counts(const double *at, int64_t n, struct err *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!(at[i] >= 0) || isinf(at[i]))
            return err_set(err, RC_FORMAT, "%g is not a count", at[i]);
    return RC_OK;
}

enum rc metric_kept_reserve(struct metric_kept *k, int64_t more, int64_t max,
                            struct err *err)
{
    if (more > max - k->n)
        return err_set(err, RC_NOMEM, "more than %jd rows would have to be kept",
                       (intmax_t)max);
    if (k->n + more <= k->cap)
        return RC_OK;
    int64_t cap = k->cap ? k->cap : 1024;
    while (cap < k->n + more)
        cap *= 2; /* max is far from the end of int64_t */
    void *at = mem_try_realloc(k->at, (size_t)cap, k->size);
    if (!at)
        return err_set(err, RC_NOMEM, "no memory to keep %jd rows", (intmax_t)cap);
    k->at = at;
    k->cap = cap;
    return RC_OK;
}

void metric_kept_add(struct metric_kept *k, const void *at, int64_t n)
{
    if (n > 0)
        memcpy((char *)k->at + (size_t)k->n * k->size, at, (size_t)n * k->size);
    k->n += n;
}

void metric_kept_release(struct metric_kept *k)
{
    mem_free(k->at);
    *k = (struct metric_kept){.size = k->size};
}

enum rc metric_kept_load(struct metric_kept *k, enum nn_state_type type,
                         const char *prefix, const char *key, const struct nn_state *in,
                         int64_t max, struct err *err)
{
    const struct nn_state_item *item;
    char *name = mem_printf("%s%s", prefix, key);
    enum rc rc = nn_state_expect(in, name, type, -1, &item, err);
    mem_free(name);
    k->n = 0;
    if (rc == RC_OK)
        rc = metric_kept_reserve(k, item->n, max, err);
    if (rc == RC_OK)
        metric_kept_add(k, item->data, item->n);
    return rc;
}
