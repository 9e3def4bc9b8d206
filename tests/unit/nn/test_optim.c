/* SPDX-License-Identifier: Apache-2.0 */
/* Ten steps of each optimizer against PyTorch; state, threads, memory. */
#include "nn/optim/optim.h"

#include "base/rng.h"
#include "golden_text.h"
#include "nn/optim/clip.h"
#include "nn/optim/ema.h"
#include "text/pipeline/pipeline.h"

#define STEPS 10
/* Both sides compute in float; values stay below 2. */
#define TOLERANCE 5e-7

/* The two parameters of the golden file, and a buffer that nobody may touch. */
struct model {
    struct param params[3], *list[3];
    float value[2][32], grad[2][32], buffer;
};

static void model_init(struct model *m, struct golden *in)
{
    static const char *const names[] = {"tower.weight", "tower.bias"};
    *m = (struct model){.buffer = 7};
    for (int i = 0; i < 2; i++) {
        int64_t n = 0;
        const float *v = golden_floats(in, names[i], &n);
        m->params[2 * i] = (struct param){.name = names[i],
                                          .n = n,
                                          .trainable = true,
                                          .value = m->value[i],
                                          .grad = m->grad[i]};
        memcpy(m->value[i], v, (size_t)n * sizeof(float));
    }
    m->params[1] = (struct param){.name = "tower.mean", .n = 1, .value = &m->buffer};
    for (int i = 0; i < 3; i++)
        m->list[i] = &m->params[i];
}

static void take_grads(struct model *m, struct golden *in, int step)
{
    for (int i = 0; i < 2; i++) {
        char key[64];
        int64_t n = 0;
        snprintf(key, sizeof(key), "%s.grad@%d", m->params[2 * i].name, step);
        const float *g = golden_floats(in, key, &n);
        memcpy(m->grad[i], g, sizeof(float) * (size_t)n);
    }
}

static void compare(struct golden *g, const char *key, const float *got)
{
    int64_t n = 0;
    const double *want = golden_nums(g, key, &n);
    for (int64_t i = 0; i < n; i++) {
        if (fabs((double)got[i] - want[i]) <= TOLERANCE)
            continue;
        printf("# %s: %s[%d]: got %.9g, want %.9g\n", g->name, key, (int)i,
               (double)got[i], want[i]);
        CHECK_NEAR(got[i], want[i], TOLERANCE);
        break;
    }
}

/* Values after `step`, where the file has them. */
static void compare_step(struct golden *g, const struct model *m, const char *suffix,
                         int step)
{
    for (int i = 0; i < 2; i++) {
        char key[64];
        snprintf(key, sizeof(key), "%s%s@%d", m->params[2 * i].name, suffix, step);
        compare(g, key, m->value[i]);
    }
}

