/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and optimizers on a device other than the CPU: one whose memory the host cannot
 * see, and one that lacks an op.
 */
#include "nn/device.h"

#include <sys/wait.h>

#include "base/hash.h"
#include "base/rng.h"
#include "device_copies.h"
#include "golden_text.h"
#include "nn/ops.h"
#include "nn/optim/clip.h"
#include "nn/optim/ema.h"
#include "nn/optim/optim.h"
#include "text/pipeline/pipeline.h"

#define ROWS 37
#define STEPS 5

struct net {
    struct graph *g;
    struct nn_val *x, *y;
};

static void open_net(struct net *n, const struct device *d)
{
    struct err err = {0};
    struct graph_options o = {
        .device = d, .training = true, .seed = 5, .tile_rows = 8, .keep = true};
    struct graph *g = n->g = graph_create(&o);
    n->x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {6}}, true);
    n->y = nn_input(g, "y", &(struct nn_shape){AXIS_BATCH, 1, {1}}, false);
    struct nn_val *h = nn_linear(g, "a", n->x, 16, true, ACT_RELU);
    h = nn_batch_norm(g, "bn", h, true);
    struct nn_val *both[] = {nn_dropout(g, h, 0.25), n->x};
    struct nn_val *logit = nn_linear(g, "b", nn_concat(g, both, 2), 1, true, ACT_NONE);
    nn_output(g, "logit", logit);
    nn_loss(g, "loss", nn_bce_loss(g, logit, n->y, NULL, 0));
    CHECK(graph_finish(g, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {ROWS}}, NULL) == RC_OK);
}

static void fill(struct net *n, uint64_t step)
{
    struct rng r;
    struct view x = graph_write_begin(n->g, n->x);
    float labels[ROWS];
    rng_init(&r, 9, step, 0, 0);
    for (int64_t k = 0; k < ROWS; k++) {
        rng_fill_uniform(&r, -1, 1, view_row(&x, k), (size_t)x.width);
        labels[k] = view_row(&x, k)[0] > 0;
    }
    graph_write_end(n->g, n->x);
    graph_set(n->g, n->y, labels);
}

static uint64_t digest_floats(uint64_t d, const float *v, int64_t n)
{
    return hash_xxh3_seeded(v, (size_t)n * sizeof(*v), d);
}

static uint64_t digest_state(uint64_t d, const struct nn_state *s)
{
    for (size_t i = 0; i < s->items.n; i++)
        d = hash_xxh3_seeded(
            s->items.at[i].data,
            (size_t)s->items.at[i].n * nn_state_size(s->items.at[i].type), d);
    return d;
}

static uint64_t digest_net(struct net *n, uint64_t d)
{
    size_t count;
    struct param *const *p = graph_params(n->g, &count);
    struct view dx = graph_read_grad(n->g, n->x);
    float logits[ROWS];
    graph_get(n->g, graph_output(n->g, "logit"), logits);
    d = digest_floats(d, logits, ROWS);
    for (int64_t k = 0; k < dx.rows; k++)
        d = digest_floats(d, view_row(&dx, k), dx.width);
    for (size_t i = 0; i < count; i++) {
        d = digest_floats(d, param_read(p[i]), p[i]->n);
        if (p[i]->grad)
            d = digest_floats(d, param_read_grad(p[i]), p[i]->n);
    }
    return d;
}

struct trained {
    struct written conf;
    struct optim *optim;
    struct optim_ema *ema;
};

static void open_optim(struct net *n, struct trained *t)
{
    size_t count;
    struct param *const *p = graph_params(n->g, &count);
    written_open(&t->conf, &pc_DenseOptimizer_def,
                 "adam_optimizer { lr: 0.01 } constant_learning_rate {}");
    CHECK(optim_create(t->conf.msg, p, count, &(struct optim_options){0}, &t->optim,
                       NULL) == RC_OK);
    CHECK(optim_ema_create(0.9, optim_params(t->optim), &t->ema, NULL) == RC_OK);
}

static void close_optim(struct trained *t)
{
    optim_ema_destroy(t->ema);
    optim_destroy(t->optim);
    written_close(&t->conf);
}

