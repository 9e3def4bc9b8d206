/* SPDX-License-Identifier: Apache-2.0 */
/* nn/cpu/cpu_private.h - what the files of the CPU's executor share. */
#ifndef NN_CPU_CPU_PRIVATE_H
#define NN_CPU_CPU_PRIVATE_H

#include "nn/cpu/coded.h"
#include "nn/cpu/cpu.h"
#include "nn/graph_private.h"

/* Ops [from, to) that a tile goes through without waiting for other tiles. */
struct nn_cpu_group {
    size_t from, to;
};

/* graph.plan */
struct nn_cpu_plan {
    VEC(struct nn_cpu_group) forward;
    VEC(struct nn_cpu_group) backward; /* in the order of execution */
    int64_t tile;                      /* rows, of the last forward pass */
    bool begun;                        /* a fixed graph has seen its parameters */
    double *loss_parts;
    int64_t n_loss_parts;
};

static inline const struct nn_cpu_op *nn_cpu_op_of(const struct op_node *n)
{
    return n->impl;
}

static inline const void *nn_cpu_conf(const struct op_node *n)
{
    return n->impl_conf ? n->impl_conf : n->conf;
}

/* choose.c */
void nn_cpu_choose(struct graph *g, struct op_node *n);
bool nn_cpu_accept_codes(struct graph *g, struct nn_val *v, int64_t col, int64_t width,
                         int64_t n);
/* arrange.c */
enum rc nn_cpu_arrange(struct graph *g, struct err *err) MUST_CHECK;
void nn_cpu_release(struct graph *g);
/* coded.c */
void nn_cpu_new_rows(struct graph *g);
void nn_cpu_set_codes(struct graph *g, struct nn_val *v, const struct nn_code_ids *ids);
/* alike.c: marks what is worked out once in this pass; false: nothing is. */
bool nn_cpu_mark_alike(struct graph *g);
/* Tells ops which columns of their input they need work out once only. */
void nn_cpu_tell_once(const struct graph *g);
/* The first row of the batch of v to all others. */
void nn_cpu_spread(const struct graph *g, const struct nn_val *v);
bool nn_cpu_is_alike(const struct op_node *n);
/* execute.c */
void nn_cpu_run_forward(struct graph *g);
void nn_cpu_run_backward(struct graph *g, bool zero);
bool nn_cpu_scale_rows(const struct device *d, const struct view *v, float by);

#endif
