/* SPDX-License-Identifier: Apache-2.0 */
/* How fields meet: the factorisation machine, dot products of all pairs, and a mixture of
 * experts. Fields are [n, d]; pairs stand in row-major order, i < j.
 */
#include <string.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/op/interact.h"
#include "nn/ops.h"

static enum rc fields_infer(const struct nn_shape *in, struct nn_shape *out,
                            int64_t width, struct err *err)
{
    if (in->n_dims != 2)
        return err_set(err, RC_INVAL, "takes rows of fields [n, d], not %d dimensions",
                       in->n_dims);
    *out = (struct nn_shape){.axis = in->axis, .n_dims = 1, .dims = {width}};
    return RC_OK;
}

static enum rc fm_infer(const void *conf, const struct nn_shape *in, int n_in,
                        struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_fields_conf *c = conf;
    *keep_width = c->d; /* the sum over fields */
    *out = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->d}};
    if (c->n < 1 || c->d < 1 || c->n > nn_shape_width(&in[0]) / c->d)
        return err_set(err, RC_INVAL, "%jd fields of %jd values in rows of %jd",
                       (intmax_t)c->n, (intmax_t)c->d, (intmax_t)nn_shape_width(&in[0]));
    return RC_OK;
}

/* The fields [n, d] in front of a row. */
static const char *fm_fields(struct onnx *o, const struct onnx_op *op)
{
    const struct op_fields_conf *c = op->conf;
    int64_t from = 0, to = c->n * c->d, last = -1;
    struct nn_shape flat = {.axis = op->in[0].axis, .n_dims = 1, .dims = {to}};
    struct nn_shape fields = {.axis = flat.axis, .n_dims = 2, .dims = {c->n, c->d}};
    const char *in[] = {onnx_flat(o, op->x[0], &op->in[0]), onnx_ints(o, &from, 1),
                        onnx_ints(o, &to, 1), onnx_ints(o, &last, 1)};
    const char *x =
        onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
    return onnx_reshape(o, NULL, x, &flat, &fields);
}

static void fm_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *x = op->in[0].n_dims == 2 ? op->x[0] : fm_fields(o, op);
    const char *sum = onnx_sum(o, NULL, x, -2, false);
    const char *squares = onnx_sum(o, NULL, onnx_binary(o, "Mul", NULL, x, x), -2, false);
    const char *both =
        onnx_binary(o, "Sub", NULL, onnx_binary(o, "Mul", NULL, sum, sum), squares);
    onnx_with(o, "Mul", op->y[0], both, 0.5f);
}

const struct op op_fm = {
    .name = "fm",
    .flags = OP_NEEDS_IN,
    .infer = fm_infer,
    .onnx = fm_onnx,
};

static struct op_fields_conf fields_of(const struct nn_val *x)
{
    return (struct op_fields_conf){.n = x->shape.dims[0], .d = x->shape.dims[1]};
}

struct nn_val *nn_fm_first(struct graph *g, struct nn_val *x, int64_t n, int64_t d)
{
    struct op_fields_conf conf = {.n = n, .d = d};
    return x ? nn_op(g, &op_fm, &x, 1, NULL, 0, &conf, sizeof(conf)) : NULL;
}

struct nn_val *nn_fm(struct graph *g, struct nn_val *x)
{
    if (x && x->shape.n_dims != 2)
        return graph_fail(g, "fm: takes rows of fields [n, d], not %d dimensions",
                          x->shape.n_dims);
    return x ? nn_fm_first(g, x, x->shape.dims[0], x->shape.dims[1]) : NULL;
}

static enum rc dots_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    int64_t n = in[0].dims[0];
    *keep_width = 0;
    if (in[0].n_dims == 2 && n < 2)
        return err_set(err, RC_INVAL, "needs at least two fields");
    return fields_infer(&in[0], &out[0], n * (n - 1) / 2, err);
}

/* All products, of which those above the diagonal are picked. */
static void dots_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_fields_conf *c = op->conf;
    int64_t n = c->n, *pick = mem_calloc((size_t)(n * n), sizeof(*pick));
    int count = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            pick[count++] = i * n + j;
    bool sequence = op->in[0].axis != AXIS_BATCH;
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {0, 2, 1}, .n_ints = 3};
    if (sequence) {
        memcpy(perm.ints, (const int64_t[]){0, 1, 3, 2}, sizeof(perm.ints));
        perm.n_ints = 4;
    }
    const char *turned =
        onnx_node(o, &(struct onnx_node){
                         .type = "Transpose", .in = op->x, .n_in = 1, .attrs = {perm}});
    struct nn_shape square = {.axis = op->in[0].axis, .n_dims = 2, .dims = {n, n}};
    const char *all =
        onnx_flat(o, onnx_binary(o, "MatMul", NULL, op->x[0], turned), &square);
    const char *in[] = {all, onnx_ints(o, pick, count)};
    onnx_node(o, &(struct onnx_node){.type = "Gather",
                                     .in = in,
                                     .n_in = 2,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", -1)}});
    mem_free(pick);
}

const struct op op_pair_dots = {
    .name = "pair dots",
    .flags = OP_NEEDS_IN,
    .infer = dots_infer,
    .onnx = dots_onnx,
};

struct nn_val *nn_pair_dots(struct graph *g, struct nn_val *x)
{
    if (!x)
        return NULL;
    struct op_fields_conf conf = fields_of(x);
    return nn_op(g, &op_pair_dots, &x, 1, NULL, 0, &conf, sizeof(conf));
}

/* Inputs: gate [e], experts [e, d]. */
static enum rc mix_infer(const void *conf, const struct nn_shape *in, int n_in,
                         struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    if (nn_shape_width(&in[0]) != in[1].dims[0] || in[0].axis != in[1].axis)
        return err_set(err, RC_INVAL, "%jd gates for %jd experts",
                       (intmax_t)nn_shape_width(&in[0]), (intmax_t)in[1].dims[0]);
    return fields_infer(&in[1], &out[0], in[1].dims[1], err);
}

static void mix_onnx(struct onnx *o, const struct onnx_op *op)
{
    int64_t last = -1;
    const char *gate = onnx_binary(
        o, "Unsqueeze", NULL, onnx_flat(o, op->x[0], &op->in[0]), onnx_ints(o, &last, 1));
    onnx_sum(o, op->y[0], onnx_binary(o, "Mul", NULL, gate, op->x[1]), -2, false);
}

const struct op op_mix = {
    .name = "mix",
    .flags = OP_NEEDS_IN,
    .infer = mix_infer,
    .onnx = mix_onnx,
};

struct nn_val *nn_mix(struct graph *g, struct nn_val *gate, struct nn_val *experts)
{
    if (!gate || !experts)
        return NULL;
    struct op_fields_conf conf = fields_of(experts);
    struct nn_val *in[] = {gate, experts};
    return nn_op(g, &op_mix, in, 2, NULL, 0, &conf, sizeof(conf));
}
