/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/schedule.h"

#include "golden_text.h"
#include "text/pipeline/pipeline.h"

static enum rc from(const char *text, struct nn_schedule *s, struct err *err,
                    struct written *w)
{
    written_open(w, &pc_SparseOptimizer_def, text);
    const struct pc_SparseOptimizer *o = w->msg;
    return nn_schedule_from(&o->base, NULL, o->sgd_optimizer->lr, s, err);
}

/* To the last bits of a double: the same formulas in the same order. */
static void rates_are_those_of_the_formulas(void)
{
    struct golden g;
    int n_cases = 0;
    if (!golden_open(&g, "schedule.txt"))
        return;
    while (golden_next(&g)) {
        struct written w;
        struct nn_schedule s;
        int64_t n = 0, n_lr = 0;
        CHECK(from(golden_text(&g, "conf"), &s, NULL, &w) == RC_OK);
        CHECK(s.by_epoch == (golden_num(&g, "by_epoch") != 0));
        const double *k = golden_nums(&g, "k", &n), *lr = golden_nums(&g, "lr", &n_lr);
        CHECK_INT(n, n_lr);
        for (int64_t i = 0; i < n; i++) {
            double got = nn_schedule_lr(&s, (uint64_t)k[i]);
            if (!(fabs(got - lr[i]) <= 1e-15 * fabs(lr[i]) + 1e-18))
                printf("# %s: k %g: got %.17g, want %.17g\n", g.name, k[i], got, lr[i]);
            CHECK_NEAR(got, lr[i], 1e-15 * fabs(lr[i]) + 1e-18);
        }
        written_close(&w);
        n_cases++;
    }
    CHECK_INT(n_cases, 13);
    golden_close(&g);
}

static void a_part_without_a_schedule_follows_the_dense_one(void)
{
    struct written w;
    struct nn_schedule s;
    written_open(&w, &pc_DenseOptimizer_def,
                 "sgd_optimizer { lr: 0.1 } cosine_annealing_learning_rate { T_max: 10 } "
                 "part_optimizers { regex_pattern: 'a' sgd_optimizer { lr: 0.4 } } "
                 "part_optimizers { regex_pattern: 'b' sgd_optimizer { lr: 0.4 } "
                 "constant_learning_rate {} }");
    const struct pc_DenseOptimizer *o = w.msg;
    const struct msg *a = &o->part_optimizers[0]->base, *b = &o->part_optimizers[1]->base;
    CHECK(nn_schedule_from(a, &o->base, 0.4, &s, NULL) == RC_OK);
    CHECK_NEAR(nn_schedule_lr(&s, 5), 0.2, 1e-15);
    CHECK(nn_schedule_from(b, &o->base, 0.4, &s, NULL) == RC_OK);
    CHECK(nn_schedule_lr(&s, 5) == 0.4);
    written_close(&w);
}

static void steps_or_epochs_are_counted(void)
{
    struct written w;
    struct nn_schedule s;
    CHECK(from("sgd_optimizer { lr: 1 } exponential_decay_learning_rate { decay_size: 1 "
               "decay_factor: 0.5 }",
               &s, NULL, &w) == RC_OK);
    CHECK(nn_schedule_at(&s, 3, 1) == 0.125);
    s.by_epoch = true;
    CHECK(nn_schedule_at(&s, 3, 1) == 0.5);
    written_close(&w);
}

/* The period outgrows 64 bits before the counter does. */
static void the_last_period_is_long(void)
{
    struct nn_schedule s = {
        .kind = SCHEDULE_RESTARTS, .base = 1, .size = UINT32_MAX, .mult = UINT32_MAX};
    double lr = nn_schedule_lr(&s, UINT64_MAX);
    CHECK(lr >= 0 && lr <= 1);
}

static void what_cannot_be_computed_is_refused(void)
{
    static const struct {
        const char *conf, *msg;
        enum code code;
    } bad[] = {
        {"", "no learning-rate schedule is named", E0305},
        {"exponential_decay_learning_rate {}",
         "exponential_decay_learning_rate: decay_size must be above 0", E0306},
        {"exponential_decay_learning_rate { decay_size: 1 decay_factor: -1 }",
         "exponential_decay_learning_rate: decay_factor: -1 is not a factor", E0306},
        {"cosine_annealing_learning_rate {}",
         "cosine_annealing_learning_rate: T_max must be above 0", E0306},
        {"cosine_annealing_learning_rate { T_max: 1 min_learning_rate: nan }",
         "cosine_annealing_learning_rate: warmup_learning_rate 0 and min_learning_rate "
         "nan must be finite",
         E0306},
        {"cosine_annealing_warm_restarts_learning_rate {}",
         "cosine_annealing_warm_restarts_learning_rate: T_0 must be above 0", E0306},
        {"manual_step_learning_rate {}",
         "manual_step_learning_rate: 0 schedule_sizes and 0 learning_rates", E0307},
        {"manual_step_learning_rate { schedule_sizes: 1 learning_rates: [1, 2] }",
         "manual_step_learning_rate: 1 schedule_sizes and 2 learning_rates", E0307},
        {"manual_step_learning_rate { schedule_sizes: [2, 2] learning_rates: [1, 2] }",
         "manual_step_learning_rate: schedule_sizes: 2 follows 2", E0307},
        {"manual_step_learning_rate { schedule_sizes: 2 learning_rates: -1 }",
         "manual_step_learning_rate: learning_rates: -1 is not a learning rate", E0307},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct written w;
        struct nn_schedule s;
        struct err err = {0};
        written_open(&w, &pc_SparseOptimizer_def, bad[i].conf);
        CHECK(nn_schedule_from(w.msg, NULL, 0.1, &s, &err) == RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        CHECK(err.code == bad[i].code);
        written_close(&w);
    }
}

static void a_rate_must_be_a_number(void)
{
    struct written w;
    struct nn_schedule s;
    struct err err = {0};
    written_open(&w, &pc_SparseOptimizer_def, "constant_learning_rate {}");
    CHECK(nn_schedule_from(w.msg, NULL, -0.5, &s, &err) == RC_INVAL);
    CHECK_STR(err.msg, "lr: -0.5 is not a learning rate");
    CHECK(nn_schedule_from(w.msg, NULL, (double)NAN, &s, NULL) == RC_INVAL);
    CHECK(nn_schedule_from(w.msg, NULL, (double)INFINITY, &s, NULL) == RC_INVAL);
    written_close(&w);
}

static const struct tap_case cases[] = {
    TAP(rates_are_those_of_the_formulas),
    TAP(a_part_without_a_schedule_follows_the_dense_one),
    TAP(steps_or_epochs_are_counted),
    TAP(the_last_period_is_long),
    TAP(what_cannot_be_computed_is_refused),
    TAP(a_rate_must_be_a_number),
};
TAP_MAIN(cases)
