/* SPDX-License-Identifier: Apache-2.0 */
/* nn/graph_private.h - the inside of a graph: builder, planner and executor share it. */
#ifndef NN_GRAPH_PRIVATE_H
#define NN_GRAPH_PRIVATE_H

#include "base/str.h"
#include "base/vec.h"
#include "nn/graph.h"

struct op_node;

struct val {
    struct graph *graph;
    const char *name;
    struct shape shape;
    struct op_node *by; /* NULL for an input */
    int index;          /* which output of `by` */
    bool needs_grad;    /* something trainable lies behind it */
    bool reached;       /* a loss depends on it */
    bool kept;          /* readable after the pass: an input, output or loss */
    int n_uses;
    enum dtype dtype; /* of its rows and those of its gradient */
    /* Placed inside another value (a concat, or what it is a reshape of): no memory of
     * its own.
     */
    struct val *host;
    int64_t host_col;
    struct coded *coded; /* of an input, or NULL; in the arena */
    /* Offsets into the slab, in floats; -1 when none. */
    int64_t at, grad_at;
    struct view view, grad;
};

struct op_node {
    const struct op_ops *ops;
    void *conf; /* in the graph's arena */
    uint64_t id;
    int n_in, n_out, n_params;
    struct val **in;
    struct val *out[OP_OUTPUTS_MAX];
    struct param **params;
    int64_t keep_width, keep_at;
    struct view keep;
    void *state;
    bool backward; /* takes part in the backward pass */
    int forward_group, backward_group;
    bool *fresh; /* [n_in]: the first to write that input's gradient */
    /* Filled by the executor when rows change. */
    struct view *in_views, *d_in_views, *out_views, *d_out_views;
    int *in_axis, *out_axis;
    struct op_run run;
};

/* Ops [from, to) that a tile goes through without waiting for other tiles. */
struct op_group {
    size_t from, to;
};

struct named_val {
    const char *name;
    struct val *val;
    /* Of a loss: */
    double sum;    /* after the forward pass */
    float seed;    /* what it counts in the backward pass */
    bool training; /* no part of evaluations */
};

struct graph {
    struct graph_options options;
    struct arena arena;
    struct err err;
    bool failed, finished;
    bool reuse; /* of parameters by name */
    struct op_env env;
    const char *axes[AXES_MAX];
    int n_axes;
    int shorter[AXES_MAX];        /* that an axis is longer than; 0: none */
    int64_t *longer_at[AXES_MAX]; /* its offsets; owned */
    int64_t longer_room[AXES_MAX];
    struct buf prefix;
    VEC(size_t) prefix_marks;
    VEC(struct val *) vals;
    VEC(struct op_node *) ops;
    VEC(struct param *) params;
    VEC(struct named_val) losses;
    VEC(struct named_val) outputs;
    VEC(struct op_group) forward_groups;
    VEC(struct op_group) backward_groups; /* in the order of execution */
    int64_t capacity[AXES_MAX];
    float *slab; /* activations and gradients */
    int64_t slab_floats;
    float *values, *grads; /* of all parameters */
    int64_t n_values, n_grads;
    bool begun; /* a fixed graph has seen its parameters */
    double *loss_parts;
    int64_t n_loss_parts;
    int64_t tile;
};

/* plan.c: offsets of all values for the current capacities; RC_NOMEM. */
enum rc graph_plan(struct graph *g, struct err *err) MUST_CHECK;
/* Views of all values and ops for the rows in g->env. */
void graph_bind(struct graph *g);
/* order.c: leaves out ops and losses that no output needs. */
void graph_prune(struct graph *g);
/* order.c: groups, who needs gradients, who writes them first, what lies inside what. */
void graph_order(struct graph *g);

/* linear_coded.c: nn_linear() on an input with coded columns; whether a layer of so many
 * units gains by it.
 */
bool linear_coded_gains(const struct val *x, int64_t out);
struct val *linear_coded(struct graph *g, struct val *x, struct param *const *params,
                         bool bias, int64_t out, enum gemm_act act);

/* Known to order.c, which places values inside each other. */
extern const struct op_ops op_concat, op_take;

#endif
