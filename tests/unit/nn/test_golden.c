/* SPDX-License-Identifier: Apache-2.0 */
/* Single ops against PyTorch: values, gradients, running statistics, evaluation mode. The
 * file and the script that made it are in tests/golden/ops.
 */
#include "golden/golden.h"
#include "nn/graph.h"
#include "nn/ops.h"

#define TOLERANCE 1e-5

struct op_case {
    const char *name;
    struct nn_val *(*build)(struct graph *g, const struct op_case *c,
                            struct nn_val *const *x);
    enum nn_act act;
    float a, b; /* what the builder makes of them */
};

static struct nn_val *build_act(struct graph *g, const struct op_case *c,
                                struct nn_val *const *x)
{
    return nn_act(g, x[0], c->act, c->a);
}

static struct nn_val *build_batch_norm(struct graph *g, const struct op_case *c,
                                       struct nn_val *const *x)
{
    return nn_batch_norm(g, "x", x[0], true);
}

static struct nn_val *build_layer_norm(struct graph *g, const struct op_case *c,
                                       struct nn_val *const *x)
{
    return nn_layer_norm(g, "x", x[0]);
}

static struct nn_val *build_prelu(struct graph *g, const struct op_case *c,
                                  struct nn_val *const *x)
{
    return nn_prelu(g, "x", x[0], 0.25f);
}

static struct nn_val *build_dice(struct graph *g, const struct op_case *c,
                                 struct nn_val *const *x)
{
    return nn_dice(g, "x", x[0]);
}

static struct nn_val *build_softmax(struct graph *g, const struct op_case *c,
                                    struct nn_val *const *x)
{
    return nn_softmax(g, x[0]);
}

static struct nn_val *build_l2(struct graph *g, const struct op_case *c,
                               struct nn_val *const *x)
{
    return nn_l2_normalise(g, x[0], c->a);
}

static struct nn_val *build_bce(struct graph *g, const struct op_case *c,
                                struct nn_val *const *x)
{
    return nn_bce_loss(g, x[0], x[1], x[2], c->a);
}

static struct nn_val *build_focal(struct graph *g, const struct op_case *c,
                                  struct nn_val *const *x)
{
    return nn_focal_loss(g, x[0], x[1], x[2], c->a, c->b);
}

static struct nn_val *build_softmax_ce(struct graph *g, const struct op_case *c,
                                       struct nn_val *const *x)
{
    return nn_softmax_loss(g, x[0], x[1], x[2], c->a);
}

static struct nn_val *build_l2_loss(struct graph *g, const struct op_case *c,
                                    struct nn_val *const *x)
{
    return nn_l2_loss(g, x[0], x[1], x[2]);
}

static const struct op_case ops[] = {
    {"batch_norm", build_batch_norm, 0, 0, 0},
    {"batch_norm_one_channel", build_batch_norm, 0, 0, 0},
    {"layer_norm", build_layer_norm, 0, 0, 0},
    {"layer_norm_three", build_layer_norm, 0, 0, 0},
    {"prelu", build_prelu, 0, 0, 0},
    {"dice", build_dice, 0, 0, 0},
    {"leaky_relu", build_act, ACT_LEAKY_RELU, 0.2f, 0},
    {"elu", build_act, ACT_ELU, 0.7f, 0},
    {"selu", build_act, ACT_SELU, 0, 0},
    {"gelu", build_act, ACT_GELU, 0, 0},
    {"gelu_tanh", build_act, ACT_GELU_TANH, 0, 0},
    {"silu", build_act, ACT_SILU, 0, 0},
    {"sigmoid", build_act, ACT_SIGMOID, 0, 0},
    {"tanh", build_act, ACT_TANH, 0, 0},
    {"softplus", build_act, ACT_SOFTPLUS, 0, 0},
    {"mish", build_act, ACT_MISH, 0, 0},
    {"hardswish", build_act, ACT_HARDSWISH, 0, 0},
    {"softsign", build_act, ACT_SOFTSIGN, 0, 0},
    {"relu6", build_act, ACT_RELU6, 0, 0},
    {"softmax", build_softmax, 0, 0, 0},
    {"l2_normalise", build_l2, 0, 1e-12f, 0},
    {"l2_normalise_short", build_l2, 0, 2.0f, 0},
    {"bce", build_bce, 0, 0, 0},
    {"bce_weighted", build_bce, 0, 0, 0},
    {"bce_smoothed", build_bce, 0, 0.1f, 0},
    {"bce_smoothed_weighted", build_bce, 0, 0.1f, 0},
    {"focal", build_focal, 0, 2.0f, 0.5f},
    {"focal_weighted", build_focal, 0, 2.0f, 0.5f},
    {"focal_other", build_focal, 0, 1.5f, 0.3f},
    {"focal_other_weighted", build_focal, 0, 1.5f, 0.3f},
    {"softmax_ce", build_softmax_ce, 0, 0, 0},
    {"softmax_ce_weighted", build_softmax_ce, 0, 0, 0},
    {"softmax_ce_smoothed", build_softmax_ce, 0, 0.2f, 0},
    {"softmax_ce_smoothed_weighted", build_softmax_ce, 0, 0.2f, 0},
    {"l2_loss", build_l2_loss, 0, 0, 0},
    {"l2_loss_weighted", build_l2_loss, 0, 0, 0},
};

