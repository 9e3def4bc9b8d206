/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of a codebook: the nearest to a vector, the nearest few, and gradients that pass the
 * choice by. What is a distance in words is, in ONNX, |e|^2 - 2 x.e (the length of x changes
 * no order), or -x.e / (|x| |e|).
 */
#include "nn/op/codes.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"

#define NORM_EPS 1e-12f

static enum rc code_infer(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_code_conf *c = conf;
    if (in[0].n_dims != 1 || in[0].dims[0] != c->d)
        return err_set(err, RC_INVAL, "takes %jd values per row", (intmax_t)c->d);
    out[0] = in[0];
    out[1] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {1}};
    *keep_width = c->k + 1; /* distances or weights, and the code */
    return RC_OK;
}

static const char *unit_rows(struct onnx *o, const char *x)
{
    const char *size = onnx_unary(
        o, "Sqrt", NULL, onnx_sum(o, NULL, onnx_binary(o, "Mul", NULL, x, x), -1, true));
    return onnx_binary(o, "Div", NULL, x, onnx_with(o, "Max", NULL, size, NORM_EPS));
}

static const char *put_distances(struct onnx *o, const char *x, const char *book,
                                 bool cosine)
{
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {1, 0}, .n_ints = 2};
    const char *rows = cosine ? unit_rows(o, book) : book;
    const char *turned =
        onnx_node(o, &(struct onnx_node){
                         .type = "Transpose", .in = &rows, .n_in = 1, .attrs = {perm}});
    const char *dots =
        onnx_binary(o, "MatMul", NULL, cosine ? unit_rows(o, x) : x, turned);
    if (cosine)
        return onnx_with(o, "Mul", NULL, dots, -1);
    const char *sizes =
        onnx_sum(o, NULL, onnx_binary(o, "Mul", NULL, book, book), -1, false);
    return onnx_binary(o, "Sub", NULL, sizes, onnx_with(o, "Mul", NULL, dots, 2));
}

static void code_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_code_conf *c = op->conf;
    const char *book = onnx_param(o, op->params[CODE_BOOK]);
    const char *far = put_distances(o, op->x[0], book, c->c.cosine);
    const char *at = onnx_node(
        o, &(struct onnx_node){.type = "ArgMin",
                               .in = &far,
                               .n_in = 1,
                               .attrs = {ONNX_INT("axis", -1), ONNX_INT("keepdims", 0)}});
    int64_t last = -1;
    const char *column = onnx_binary(o, "Unsqueeze", NULL, at, onnx_ints(o, &last, 1));
    onnx_node(o, &(struct onnx_node){.type = "Cast",
                                     .in = &column,
                                     .n_in = 1,
                                     .out = op->y[1],
                                     .attrs = {ONNX_INT("to", 1)}});
    onnx_binary(o, "Gather", op->y[0], book, at);
}

const struct op op_nearest_code = {
    .name = "nearest code",
    .flags = OP_NEEDS_IN | OP_SETS_PARAMS,
    .infer = code_infer,
    .onnx = code_onnx,
};

struct nn_val *nn_nearest_code(struct graph *g, struct param *book, struct param *started,
                               struct param *unused, struct nn_val *x,
                               const struct nn_code_conf *conf, struct nn_val **code)
{
    if (!book || !started || !x)
        return NULL;
    struct op_code_conf c = {.c = *conf, .k = book->dims[0], .d = book->dims[1]};
    struct param *params[CODE_N_PARAMS] = {book, started, unused};
    struct nn_val *e = nn_op(g, &op_nearest_code, &x, 1, params,
                             unused ? CODE_N_PARAMS : CODE_UNUSED, &c, sizeof(c));
    *code = e ? nn_sibling(e, 1) : NULL;
    return e;
}

static enum rc candidates_infer(const void *conf, const struct nn_shape *in, int n_in,
                                struct nn_shape *out, int64_t *keep_width,
                                struct err *err)
{
    const struct op_candidates_conf *c = conf;
    *keep_width = 0;
    out[0] =
        (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->top * c->layers}};
    out[1] = (struct nn_shape){.axis = in[0].axis, .n_dims = 1, .dims = {c->top}};
    if (nn_shape_width(&in[0]) != c->d || nn_shape_width(&in[1]) != c->layers)
        return err_set(err, RC_INVAL, "takes %jd values and %jd codes per row",
                       (intmax_t)c->d, (intmax_t)c->layers);
    return RC_OK;
}

