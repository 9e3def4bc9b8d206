/* SPDX-License-Identifier: Apache-2.0 */
/* nn/executor.h - how a device runs graphs: the part of struct device_ops that needs to
 * know what a graph is.
 *
 * graph_finish() calls plan() once; graph_rows() lays out memory and calls rows();
 * graph_forward() and graph_backward() call their namesakes; graph_wait() is the device's
 * synchronise(). An executor sees the graph
 * through nn/graph_private.h: ops in an order in which they may run, what they are
 * (nn/op.h), who needs which gradient, and views into the device's memory.
 *
 * What plan() decides for the graph:
 * - each op's implementation (op_node.impl, .state), which is the executor's own table;
 * - the moments of a pass (graph.n_forward, .n_backward; op_node.forward_at,
 *   .backward_at): values whose moments do not meet may share memory;
 * - values that lie inside others (val.host) or as another dtype.
 */
#ifndef NN_EXECUTOR_H
#define NN_EXECUTOR_H

#include "nn/graph.h"
#include "nn/optim/param_ops.h"
#include "tensor/device.h"

struct executor_ops {
    /* Whether there is an implementation; graph_finish() names the op that has none. */
    bool (*has)(const struct op *op);
    /* RC_NOMEM, or what an op's implementation refuses; the message names the op. */
    enum rc (*plan)(struct graph *g, struct err *err);
    /* What plan() made, or part of it; waits for what is queued for the graph. */
    void (*release)(struct graph *g);
    /* Views are bound for a new batch: rows and host offsets in g->env. Optional. */
    void (*rows)(struct graph *g);
    /* All ops, then the sum of each loss (named_val.sum). May be queued, as backward(): the
     * sums are there when the device's synchronise() has returned.
     */
    void (*forward)(struct graph *g);
    /* Starts from named_val.seed, which is read before the call returns; zeroes the
     * parameters' gradients first when `zero`.
     */
    void (*backward)(struct graph *g, bool zero);
    /* v *= by; false when a product is infinite or NaN. Waits for the answer, as do those
     * of `params` that return something.
     */
    bool (*scale)(const struct device *d, const struct view *v, float by);
    /* nn_coded() and graph_codes(); optional: nothing is gained by codes. */
    bool (*coded)(struct graph *g, struct nn_val *v, int64_t col, int64_t width,
                  int64_t n);
    void (*codes)(struct graph *g, struct nn_val *v, const struct nn_code_ids *ids);
    /* Ops whose inputs are nn_val.alike are worked out once, outside training. */
    bool alike;
    /* Optional: ops of a planned graph that the host runs for the device, which costs
     * copies: how many, and the first of them in names[max].
     */
    size_t (*by_host)(const struct graph *g, const char **names, size_t max);
    /* Optional: how often a part of a pass was started from a recording of it. */
    uint64_t (*replays)(const struct graph *g);
    const struct param_ops *params;
};

#endif