#define INPUTS_MAX 3

struct run {
    struct golden *file;
    const struct op_case *op;
    const struct node *want;
    struct graph *graph;
    struct nn_val *x[INPUTS_MAX], *y, *d_out;
    int n_in;
    int64_t rows;
};

static void fill(struct run *r, struct nn_val *v, struct floats f)
{
    struct view to = graph_write_begin(r->graph, v);
    CHECK_INT(f.n, to.rows * to.width);
    for (int64_t k = 0; k < f.n && f.n == to.rows * to.width; k++)
        view_row(&to, k / to.width)[k % to.width] = f.at[k];
    graph_write_end(r->graph, v);
}

static void compare_view(struct run *r, const char *what, struct view v)
{
    float *flat =
        arena_alloc(&r->file->arena, (size_t)(v.rows * v.width + 1) * sizeof(*flat));
    for (int64_t k = 0; k < v.rows * v.width; k++)
        flat[k] = view_row(&v, k / v.width)[k % v.width];
    golden_compare(r->op->name, what, "", flat,
                   golden_floats(r->file, golden_at(r->want, what)), v.rows * v.width,
                   TOLERANCE);
}

/* Values of the file, found under the parameter's name without its prefix "x.". */
static struct floats of_param(struct run *r, const struct param *p, const char *dense,
                              const char *buffers)
{
    const struct node *map = golden_at(r->want, p->trainable ? dense : buffers);
    return golden_floats(r->file, golden_at(map, p->name + 2));
}

static bool build(struct run *r)
{
    struct err err = {0};
    struct graph_options o = {.training = true, .seed = 3, .tile_rows = 4};
    const struct node *in = golden_at(r->want, "in");
    r->graph = graph_create(&o);
    r->rows = (int64_t)golden_number(r->want, "rows");
    r->n_in = (int)in->list.n;
    for (int i = 0; i < r->n_in && i < INPUTS_MAX; i++) {
        int64_t width = golden_floats(r->file, in->list.at[i]).n / r->rows;
        struct nn_shape shape = {.axis = AXIS_BATCH, .n_dims = 1, .dims = {width}};
        r->x[i] = nn_input(r->graph, "x", &shape, i == 0);
    }
    r->y = r->op->build(r->graph, r->op, r->x);
    if (r->y) {
        nn_output(r->graph, "y", r->y);
        r->d_out = nn_input(r->graph, "d", nn_val_shape(r->y), false);
        nn_loss(r->graph, "sum", nn_row_sum(r->graph, nn_mul(r->graph, r->y, r->d_out)));
    }
    enum rc rc = graph_finish(r->graph, &err);
    CHECK_STR(rc ? err.msg : "", "");
    struct nn_batch_rows rows = {.n = {r->rows}};
    return !rc && graph_rows(r->graph, &rows, NULL) == RC_OK;
}

static void load(struct run *r)
{
    const struct node *in = golden_at(r->want, "in");
    size_t n;
    struct param *const *params = graph_params(r->graph, &n);
    for (int i = 0; i < r->n_in; i++)
        fill(r, r->x[i], golden_floats(r->file, in->list.at[i]));
    fill(r, r->d_out, golden_floats(r->file, golden_at(r->want, "d_out")));
    CHECK_INT(n,
              golden_at(r->want, "params")->map.n + golden_at(r->want, "buffers")->map.n);
    for (size_t i = 0; i < n; i++) {
        struct floats f = of_param(r, params[i], "params", "buffers");
        CHECK_INT(f.n, params[i]->n);
        if (f.n == params[i]->n)
            param_set(params[i], f.at);
    }
}

static void compare(struct run *r)
{
    size_t n;
    struct param *const *params = graph_params(r->graph, &n);
    graph_forward(r->graph, 1);
    compare_view(r, "out", graph_read(r->graph, r->y));
    graph_backward(r->graph, true);
    compare_view(r, "d_in", graph_read_grad(r->graph, r->x[0]));
    for (size_t i = 0; i < n; i++)
        golden_compare(
            r->op->name, "after", params[i]->name,
            params[i]->grad ? param_read_grad(params[i]) : param_read(params[i]),
            of_param(r, params[i], "d_params", "buffers_after"), params[i]->n, TOLERANCE);
    graph_training(r->graph, false);
    graph_forward(r->graph, 1);
    compare_view(r, "eval", graph_read(r->graph, r->y));
}

static void each_op(struct golden *file)
{
    CHECK_INT(file->doc.root->map.n, ARRAY_LEN(ops));
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        struct run r = {
            .file = file, .op = &ops[i], .want = golden_at(file->doc.root, ops[i].name)};
        if (r.want && build(&r)) {
            load(&r);
            compare(&r);
        }
        graph_destroy(r.graph);
    }
}

static void ops_agree_with_another_implementation(void)
{
    struct golden file;
    if (golden_open(&file, TY_GOLDEN "/ops/ops.json"))
        each_op(&file);
    golden_close(&file);
}

static const struct tap_case cases[] = {
    TAP(ops_agree_with_another_implementation),
};
TAP_MAIN(cases)
