/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/stu.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_STU_H
#define NN_OP_STU_H

#include "nn/op.h"
#include "nn/ops.h"

/* A token's projections stand side by side: gates [heads * hidden], values [heads *
 * hidden], queries [heads * attention], keys [heads * attention].
 */
struct op_stu_conf {
    struct nn_stu_conf c;
};

struct op_stu_gate_conf {
    int64_t width;   /* heads * hidden */
    int64_t groups;  /* that have a norm each */
    int64_t weights; /* of the norms: one per group, or with one group one per value */
};

static inline int64_t op_stu_width(const struct nn_stu_conf *c)
{
    return 2 * c->heads * (c->hidden + c->attention);
}

/* What a token attends to: columns [from[i], to[i]) of its row, i = 0, 1; in order, apart. */
struct op_stu_span {
    int64_t from[2], to[2];
};

static inline struct op_stu_span op_stu_local(const struct nn_stu_conf *c, int64_t p,
                                              int64_t history)
{
    int64_t first = c->global > c->contextual ? c->global : c->contextual;
    struct op_stu_span s = {{0, 0}, {0, 0}};
    if (p >= history) {
        s.to[0] = history;
        return s;
    }
    s.to[0] = first < p + 1 ? first : p + 1;
    s.from[1] = p - c->local + 1 > first ? p - c->local + 1 : first;
    s.to[1] = p + 1 > s.from[1] ? p + 1 : s.from[1];
    return s;
}

/* Token p of a row of `n` tokens, the last `targets` of which are candidates. Tokens of
 * the context have number 0, those of the history count from there on, and all
 * candidates have the number behind them: a token sees itself and smaller numbers.
 */
static inline struct op_stu_span op_stu_span_of(const struct nn_stu_conf *c, int64_t p,
                                                int64_t n, int64_t targets)
{
    int64_t history = n - targets, skip = c->contextual > 0 ? c->contextual - 1 : 0;
    struct op_stu_span s = {{0, p}, {0, p + 1}};
    if (c->local || c->global)
        return op_stu_local(c, p, history);
    if (c->contextual > 0 && p < c->contextual) {
        s.to[0] = history;
        s.from[1] = s.to[1] = history; /* itself is among them */
        return s;
    }
    int64_t last = history - skip, id = p - skip < last ? p - skip : last;
    bool whole = c->full > 0 && id >= last - c->full;
    int64_t low = c->window > 0 && !whole && id > c->window ? id - c->window : 0;
    s.from[0] = low > 0 ? skip + low : 0;
    s.to[0] = skip + id;
    return s;
}

#endif