static void step(struct net *n, struct trained *t, uint64_t k)
{
    const struct optim_param_set *s = optim_params(t->optim);
    fill(n, k);
    graph_forward(n->g, k);
    graph_seed(n->g, 0, 8);
    graph_backward(n->g, true);
    CHECK(graph_scale_grad(n->g, n->x, 0.125f));
    CHECK(optim_scale_grads(s, 0.125));
    optim_clip_grads(&(struct optim_clip){.kind = CLIP_NORM, .max = 0.05, .p = 2}, s);
    optim_clip_grads(&(struct optim_clip){.kind = CLIP_VALUE, .max = 0.02}, s);
    optim_step(t->optim, k, 0);
    optim_ema_update(t->ema);
}

static void save(const struct trained *t, struct nn_state *out)
{
    optim_save(t->optim, true, out);
    optim_ema_save(t->ema, "ema.", out);
}

/* All that a run leaves: values, gradients, optimizer state, the average. */
static uint64_t train_on(const struct device *d)
{
    struct net n;
    struct trained t = {0}, again = {0};
    struct nn_state saved = {0}, loaded = {0};
    open_net(&n, d);
    open_optim(&n, &t);
    for (uint64_t k = 0; k < STEPS; k++)
        step(&n, &t, k);
    save(&t, &saved);
    uint64_t digest = digest_state(digest_net(&n, 1), &saved);
    open_optim(&n, &again); /* takes over what was saved */
    CHECK(optim_load(again.optim, &saved, NULL, NULL) == RC_OK);
    CHECK(optim_ema_load(again.ema, "ema.", &saved, NULL) == RC_OK);
    save(&again, &loaded);
    CHECK(digest_state(1, &saved) == digest_state(1, &loaded));
    optim_ema_swap(again.ema);
    digest = digest_net(&n, digest);
    optim_ema_swap(again.ema);
    nn_state_release(&saved);
    nn_state_release(&loaded);
    close_optim(&t);
    close_optim(&again);
    graph_destroy(n.g);
    return digest;
}

static void a_device_behind_copies_gives_the_same_bytes(void)
{
    struct device *copies = NULL;
    CHECK(device_open(&device_copies, &copies, NULL) == RC_OK);
    CHECK(train_on(NULL) == train_on(copies));
    const struct copies *c = copies->state;
    CHECK_INT(c->blocks.n, 0); /* all was given back */
    device_close(copies);
}

