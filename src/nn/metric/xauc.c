/* SPDX-License-Identifier: Apache-2.0 */
/* XAUC: the share of row pairs that are in the right order. All rows are kept, or with
 * `in_batch` each batch is counted by itself. Pairs are drawn at random as often as asked;
 * from DRAWS_PER_ROW draws per row on, counting all of them costs less and is exact.
 */
#include "nn/metric/metric_private.h"
#include "nn/metric/pairs.h"
#include "text/pipeline/pipeline.h"

#define STREAM 0x78617563 /* of random numbers */
/* Draws per row from which counting all pairs is cheaper, and exact. */
#define DRAWS_PER_ROW 64

struct xauc {
    struct metric base;
    bool in_batch;
    double ratio;
    uint64_t max_pairs;
    /* in_batch */
    double sum; /* of the values of batches */
    int64_t batches;
    struct metric_pairs pairs;
    /* else: all rows */
    struct metric_kept pred, label;
};

static enum rc xauc_init(struct metric *m, const struct msg *conf, struct err *err)
{
    struct xauc *x = (struct xauc *)m;
    const struct pc_XAUC *c = (const void *)conf;
    x->in_batch = c->in_batch;
    x->ratio = c->sample_ratio;
    x->max_pairs = c->max_pairs;
    x->pred.size = x->label.size = sizeof(float);
    if (!(x->ratio > 0 && x->ratio <= 1))
        return err_set(err, RC_INVAL, "sample_ratio: %g is outside (0, 1]", x->ratio);
    return RC_OK;
}

static void xauc_release(struct metric *m)
{
    struct xauc *x = (struct xauc *)m;
    metric_kept_release(&x->pred);
    metric_kept_release(&x->label);
    metric_pairs_release(&x->pairs);
}

static void xauc_reset(struct metric *m)
{
    struct xauc *x = (struct xauc *)m;
    x->sum = 0;
    x->batches = 0;
    x->pred.n = x->label.n = 0;
}

static enum rc keep(struct xauc *x, const float *pred, const float *label, int64_t n,
                    struct err *err)
{
    enum rc rc = metric_kept_reserve(&x->pred, n, x->base.max_rows, err);
    if (rc == RC_OK)
        rc = metric_kept_reserve(&x->label, n, x->base.max_rows, err);
    if (rc)
        return rc;
    metric_kept_add(&x->pred, pred, n);
    metric_kept_add(&x->label, label, n);
    return RC_OK;
}

static enum rc xauc_update(struct metric *m, const struct metric_rows *rows,
                           struct err *err)
{
    struct xauc *x = (struct xauc *)m;
    uint64_t right = 0;
    if (!x->in_batch)
        return keep(x, rows->pred, rows->label, rows->n, err);
    if (rows->n < 2)
        return RC_OK; /* has no pairs */
    enum rc rc =
        metric_pairs_count(&x->pairs, rows->pred, rows->label, rows->n, &right, err);
    if (rc)
        return rc;
    x->sum += (double)right / (double)metric_pairs_total(rows->n);
    x->batches++;
    return RC_OK;
}

static enum rc xauc_merge(struct metric *m, const struct metric *from, struct err *err)
{
    struct xauc *x = (struct xauc *)m;
    const struct xauc *o = (const struct xauc *)from;
    if (x->in_batch != o->in_batch || x->ratio != o->ratio ||
        x->max_pairs != o->max_pairs)
        return err_set(err, RC_INVAL, "other settings cannot be merged");
    enum rc rc = keep(x, o->pred.at, o->label.at, o->pred.n, err);
    if (rc)
        return rc;
    x->sum += o->sum;
    x->batches += o->batches;
    return RC_OK;
}

static enum rc compute_kept(const struct xauc *x, struct metric_value *out,
                            struct err *err)
{
    int64_t n = x->pred.n;
    uint64_t total = metric_pairs_total(n), right = 0;
    uint64_t draws = x->max_pairs ? x->max_pairs : (uint64_t)((double)total * x->ratio);
    if (total == 0 || draws == 0) {
        *out = metric_none(total == 0 ? "fewer than two rows"
                                      : "sample_ratio takes none of the few pairs");
        return RC_OK;
    }
    bool all = x->max_pairs >= total || draws / DRAWS_PER_ROW >= (uint64_t)n;
    if (all) {
        struct metric_pairs pairs = {0};
        enum rc rc = metric_pairs_count(&pairs, x->pred.at, x->label.at, n, &right, err);
        metric_pairs_release(&pairs);
        if (rc)
            return rc;
        draws = total;
    } else {
        struct rng rng;
        rng_init(&rng, x->base.seed, STREAM, 0, 0);
        right = metric_pairs_sample(&rng, x->pred.at, x->label.at, n, draws);
    }
    *out = metric_number((double)right / (double)draws);
    return RC_OK;
}

static enum rc xauc_compute(const struct metric *m, struct metric_value *out,
                            struct err *err)
{
    const struct xauc *x = (const struct xauc *)m;
    if (!x->in_batch)
        return compute_kept(x, out, err);
    *out = x->batches ? metric_number(x->sum / (double)x->batches)
                      : metric_none("no batch of two rows");
    return RC_OK;
}

static void xauc_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    const struct xauc *x = (const struct xauc *)m;
    nn_state_add(out, STATE_F64, &x->sum, 1, "%ssum", prefix);
    nn_state_add(out, STATE_I64, &x->batches, 1, "%sbatches", prefix);
    nn_state_add(out, STATE_F32, x->pred.at, x->pred.n, "%spred", prefix);
    nn_state_add(out, STATE_F32, x->label.at, x->label.n, "%slabel", prefix);
}

static enum rc xauc_load(struct metric *m, const char *prefix, const struct nn_state *in,
                         struct err *err)
{
    struct xauc *x = (struct xauc *)m;
    enum rc rc = metric_copy(in, prefix, "sum", STATE_F64, &x->sum, 1, err);
    if (rc == RC_OK)
        rc = metric_copy(in, prefix, "batches", STATE_I64, &x->batches, 1, err);
    if (rc == RC_OK)
        rc = metric_check_counts(&x->sum, 1, err);
    if (rc == RC_OK && x->batches < 0)
        rc = err_set(err, RC_FORMAT, "%jd batches", (intmax_t)x->batches);
    if (rc == RC_OK)
        rc = metric_kept_load(&x->pred, STATE_F32, prefix, "pred", in, m->max_rows, err);
    if (rc == RC_OK)
        rc =
            metric_kept_load(&x->label, STATE_F32, prefix, "label", in, m->max_rows, err);
    if (rc == RC_OK && x->pred.n != x->label.n)
        rc = err_set(err, RC_FORMAT, "%jd predictions and %jd labels",
                     (intmax_t)x->pred.n, (intmax_t)x->label.n);
    return rc;
}

const struct metric_ops metric_xauc = {
    .name = "xauc",
    .size = sizeof(struct xauc),
    .wants = METRIC_VALUE,
    .init = xauc_init,
    .release = xauc_release,
    .reset = xauc_reset,
    .update = xauc_update,
    .merge = xauc_merge,
    .compute = xauc_compute,
    .save = xauc_save,
    .load = xauc_load,
};
