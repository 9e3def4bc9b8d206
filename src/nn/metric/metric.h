/* SPDX-License-Identifier: Apache-2.0 */
/* nn/metric/metric.h - how good predictions are: fed batch by batch, merged across ranks.
 *
 *     metric_create(conf, &options, &m, err)
 *     metric_update(m, &rows, err)     for each batch
 *     metric_merge(m, other, err)      what another rank has seen, behind ours
 *     metric_compute(m, &value, err)   any time; metric_reset() starts anew
 *
 * A metric that has no value (no rows, labels of one class) says so and why; it never
 * becomes a number. The definitions are TorchEasyRec's; where they leave something open:
 *
 *   auc, multiclass_auc   binned. A class that never occurs counts 0 in the macro mean
 *   exact_auc             exact and aware of ties; keeps 4 bytes per row
 *   recall_at_k           a tie counts against the target
 *   accuracy              of classes with equal scores the lower one is first
 *   xauc                  samples as configured as long as that is cheaper than counting
 *                         all pairs, which is what the sample estimates; 8 bytes per row
 *   grouped_auc, _xauc    keep 16 bytes per row; a group with no more pairs than
 *                         max_pairs_per_group is counted out
 *
 * Those that keep rows refuse more than max_rows (RC_NOMEM). Results do not depend on
 * threads; a metric belongs to one thread at a time.
 */
#ifndef NN_METRIC_METRIC_H
#define NN_METRIC_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "nn/state.h"

struct pc_MetricConfig;
struct pc_TrainMetricConfig;
struct metric;

#define METRIC_ROWS_MAX ((int64_t)1 << 31) /* kept by one metric */

/* What the predictions of a metric are. */
enum metric_wants {
    METRIC_PROB,   /* one probability per row */
    METRIC_PROBS,  /* one per class */
    METRIC_EITHER, /* one, or one per class */
    METRIC_VALUE,  /* one number */
    METRIC_SCORES, /* one per candidate */
};

struct metric_rows {
    int64_t n;
    const float *pred; /* [n][width] */
    int64_t width;     /* 1, or the number of classes or candidates */
    /* [n]: 0 or 1, the number of the class, a value; for recall_at_k the column of the
     * target, -1 when there is none.
     */
    const float *label;
    const int64_t *group; /* [n]; for metrics that have a grouping key, else NULL */
};

struct metric_value {
    bool defined;
    double value;
    const char *why; /* why there is none, or why it says little; static; or NULL */
};

struct metric_options {
    uint64_t seed;    /* of sampled pairs */
    int64_t max_rows; /* 0: METRIC_ROWS_MAX */
};

/* RC_INVAL: no metric is named (E0382), or a setting is out of range; RC_NOMEM. */
enum rc metric_create(const struct pc_MetricConfig *conf,
                      const struct metric_options *options, struct metric **out,
                      struct err *err) MUST_CHECK;
/* A moving average: refreshed every decay_step batches, without a value before that. */
enum rc metric_create_train(const struct pc_TrainMetricConfig *conf,
                            const struct metric_options *options, struct metric **out,
                            struct err *err) MUST_CHECK;
enum rc metric_create_exact_auc(const struct metric_options *options, struct metric **out,
                                struct err *err) MUST_CHECK;
void metric_destroy(struct metric *m); /* NULL is fine */

const char *metric_name(const struct metric *m); /* "auc", "recall@5": key of results */
enum metric_wants metric_wants(const struct metric *m);
const char *metric_grouping_key(const struct metric *m); /* NULL for most */

/* RC_INVAL: a prediction or label is NaN or not what the metric can use, with its row;
 * RC_NOMEM. On failure nothing was counted.
 */
enum rc metric_update(struct metric *m, const struct metric_rows *rows,
                      struct err *err) MUST_CHECK;
/* `from` must be of the same settings (RC_INVAL) and is left alone. RC_UNSUPPORTED: a
 * moving average other than auc that has been refreshed.
 */
enum rc metric_merge(struct metric *m, const struct metric *from,
                     struct err *err) MUST_CHECK;
/* RC_NOMEM: some have to sort. */
enum rc metric_compute(const struct metric *m, struct metric_value *out,
                       struct err *err) MUST_CHECK;
void metric_reset(struct metric *m);

/* Lists everything that was seen, each name with `prefix` before it. Valid until the next
 * update.
 */
void metric_save(const struct metric *m, const char *prefix, struct nn_state *out);
/* Into a metric of the same settings. RC_NOTFOUND, RC_FORMAT, RC_NOMEM; then it is reset.
 */
enum rc metric_load(struct metric *m, const char *prefix, const struct nn_state *in,
                    struct err *err) MUST_CHECK;

#endif