/* In a process of its own, since it dies of it. */
static bool dies_of_reading(const volatile float *at)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        float seen = freopen("/dev/null", "w", stderr) ? at[0] : 0;
        _exit(isnan(seen) ? 0 : 0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* A queue's answers: sums of losses, and what went wrong, come with the wait alone. */
static void what_is_queued_is_there_when_it_was_waited_for(void)
{
    struct device *d = NULL;
    struct net n;
    struct err err = {0};
    CHECK(device_open(&device_copies, &d, NULL) == RC_OK);
    open_net(&n, d);
    fill(&n, 0);
    graph_forward(n.g, 0);
    CHECK(isnan(graph_loss(n.g)));
    CHECK(graph_wait(n.g, &err) == RC_OK);
    CHECK(isfinite(graph_loss(n.g)));
    ((struct copies *)d->state)->fault = "the device fell off the bus";
    graph_forward(n.g, 1);
    CHECK_INT(graph_wait(n.g, &err), RC_IO);
    CHECK_STR(err.msg, "the device fell off the bus");
    graph_destroy(n.g);
    device_close(d);
}

static void the_host_cannot_touch_memory_behind_copies(void)
{
    struct device *copies = NULL;
    struct net n;
    size_t count;
    CHECK(device_open(&device_copies, &copies, NULL) == RC_OK);
    open_net(&n, copies);
    const struct param *p = graph_params(n.g, &count)[0];
    CHECK(!dies_of_reading(param_read(p)));
    CHECK(dies_of_reading(p->value));
    CHECK(dies_of_reading(p->grad));
    graph_destroy(n.g);
    device_close(copies);
}

/* Inputs that are fed in several turns keep what earlier ones wrote. */
static void an_input_may_be_written_by_columns(void)
{
    struct device *copies = NULL;
    struct net n;
    CHECK(device_open(&device_copies, &copies, NULL) == RC_OK);
    open_net(&n, copies);
    for (int64_t col = 0; col < 6; col++) {
        struct view x = graph_write_begin(n.g, n.x);
        for (int64_t k = 0; k < ROWS; k++)
            view_row(&x, k)[col] = (float)(10 * k + col);
        graph_write_end(n.g, n.x);
    }
    struct view x = graph_read(n.g, n.x);
    for (int64_t k = 0; k < ROWS; k++)
        for (int64_t col = 0; col < 6; col++)
            CHECK(view_row(&x, k)[col] == (float)(10 * k + col));
    graph_destroy(n.g);
    device_close(copies);
}

static bool has_all_but_softmax(const struct op *op)
{
    return op != &op_softmax && nn_cpu_executor.has(op);
}

static void an_op_that_a_device_lacks_is_named(void)
{
    struct executor_ops executor = nn_cpu_executor;
    struct device_ops ops = device_cpu;
    struct device lacking = {.ops = &ops};
    struct err err = {0};
    executor.has = has_all_but_softmax;
    ops.executor = &executor;
    ops.name = "lacking";
    struct graph *g = graph_create(&(struct graph_options){.device = &lacking});
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {4}}, false);
    graph_push(g, "model");
    graph_push(g, "gate");
    nn_output(g, "y", nn_softmax(g, nn_linear(g, "mlp", x, 3, true, ACT_NONE)));
    graph_pop(g);
    graph_pop(g);
    CHECK(graph_finish(g, &err) == RC_UNSUPPORTED);
    CHECK_INT(err.code, E2601);
    CHECK_STR(err.msg, "device 'lacking' has no implementation of op 'softmax' of layer "
                       "'model.gate' (1 of 2 ops are lacking)");
    graph_destroy(g);
}

/* An op that nobody has registered is in no table. */
static enum rc same_shape(const void *conf, const struct nn_shape *in, int n_in,
                          struct nn_shape *out, int64_t *keep_width, struct err *err)
{
    out[0] = in[0];
    *keep_width = 0;
    return RC_OK;
}

static void no_onnx(struct onnx *o, const struct onnx_op *op)
{
}

static void an_op_outside_the_registry_is_named(void)
{
    static const struct op novel = {
        .name = "novel", .infer = same_shape, .onnx = no_onnx};
    struct graph *g = graph_create(&(struct graph_options){0});
    struct nn_val *x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {4}}, false);
    struct err err = {0};
    nn_output(g, "y", nn_op(g, &novel, &x, 1, NULL, 0, NULL, 0));
    CHECK(graph_finish(g, &err) == RC_UNSUPPORTED);
    CHECK_STR(err.msg, "device 'cpu' has no implementation of op 'novel' of layer '' (1 "
                       "of 1 ops are lacking)");
    graph_destroy(g);
}

static void the_cpu_runs_every_op_of_the_registry(void)
{
#define OP(name, file) CHECK(nn_cpu_executor.has(&op_##name));
#include "nn/ops.def"
#undef OP
    const struct device_ops *ops = NULL;
    struct err err = {0};
    CHECK(nn_device_find("cpu", &ops, &err) == RC_OK && ops == &device_cpu);
    CHECK(nn_device_find("abacus", &ops, &err) == RC_NOTFOUND && err.code == E2602);
    CHECK_STR(err.msg, "there is no device 'abacus'; there are cpu|cuda");
    CHECK(nn_device_default()->ops == &device_cpu);
}

static const struct tap_case cases[] = {
    TAP(a_device_behind_copies_gives_the_same_bytes),
    TAP(what_is_queued_is_there_when_it_was_waited_for),
    TAP(the_host_cannot_touch_memory_behind_copies),
    TAP(an_input_may_be_written_by_columns),
    TAP(an_op_that_a_device_lacks_is_named),
    TAP(an_op_outside_the_registry_is_named),
    TAP(the_cpu_runs_every_op_of_the_registry),
};
TAP_MAIN(cases)
