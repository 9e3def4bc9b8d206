/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics per group of rows: all rows are kept and sorted by group when asked, so the
 * order in which groups arrive, and the number of ranks, do not matter.
 */
#include "base/mem.h"
#include "nn/metric/metric_private.h"
#include "nn/metric/pairs.h"
#include "nn/metric/sort.h"
#include "text/pipeline/pipeline.h"

#define STREAM 0x67786163 /* of random numbers */

struct grouped {
    struct metric base;
    uint64_t max_pairs;
    struct metric_kept group, pred, label;
};

static enum rc grouped_init(struct grouped *g, const char *key, struct err *err)
{
    g->base.grouping_key = key;
    g->group.size = sizeof(int64_t);
    g->pred.size = g->label.size = sizeof(float);
    return *key ? RC_OK : err_set(err, RC_INVAL, "there is no grouping_key");
}

static void grouped_release(struct metric *m)
{
    struct grouped *g = (struct grouped *)m;
    metric_kept_release(&g->group);
    metric_kept_release(&g->pred);
    metric_kept_release(&g->label);
}

static void grouped_reset(struct metric *m)
{
    struct grouped *g = (struct grouped *)m;
    g->group.n = g->pred.n = g->label.n = 0;
}

static enum rc keep(struct grouped *g, const int64_t *group, const float *pred,
                    const float *label, int64_t n, struct err *err)
{
    enum rc rc = metric_kept_reserve(&g->group, n, g->base.max_rows, err);
    if (rc == RC_OK)
        rc = metric_kept_reserve(&g->pred, n, g->base.max_rows, err);
    if (rc == RC_OK)
        rc = metric_kept_reserve(&g->label, n, g->base.max_rows, err);
    if (rc)
        return rc;
    metric_kept_add(&g->group, group, n);
    metric_kept_add(&g->pred, pred, n);
    metric_kept_add(&g->label, label, n);
    return RC_OK;
}

static enum rc grouped_merge(struct metric *m, const struct metric *from, struct err *err)
{
    struct grouped *g = (struct grouped *)m;
    const struct grouped *o = (const struct grouped *)from;
    if (g->max_pairs != o->max_pairs)
        return err_set(err, RC_INVAL, "other settings cannot be merged");
    return keep(g, o->group.at, o->pred.at, o->label.at, o->group.n, err);
}

static void grouped_save(const struct metric *m, const char *prefix, struct nn_state *out)
{
    const struct grouped *g = (const struct grouped *)m;
    nn_state_add(out, STATE_I64, g->group.at, g->group.n, "%sgroup", prefix);
    nn_state_add(out, STATE_F32, g->pred.at, g->pred.n, "%spred", prefix);
    nn_state_add(out, STATE_F32, g->label.at, g->label.n, "%slabel", prefix);
}

static enum rc grouped_load(struct metric *m, const char *prefix,
                            const struct nn_state *in, struct err *err)
{
    struct grouped *g = (struct grouped *)m;
    enum rc rc =
        metric_kept_load(&g->group, STATE_I64, prefix, "group", in, m->max_rows, err);
    if (rc == RC_OK)
        rc = metric_kept_load(&g->pred, STATE_F32, prefix, "pred", in, m->max_rows, err);
    if (rc == RC_OK)
        rc =
            metric_kept_load(&g->label, STATE_F32, prefix, "label", in, m->max_rows, err);
    if (rc == RC_OK && (g->group.n != g->pred.n || g->group.n != g->label.n))
        rc = err_set(err, RC_FORMAT, "%jd ids, %jd predictions and %jd labels",
                     (intmax_t)g->group.n, (intmax_t)g->pred.n, (intmax_t)g->label.n);
    return rc;
}

