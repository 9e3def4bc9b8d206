/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted means over consecutive windows of a sequence. */
#include <string.h>

#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tensor/kernel.h"

struct windows_conf {
    int64_t n;
    int64_t start[NN_WINDOWS_MAX + 1]; /* positions; the last is where all end */
};

static enum rc windows_infer(const void *conf, const struct shape *in, int n_in,
                             struct shape *out, int64_t *keep_width, struct err *err)
{
    const struct windows_conf *c = conf;
    *keep_width = 0;
    if (in[0].axis == AXIS_BATCH || in[1].axis != in[0].axis || shape_width(&in[1]) != 1)
        return err_set(err, RC_INVAL, "takes values and one weight per position");
    out[0] = (struct shape){
        .axis = AXIS_BATCH, .n_dims = 2, .dims = {c->n, shape_width(&in[0])}};
    return RC_OK;
}

/* The positions of window `w` in batch row `b`, and what their sum is divided by. */
static float window_of(const struct op_run *r, int64_t b, int64_t w, int64_t *from,
                       int64_t *to)
{
    const struct windows_conf *c = r->conf;
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    int64_t length = at[b + 1] - at[b];
    int64_t first = c->start[w] < length ? c->start[w] : length;
    int64_t last = c->start[w + 1] < length ? c->start[w + 1] : length;
    *from = at[b] + first;
    *to = at[b] + last;
    return last > first ? 1.0f / (float)(last - first) : 1.0f;
}

static void windows_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct windows_conf *c = r->conf;
    int64_t width = r->in[0].width, from, to;
    for (int64_t b = begin; b < end; b++)
        for (int64_t w = 0; w < c->n; w++) {
            float *y = view_row(&r->out[0], b) + w * width;
            float scale = window_of(r, b, w, &from, &to);
            memset(y, 0, (size_t)width * sizeof(float));
            for (int64_t k = from; k < to; k++)
                kernels()->axpy(y, scale * *view_row(&r->in[1], k),
                                view_row(&r->in[0], k), width);
        }
}

static void windows_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct windows_conf *c = r->conf;
    int64_t width = r->in[0].width, from, to;
    for (int64_t b = begin; b < end; b++)
        for (int64_t w = 0; w < c->n; w++) {
            const float *dy = view_row(&r->d_out[0], b) + w * width;
            float scale = window_of(r, b, w, &from, &to);
            for (int64_t k = from; k < to; k++) {
                if (r->d_in[0].data)
                    kernels()->axpy(view_row(&r->d_in[0], k),
                                    scale * *view_row(&r->in[1], k), dy, width);
                if (r->d_in[1].data)
                    *view_row(&r->d_in[1], k) +=
                        scale * kernels()->dot(dy, view_row(&r->in[0], k), width);
            }
        }
}

static const char *put_window(struct onnx *o, const struct windows_conf *c, int64_t w,
                              const char *x)
{
    int64_t axis = 1;
    const char *in[] = {x, onnx_ints(o, &c->start[w], 1),
                        onnx_ints(o, &c->start[w + 1], 1), onnx_ints(o, &axis, 1)};
    const char *part =
        onnx_node(o, &(struct onnx_node){.type = "Slice", .in = in, .n_in = 4});
    return onnx_sum(o, NULL, part, 1, true);
}

static void windows_onnx(struct onnx *o, const struct onnx_op *op)
{
    const struct windows_conf *c = op->conf;
    const char *means[NN_WINDOWS_MAX], *mask = onnx_mask_column(o, op->in[0].axis);
    const char *weights =
        onnx_binary(o, "Mul", NULL, mask, onnx_flat(o, op->x[1], &op->in[1]));
    const char *x =
        onnx_binary(o, "Mul", NULL, onnx_flat(o, op->x[0], &op->in[0]), weights);
    for (int64_t w = 0; w < c->n; w++) {
        const char *count = onnx_with(o, "Max", NULL, put_window(o, c, w, mask), 1);
        means[w] = onnx_binary(o, "Div", NULL, put_window(o, c, w, x), count);
    }
    onnx_node(o, &(struct onnx_node){.type = "Concat",
                                     .in = means,
                                     .n_in = (int)c->n,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", 1)}});
}

static const struct op_ops op_windows = {.name = "window means",
                                         .flags = OP_NEEDS_IN | OP_STRIDED,
                                         .infer = windows_infer,
                                         .forward = windows_forward,
                                         .backward = windows_backward,
                                         .onnx = windows_onnx};

struct val *nn_seq_windows(struct graph *g, struct val *weights, struct val *values,
                           const uint32_t *lengths, int64_t n)
{
    struct windows_conf conf = {.n = n};
    struct val *in[] = {values, weights};
    if (n < 1 || n > NN_WINDOWS_MAX)
        return graph_fail(g, "%jd windows: there can be 1 to %d", (intmax_t)n,
                          NN_WINDOWS_MAX);
    for (int64_t i = 0; i < n; i++) {
        if (lengths[i] == 0)
            return graph_fail(g, "window %jd has no positions", (intmax_t)i);
        conf.start[i + 1] = conf.start[i] + lengths[i];
    }
    return nn_op(g, &op_windows, in, 2, NULL, 0, &conf, sizeof(conf));
}
