/* SPDX-License-Identifier: Apache-2.0 */
/* nn/graph.h - a static graph: built once by nn_* calls, planned once, run per batch.
 *
 *     #include "nn/ops.h"
 *     struct graph *g = graph_create(&(struct graph_options){.training = true, .seed = 1});
 *     struct nn_shape wide = {AXIS_BATCH, 1, {96}}, one = {AXIS_BATCH, 1, {1}};
 *     struct nn_val *x = nn_input(g, "deep", &wide, true);
 *     struct nn_val *y = nn_input(g, "label", &one, false);
 *     struct nn_val *h = nn_linear(g, "mlp", x, 64, true, ACT_RELU);
 *     struct nn_val *logit = nn_linear(g, "output", h, 1, true, ACT_NONE);
 *     nn_loss(g, "loss", nn_bce_loss(g, logit, y, NULL, 0));
 *     if (graph_finish(g, err))
 *         return;
 *     float rows[2 * 96] = {0}, labels[2] = {0, 1};
 *     if (graph_rows(g, &(struct nn_batch_rows){.n = {2}}, err))
 *         return;
 *     graph_set(g, x, rows);
 *     graph_set(g, y, labels);
 *     graph_forward(g, 0);
 *     graph_backward(g, true);
 *     if (graph_wait(g, err))
 *         return;
 *     graph_destroy(g);
 *
 * Builders return NULL once anything failed and pass NULL inputs through; the first
 * message is kept and returned by graph_finish(). Names give parameters their path
 * ("mlp.weight"). After the first batches nothing is allocated any more.
 */
#ifndef NN_GRAPH_H
#define NN_GRAPH_H

#include "base/arena.h"
#include "base/err.h"
#include "base/pool.h"
#include "nn/op.h"
#include "tensor/gemm.h"
#include "tensor/tensor.h"

struct graph;
struct nn_val; /* a value of the graph */
struct comm;
struct device;

/* How many rows the current batch has, on each axis; what lies behind the graph's own
 * (graph_n_axes()) is not read.
 */
struct nn_batch_rows {
    int64_t n[AXES_MAX];
    const int64_t *offsets[AXES_MAX]; /* [n[0] + 1]; NULL for the batch axis */
};

enum nn_init_kind {
    INIT_ZEROS,
    INIT_ONES,
    INIT_CONST,      /* a */
    INIT_UNIFORM,    /* [a, b) */
    INIT_NORMAL,     /* mean a, deviation b */
    INIT_TRUNCATED,  /* the same, cut off at two deviations */
    INIT_EYE,        /* a on the diagonal of a matrix, 0 elsewhere */
    INIT_ORTHOGONAL, /* a square matrix whose rows are orthonormal */
};
struct nn_init {
    enum nn_init_kind kind;
    double a, b;
};

/* A dense parameter or a buffer (running statistics). Lives as long as its graph. */
struct param {
    const char *name;
    int n_dims;
    int64_t dims[3];
    int64_t n; /* elements */
    struct nn_init init;
    bool trainable; /* false: a buffer, or frozen */
    const struct device
        *device;             /* whose memory `value` and `grad` are; NULL: the host's */
    float *value;            /* [n], aligned to 64 bytes; the host has param_read() */
    float *grad;             /* [n]; NULL when not trainable, or outside training */
    float *host, *host_grad; /* where param_read() and its like copy to; NULL: none */
};

/* Values and gradients in host memory, as of now: the device's own where the host can
 * see it, else a copy. Valid until the parameter changes or is read again.
 */
const float *param_read(const struct param *p);
const float *param_read_grad(const struct param *p); /* NULL when there is none */
/* Host memory with the n values, to be changed; they are the parameter's at the end. */
float *param_write_begin(struct param *p);
void param_write_end(struct param *p);
/* The same by copying n floats. */
void param_get(const struct param *p, float *to);
void param_set(struct param *p, const float *from);
void param_get_grad(const struct param *p, float *to); /* not when there is none */
void param_set_grad(struct param *p, const float *from);

struct graph_options {
    struct pool *pool;           /* borrowed */
    struct comm *comm;           /* borrowed; NULL: one rank */
    const struct device *device; /* borrowed; NULL: the CPU */
    enum gemm_precision precision;
    bool tf32; /* a device that has it may round the factors of f32 products to TF32 */
    /* Inputs with a gradient are reached by graph_device_view() and graph_device_grad(): a
     * device may put them inside other values, and copies to and from the host are slow.
     */
    bool device_inputs;
    bool training; /* false: forward only, memory is reused at once */
    uint64_t seed;
    int64_t tile_rows; /* 0: chosen */
    int64_t memory;    /* bytes that parameters and gradients may take; 0: any */
    bool keep;         /* values outlive a backward pass, so that another may follow */
    /* Only to predict: ops that no output needs are left out (losses with them), and
     * parameters are taken to be the same from the first forward pass on. Not with
     * .training.
     */
    bool fixed;
};

struct graph *graph_create(const struct graph_options *options);
void graph_destroy(struct graph *g);

