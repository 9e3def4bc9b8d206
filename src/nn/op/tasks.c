/* SPDX-License-Identifier: Apache-2.0 */
/* What models of several heads need beside layers: the logit of two events together, one
 * of several values by a number of the row, and means and roots over the batch.
 */
#include <math.h>

#include "base/mem.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "nn/ops.h"

static void rows_of(const struct op_run *r, int64_t begin, int64_t end, int64_t *from,
                    int64_t *to)
{
    op_rows(r->env, r->out_axis[0], begin, end, from, to);
}

/* Rows of one value each. */
static enum rc ones_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = in[0];
    for (int i = 0; i < n_in; i++)
        if (in[i].axis != in[0].axis || shape_width(&in[i]) != 1)
            return err_set(err, RC_INVAL, "takes one value per row");
    return RC_OK;
}

/* With p = sigmoid(a) sigmoid(b): p / (1 - p) = 1 / (e^-a + e^-b + e^-(a+b)). The shares
 * of the three terms are the slopes.
 */
static double both(double a, double b, double share[3])
{
    double term[] = {-a, -b, -a - b}, most = fmax(fmax(term[0], term[1]), term[2]);
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += share[i] = exp(term[i] - most);
    for (int i = 0; i < 3; i++)
        share[i] /= sum;
    return -(most + log(sum));
}

static void both_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    double share[3];
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = (float)both((double)*view_row(&r->in[0], k),
                                               (double)*view_row(&r->in[1], k), share);
}

static void both_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    double share[3];
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        both((double)*view_row(&r->in[0], k), (double)*view_row(&r->in[1], k), share);
        double d = (double)*view_row(&r->d_out[0], k);
        for (int i = 0; i < 2; i++)
            if (r->d_in[i].data)
                *view_row(&r->d_in[i], k) += (float)(d * (share[i] + share[2]));
    }
}

static void both_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *a = onnx_unary(o, "Neg", NULL, op->x[0]);
    const char *b = onnx_unary(o, "Neg", NULL, op->x[1]);
    const char *in[] = {a, b, onnx_binary(o, "Add", NULL, a, b)};
    const char *terms = onnx_node(
        o, &(struct onnx_node){
               .type = "Concat", .in = in, .n_in = 3, .attrs = {ONNX_INT("axis", -1)}});
    struct onnx_attr axes = {
        .name = "axes", .kind = ONNX_ATTR_INTS, .ints = {-1}, .n_ints = 1};
    const char *sum =
        onnx_node(o, &(struct onnx_node){.type = "ReduceLogSumExp",
                                         .in = &terms,
                                         .n_in = 1,
                                         .attrs = {axes, ONNX_INT("keepdims", 1)}});
    onnx_unary(o, "Neg", op->y[0], sum);
}

static const struct op_ops op_both = {.name = "both",
                                      .flags = OP_NEEDS_IN,
                                      .infer = ones_infer,
                                      .forward = both_forward,
                                      .backward = both_backward,
                                      .onnx = both_onnx};

struct val *nn_both_logit(struct graph *g, struct val *a, struct val *b)
{
    struct val *in[] = {a, b};
    return nn_op(g, &op_both, in, 2, NULL, 0, NULL, 0);
}

/* x [n] and a number of the row -> x[number]. */
static enum rc pick_infer(const void *conf, const struct shape *in, int n_in,
                          struct shape *out, int64_t *keep_width, struct err *err)
{
    *keep_width = 0;
    out[0] = (struct shape){.axis = in[0].axis, .n_dims = 1, .dims = {1}};
    if (in[0].axis != in[1].axis || shape_width(&in[1]) != 1)
        return err_set(err, RC_INVAL, "takes one number per row");
    return RC_OK;
}

static int64_t picked(const struct op_run *r, int64_t row)
{
    double at = (double)*view_row(&r->in[1], row);
    int64_t n = r->in[0].width;
    return at >= 0 && at < (double)n ? (int64_t)at : at >= (double)n ? n - 1 : 0;
}

static void pick_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = view_row(&r->in[0], k)[picked(r, k)];
}

static void pick_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        view_row(&r->d_in[0], k)[picked(r, k)] += *view_row(&r->d_out[0], k);
}

#define ONNX_INT64 7 /* TensorProto.DataType */

