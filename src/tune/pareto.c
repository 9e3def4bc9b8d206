/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct item {
    const struct tuner_trial *t;
    int64_t trial, front, beaten_by;
    double crowding;
    double key; /* while sorting by one objective */
};

static bool beats(const struct tuner_trial *a, const struct tuner_trial *b, int64_t n)
{
    if (a->violation != b->violation)
        return a->violation < b->violation;
    bool better = false;
    for (int64_t i = 0; i < n; i++) {
        if (a->objectives[i] > b->objectives[i])
            return false;
        better |= a->objectives[i] < b->objectives[i];
    }
    return better;
}

static void set_fronts(struct item *at, size_t n, int64_t n_objectives)
{
    for (size_t i = 0; i < n; i++) {
        at[i].front = -1;
        at[i].beaten_by = 0;
        for (size_t k = 0; k < n; k++)
            at[i].beaten_by += beats(at[k].t, at[i].t, n_objectives);
    }
    size_t left = n;
    for (int64_t front = 0; left > 0; front++) {
        for (size_t i = 0; i < n; i++)
            if (at[i].front < 0 && at[i].beaten_by == 0)
                at[i].front = front;
        for (size_t i = 0; i < n; i++) {
            if (at[i].front != front)
                continue;
            left--;
            for (size_t k = 0; k < n; k++)
                at[k].beaten_by -=
                    at[k].front < 0 && beats(at[i].t, at[k].t, n_objectives);
        }
    }
}

static int by_front_and_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->front != y->front)
        return x->front < y->front ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->trial < y->trial ? -1 : x->trial > y->trial;
}

/* Distance to the neighbours of the same front, objective by objective. */
static void set_crowding(struct item *at, size_t n, int64_t n_objectives)
{
    for (int64_t o = 0; o < n_objectives; o++) {
        for (size_t i = 0; i < n; i++)
            at[i].key = at[i].t->objectives[o];
        qsort(at, n, sizeof(*at), by_front_and_key);
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i; end < n && at[end].front == at[i].front; end++)
                ;
            double range = at[end - 1].key - at[i].key;
            at[i].crowding = at[end - 1].crowding = INFINITY;
            for (size_t k = i + 1; k + 1 < end; k++)
                if (range > 0 && isfinite(range))
                    at[k].crowding += (at[k + 1].key - at[k - 1].key) / range;
        }
    }
    for (size_t i = 0; i < n; i++)
        at[i].key = -at[i].crowding;
    qsort(at, n, sizeof(*at), by_front_and_key);
}

void pareto_order(struct tune_history *h)
{
    size_t n = h->by_loss.n;
    struct item *at = mem_calloc(n + 1, sizeof(*at));
    for (size_t i = 0; i < n; i++)
        at[i] = (struct item){.t = &h->trials.at[h->done.at[i]], .trial = h->done.at[i]};
    set_fronts(at, n, h->n_objectives);
    set_crowding(at, n, h->n_objectives);
    for (size_t i = 0; i < n; i++) {
        h->by_loss.at[i] = at[i].trial;
        h->trials.at[at[i].trial].loss = (double)i;
        h->trials.at[at[i].trial].front = at[i].front;
    }
    mem_free(at);
}