/* A sequence axis; its number, or -1 (and the graph fails) when there are too many. */
int graph_axis(struct graph *g, const char *name);
int graph_n_axes(const struct graph *g); /* the batch axis included */

/* One that has a row more than `axis` for each row of the batch, in front of its others.
 * graph_rows() sees to its offsets; -1 as above.
 */
int graph_axis_longer(struct graph *g, int axis);
/* One whose rows follow from those of other axes: for each row of the batch `fixed`, and
 * for each part `times` as many as it has there, but `most` at most (0: all of them).
 */
#define AXIS_PARTS_MAX 4
struct nn_axis_part {
    int axis;
    int64_t times, most;
};
int graph_axis_sum(struct graph *g, const char *name, int64_t fixed,
                   const struct nn_axis_part *parts, int n);

/* Prefix of the names of parameters made from here on; calls nest. */
void graph_push(struct graph *g, const char *name);
void graph_pop(struct graph *g);
const char *graph_prefix(const struct graph *g); /* "model.user_tower."; "" at first */

/* Says what is wrong; the first message stays. Returns NULL, for `return graph_fail(..)`. */
struct nn_val *graph_fail(struct graph *g, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same with a code; E_NONE: none of its own. */
struct nn_val *graph_fail_as(struct graph *g, enum code code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* A value that the caller fills before each forward pass. */
struct nn_val *nn_input(struct graph *g, const char *name, const struct nn_shape *shape,
                        bool wants_grad);
/* Columns [col, col + width) of the input v take n values at most, which ids from 0 to
 * below n stand for, and zeros. Where graph_codes() then says which rows have which, a
 * linear layer on v works out the product of each value once and adds it to the rows that
 * have it. Before anything reads v, in the order of the columns. Returns false when the
 * device gains nothing by it (for the CPU see cpu/choose.c).
 */
#define CODED_MAX 32 /* of an input */
bool nn_coded(struct graph *g, struct nn_val *v, int64_t col, int64_t width, int64_t n);
/* One op over `in`; its first output. `conf` is copied (conf_size bytes). */
struct nn_val *nn_op(struct graph *g, const struct op *op, struct nn_val *const *in,
                     int n_in, struct param *const *params, int n_params,
                     const void *conf, size_t conf_size);
struct nn_val *nn_sibling(struct nn_val *v,
                          int i); /* a further output of the op that made v */
/* While on, a parameter whose name is taken is that parameter (of the same size), not an
 * error: for a layer that is applied to several values. Calls nest.
 */
void graph_reuse(struct graph *g, bool on);
/* dims: n_dims sizes. `name` gets the current prefix. */
struct param *nn_param(struct graph *g, const char *name, const int64_t *dims, int n_dims,
                       struct nn_init init, bool trainable);
/* Adds v (rows of one float, already weighted) to the total loss. */
void nn_loss(struct graph *g, const char *name, struct nn_val *v);
/* The same for a loss that is excluded from evaluations. */
void nn_loss_training(struct graph *g, const char *name, struct nn_val *v);

/* v stays readable after graph_forward(), under no name: a fixed graph leaves it out. */
void nn_keep(struct graph *g, struct nn_val *v);
/* v stays readable after graph_forward() under this name. */
void nn_output(struct graph *g, const char *name, struct nn_val *v);
/* The same of a value whose floats are whole numbers, and should be shown so. */
void nn_output_whole(struct graph *g, const char *name, struct nn_val *v);
bool graph_output_whole(const struct graph *g, size_t i);
struct nn_val *graph_output(const struct graph *g,
                            const char *name); /* NULL when unknown */
size_t graph_n_outputs(const struct graph *g);
/* In the order of nn_output(). */
const char *graph_output_name(const struct graph *g, size_t i);

const struct nn_shape *nn_val_shape(const struct nn_val *v);

/* Orders the ops, finds what needs a gradient, has the device plan, initialises
 * parameters. RC_INVAL: what a builder refused, or RC_UNSUPPORTED (E2601): the device
 * lacks an op; RC_NOMEM.
 */
enum rc graph_finish(struct graph *g, struct err *err) MUST_CHECK;

/* Rows of the next batch; grows memory when it must (RC_NOMEM). `rows` is copied, its
 * offsets are borrowed until the next call.
 */
enum rc graph_rows(struct graph *g, const struct nn_batch_rows *rows,
                   struct err *err) MUST_CHECK;
/* For the batch at hand, when v is filled: ids[i] for each nn_coded() of v that was not
 * turned down, in their order. A batch in which a row has more than one id, or with too
 * few rows to gain by it, is left as it is. Else the gradient of those columns that a
 * linear layer gives stands in the first row of each id, for all rows of that id, and is
 * 0 in the others; that of rows without an id is left out.
 */
struct nn_code_ids {
    const int64_t *ids;     /* negative: none */
    const int64_t *offsets; /* row r: ids[offsets[r]] to offsets[r + 1]; NULL: ids[r] */
};
void graph_codes(struct graph *g, struct nn_val *v, const struct nn_code_ids *ids);
/* For the batch at hand: all its rows of the input v are equal, so that ops which read
 * nothing else are worked out once (a user beside many candidates). The first row, or
 * those of the first row of the batch, is all that need be filled. Returns false when the
 * device makes nothing of it: then all rows are to be filled.
 */
bool graph_alike(struct graph *g, struct nn_val *v);
/* The same of some columns of v, `n` ranges one behind the other, borrowed until the next
 * graph_rows(): a linear layer on v multiplies them once, in a fixed graph. All rows are
 * to be filled.
 */
struct nn_columns {
    int64_t from, to;
};
void graph_alike_columns(struct nn_val *v, const struct nn_columns *at, int n);
/* Whether it would. */
bool graph_takes_alike(const struct graph *g);
/* As last set. */
const struct nn_batch_rows *graph_batch_rows(const struct graph *g);
/* Values live in the memory of the graph's device; these reach them from the host. What
 * they hand out is the value itself where the host can see it, else memory beside it.
 * `v` is an input, an output, a loss or nn_keep(); gradients are those of inputs.
 *
 * To write an input, between graph_rows() and graph_forward(): all its rows, or in
 * several turns some columns of all rows each.
 */
struct view graph_write_begin(struct graph *g, struct nn_val *v);
void graph_write_end(struct graph *g, struct nn_val *v);
/* To read; valid until the next pass or graph_rows(). */
struct view graph_read(struct graph *g, const struct nn_val *v);
struct view graph_read_grad(struct graph *g,
                            const struct nn_val *v); /* .data NULL: none */
/* The value and gradient of an input where they are, in the memory of the graph's device, for
 * others that work there and keep to its order of calls; no copy is made.
 */
struct view graph_device_view(const struct graph *g, const struct nn_val *v);
struct view graph_device_grad(const struct graph *g,
                              const struct nn_val *v); /* .data NULL: none */
/* The same by copying rows of v's width that follow each other. */
void graph_set(struct graph *g, struct nn_val *v, const float *rows);
void graph_get(struct graph *g, const struct nn_val *v, float *rows);
/* The gradient of an input times `by`; false when a product is infinite or NaN. */
bool graph_scale_grad(struct graph *g, const struct nn_val *v, float by);
/* Rows of v in the batch at hand. */
int64_t graph_rows_of(const struct graph *g, const struct nn_val *v);

/* Dropout and batch statistics, from the next pass on; needs .training. */
void graph_training(struct graph *g, bool on);
/* Random numbers of the passes from here on are those of this stream; 0 at first. */
void graph_stream(struct graph *g, uint64_t stream);
void graph_forward(struct graph *g, uint64_t step);
/* Zeroes parameter gradients when `zero`, then adds this batch's. */
void graph_backward(struct graph *g, bool zero);
/* fn is called by graph_backward() as it goes on: parameters whose graph_param_op() is at
 * least `from` have their gradients. The last call says 0; a device that queues passes
 * makes no other. NULL: nobody is told.
 */
typedef void graph_grads_fn(void *arg, size_t from);
void graph_watch_grads(struct graph *g, graph_grads_fn *fn, void *arg);
/* The first op that has the parameter, from 0; 0 when there is none. */
size_t graph_param_op(const struct graph *g, const struct param *p);
/* A device may queue passes and updates. Returns when all of them are done: losses are
 * there from then on. An error is what went wrong in the queue; then results since the
 * wait before, and what was updated from them, are void. Values and gradients are waited
 * for by graph_read() and its like, which do not say what went wrong.
 */
enum rc graph_wait(const struct graph *g, struct err *err) MUST_CHECK;

/* Behind graph_wait(): sum over all nn_loss; outside training without those of nn_loss_training. */
double graph_loss(const struct graph *g);
/* Each of them, in the order in which they were added. */
size_t graph_n_losses(const struct graph *g);
const char *graph_loss_name(const struct graph *g, size_t loss);
double graph_loss_at(const struct graph *g, size_t loss);
bool graph_loss_training(const struct graph *g, size_t loss); /* nn_loss_training */
/* How much a loss counts in backward passes from here on; 1 at first. */
void graph_seed(struct graph *g, size_t loss, float seed);
double graph_loss_named(const struct graph *g, const char *name); /* NaN when unknown */

struct param *const *graph_params(const struct graph *g, size_t *n);
/* NULL when unknown. */
struct param *graph_param(const struct graph *g, const char *name);
/* What graph_bytes() would be with so many rows of each axis. Before the first
 * graph_rows().
 */
size_t graph_plan_bytes(struct graph *g, const int64_t rows[AXES_MAX]);
/* Of activations and gradients, as now planned. */
size_t graph_bytes(const struct graph *g);
/* Ops that the host runs for the device because that has none of its own, which costs
 * copies: how many of graph_n_ops(), and the names of the first in names[max].
 */
size_t graph_by_host(const struct graph *g, const char **names, size_t max);
/* Parts of passes that the device has started from a recording, in place of op by op. */
uint64_t graph_replays(const struct graph *g);
size_t graph_n_ops(const struct graph *g);

#endif
