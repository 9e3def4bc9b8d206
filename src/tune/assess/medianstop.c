/* SPDX-License-Identifier: Apache-2.0 */
/* Golovin et al., "Google Vizier", KDD 2017: stop a trial whose best result so far is
 * below the median of the running averages of completed trials at the same step.
 */
#include <math.h>
#include <stdlib.h>

#include "text/nni/nni.h"
#include "tune/assessor_private.h"

struct averages {
    double *at; /* owned: [n] */
    size_t n;
};

struct medianstop {
    VEC(struct averages) completed;
};

static void *medianstop_create(struct assessor *a)
{
    return mem_calloc(1, sizeof(struct medianstop));
}

static void medianstop_destroy(void *self_)
{
    struct medianstop *self = self_;
    for (size_t i = 0; i < self->completed.n; i++)
        mem_free(self->completed.at[i].at);
    VEC_RELEASE(&self->completed);
    mem_free(self);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static bool medianstop_judge(struct assessor *a, struct assessor_course *c, int64_t trial)
{
    const struct nni_MedianstopArgs *args = a->args;
    struct medianstop *self = a->self;
    size_t step = c->judged;
    if ((int64_t)step < args->start_step)
        return true;
    double *m = mem_alloc((self->completed.n + 1) * sizeof(*m));
    size_t n = 0;
    for (size_t i = 0; i < self->completed.n; i++)
        if (self->completed.at[i].n >= step)
            m[n++] = self->completed.at[i].at[step - 1];
    qsort(m, n, sizeof(*m), ascending);
    /* The lower median; of negated values, as here when less is better, the upper. */
    double median = n ? m[(n - 1) / 2] : -INFINITY, best = -INFINITY;
    mem_free(m);
    for (size_t i = 0; i < step; i++)
        best = fmax(best, c->values.at[i]);
    return !(best < median);
}

static void medianstop_ended(struct assessor *a, struct assessor_course *c, bool ok)
{
    struct medianstop *self = a->self;
    if (!ok || c->judged == 0)
        return;
    struct averages one = {.at = mem_alloc(c->judged * sizeof(double)), .n = c->judged};
    double sum = 0;
    for (size_t i = 0; i < c->judged; i++) {
        sum += c->values.at[i];
        one.at[i] = sum / (double)(i + 1);
    }
    VEC_PUSH(&self->completed, one);
}

const struct assessor_ops assessor_medianstop = {
    .create = medianstop_create,
    .destroy = medianstop_destroy,
    .judge = medianstop_judge,
    .ended = medianstop_ended,
};