/* The codes of each row [1, layers - 1] repeated, with one of the nearest behind each. */
static void candidates_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct op_candidates_conf *c = op->conf;
    const char *book = onnx_param(o, op->params[0]);
    const char *far = put_distances(o, op->x[0], book, c->cosine);
    if (!c->cosine) {
        const char *squares = onnx_binary(o, "Mul", NULL, op->x[0], op->x[0]);
        far = onnx_binary(o, "Add", NULL, far, onnx_sum(o, NULL, squares, -1, true));
    }
    const char *in[] = {far, onnx_ints(o, &c->top, 1)};
    const char *at;
    onnx_node(o, &(struct onnx_node){.type = "TopK",
                                     .in = in,
                                     .n_in = 2,
                                     .out = op->y[1],
                                     .attrs = {ONNX_INT("largest", 0)},
                                     .second = &at});
    const char *found = onnx_node(
        o, &(struct onnx_node){
               .type = "Cast", .in = &at, .n_in = 1, .attrs = {ONNX_INT("to", 1)}});
    int64_t last = -1, middle = 1;
    found = onnx_binary(o, "Unsqueeze", NULL, found, onnx_ints(o, &last, 1));
    const char *all = found;
    if (c->layers > 1) {
        int64_t from = 0, to = c->layers - 1;
        const char *cut[] = {op->x[1], onnx_ints(o, &from, 1), onnx_ints(o, &to, 1),
                             onnx_ints(o, &last, 1)};
        const char *front =
            onnx_node(o, &(struct onnx_node){.type = "Slice", .in = cut, .n_in = 4});
        front = onnx_binary(o, "Unsqueeze", NULL, front, onnx_ints(o, &middle, 1));
        front = onnx_binary(o, "Expand", NULL, front,
                            onnx_ints(o, (const int64_t[]){1, c->top, 1}, 3));
        const char *join[] = {front, found};
        all = onnx_node(o, &(struct onnx_node){.type = "Concat",
                                               .in = join,
                                               .n_in = 2,
                                               .attrs = {ONNX_INT("axis", -1)}});
    }
    struct nn_shape split = {
        .axis = op->out[0].axis, .n_dims = 2, .dims = {c->top, c->layers}};
    onnx_reshape(o, op->y[0], all, &split, &op->out[0]);
}

const struct op op_code_candidates = {
    .name = "code candidates",
    .flags = OP_NO_GRAD,
    .infer = candidates_infer,
    .onnx = candidates_onnx,
};

struct nn_val *nn_code_candidates(struct graph *g, struct param *book, struct nn_val *x,
                                  struct nn_val *codes, bool cosine, int64_t top,
                                  struct nn_val **distances)
{
    if (!book || !x || !codes)
        return NULL;
    struct op_candidates_conf c = {.k = book->dims[0],
                                   .d = book->dims[1],
                                   .top = top,
                                   .layers = nn_shape_width(&codes->shape),
                                   .cosine = cosine};
    struct nn_val *in[] = {x, codes};
    if (top < 1 || top > c.k)
        return graph_fail(g, "%jd candidates of %jd codes", (intmax_t)top, (intmax_t)c.k);
    struct nn_val *y = nn_op(g, &op_code_candidates, in, 2, &book, 1, &c, sizeof(c));
    *distances = y ? nn_sibling(y, 1) : NULL;
    return y;
}

static enum rc through_infer(const void *conf, const struct nn_shape *in, int n_in,
                             struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    const struct op_through_conf *c = conf;
    out[0] = in[1];
    *keep_width = c->rotate ? 2 : 0; /* lengths of both */
    if (in[0].axis != in[1].axis || nn_shape_width(&in[0]) != nn_shape_width(&in[1]))
        return err_set(err, RC_INVAL, "takes two values of one shape");
    return RC_OK;
}

static void through_onnx(struct onnx *o, const struct onnx_op *op)
{
    onnx_unary(o, "Identity", op->y[0], op->x[1]);
}

const struct op op_through = {
    .name = "straight through",
    .flags = OP_NEEDS_IN,
    .infer = through_infer,
    .onnx = through_onnx,
};

struct nn_val *nn_through(struct graph *g, struct nn_val *x, struct nn_val *z,
                          bool rotate)
{
    struct nn_val *in[] = {x, z};
    struct op_through_conf c = {.rotate = rotate};
    return nn_op(g, &op_through, in, 2, NULL, 0, &c, sizeof(c));
}