/* Rows with their group first; the caller fills `second` and sorts. NULL with `err`. */
static struct metric_sort_row *by_group(const struct grouped *g, struct err *err)
{
    int64_t n = g->group.n;
    const int64_t *group = g->group.at;
    struct metric_sort_row *rows = mem_try_alloc((size_t)n * 2 + 1, sizeof(*rows));
    if (!rows) {
        err_set(err, RC_NOMEM, "no memory to sort %jd rows", (intmax_t)n);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        rows[i] =
            (struct metric_sort_row){.first = (uint64_t)group[i], .second = (uint64_t)i};
    return rows;
}

/* End of the group that begins at `from`. */
static int64_t group_end(const struct metric_sort_row *rows, int64_t from, int64_t n)
{
    int64_t to = from + 1;
    while (to < n && rows[to].first == rows[from].first)
        to++;
    return to;
}

static enum rc auc_init(struct metric *m, const struct msg *conf, struct err *err)
{
    const struct pc_GroupedAUC *c = (const void *)conf;
    return grouped_init((struct grouped *)m, c->grouping_key, err);
}

static enum rc auc_update(struct metric *m, const struct metric_rows *rows,
                          struct err *err)
{
    enum rc rc = metric_check_binary(rows, err);
    return rc ? rc
              : keep((struct grouped *)m, rows->group, rows->pred, rows->label, rows->n,
                     err);
}

/* Of one group, its rows (score << 1 | label) ascending; -1 when a class is missing. */
static double group_auc(const struct metric_sort_row *rows, int64_t n)
{
    double negative = 0, positive = 0, won = 0;
    for (int64_t i = 0; i < n;) {
        double here[2] = {0};
        uint64_t score = rows[i].second >> 1;
        for (; i < n && rows[i].second >> 1 == score; i++)
            here[rows[i].second & 1] += 1;
        won += here[1] * (negative + here[0] / 2);
        negative += here[0];
        positive += here[1];
    }
    return negative > 0 && positive > 0 ? won / negative / positive : -1;
}

static enum rc auc_compute(const struct metric *m, struct metric_value *out,
                           struct err *err)
{
    const struct grouped *g = (const struct grouped *)m;
    int64_t n = g->group.n, groups = 0;
    const float *pred = g->pred.at, *label = g->label.at;
    double sum = 0;
    struct metric_sort_row *rows = by_group(g, err);
    if (!rows)
        return RC_NOMEM;
    for (int64_t i = 0; i < n; i++)
        rows[i].second = (uint64_t)metric_sort_key(pred[i]) << 1 | (label[i] == 1.0f);
    metric_sort_rows(rows, rows + n, n);
    for (int64_t i = 0, end = 0; i < n; i = end) {
        end = group_end(rows, i, n);
        double auc = group_auc(rows + i, end - i);
        if (auc >= 0) {
            sum += auc;
            groups++;
        }
    }
    mem_free(rows);
    *out = groups ? metric_number(sum / (double)groups)
                  : metric_none(n ? "no group has both labels" : "no rows");
    return RC_OK;
}

const struct metric_ops metric_grouped_auc = {
    .name = "grouped_auc",
    .size = sizeof(struct grouped),
    .wants = METRIC_PROB,
    .grouped = true,
    .init = auc_init,
    .release = grouped_release,
    .reset = grouped_reset,
    .update = auc_update,
    .merge = grouped_merge,
    .compute = auc_compute,
    .save = grouped_save,
    .load = grouped_load,
};

static enum rc xauc_init(struct metric *m, const struct msg *conf, struct err *err)
{
    struct grouped *g = (struct grouped *)m;
    const struct pc_GroupedXAUC *c = (const void *)conf;
    g->max_pairs = c->max_pairs_per_group;
    if (g->max_pairs == 0)
        return err_set(err, RC_INVAL, "max_pairs_per_group must be above 0");
    return grouped_init(g, c->grouping_key, err);
}

static enum rc xauc_update(struct metric *m, const struct metric_rows *rows,
                           struct err *err)
{
    return keep((struct grouped *)m, rows->group, rows->pred, rows->label, rows->n, err);
}

/* The share of right pairs of one group, its rows now side by side. */
static enum rc group_xauc(const struct grouped *g, struct metric_pairs *pairs,
                          uint64_t id, const float *pred, const float *label, int64_t n,
                          double *out, struct err *err)
{
    uint64_t total = metric_pairs_total(n), right = 0;
    if (total <= g->max_pairs) {
        enum rc rc = metric_pairs_count(pairs, pred, label, n, &right, err);
        if (rc == RC_OK)
            *out = (double)right / (double)total;
        return rc;
    }
    struct rng rng;
    rng_init(&rng, g->base.seed, STREAM, 0, id);
    right = metric_pairs_sample(&rng, pred, label, n, g->max_pairs);
    *out = (double)right / (double)g->max_pairs;
    return RC_OK;
}

/* `sorted` has room for both columns. */
static enum rc walk_groups(const struct grouped *g, const struct metric_sort_row *rows,
                           float *sorted, struct metric_value *out, struct err *err)
{
    int64_t n = g->group.n;
    const float *pred = g->pred.at, *label = g->label.at;
    double sum = 0, weights = 0;
    struct metric_pairs pairs = {0};
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = pred[rows[i].second];
        sorted[n + i] = label[rows[i].second];
    }
    for (int64_t i = 0, end = 0; rc == RC_OK && i < n; i = end) {
        double share = 0, size;
        end = group_end(rows, i, n);
        if (end - i < 2)
            continue;
        size = (double)(end - i);
        rc = group_xauc(g, &pairs, rows[i].first, sorted + i, sorted + n + i, end - i,
                        &share, err);
        sum += size * share;
        weights += size;
    }
    metric_pairs_release(&pairs);
    if (rc == RC_OK)
        *out = weights > 0 ? metric_number(sum / weights)
                           : metric_none(n ? "no group has two rows" : "no rows");
    return rc;
}

static enum rc xauc_compute(const struct metric *m, struct metric_value *out,
                            struct err *err)
{
    const struct grouped *g = (const struct grouped *)m;
    int64_t n = g->group.n;
    struct metric_sort_row *rows = by_group(g, err);
    if (!rows)
        return RC_NOMEM;
    metric_sort_rows(rows, rows + n, n);
    enum rc rc = walk_groups(g, rows, (float *)(rows + n), out, err);
    mem_free(rows);
    return rc;
}

const struct metric_ops metric_grouped_xauc = {
    .name = "grouped_xauc",
    .size = sizeof(struct grouped),
    .wants = METRIC_VALUE,
    .grouped = true,
    .init = xauc_init,
    .release = grouped_release,
    .reset = grouped_reset,
    .update = xauc_update,
    .merge = grouped_merge,
    .compute = xauc_compute,
    .save = grouped_save,
    .load = grouped_load,
};
