/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/history.h"

#include <math.h>
#include <string.h>

#include "tune/pareto.h"

void tune_history_init(struct tune_history *h, const struct nni_space *space,
                       int64_t n_objectives)
{
    *h = (struct tune_history){.space = space, .n_objectives = n_objectives};
}

void tune_history_release(struct tune_history *h)
{
    VEC_RELEASE(&h->trials);
    VEC_RELEASE(&h->done);
    VEC_RELEASE(&h->by_loss);
    VEC_RELEASE(&h->running);
    arena_release(&h->arena);
}

int64_t tune_history_add(struct tune_history *h, const double *x)
{
    size_t size = (size_t)h->space->n * sizeof(*x);
    struct tuner_trial t = {.x = arena_alloc(&h->arena, size ? size : 1)};
    if (size)
        memcpy(t.x, x, size);
    VEC_PUSH(&h->trials, t);
    VEC_PUSH(&h->running, (int64_t)h->trials.n - 1);
    return (int64_t)h->trials.n - 1;
}

static bool leave_running(struct tune_history *h, int64_t trial)
{
    if (trial < 0 || trial >= (int64_t)h->trials.n ||
        h->trials.at[trial].state != TRIAL_RUNNING)
        return false;
    size_t i = 0;
    while (h->running.at[i] != trial)
        i++;
    h->running.n--;
    memmove(h->running.at + i, h->running.at + i + 1,
            (h->running.n - i) * sizeof(*h->running.at));
    return true;
}

/* Feasible before infeasible, those by how much is broken; then by loss. */
static bool history_better(const struct tuner_trial *a, const struct tuner_trial *b)
{
    if (a->violation != b->violation)
        return a->violation < b->violation;
    return a->loss < b->loss;
}

static void history_rank(struct tune_history *h, int64_t trial)
{
    const struct tuner_trial *t = &h->trials.at[trial];
    size_t lo = 0, hi = h->by_loss.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (history_better(t, &h->trials.at[h->by_loss.at[mid]]))
            hi = mid;
        else
            lo = mid + 1;
    }
    VEC_PUSH(&h->by_loss, trial);
    memmove(h->by_loss.at + lo + 1, h->by_loss.at + lo,
            (h->by_loss.n - 1 - lo) * sizeof(*h->by_loss.at));
    h->by_loss.at[lo] = trial;
}

bool tune_history_tell(struct tune_history *h, int64_t trial, const double *losses,
                       double violation)
{
    if (!leave_running(h, trial))
        return false;
    struct tuner_trial *t = &h->trials.at[trial];
    double *copy = arena_alloc(&h->arena, (size_t)h->n_objectives * sizeof(*copy));
    for (int64_t i = 0; i < h->n_objectives; i++)
        copy[i] = isnan(losses[i]) ? INFINITY : losses[i];
    t->state = TRIAL_DONE;
    t->loss = copy[0];
    t->objectives = copy;
    t->violation = violation > 0 ? violation : 0;
    VEC_PUSH(&h->done, trial);
    if (h->n_objectives == 1) {
        history_rank(h, trial);
    } else {
        VEC_PUSH(&h->by_loss, trial);
        pareto_order(h);
    }
    return true;
}

bool tune_history_end(struct tune_history *h, int64_t trial)
{
    if (!leave_running(h, trial))
        return false;
    h->trials.at[trial].state = TRIAL_FAILED;
    return true;
}