static struct optim *make(const struct pc_DenseOptimizer *conf, struct model *m,
                          struct pool *pool)
{
    struct optim *o = NULL;
    struct err err = {0};
    struct optim_options options = {.prefix = "model.", .pool = pool};
    CHECK(optim_create(conf, m->list, 3, &options, &o, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    return o;
}

static void optimizers_do_what_pytorch_does(void)
{
    struct golden g, in;
    int n_cases = 0;
    if (!golden_open(&g, "optim.txt") || !golden_open(&in, "optim.txt"))
        return;
    golden_next(&in);
    while (golden_next(&g)) {
        if (!*golden_text(&g, "conf") || strcmp(g.name, "whole") == 0)
            continue;
        struct model m;
        struct written w;
        model_init(&m, &in);
        written_open(&w, &pc_DenseOptimizer_def, golden_text(&g, "conf"));
        struct optim *o = make(w.msg, &m, NULL);
        for (int t = 1; o && t <= STEPS; t++) {
            take_grads(&m, &in, t);
            optim_step(o, (uint64_t)t - 1, 0);
            compare_step(&g, &m, "", t);
        }
        CHECK(m.buffer == 7);
        optim_destroy(o);
        written_close(&w);
        n_cases++;
    }
    CHECK_INT(n_cases, 13);
    golden_close(&g);
    golden_close(&in);
}

static bool golden_find(struct golden *g, const char *name)
{
    while (golden_next(g))
        if (strcmp(g->name, name) == 0)
            return true;
    printf("# there is no case '%s'\n", name);
    CHECK(false);
    return false;
}

/* A part, a schedule, clipping and the average together. */
static void a_whole_run_does_what_pytorch_does(void)
{
    struct golden g, in;
    struct model m;
    struct written w, c;
    struct optim_clip clip;
    struct optim_ema *ema = NULL;
    if (!golden_open(&g, "optim.txt") || !golden_open(&in, "optim.txt") ||
        !golden_find(&g, "whole"))
        return;
    golden_next(&in);
    model_init(&m, &in);
    written_open(&w, &pc_DenseOptimizer_def, golden_text(&g, "conf"));
    written_open(&c, &pc_GradClipping_def, golden_text(&g, "clip"));
    const struct pc_DenseOptimizer *conf = w.msg;
    CHECK(optim_clip_from(c.msg, &clip, NULL) == RC_OK);
    struct optim *o = make(conf, &m, NULL);
    CHECK(optim_ema_create(conf->ema->decay, optim_params(o), &ema, NULL) == RC_OK);
    CHECK_INT(optim_groups(o), 2);
    CHECK_INT(optim_group_of(o, 0), 0);
    CHECK_INT(optim_group_of(o, 1), 1);
    for (int t = 1; t <= STEPS; t++) {
        char key[32];
        int64_t n = 0;
        take_grads(&m, &in, t);
        double norm = optim_clip_grads(&clip, optim_params(o));
        optim_step(o, (uint64_t)t - 1, 0);
        optim_ema_update(ema);
        snprintf(key, sizeof(key), "norm@%d", t);
        const double *want = golden_nums(&g, key, &n);
        if (want)
            CHECK_NEAR(norm, want[0], 1e-5);
        compare_step(&g, &m, "", t);
        optim_ema_swap(ema);
        CHECK(optim_ema_swapped(ema));
        compare_step(&g, &m, ".ema", t);
        optim_ema_swap(ema);
        compare_step(&g, &m, "", t);
    }
    optim_ema_destroy(ema);
    optim_destroy(o);
    written_close(&c);
    written_close(&w);
    golden_close(&g);
    golden_close(&in);
}

static void clipping_does_what_pytorch_does(void)
{
    struct golden g, in;
    int n_cases = 0;
    if (!golden_open(&g, "optim.txt") || !golden_open(&in, "optim.txt"))
        return;
    golden_next(&in);
    while (golden_next(&g)) {
        if (strncmp(g.name, "clip", 4) != 0)
            continue;
        struct model m;
        struct written w;
        struct optim_clip clip;
        struct optim_param_set set;
        int64_t n = 0;
        model_init(&m, &in);
        take_grads(&m, &in, 1);
        written_open(&w, &pc_GradClipping_def, golden_text(&g, "clip"));
        CHECK(optim_clip_from(w.msg, &clip, NULL) == RC_OK);
        CHECK(optim_param_set_init(&set, m.list, 3, NULL, NULL) == RC_OK);
        double norm = optim_clip_grads(&clip, &set);
        const double *want = golden_nums(&g, "norm", &n);
        CHECK(want ? fabs(norm - want[0]) <= 1e-6 * want[0] : isnan(norm));
        compare(&g, "tower.weight.grad", m.grad[0]);
        compare(&g, "tower.bias.grad", m.grad[1]);
        optim_param_set_release(&set);
        written_close(&w);
        n_cases++;
    }
    CHECK_INT(n_cases, 6);
    golden_close(&g);
    golden_close(&in);
}

/* Parameters of several sizes over many chunks, with random values. */
#define BIG 3
static const int64_t big_sizes[BIG] = {100003, 17, 40000};

struct big {
    struct param params[BIG], *list[BIG];
    float *memory;
};

static void big_init(struct big *b)
{
    int64_t total = 0;
    struct rng rng;
    for (int i = 0; i < BIG; i++)
        total += 2 * big_sizes[i];
    b->memory = mem_alloc((size_t)total * sizeof(float));
    rng_init(&rng, 5, 0, 0, 0);
    rng_fill_normal(&rng, 0, 1, b->memory, (size_t)total);
    float *at = b->memory;
    static const char *const names[BIG] = {"a.weight", "a.bias", "b.weight"};
    for (int i = 0; i < BIG; i++) {
        b->params[i] = (struct param){.name = names[i],
                                      .n = big_sizes[i],
                                      .trainable = true,
                                      .value = at,
                                      .grad = at + big_sizes[i]};
        b->list[i] = &b->params[i];
        at += 2 * big_sizes[i];
    }
}

static const char big_conf[] =
    "adam_optimizer { lr: 0.01 weight_decay: 0.01 } constant_learning_rate {} "
    "part_optimizers { regex_pattern: 'b.*' adagrad_optimizer { lr: 0.1 } }";

static uint64_t big_run(int threads)
{
    struct big b;
    struct pool *pool = NULL;
    struct written w;
    struct optim *o = NULL;
    struct optim_clip clip = {.kind = CLIP_NORM, .max = 3, .p = 2};
    uint64_t hash = 1469598103934665603u;
    big_init(&b);
    CHECK(pool_create(threads, &pool, NULL) == RC_OK);
    written_open(&w, &pc_DenseOptimizer_def, big_conf);
    struct optim_options options = {.pool = pool};
    CHECK(optim_create(w.msg, b.list, BIG, &options, &o, NULL) == RC_OK);
    int64_t before = mem_total();
    for (uint64_t t = 0; t < 3; t++) {
        optim_clip_grads(&clip, optim_params(o));
        optim_step(o, t, 0);
        hash = hash * 31 + (uint64_t)(1e9 * optim_grads_norm(optim_params(o), 3));
    }
    CHECK_INT(mem_total(), before);
    for (int i = 0; i < BIG; i++)
        for (int64_t k = 0; k < big_sizes[i]; k++) {
            uint32_t bits;
            memcpy(&bits, &b.params[i].value[k], sizeof(bits));
            hash = (hash ^ bits) * 1099511628211u;
        }
    optim_destroy(o);
    written_close(&w);
    pool_destroy(pool);
    mem_free(b.memory);
    return hash;
}

static void threads_do_not_change_a_bit(void)
{
    uint64_t one = big_run(1);
    CHECK(big_run(2) == one);
    CHECK(big_run(5) == one);
}

/* Saved after three steps and loaded into a new optimizer, it goes on as if never left,
 * also in the middle of an accumulation.
 */
static void a_restored_optimizer_goes_on_exactly(void)
{
    struct big a, b;
    struct written w;
    struct optim *first = NULL, *second = NULL;
    struct nn_state saved = {0};
    struct optim_options options = {.prefix = "model."};
    size_t missing = 9;
    big_init(&a);
    big_init(&b);
    written_open(&w, &pc_DenseOptimizer_def,
                 "sgd_optimizer { lr: 0.1 dampening: 0.5 } constant_learning_rate {} "
                 "part_optimizers { regex_pattern: 'model.b.*' adam_optimizer { lr: 0.1 "
                 "amsgrad: true } }");
    CHECK(optim_create(w.msg, a.list, BIG, &options, &first, NULL) == RC_OK);
    CHECK(optim_create(w.msg, b.list, BIG, &options, &second, NULL) == RC_OK);
    for (uint64_t t = 0; t < 3; t++)
        optim_step(first, t, 0);
    a.params[1].grad[4] = 42; /* what has been accumulated since */
    optim_save(first, true, &saved);
    static const char *const names[] = {"state.model.a.weight.momentum_buffer",
                                        "state.model.a.weight.step",
                                        "grad.model.a.weight",
                                        "state.model.a.bias.momentum_buffer",
                                        "state.model.a.bias.step",
                                        "grad.model.a.bias",
                                        "state.model.b.weight.exp_avg",
                                        "state.model.b.weight.exp_avg_sq",
                                        "state.model.b.weight.max_exp_avg_sq",
                                        "state.model.b.weight.step",
                                        "grad.model.b.weight"};
    CHECK_INT(saved.items.n, ARRAY_LEN(names));
    for (size_t i = 0; i < saved.items.n && i < ARRAY_LEN(names); i++)
        CHECK_STR(saved.items.at[i].name, names[i]);
    for (int i = 0; i < BIG; i++)
        memcpy(b.params[i].value, a.params[i].value, (size_t)big_sizes[i] * 4);
    CHECK(optim_load(second, &saved, &missing, NULL) == RC_OK);
    CHECK_INT(missing, 0);
    CHECK(b.params[1].grad[4] == 42);
    optim_step(first, 3, 0);
    optim_step(second, 3, 0);
    for (int i = 0; i < BIG; i++)
        CHECK(memcmp(a.params[i].value, b.params[i].value, (size_t)big_sizes[i] * 4) ==
              0);
    nn_state_release(&saved);
    optim_destroy(first);
    optim_destroy(second);
    written_close(&w);
    mem_free(a.memory);
    mem_free(b.memory);
}

static void missing_state_is_an_error_or_counted(void)
{
    struct big b;
    struct written w;
    struct optim *o = NULL;
    struct nn_state none = {0}, wrong = {0};
    struct err err = {0};
    size_t missing = 0;
    int64_t step = 3, negative = -1;
    float few[2] = {0};
    big_init(&b);
    written_open(&w, &pc_DenseOptimizer_def, big_conf);
    CHECK(optim_create(w.msg, b.list, BIG, &(struct optim_options){0}, &o, NULL) ==
          RC_OK);
    CHECK(optim_load(o, &none, NULL, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "optimizer: there is no state 'state.a.weight.step'");
    CHECK(optim_load(o, &none, &missing, NULL) == RC_OK);
    CHECK_INT(missing, BIG);
    nn_state_add(&wrong, STATE_I64, &step, 1, "state.a.weight.step");
    nn_state_add(&wrong, STATE_F32, few, 2, "state.a.weight.exp_avg");
    CHECK(optim_load(o, &wrong, &missing, &err) == RC_FORMAT);
    CHECK_STR(err.msg,
              "optimizer: state 'state.a.weight.exp_avg' has 2 values, not 100003");
    nn_state_release(&wrong);
    nn_state_add(&wrong, STATE_F32, few, 1, "state.a.weight.step");
    CHECK(optim_load(o, &wrong, &missing, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "optimizer: state 'state.a.weight.step' is of type f32, not i64");
    nn_state_release(&wrong);
    nn_state_add(&wrong, STATE_I64, &negative, 1, "state.a.weight.step");
    CHECK(optim_load(o, &wrong, NULL, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "optimizer: state.a.weight.step is -1");
    nn_state_release(&wrong);
    optim_destroy(o);
    written_close(&w);
    mem_free(b.memory);
}

static void short_memory_is_reported(void)
{
    struct big b;
    struct written w;
    big_init(&b);
    written_open(&w, &pc_DenseOptimizer_def, big_conf);
    int64_t live = mem_live();
    for (int64_t n = 1;; n++) {
        struct optim *o = NULL;
        struct err err = {0};
        mem_fail_at(n);
        enum rc rc =
            optim_create(w.msg, b.list, BIG, &(struct optim_options){0}, &o, &err);
        mem_fail_at(0);
        if (rc == RC_OK) {
            CHECK_INT(n, 3);
            optim_destroy(o);
            break;
        }
        CHECK(rc == RC_NOMEM);
        CHECK_HAS(err.msg, "no memory for ");
        CHECK_INT(mem_live(), live);
    }
    CHECK_INT(mem_live(), live);
    written_close(&w);
    mem_free(b.memory);
}

static void an_average_starts_with_a_copy_and_can_be_restored(void)
{
    float value[3] = {1, 2, 3}, grad[3] = {0};
    struct param p = {
        .name = "w", .n = 3, .trainable = true, .value = value, .grad = grad};
    struct param *list[] = {&p};
    struct optim_param_set set;
    struct optim_ema *e = NULL, *again = NULL;
    struct nn_state s = {0}, empty = {0};
    struct err err = {0};
    CHECK(optim_param_set_init(&set, list, 1, NULL, NULL) == RC_OK);
    CHECK(optim_ema_create(1.5, &set, &e, &err) == RC_INVAL);
    CHECK_STR(err.msg, "ema: decay: 1.5 is outside [0, 1]");
    CHECK(optim_ema_create(0.75, &set, &e, NULL) == RC_OK);
    optim_ema_swap(e); /* there is no average yet */
    CHECK(value[0] == 1 && !optim_ema_swapped(e));
    optim_ema_update(e);
    value[0] = 5;
    optim_ema_update(e);
    optim_ema_save(e, "model.", &s);
    CHECK_INT(s.items.n, 2);
    CHECK_STR(s.items.at[0].name, "model.w");
    CHECK_STR(s.items.at[1].name, "__n_averaged__");
    CHECK(optim_ema_create(0.75, &set, &again, NULL) == RC_OK);
    CHECK(optim_ema_load(again, "model.", &empty, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "moving average: there is no state '__n_averaged__'");
    CHECK(optim_ema_load(again, "model.", &s, NULL) == RC_OK);
    optim_ema_swap(again);
    CHECK(value[0] == 2 && value[1] == 2);
    optim_ema_swap(again);
    CHECK(value[0] == 5);
    nn_state_release(&s);
    optim_ema_destroy(e);
    optim_ema_destroy(again);
    optim_param_set_release(&set);
}

static const struct tap_case cases[] = {
    TAP(optimizers_do_what_pytorch_does),
    TAP(a_whole_run_does_what_pytorch_does),
    TAP(clipping_does_what_pytorch_does),
    TAP(threads_do_not_change_a_bit),
    TAP(a_restored_optimizer_goes_on_exactly),
    TAP(missing_state_is_an_error_or_counted),
    TAP(short_memory_is_reported),
    TAP(an_average_starts_with_a_copy_and_can_be_restored),
};
TAP_MAIN(cases)
