/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows are held out: the latest ones where a column tells the time, since that is
 * what a model meets; else those that a hash of their features falls on, so that equal
 * rows stay together.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/init_private.h"

#define LEAST 10 /* rows held out, else none are */

static double seconds_of(const struct init_column *c, double v)
{
    double seconds;
    if (c->clock == INIT_CLOCK_TEXT)
        return v;
    return init_clock_number(v, c->clock, &seconds) ? seconds : (double)NAN;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The moment from which about `share` of the rows are. False when the latest moment alone
 * has more than half of them, or all are of one.
 */
static bool cut_of(const struct init_sample *s, const struct init_column *c,
                   size_t column, double share, double *from)
{
    double *at = mem_calloc((size_t)s->n + 1, sizeof(*at));
    size_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double v = seconds_of(c, s->number[column * INIT_SAMPLE_ROWS + (size_t)i]);
        if (!isnan(v))
            at[n++] = v;
    }
    qsort(at, n, sizeof(*at), by_value);
    size_t cut = n ? (size_t)((double)n * (1 - share)) : 0;
    cut = cut < n ? cut : n ? n - 1 : 0;
    size_t low = cut, high = cut;
    while (low > 0 && at[low - 1] == at[cut])
        low--;
    while (high < n && at[high] == at[cut])
        high++;
    size_t start = low * 2 >= n ? low : high;
    bool ok = n && start > 0 && start < n;
    if (ok)
        *from = at[start];
    mem_free(at);
    return ok;
}

static int64_t column_called(const struct init_plan *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->at[i].name, name) == 0)
            return (int64_t)i;
    return -1;
}

static enum rc asked_column(const struct init_plan *p, const struct init_seen *seen,
                            const char *by, struct init_split *out, struct err *err)
{
    out->by_time = column_called(p, by);
    if (out->by_time < 0)
        return err_coded(err, RC_INVAL, E1204,
                         "--holdout-by: there is no column '%.100s'", by);
    const struct init_column *c = &p->at[out->by_time];
    if (c->clock == INIT_CLOCK_NONE ||
        !cut_of(seen->sample, c, (size_t)out->by_time, out->share, &out->from))
        return err_coded(
            err, RC_INVAL, E1207,
            "--holdout-by: column '%.100s' does not hold times by which rows "
            "could be parted",
            by);
    return RC_OK;
}

enum rc init_split_choose(const struct init_plan *p, const struct init_seen *seen,
                          const char *by, double share, struct init_split *out,
                          struct err *err)
{
    *out = (struct init_split){.share = share, .by_time = -1};
    if (share * (double)p->rows < LEAST) {
        out->share = 0;
        return RC_OK;
    }
    if (by && strcmp(by, "hash") != 0)
        return asked_column(p, seen, by, out, err);
    for (size_t i = 0; !by && i < p->n; i++)
        if (p->at[i].clock != INIT_CLOCK_NONE && p->at[i].use != INIT_LABEL &&
            cut_of(seen->sample, &p->at[i], i, share, &out->from)) {
            out->by_time = (int64_t)i;
            return RC_OK;
        }
    return RC_OK;
}
