/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of the positions of a row to each other, several heads. The weights are not
 * stored: the backward pass finds them again from the logarithm of their sum, which is
 * kept per position and head. So memory grows with the positions, not with their square.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

struct attention_conf {
    int64_t heads;
    uint32_t below; /* of 2^32: a weight is dropped when the random word is less */
    float kept;     /* factor of the weights that are not */
};

enum { IN_QUERY, IN_KEY, IN_VALUE };

static enum rc attention_infer(const void *conf, const struct shape *in, int n_in,
                               struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct attention_conf *c = conf;
    int64_t width = shape_width(&in[0]);
    for (int i = 0; i < n_in; i++)
        if (in[i].axis == AXIS_BATCH || in[i].axis != in[0].axis ||
            shape_width(&in[i]) != width)
            return err_set(err, RC_INVAL, "takes values of positions of one width");
    if (c->heads < 1 || width % c->heads)
        return err_set(err, RC_INVAL, "%jd heads do not divide a width of %jd",
                       (intmax_t)c->heads, (intmax_t)width);
    out[0] = in[0];
    *keep_width = c->heads;
    return RC_OK;
}

/* What one head of one position looks at. */
struct head {
    const struct op_run *r;
    int64_t position, from, to; /* the row's positions */
    int64_t col, width;
    float scale;
    struct rng rng; /* of the dropped weights */
    bool drops;
};

static struct head head_of(const struct op_run *r, int64_t position, int64_t from,
                           int64_t to)
{
    const struct attention_conf *c = r->conf;
    struct head h = {.r = r,
                     .position = position,
                     .from = from,
                     .to = to,
                     .width = r->in[0].width / c->heads,
                     .drops = r->env->training && c->below > 0};
    h.scale = 1.0f / sqrtf((float)h.width);
    rng_init(&h.rng, r->env->seed, r->id + 1, r->env->step, (uint64_t)position);
    return h;
}

static float score(const struct head *h, int64_t j)
{
    return h->scale * kernels()->dot(view_row(&h->r->in[IN_QUERY], h->position) + h->col,
                                     view_row(&h->r->in[IN_KEY], j) + h->col, h->width);
}

/* The factor of the next weight; both passes ask in the same order. */
static float factor(struct head *h)
{
    const struct attention_conf *c = h->r->conf;
    if (!h->drops)
        return 1.0f;
    return rng_u32(&h->rng) < c->below ? 0.0f : c->kept;
}

static void scale_row(float *y, float by, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] *= by;
}

/* One pass: what has been added up is scaled down when a larger score comes. */
static void head_forward(struct head *h, float *y, float *log_sum)
{
    float max = -INFINITY;
    double sum = 0;
    memset(y, 0, (size_t)h->width * sizeof(float));
    for (int64_t j = h->from; j < h->to; j++) {
        float s = score(h, j);
        if (s > max) {
            float shrink = expf(max - s);
            scale_row(y, shrink, h->width);
            sum *= (double)shrink;
            max = s;
        }
        float e = expf(s - max);
        sum += (double)e;
        kernels()->axpy(y, e * factor(h), view_row(&h->r->in[IN_VALUE], j) + h->col,
                        h->width);
    }
    scale_row(y, (float)(1.0 / sum), h->width);
    *log_sum = max + (float)log(sum);
}

static void attention_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct attention_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; b < end; b++)
        for (int64_t i = at[b]; i < at[b + 1]; i++) {
            struct head h = head_of(r, i, at[b], at[b + 1]);
            for (int64_t k = 0; k < c->heads; k++, h.col += h.width)
                head_forward(&h, view_row(&r->out[0], i) + h.col,
                             view_row(&r->keep, i) + k);
        }
}

static void add_to(const struct head *h, int input, int64_t row, float by, const float *x)
{
    const struct view *d = &h->r->d_in[input];
    if (d->data)
        kernels()->axpy(view_row(d, row) + h->col, by, x, h->width);
}

static void head_backward(struct head *h, float log_sum)
{
    const struct op_run *r = h->r;
    const float *dy = view_row(&r->d_out[0], h->position) + h->col;
    const float *q = view_row(&r->in[IN_QUERY], h->position) + h->col;
    float mean = kernels()->dot(dy, view_row(&r->out[0], h->position) + h->col, h->width);
    for (int64_t j = h->from; j < h->to; j++) {
        const float *v = view_row(&r->in[IN_VALUE], j) + h->col;
        const float *k = view_row(&r->in[IN_KEY], j) + h->col;
        float p = expf(score(h, j) - log_sum), f = factor(h);
        float d = h->scale * p * (f * kernels()->dot(dy, v, h->width) - mean);
        add_to(h, IN_QUERY, h->position, d, k);
        add_to(h, IN_KEY, j, d, q);
        add_to(h, IN_VALUE, j, p * f, dy);
    }
}

