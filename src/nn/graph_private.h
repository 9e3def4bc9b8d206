/* SPDX-License-Identifier: Apache-2.0 */
/* nn/graph_private.h - the inside of a graph: builder, planner and executors share it. */
#ifndef NN_GRAPH_PRIVATE_H
#define NN_GRAPH_PRIVATE_H

#include "base/str.h"
#include "base/vec.h"
#include "nn/executor.h"
#include "nn/op_run.h"

struct op_node;

struct nn_val {
    struct graph *graph;
    const char *name;
    struct nn_shape shape;
    struct op_node *by; /* NULL for an input */
    int index;          /* which output of `by` */
    bool needs_grad;    /* something trainable lies behind it */
    bool reached;       /* a loss depends on it */
    bool kept;          /* readable after the pass: an input, output or loss */
    int n_uses;
    bool alike;  /* all rows of this batch are equal: graph_alike(), and what follows */
    bool spread; /* and somebody reads more than the first */
    const struct nn_columns *once; /* [n_once]: graph_alike_columns() */
    int n_once;
    struct nn_cpu_coded *coded; /* of an input: the executor's, in the arena; or NULL */
    /* Decided by the executor's plan(). */
    enum dtype dtype; /* of its rows and those of its gradient */
    struct nn_val
        *host; /* it lies inside this one and has no memory of its own; or NULL */
    int64_t host_col;
    int64_t stride;       /* floats from one row to the next; 0: its width */
    int64_t beside_width; /* floats per row that the executor wants beside it; 0: none */
    /* Offsets into the slab, in floats; -1 when none. */
    int64_t at, grad_at, beside_at;
    int64_t stage_at, stage_grad_at; /* the same in the host's copies */
    struct view view, grad;
};

struct op_node {
    const struct op *op;
    const char *layer; /* where in the model it stands; "" when nothing is known */
    void *conf;        /* in the graph's arena */
    uint64_t id;
    int n_in, n_out, n_params;
    struct nn_val **in;
    struct nn_val *out[OP_OUTPUTS_MAX];
    struct param **params;
    int64_t keep_width, keep_at;
    struct view keep;
    bool backward; /* takes part in the backward pass */
    bool *fresh;   /* [n_in]: the first to write that input's gradient */
    /* Decided by the executor's plan(). */
    const void *impl;      /* of its table */
    const void *impl_conf; /* in place of `conf`; NULL: none */
    void *state;
    int forward_at, backward_at; /* moments, each pass counted from 0 */
    /* Filled when rows change. */
    struct view *in_views, *d_in_views, *out_views, *d_out_views;
    int *in_axis, *out_axis;
    struct op_run run;
};

struct graph_named_val {
    const char *name;
    struct nn_val *val;
    /* Of a loss: */
    double sum;    /* after the forward pass */
    float seed;    /* what it counts in the backward pass */
    bool training; /* excluded from evaluations */
    bool whole;    /* of an output: its values are whole numbers */
};

/* Rows of an axis that follow from those of others; in the graph's arena. */
struct graph_axis_rule {
    int64_t fixed;
    int n;
    struct nn_axis_part parts[AXIS_PARTS_MAX];
};

struct graph {
    struct graph_options options;
    const struct device *device;
    const struct executor_ops *executor; /* of the device */
    void *plan;                          /* the executor's own; NULL: none */
    struct arena arena;
    struct err err;
    bool failed, finished;
    int reuse; /* of parameters by name: how many want it */
    struct op_env env;
    const char *axes[AXES_MAX];
    int n_axes;
    int shorter[AXES_MAX]; /* that an axis is longer than by one; 0: none */
    const struct graph_axis_rule
        *rules[AXES_MAX];       /* how it follows from others; or NULL */
    int64_t *rule_at[AXES_MAX]; /* its offsets; owned */
    int64_t rule_room[AXES_MAX];
    struct buf prefix;
    VEC(size_t) prefix_marks;
    VEC(struct nn_val *) vals;
    VEC(struct op_node *) ops;
    VEC(struct param *) params;
    VEC(struct graph_named_val) losses;
    VEC(struct graph_named_val) outputs;
    int n_forward, n_backward; /* moments of the two passes */
    int64_t capacity[AXES_MAX];
    float *slab; /* activations and gradients; the device's */
    int64_t slab_floats;
    float *stage; /* what the host reads and writes, unless it sees the slab; owned */
    struct device_floats values, grads; /* of all parameters */
    graph_grads_fn *watch;              /* NULL: none */
    void *watch_arg;
};

/* plan.c: offsets of all values for the current capacities; RC_NOMEM. */
enum rc graph_plan(struct graph *g, struct err *err) MUST_CHECK;
void graph_free_stage(struct graph *g);
/* Views of all values and ops for the rows in g->env. */
void graph_bind(struct graph *g);
/* order.c: leaves out ops and losses that no output needs. */
void graph_prune(struct graph *g);
/* order.c: who takes part in the backward pass, and who writes a gradient first. */
void graph_order(struct graph *g);
bool graph_is_loss(const struct graph *g, const struct nn_val *v);
/* access.c: whether the host may have to reach v, and its gradient. */
bool graph_staged(const struct graph *g, const struct nn_val *v);
bool graph_staged_grad(const struct graph *g, const struct nn_val *v);

#endif
