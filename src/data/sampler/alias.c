/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sampler/alias.h"

#include "base/mem.h"

/* Entries below and above the mean, as two stacks that grow towards each other. */
struct stacks {
    uint32_t *at;
    int64_t n_small, large;
};

static void sort_out(struct stacks *s, double *share, const double *weights, int64_t n)
{
    double sum = 0;
    s->n_small = 0;
    s->large = n;
    for (int64_t i = 0; i < n; i++)
        sum += weights[i];
    for (int64_t i = 0; i < n; i++) {
        share[i] = weights[i] / sum * (double)n;
        if (share[i] < 1)
            s->at[s->n_small++] = (uint32_t)i;
        else
            s->at[--s->large] = (uint32_t)i;
    }
}

/* Each small entry's cell is filled up by a large one, which may become small by it. */
static void pair_up(struct alias *a, struct stacks *s, double *share)
{
    uint32_t last = 0;
    while (s->n_small > 0 && s->large < a->n) {
        uint32_t small = s->at[--s->n_small], large = s->at[s->large];
        a->cells[small] = (struct alias_cell){.other = large, .own = (float)share[small]};
        share[large] -= 1 - share[small];
        last = large;
        if (share[large] < 1) {
            s->large++;
            s->at[s->n_small++] = large;
        }
    }
    for (; s->large < a->n; s->large++) {
        uint32_t i = s->at[s->large];
        a->cells[i] = (struct alias_cell){.other = i, .own = 1};
    }
    /* what rounding left over; an entry without weight must stay without */
    while (s->n_small > 0) {
        uint32_t i = s->at[--s->n_small];
        a->cells[i] = (struct alias_cell){.other = share[i] > 0 ? i : last,
                                          .own = share[i] > 0 ? 1.0f : 0.0f};
    }
}

enum rc alias_init(struct alias *a, const double *weights, int64_t n, struct err *err)
{
    struct stacks s = {.at = mem_try_alloc((size_t)n, sizeof(*s.at))};
    double *share = mem_try_alloc((size_t)n, sizeof(*share));
    *a = (struct alias){.cells = mem_try_alloc((size_t)n, sizeof(*a->cells)), .n = n};
    enum rc rc = RC_OK;
    if (!s.at || !share || !a->cells) {
        alias_release(a);
        rc =
            err_set(err, RC_NOMEM, "no memory for the weights of %jd items", (intmax_t)n);
    } else {
        sort_out(&s, share, weights, n);
        pair_up(a, &s, share);
    }
    mem_free(s.at);
    mem_free(share);
    return rc;
}

void alias_release(struct alias *a)
{
    mem_free(a->cells);
    *a = (struct alias){0};
}

int64_t alias_draw(const struct alias *a, struct rng *r)
{
    double at = rng_f64(r) * (double)a->n; /* the cell, and what decides within it */
    int64_t cell = (int64_t)at < a->n ? (int64_t)at : a->n - 1;
    const struct alias_cell *c = &a->cells[cell];
    return at - (double)cell < (double)c->own ? cell : c->other;
}