static void attention_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct attention_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    for (int64_t b = begin; b < end; b++)
        for (int64_t i = at[b]; i < at[b + 1]; i++) {
            struct head h = head_of(r, i, at[b], at[b + 1]);
            for (int64_t k = 0; k < c->heads; k++, h.col += h.width)
                head_backward(&h, view_row(&r->keep, i)[k]);
        }
}

/* [batch, axis, heads * d] -> [batch, heads, axis, d], or with the last two turned. */
static const char *put_heads(struct onnx *o, const struct onnx_op *op, int input,
                             bool turned)
{
    const struct attention_conf *c = op->conf;
    struct shape split = {.axis = op->in[input].axis,
                          .n_dims = 2,
                          .dims = {c->heads, shape_width(&op->in[input]) / c->heads}};
    const char *flat = onnx_flat(o, op->x[input], &op->in[input]);
    struct shape one = {
        .axis = split.axis, .n_dims = 1, .dims = {shape_width(&op->in[input])}};
    const char *x = onnx_reshape(o, NULL, flat, &one, &split);
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {0, 2, 1, 3}, .n_ints = 4};
    if (turned) {
        perm.ints[2] = 3;
        perm.ints[3] = 1;
    }
    return onnx_node(o, &(struct onnx_node){
                            .type = "Transpose", .in = &x, .n_in = 1, .attrs = {perm}});
}

/* What is added to the scores of padded positions: [batch, 1, 1, axis]. */
static const char *put_bias(struct onnx *o, int axis)
{
    static const int64_t axes[] = {1, 2};
    const char *outside = onnx_with(o, "Sub", NULL, onnx_mask(o, axis), 1.0f);
    const char *bias = onnx_with(o, "Mul", NULL, outside, 1e30f);
    return onnx_binary(o, "Unsqueeze", NULL, bias, onnx_ints(o, axes, 2));
}

static void attention_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct attention_conf *c = op->conf;
    int64_t width = shape_width(&op->in[0]);
    const char *q = put_heads(o, op, IN_QUERY, false);
    const char *k = put_heads(o, op, IN_KEY, true);
    const char *v = put_heads(o, op, IN_VALUE, false);
    float scale = 1.0f / sqrtf((float)(width / c->heads));
    const char *scores =
        onnx_with(o, "Mul", NULL, onnx_binary(o, "MatMul", NULL, q, k), scale);
    scores = onnx_binary(o, "Add", NULL, scores, put_bias(o, op->in[0].axis));
    const char *weights =
        onnx_node(o, &(struct onnx_node){.type = "Softmax",
                                         .in = &scores,
                                         .n_in = 1,
                                         .attrs = {ONNX_INT("axis", -1)}});
    const char *y = onnx_binary(o, "MatMul", NULL, weights, v);
    struct onnx_attr perm = {
        .name = "perm", .kind = ONNX_ATTR_INTS, .ints = {0, 2, 1, 3}, .n_ints = 4};
    y = onnx_node(o, &(struct onnx_node){
                         .type = "Transpose", .in = &y, .n_in = 1, .attrs = {perm}});
    struct shape split = {
        .axis = op->in[0].axis, .n_dims = 2, .dims = {c->heads, width / c->heads}};
    if (op->out[0].n_dims == 2 && op->out[0].dims[0] == c->heads)
        onnx_unary(o, "Identity", op->y[0], y);
    else
        onnx_reshape(o, op->y[0], y, &split, &op->out[0]);
}

static const struct op_ops op_attention = {
    .name = "attention",
    .flags = OP_NEEDS_IN | OP_NEEDS_OUT | OP_STRIDED,
    .infer = attention_infer,
    .forward = attention_forward,
    .backward = attention_backward,
    .onnx = attention_onnx,
};

struct val *nn_seq_attention(struct graph *g, struct val *query, struct val *key,
                             struct val *value, int64_t heads, double dropout)
{
    struct val *in[] = {query, key, value};
    if (dropout < 0 || dropout >= 1)
        return graph_fail(g, "attention: a dropout of %g is outside [0, 1)", dropout);
    struct attention_conf conf = {.heads = heads,
                                  .below = (uint32_t)(dropout * 4294967296.0),
                                  .kept = (float)(1.0 / (1.0 - dropout))};
    return nn_op(g, &op_attention, in, 3, NULL, 0, &conf, sizeof(conf));
}
