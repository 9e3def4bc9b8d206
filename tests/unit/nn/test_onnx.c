/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "nn/onnx.h"
#include "nn/ops.h"
#include "tap.h"

static bool has(const struct buf *b, const char *text)
{
    return memmem(b->p, b->n, text, strlen(text)) != NULL;
}

static enum rc keep_shape(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void an_op_that_onnx_does_not_know_is_refused(void)
{
    static const struct op ops = {.name = "novel", .infer = keep_shape};
    struct graph *g = graph_create(&(struct graph_options){0});
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {3}}, false);
    struct err err = {0};
    CHECK(nn_op(g, &ops, &x, 1, NULL, 0, NULL, 0) == NULL);
    CHECK(graph_finish(g, &err) == RC_INVAL);
    CHECK_STR(err.msg, "novel: the op does not say what it is in ONNX");
    graph_destroy(g);
}

/* Attention over a sequence and a net beside it. */
static struct graph *two_outputs_with(bool fixed)
{
    struct graph *g = graph_create(&(struct graph_options){.seed = 3, .fixed = fixed});
    int axis = graph_axis(g, "clicks");
    struct nn_val *deep =
        nn_input(g, "deep", &(struct nn_shape){AXIS_BATCH, 1, {4}}, false);
    struct nn_val *seq = nn_input(g, "seq", &(struct nn_shape){axis, 1, {4}}, false);
    struct nn_val *label =
        nn_input(g, "label:", &(struct nn_shape){AXIS_BATCH, 1, {1}}, false);
    struct nn_val *scores = nn_row_sum(g, nn_mul(g, nn_expand(g, deep, axis), seq));
    struct nn_val *pooled = nn_seq_sum(g, nn_seq_softmax(g, scores), seq);
    struct nn_val *o = nn_linear(
        g, "top", nn_concat(g, (struct nn_val *[]){deep, pooled}, 2), 1, true, ACT_NONE);
    nn_loss(g, "loss", nn_bce_loss(g, o, label, NULL, 0));
    nn_output(g, "probs", nn_act(g, o, ACT_SIGMOID, 0));
    nn_output(g, "user", nn_linear(g, "side", deep, 2, false, ACT_RELU));
    CHECK(graph_finish(g, NULL) == RC_OK);
    return g;
}

static struct graph *two_outputs(void)
{
    return two_outputs_with(false);
}

/* The first output of a batch of two rows. */
static void run(struct graph *g, float *out)
{
    int64_t offsets[] = {0, 2, 3};
    struct nn_batch_rows rows = {.n = {2, 3}, .offsets = {NULL, offsets}};
    struct onnx_inputs in;
    const char *outputs[] = {"probs", "user"};
    CHECK(graph_rows(g, &rows, NULL) == RC_OK);
    CHECK(onnx_inputs(g, outputs, 2, &in, NULL) == RC_OK);
    for (size_t i = 0; i < in.n; i++) {
        struct nn_val *x = in.vals[i];
        struct view v = graph_write_begin(g, x);
        for (int64_t r = 0; r < v.rows; r++)
            for (int64_t k = 0; k < v.width; k++)
                view_row(&v, r)[k] = (float)(r + 1) * 0.25f - (float)k * 0.125f;
        graph_write_end(g, x);
    }
    graph_forward(g, 0);
    struct view y = graph_read(g, graph_output(g, "probs"));
    out[0] = *view_row(&y, 0);
    out[1] = *view_row(&y, 1);
}

static void a_fixed_graph_gives_the_same_without_losses(void)
{
    struct graph *g = two_outputs(), *fixed = two_outputs_with(true);
    float a[2], b[2], again[2];
    run(g, a);
    run(fixed, b);
    CHECK(a[0] == b[0] && a[1] == b[1] && a[0] != a[1]);
    struct param *w = graph_params(fixed, &(size_t){0})[0];
    param_write_begin(w)[0] += 1; /* packed by now */
    param_write_end(w);
    run(fixed, again);
    CHECK(b[0] == again[0] && b[1] == again[1]);
    CHECK(isnan(graph_loss_named(fixed, "loss")) && !isnan(graph_loss_named(g, "loss")));
    CHECK(graph_n_outputs(fixed) == 2);
    CHECK_STR(graph_output_name(fixed, 1), "user");
    graph_destroy(g);
    graph_destroy(fixed);
}

