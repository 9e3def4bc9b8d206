/* SPDX-License-Identifier: Apache-2.0 */
/* Losses that compare rows with rows: how far two are apart, the mean over some of them, and the
 * contrast of each with its partner among all. They belong to training: none has a form in ONNX.
 */
#include "nn/op/distance.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"

static enum rc one_shape(const struct nn_shape *in, int n, struct nn_shape *out,
                         struct err *err)
{
    for (int i = 1; i < n; i++)
        if (in[i].axis != in[0].axis || nn_shape_width(&in[i]) != nn_shape_width(&in[0]))
            return err_set(err, RC_INVAL, "takes values of one shape");
    out[0] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {1}};
    return RC_OK;
}

static enum rc distance_infer(const void *conf, const struct nn_shape *in, int n_in,
                              struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    return one_shape(in, n_in, out, err);
}

const struct op op_distance = {
    .name = "distance",
    .flags = OP_NEEDS_IN,
    .infer = distance_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_distance(struct graph *g, struct nn_val *a, struct nn_val *b,
                           enum nn_distance kind)
{
    struct op_distance_conf conf = {.kind = kind};
    struct nn_val *in[] = {a, b};
    return nn_op(g, &op_distance, in, 2, NULL, 0, &conf, sizeof(conf));
}

static enum rc flagged_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 1; /* the row's factor */
    if (nn_shape_width(&in[0]) != 1)
        return err_set(err, RC_INVAL, "takes one value and one flag per row");
    return one_shape(in, n_in, out, err);
}

const struct op op_flagged_share = {
    .name = "flagged share",
    .infer = flagged_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_flagged_share(struct graph *g, struct nn_val *x, struct nn_val *flag,
                                bool above)
{
    struct op_flagged_conf conf = {.above = above};
    struct nn_val *in[] = {x, flag};
    return nn_op(g, &op_flagged_share, in, 2, NULL, 0, &conf, sizeof(conf));
}

static enum rc contrast_infer(const void *conf, const struct nn_shape *in, int n_in,
                              struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = CONTRAST_KEEP;
    if (in[CONTRAST_FLAG].axis != in[0].axis || nn_shape_width(&in[CONTRAST_FLAG]) != 1)
        return err_set(err, RC_INVAL, "takes one flag per row");
    return one_shape(in, CONTRAST_FLAG, out, err);
}

const struct op op_contrast_loss = {
    .name = "contrast loss",
    .flags = OP_NEEDS_IN,
    .infer = contrast_infer,
    .onnx = onnx_nothing,
};

struct nn_val *nn_contrast_loss(struct graph *g, const char *name, struct nn_val *a,
                                struct nn_val *p, struct nn_val *b, struct nn_val *q,
                                struct nn_val *flag)
{
    struct nn_val *in[CONTRAST_N_IN] = {a, p, b, q, flag};
    struct param *scale =
        nn_param(g, name, (const int64_t[]){1}, 1,
                 (struct nn_init){INIT_CONST, CONTRAST_SCALE_FIRST, 0}, true);
    if (!scale)
        return NULL;
    return nn_op(g, &op_contrast_loss, in, CONTRAST_N_IN, &scale, 1, NULL, 0);
}