static void pick_onnx(struct onnx *o, const struct onnx_op *op)
{
    const char *at =
        onnx_node(o, &(struct onnx_node){.type = "Cast",
                                         .in = &op->x[1],
                                         .n_in = 1,
                                         .attrs = {ONNX_INT("to", ONNX_INT64)}});
    const char *in[] = {onnx_flat(o, op->x[0], &op->in[0]), at};
    onnx_node(o, &(struct onnx_node){.type = "GatherElements",
                                     .in = in,
                                     .n_in = 2,
                                     .out = op->y[0],
                                     .attrs = {ONNX_INT("axis", -1)}});
}

static const struct op_ops op_pick = {.name = "pick",
                                      .flags = OP_NEEDS_IN,
                                      .infer = pick_infer,
                                      .forward = pick_forward,
                                      .backward = pick_backward,
                                      .onnx = pick_onnx};

struct val *nn_pick(struct graph *g, struct val *x, struct val *number)
{
    struct val *in[] = {x, number};
    return nn_op(g, &op_pick, in, 2, NULL, 0, NULL, 0);
}

/* Divided by the number of rows, or times it. */
struct share_conf {
    bool times;
};

static float share_of(const struct op_run *r)
{
    const struct share_conf *c = r->conf;
    return c->times ? (float)op_total(r) : 1.0f / (float)op_total(r);
}

static void share_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    float by = share_of(r);
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = *view_row(&r->in[0], k) * by;
}

static void share_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    float by = share_of(r);
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to; k++)
        *view_row(&r->d_in[0], k) += *view_row(&r->d_out[0], k) * by;
}

static const struct op_ops op_share = {.name = "share of the mean",
                                       .infer = ones_infer,
                                       .forward = share_forward,
                                       .backward = share_backward,
                                       .onnx = onnx_nothing};

struct val *nn_mean_share(struct graph *g, struct val *x)
{
    struct share_conf conf = {.times = false};
    return nn_op(g, &op_share, &x, 1, NULL, 0, &conf, sizeof(conf));
}

struct val *nn_batch_times(struct graph *g, struct val *x)
{
    struct share_conf conf = {.times = true};
    return nn_op(g, &op_share, &x, 1, NULL, 0, &conf, sizeof(conf));
}

/* x / sqrt(sum of all x): together the root of the sum. */
struct root_state {
    double sum, slopes; /* of x; of x times the gradient */
};

static enum rc root_setup(const void *conf, const struct shape *in,
                          const struct shape *out, bool training, void **state,
                          struct err *err)
{
    *state = mem_calloc(1, sizeof(struct root_state));
    return RC_OK;
}

static void root_sync_forward(const struct op_run *r)
{
    struct root_state *s = r->state;
    s->sum = 0;
    for (int64_t k = 0; k < r->in[0].rows; k++)
        s->sum += (double)*view_row(&r->in[0], k);
}

static void root_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct root_state *s = r->state;
    int64_t from, to;
    double by = s->sum > 0 ? 1 / sqrt(s->sum) : 0;
    rows_of(r, begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = (float)((double)*view_row(&r->in[0], k) * by);
}

static void root_sync_backward(const struct op_run *r)
{
    struct root_state *s = r->state;
    s->slopes = 0;
    for (int64_t k = 0; k < r->in[0].rows; k++)
        s->slopes += (double)*view_row(&r->in[0], k) * (double)*view_row(&r->d_out[0], k);
}

static void root_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct root_state *s = r->state;
    int64_t from, to;
    rows_of(r, begin, end, &from, &to);
    if (!r->d_in[0].data || !(s->sum > 0))
        return;
    double by = 1 / sqrt(s->sum), less = s->slopes / (2 * s->sum) * by;
    for (int64_t k = from; k < to; k++)
        *view_row(&r->d_in[0], k) +=
            (float)((double)*view_row(&r->d_out[0], k) * by - less);
}

static const struct op_ops op_root = {.name = "share of the root",
                                      .flags = OP_NEEDS_IN,
                                      .infer = ones_infer,
                                      .setup = root_setup,
                                      .teardown = mem_free,
                                      .sync_forward = root_sync_forward,
                                      .forward = root_forward,
                                      .sync_backward = root_sync_backward,
                                      .backward = root_backward,
                                      .onnx = onnx_nothing};

struct val *nn_root_share(struct graph *g, struct val *x)
{
    return nn_op(g, &op_root, &x, 1, NULL, 0, NULL, 0);
}
