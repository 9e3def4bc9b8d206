/* SPDX-License-Identifier: Apache-2.0 */
/* Every decay_step batches the window's value is mixed into the average and the window
 * starts anew. For auc it is the counts that are mixed: H = d H + (1 - d) new, and the
 * value is the AUC of H. A window without a value (labels of one class) changes nothing.
 */
#include "nn/metric/decayed.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "nn/metric/bins.h"

struct decayed {
    struct metric base;
    struct metric *window; /* owned */
    double rate;
    int64_t step;
    int64_t count;           /* batches in the window */
    int64_t refreshed;       /* times */
    double value;            /* not of auc */
    struct metric_bins bins; /* of auc */
};

static bool by_counts(const struct decayed *d)
{
    return d->window->ops == &metric_auc;
}

const struct metric *metric_decayed_window(const struct metric *m)
{
    return ((const struct decayed *)m)->window;
}

enum rc metric_decayed_create(struct metric *window, double rate, uint32_t step,
                              struct metric **out, struct err *err)
{
    struct metric_options options = {.seed = window->seed, .max_rows = window->max_rows};
    struct metric *m = NULL;
    enum rc rc = metric_make(&metric_decayed, NULL, &options, &m, err);
    if (rc) {
        metric_destroy(window);
        return rc;
    }
    struct decayed *d = (struct decayed *)m;
    d->window = window;
    d->rate = rate;
    d->step = step;
    memcpy(m->name, window->name, sizeof(m->name));
    if (!(rate >= 0 && rate <= 1))
        rc =
            err_set(err, RC_INVAL, "%s: decay_rate: %g is outside [0, 1]", m->name, rate);
    else if (step == 0)
        rc = err_set(err, RC_INVAL, "%s: decay_step must be above 0", m->name);
    else if (by_counts(d))
        rc = metric_bins_init(&d->bins, metric_auc_bins(window)->n, err);
    if (rc) {
        metric_destroy(m);
        return rc;
    }
    *out = m;
    return RC_OK;
}

static void decayed_release(struct metric *m)
{
    struct decayed *d = (struct decayed *)m;
    metric_destroy(d->window);
    metric_bins_release(&d->bins);
}

static void decayed_reset(struct metric *m)
{
    struct decayed *d = (struct decayed *)m;
    metric_reset(d->window);
    d->count = d->refreshed = 0;
    d->value = 0;
    if (by_counts(d))
        metric_bins_reset(&d->bins);
}

static void mix(double *old, const double *new, int64_t n, double keep)
{
    for (int64_t i = 0; i < n; i++)
        old[i] = keep * old[i] + (1 - keep) * new[i];
}

static void refresh_counts(struct decayed *d)
{
    const struct metric_bins *new = metric_auc_bins(d->window);
    double keep = d->refreshed ? d->rate : 0;
    mix(d->bins.negative, new->negative, new->n, keep);
    mix(d->bins.positive, new->positive, new->n, keep);
    d->refreshed++;
}

static enum rc refresh_value(struct decayed *d, struct err *err)
{
    struct metric_value v;
    enum rc rc = metric_compute(d->window, &v, err);
    if (rc || !v.defined)
        return rc;
    d->value = d->value == 0 ? v.value : d->rate * d->value + (1 - d->rate) * v.value;
    d->refreshed++;
    return RC_OK;
}

static enum rc decayed_update(struct metric *m, const struct metric_rows *rows,
                              struct err *err)
{
    struct decayed *d = (struct decayed *)m;
    enum rc rc = d->window->ops->update(d->window, rows, err);
    if (rc || ++d->count < d->step)
        return rc;
    if (by_counts(d))
        refresh_counts(d);
    else
        rc = refresh_value(d, err);
    d->count = 0;
    metric_reset(d->window);
    return rc;
}

static enum rc decayed_merge(struct metric *m, const struct metric *from, struct err *err)
{
    struct decayed *d = (struct decayed *)m;
    const struct decayed *o = (const struct decayed *)from;
    if (d->rate != o->rate || d->step != o->step)
        return err_set(err, RC_INVAL, "other settings cannot be merged");
    if (!by_counts(d) && (d->refreshed || o->refreshed))
        return err_set(err, RC_UNSUPPORTED, "moving averages cannot be merged");
    enum rc rc = d->window->ops->merge(d->window, o->window, err);
    if (rc)
        return rc;
    if (by_counts(d))
        metric_bins_add(&d->bins, &o->bins);
    d->count += o->count;
    d->refreshed += o->refreshed;
    return RC_OK;
}

static enum rc decayed_compute(const struct metric *m, struct metric_value *out,
                               struct err *err)
{
    const struct decayed *d = (const struct decayed *)m;
    if (d->refreshed == 0)
        *out = metric_none("fewer batches than decay_step so far");
    else
        *out = by_counts(d) ? metric_bins_auc(&d->bins) : metric_number(d->value);
    return RC_OK;
}

static void decayed_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    const struct decayed *d = (const struct decayed *)m;
    char *inner = mem_printf("%swindow.", prefix);
    nn_state_add(out, STATE_I64, &d->count, 1, "%scount", prefix);
    nn_state_add(out, STATE_I64, &d->refreshed, 1, "%srefreshed", prefix);
    if (by_counts(d))
        metric_bins_save(&d->bins, prefix, out);
    else
        nn_state_add(out, STATE_F64, &d->value, 1, "%svalue", prefix);
    metric_save(d->window, inner, out);
    mem_free(inner);
}

static enum rc decayed_load(struct metric *m, const char *prefix,
                            const struct nn_state *in, struct err *err)
{
    struct decayed *d = (struct decayed *)m;
    char *inner = mem_printf("%swindow.", prefix);
    enum rc rc = metric_copy(in, prefix, "count", STATE_I64, &d->count, 1, err);
    if (rc == RC_OK)
        rc = metric_copy(in, prefix, "refreshed", STATE_I64, &d->refreshed, 1, err);
    if (rc == RC_OK && (d->count < 0 || d->refreshed < 0))
        rc = err_set(err, RC_FORMAT, "%jd batches after %jd refreshes",
                     (intmax_t)d->count, (intmax_t)d->refreshed);
    if (rc == RC_OK && by_counts(d))
        rc = metric_bins_load(&d->bins, prefix, in, err);
    else if (rc == RC_OK)
        rc = metric_copy(in, prefix, "value", STATE_F64, &d->value, 1, err);
    if (rc == RC_OK)
        rc = d->window->ops->load(d->window, inner, in, err);
    mem_free(inner);
    return rc;
}

const struct metric_ops metric_decayed = {
    .name = "train metric",
    .size = sizeof(struct decayed),
    .release = decayed_release,
    .reset = decayed_reset,
    .update = decayed_update,
    .merge = decayed_merge,
    .compute = decayed_compute,
    .save = decayed_save,
    .load = decayed_load,
};