static void a_model_holds_what_its_outputs_need(void)
{
    struct graph *g = two_outputs();
    struct buf b;
    struct err err = {0};
    const char *outputs[] = {"probs"};
    buf_init(&b, ONNX_BYTES_MAX);
    CHECK(onnx_print(g, outputs, 1, &b, &err) == RC_OK);
    CHECK(has(&b, "trainyard"));
    CHECK(has(&b, "top.weight"));
    CHECK(has(&b, "clicks.mask"));
    CHECK(!has(&b, "side.weight"));
    CHECK(!has(&b, "label:"));
    buf_clear(&b);
    outputs[0] = "user";
    CHECK(onnx_print(g, outputs, 1, &b, &err) == RC_OK);
    CHECK(has(&b, "side.weight"));
    CHECK(!has(&b, "clicks.mask"));
    buf_release(&b);
    graph_destroy(g);
}

static void inputs_are_those_that_outputs_read(void)
{
    struct graph *g = two_outputs();
    struct onnx_inputs in;
    const char *outputs[] = {"probs", "user"};
    CHECK(onnx_inputs(g, outputs, 2, &in, NULL) == RC_OK);
    CHECK(in.n == 2);
    CHECK_STR(nn_val_name(in.vals[0]), "deep");
    CHECK_STR(nn_val_name(in.vals[1]), "seq");
    CHECK(in.mask[1]);
    CHECK(onnx_inputs(g, &outputs[1], 1, &in, NULL) == RC_OK);
    CHECK(in.n == 1 && !in.mask[1]);
    graph_destroy(g);
}

static void an_unknown_output_is_notfound(void)
{
    struct graph *g = two_outputs();
    struct buf b;
    struct err err = {0};
    const char *name = "prob";
    buf_init(&b, ONNX_BYTES_MAX);
    CHECK(onnx_print(g, &name, 1, &b, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "ONNX graph: there is no output 'prob'");
    CHECK(b.n == 0);
    buf_release(&b);
    graph_destroy(g);
}

static void a_model_that_does_not_fit_is_refused(void)
{
    struct graph *g = two_outputs();
    struct buf b;
    struct err err = {0};
    const char *name = "probs";
    buf_init(&b, 100);
    CHECK(onnx_print(g, &name, 1, &b, &err) != RC_OK);
    buf_release(&b);
    graph_destroy(g);
}

/* Weights that the body of a loop reads are those of the graph around it, once. */
static void a_loop_holds_its_own_nodes(void)
{
    struct graph *g = graph_create(&(struct graph_options){.seed = 3});
    int axis = graph_axis(g, "clicks");
    struct nn_val *x = nn_input(g, "seq", &(struct nn_shape){axis, 1, {4}}, false);
    struct nn_val *w = nn_act(g, nn_slice(g, x, 0, 1), ACT_SIGMOID, 0);
    struct err err = {0};
    struct buf b;
    const char *name = "state";
    nn_output(g, name, nn_seq_last(g, nn_seq_weighted_gru(g, "gru", 0, x, w, 3)));
    CHECK(graph_finish(g, &err) == RC_OK);
    buf_init(&b, ONNX_BYTES_MAX);
    CHECK(onnx_print(g, &name, 1, &b, &err) == RC_OK);
    const char *scan = memmem(b.p, b.n, "num_scan_inputs", 15);
    const char *body = memmem(b.p, b.n, "body", 4);
    const char *tanh = memmem(b.p, b.n, "Tanh", 4);
    CHECK(body && tanh && scan && body < tanh && tanh < scan);
    CHECK(has(&b, "clicks.mask") && has(&b, "gru.weight_hh_l0"));
    buf_release(&b);
    graph_destroy(g);
}

static const struct tap_case cases[] = {
    TAP(an_op_that_onnx_does_not_know_is_refused),
    TAP(a_fixed_graph_gives_the_same_without_losses),
    TAP(a_model_holds_what_its_outputs_need),
    TAP(inputs_are_those_that_outputs_read),
    TAP(a_loop_holds_its_own_nodes),
    TAP(an_unknown_output_is_notfound),
    TAP(a_model_that_does_not_fit_is_refused),
};
TAP_MAIN(cases)
