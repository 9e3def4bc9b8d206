/* SPDX-License-Identifier: Apache-2.0 */
/* A sample of all rows that pass, each as likely as any other (Vitter 1985, algorithm R). */
#include "nn/op/reservoir.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static enum rc reservoir_infer(const void *conf, const struct nn_shape *in, int n_in,
                               struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {1}};
    return RC_OK;
}

const struct op op_reservoir = {
    .name = "reservoir",
    .flags = OP_NO_GRAD,
    .infer = reservoir_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_reservoir(struct graph *g, const char *name, struct nn_val *x,
                            int64_t most)
{
    struct nn_init zeros = {INIT_ZEROS, 0, 0};
    struct param *params[RESERVOIR_N_PARAMS];
    if (!x)
        return NULL;
    int64_t dims[] = {most, nn_shape_width(&x->shape)};
    graph_push(g, name);
    params[RESERVOIR_ROWS] = nn_param(g, "rows", dims, 2, zeros, false);
    params[RESERVOIR_SEEN] = nn_param(g, "seen", (const int64_t[]){2}, 1, zeros, false);
    graph_pop(g);
    if (!params[RESERVOIR_ROWS] || !params[RESERVOIR_SEEN])
        return NULL;
    return nn_op(g, &op_reservoir, &x, 1, params, RESERVOIR_N_PARAMS, NULL, 0);
}
