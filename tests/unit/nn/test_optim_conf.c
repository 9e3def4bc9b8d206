/* SPDX-License-Identifier: Apache-2.0 */
/* From messages to optimizers: parts, ranges, clipping, loss scale, embedding rows. */
#include "nn/optim/clip.h"
#include "nn/optim/optim.h"
#include "nn/optim/pattern.h"
#include "nn/optim/scaler.h"
#include "nn/optim/sparse.h"

#include "golden_text.h"
#include "text/pipeline/pipeline.h"

#define N 4
struct few {
    struct param params[N], *list[N];
    float value[N], grad[N];
};

static void few_init(struct few *f)
{
    static const char *const names[N] = {"deep.0.weight", "deep.0.bias", "deep.1.weight",
                                         "head.weight"};
    *f = (struct few){0};
    for (int i = 0; i < N; i++) {
        f->params[i] = (struct param){.name = names[i],
                                      .n = 1,
                                      .trainable = true,
                                      .value = &f->value[i],
                                      .grad = &f->grad[i]};
        f->list[i] = &f->params[i];
    }
}

static void the_first_part_that_matches_the_whole_name_counts(void)
{
    struct few f;
    struct written w;
    struct optim *o = NULL;
    few_init(&f);
    written_open(
        &w, &pc_DenseOptimizer_def,
        "adam_optimizer { lr: 0.5 } manual_step_learning_rate { schedule_sizes: 0 "
        "learning_rates: 0.25 } "
        "part_optimizers { regex_pattern: 'model\\\\.deep' sgd_optimizer { lr: 1 } } "
        "part_optimizers { regex_pattern: 'model\\\\.deep\\\\..*bias' sgd_optimizer { "
        "lr: 2 } constant_learning_rate {} } "
        "part_optimizers { regex_pattern: 'model\\\\.(?:deep|wide)\\\\..*' "
        "rmsprop_optimizer { lr: 3 } } "
        "part_optimizers { regex_pattern: '.*bias' sgd_optimizer { lr: 4 } }");
    struct optim_options options = {.prefix = "model."};
    CHECK(optim_create(w.msg, f.list, N, &options, &o, NULL) == RC_OK);
    CHECK_INT(optim_groups(o), 3);
    static const size_t groups[N] = {2, 1, 2, 0};
    for (size_t i = 0; i < N; i++)
        CHECK_INT(optim_group_of(o, i), groups[i]);
    CHECK_STR(optim_rule_name(optim_rule(o, 0)), "adam");
    CHECK_STR(optim_rule_name(optim_rule(o, 2)), "rmsprop");
    CHECK_STR(optim_unmatched(o, 0), "model\\.deep");
    CHECK_STR(optim_unmatched(o, 1), ".*bias");
    CHECK(optim_unmatched(o, 2) == NULL);
    CHECK(optim_lr(o, 0, 0, 0) == 0.5 && optim_lr(o, 0, 1, 0) == 0.25);
    CHECK(optim_lr(o, 1, 1, 0) == 2);
    CHECK(optim_lr(o, 2, 0, 0) == 3 && optim_lr(o, 2, 1, 0) == 0.25);
    optim_destroy(o);
    written_close(&w);
}

static void what_is_wrong_is_named(void)
{
    static const struct {
        const char *conf, *msg;
    } bad[] = {
        {"constant_learning_rate {}", "dense_optimizer: no optimizer is named"},
        {"adam_optimizer {}", "dense_optimizer: no learning-rate schedule is named"},
        {"adam_optimizer { lr: -1 } constant_learning_rate {}",
         "dense_optimizer: lr: -1 is not a learning rate"},
        {"adam_optimizer { beta1: 1 } constant_learning_rate {}",
         "dense_optimizer: adam_optimizer: beta1: 1 is outside [0, 1)"},
        {"adamw_optimizer { weight_decay: -0.5 } constant_learning_rate {}",
         "dense_optimizer: adamw_optimizer: weight_decay: -0.5 is outside [0, inf)"},
        {"rmsprop_optimizer { eps: nan } constant_learning_rate {}",
         "dense_optimizer: rmsprop_optimizer: eps: nan is outside [0, inf)"},
        {"sgd_optimizer { nesterov: true momentum: 0 } constant_learning_rate {}",
         "dense_optimizer: sgd_optimizer: nesterov needs a momentum above 0 and no "
         "dampening"},
        {"sgd_optimizer { nesterov: true dampening: 0.1 } constant_learning_rate {}",
         "dense_optimizer: sgd_optimizer: nesterov needs a momentum above 0 and no "
         "dampening"},
        {"sgd_optimizer {} constant_learning_rate {} part_optimizers { sgd_optimizer {} "
         "regex_pattern: 'a(b' }",
         "part_optimizers[0]: regex_pattern 'a(b': missing closing parenthesis, at "
         "character 3"},
        {"sgd_optimizer {} constant_learning_rate {} part_optimizers { regex_pattern: "
         "'a' }",
         "part_optimizers[0]: no optimizer is named"},
        {"sgd_optimizer {} constant_learning_rate {} part_optimizers { sgd_optimizer {} "
         "regex_pattern: '(.*)*[0-9]' }",
         "regex_pattern '(.*)*[0-9]' on 'deep.0.weight.deep.0.weight.deep.0.weight': match "
         "limit exceeded"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct few f;
        struct written w;
        struct optim *o = NULL;
        struct err err = {0};
        few_init(&f);
        f.params[0].name = "deep.0.weight.deep.0.weight.deep.0.weight";
        written_open(&w, &pc_DenseOptimizer_def, bad[i].conf);
        int64_t live = mem_live();
        CHECK(optim_create(w.msg, f.list, N, &(struct optim_options){0}, &o, &err) ==
              RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        CHECK(o == NULL);
        CHECK_INT(mem_live(), live);
        written_close(&w);
    }
}

static void a_model_without_dense_parameters_is_fine(void)
{
    struct written w;
    struct optim *o = NULL;
    struct nn_state s = {0};
    struct optim_clip clip = {.kind = CLIP_NORM, .max = 1, .p = 2};
    written_open(&w, &pc_DenseOptimizer_def,
                 "adam_optimizer {} constant_learning_rate {}");
    CHECK(optim_create(w.msg, NULL, 0, &(struct optim_options){0}, &o, NULL) == RC_OK);
    CHECK(optim_clip_grads(&clip, optim_params(o)) == 0);
    CHECK(optim_scale_grads(optim_params(o), 0.5));
    optim_step(o, 0, 0);
    optim_save(o, true, &s);
    CHECK_INT(s.items.n, 0);
    CHECK(optim_load(o, &s, NULL, NULL) == RC_OK);
    nn_state_release(&s);
    optim_destroy(o);
    written_close(&w);
}

static void gradients_that_are_not_finite_are_found_and_left_alone(void)
{
    struct few f;
    struct optim_param_set set;
    struct optim_clip clip = {.kind = CLIP_NORM, .max = 1, .p = 2};
    few_init(&f);
    CHECK(optim_param_set_init(&set, f.list, N, NULL, NULL) == RC_OK);
    f.grad[0] = 8;
    f.grad[3] = 6;
    CHECK(optim_scale_grads(&set, 0.5));
    CHECK(f.grad[0] == 4 && f.grad[3] == 3);
    CHECK_NEAR(optim_grads_norm(&set, 2), 5, 1e-12);
    CHECK(optim_grads_norm(&set, 1) == 7);
    CHECK(optim_grads_norm(&set, (double)INFINITY) == 4);
    f.grad[1] = NAN;
    CHECK(isnan(optim_clip_grads(&clip, &set)));
    CHECK(f.grad[0] == 4);
    CHECK(isnan(optim_grads_norm(&set, (double)INFINITY)));
    CHECK(isnan(optim_grads_norm(&set, 1)));
    CHECK(!optim_scale_grads(&set, 1));
    f.grad[1] = INFINITY;
    CHECK(isinf(optim_clip_grads(&clip, &set)));
    CHECK(f.grad[0] == 4);
    CHECK(!optim_scale_grads(&set, 1));
    clip.kind = CLIP_VALUE;
    CHECK(isnan(optim_clip_grads(&clip, &set)));
    CHECK(f.grad[0] == 1 && f.grad[1] == 1);
    optim_param_set_release(&set);
}

static void clipping_settings_are_checked(void)
{
    static const struct {
        const char *conf, *msg;
    } bad[] = {
        {"clipping_type: 'norm' max_gradient: 0",
         "grad_clipping: max_gradient: 0 must be above 0"},
        {"clipping_type: 'value' max_gradient: -1",
         "grad_clipping: max_gradient: -1 must be above 0"},
        {"clipping_type: 'norm' norm_type: 0",
         "grad_clipping: norm_type: 0 must be above 0"},
    };
    struct optim_clip clip;
    struct written w;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        written_open(&w, &pc_GradClipping_def, bad[i].conf);
        CHECK(optim_clip_from(w.msg, &clip, &err) == RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        written_close(&w);
    }
    struct err err = {0};
    struct pc_GradClipping odd = {.clipping_type = "hard"};
    CHECK(optim_clip_from(&odd, &clip, &err) == RC_INVAL);
    CHECK_STR(err.msg,
              "grad_clipping: clipping_type 'hard' is none of norm, value, none");
    CHECK(optim_clip_from(NULL, &clip, NULL) == RC_OK && clip.kind == CLIP_NONE);
    written_open(&w, &pc_GradClipping_def, "");
    CHECK(optim_clip_from(w.msg, &clip, NULL) == RC_OK && clip.kind == CLIP_NONE);
    written_close(&w);
}

static void the_loss_scale_backs_off_and_grows(void)
{
    struct written w;
    struct optim_scaler s, again;
    struct nn_state saved = {0};
    written_open(&w, &pc_GradScaler_def,
                 "init_scale: 8 growth_factor: 4 backoff_factor: 0.5 growth_interval: 3");
    CHECK(optim_scaler_from(w.msg, &s, NULL) == RC_OK);
    static const struct {
        bool finite;
        double scale;
    } steps[] = {{true, 8},  {true, 8},  {false, 4}, {true, 4},  {true, 4},
                 {true, 16}, {false, 8}, {false, 4}, {true, 4},  {true, 4},
                 {true, 16}, {true, 16}, {true, 16}, {true, 64}, {true, 64}};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        optim_scaler_update(&s, steps[i].finite);
        CHECK(optim_scaler_scale(&s) == steps[i].scale);
    }
    optim_scaler_save(&s, &saved);
    CHECK(optim_scaler_from(w.msg, &again, NULL) == RC_OK);
    CHECK(optim_scaler_load(&again, &saved, NULL) == RC_OK);
    CHECK(optim_scaler_scale(&again) == 64 && again.good == 1);
    s.scale = 3e38f;
    s.good = 2;
    optim_scaler_update(&s, true);
    CHECK(s.scale == 3e38f && s.good == 0);
    nn_state_release(&saved);
    written_close(&w);
}

static void without_a_scaler_the_scale_is_one(void)
{
    struct optim_scaler s;
    struct nn_state saved = {0};
    CHECK(optim_scaler_from(NULL, &s, NULL) == RC_OK);
    optim_scaler_update(&s, false);
    CHECK(optim_scaler_scale(&s) == 1);
    optim_scaler_save(&s, &saved);
    CHECK_INT(saved.items.n, 0);
    CHECK(optim_scaler_load(&s, &saved, NULL) == RC_OK);
}

static void scaler_settings_are_checked(void)
{
    static const struct {
        const char *conf, *msg;
    } bad[] = {
        {"init_scale: 0", "grad_scaler: init_scale: 0 must be above 0"},
        {"growth_factor: 1", "grad_scaler: growth_factor: 1 must be above 1"},
        {"backoff_factor: 1", "grad_scaler: backoff_factor: 1 is outside (0, 1)"},
        {"growth_interval: 0", "grad_scaler: growth_interval must be above 0"},
    };
    struct optim_scaler s;
    struct written w;
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        written_open(&w, &pc_GradScaler_def, bad[i].conf);
        CHECK(optim_scaler_from(w.msg, &s, &err) == RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        written_close(&w);
    }
    written_open(&w, &pc_GradScaler_def, "");
    struct nn_state saved = {0};
    float zero = 0;
    int64_t good = 0;
    CHECK(optim_scaler_from(w.msg, &s, NULL) == RC_OK);
    CHECK(optim_scaler_load(&s, &saved, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "there is no state 'scaler.scale'");
    nn_state_add(&saved, STATE_F32, &zero, 1, "scaler.scale");
    nn_state_add(&saved, STATE_I64, &good, 1, "scaler.good");
    CHECK(optim_scaler_load(&s, &saved, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "scaler: scale 0 after 0 good steps");
    CHECK(optim_scaler_scale(&s) == 65536);
    nn_state_release(&saved);
    written_close(&w);
}

static void micro_steps_make_up_a_step(void)
{
    char shape[13] = "";
    for (uint64_t i = 0; i < 6; i++) {
        shape[2 * i] = optim_accum_begins(3, i) ? '(' : '-';
        shape[2 * i + 1] = optim_accum_ends(3, i) ? ')' : '-';
    }
    CHECK_STR(shape, "(----)(----)");
    CHECK(optim_accum_begins(0, 5) && optim_accum_ends(0, 5) &&
          optim_accum_begins(1, 5) && optim_accum_ends(1, 5));
    CHECK(optim_accum_share(4) == 0.25 && optim_accum_share(0) == 1 &&
          optim_accum_share(1) == 1);
}

static void row_optimizers_come_from_their_messages(void)
{
    static const struct {
        const char *conf;
        struct embed_row_opt rule;
    } rows[] = {
        {"sgd_optimizer { lr: 0.1 }", {.kind = ROW_SGD}},
        {"adagrad_optimizer { lr: 0.1 initial_accumulator_value: 0.5 }",
         {.kind = ROW_ADAGRAD, .eps = 1e-8, .initial_accumulator = 0.5}},
        {"rowwise_adagrad_optimizer { lr: 0.1 weight_decay: 0.2 weight_decay_mode: "
         "DECOUPLE }",
         {.kind = ROW_ROWWISE_ADAGRAD,
          .eps = 1e-8,
          .weight_decay = 0.2,
          .decay_mode = DECAY_DECOUPLE}},
        {"rowwise_adagrad_optimizer { lr: 0.1 weight_decay_mode: L2 }",
         {.kind = ROW_ROWWISE_ADAGRAD, .eps = 1e-8, .decay_mode = DECAY_L2}},
        {"lars_sgd_optimizer { lr: 0.1 weight_decay: 0.2 }",
         {.kind = ROW_LARS_SGD, .eps = 1e-8, .momentum = 0.9, .weight_decay = 0.2}},
        {"adam_optimizer { lr: 0.1 beta1: 0.8 }",
         {.kind = ROW_ADAM, .beta1 = 0.8, .beta2 = 0.999, .eps = 1e-8}},
        {"partial_rowwise_adam_optimizer { lr: 0.1 }",
         {.kind = ROW_PARTIAL_ROWWISE_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}},
        {"lamb_optimizer { lr: 0.1 beta2: 0.99 weight_decay: 0.3 }",
         {.kind = ROW_LAMB,
          .beta1 = 0.9,
          .beta2 = 0.99,
          .eps = 1e-8,
          .weight_decay = 0.3}},
        {"partial_rowwise_lamb_optimizer { lr: 0.1 }",
         {.kind = ROW_PARTIAL_ROWWISE_LAMB, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}},
        {"adadelta_optimizer { lr: 0.1 rho: 0.7 weight_decay: 0.2 }",
         {.kind = ROW_ADADELTA, .rho = 0.7, .eps = 1e-6, .weight_decay = 0.2}},
        {"rmsprop_optimizer { lr: 0.1 eps: 0.5 weight_decay: 0.2 }",
         {.kind = ROW_RMSPROP, .alpha = 0.99, .eps = 0.5, .weight_decay = 0.2}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct written w;
        struct optim_sparse s = {0};
        const struct embed_row_opt *want = &rows[i].rule, *got = &s.rule;
        char *text = mem_printf("%s constant_learning_rate {}", rows[i].conf);
        written_open(&w, &pc_SparseOptimizer_def, text);
        CHECK(optim_sparse_from(w.msg, &s, NULL) == RC_OK);
        CHECK_INT(got->kind, want->kind);
        CHECK(got->beta1 == want->beta1 && got->beta2 == want->beta2);
        CHECK(got->eps == want->eps && got->weight_decay == want->weight_decay);
        CHECK(got->decay_mode == want->decay_mode && got->momentum == want->momentum);
        CHECK(got->rho == want->rho && got->alpha == want->alpha);
        CHECK(got->initial_accumulator == want->initial_accumulator);
        CHECK(nn_schedule_lr(&s.schedule, 3) == 0.1);
        CHECK(s.max_gradient == 0);
        written_close(&w);
        mem_free(text);
    }
}

static void row_gradients_are_clamped_when_asked(void)
{
    struct written w;
    struct optim_sparse s;
    struct err err = {0};
    written_open(&w, &pc_SparseOptimizer_def,
                 "adam_optimizer { gradient_clipping: true max_gradient: 0.5 } "
                 "cosine_annealing_learning_rate { T_max: 2 }");
    CHECK(optim_sparse_from(w.msg, &s, NULL) == RC_OK);
    CHECK(s.max_gradient == 0.5f);
    CHECK_NEAR(nn_schedule_lr(&s.schedule, 1), 0.001, 1e-15);
    written_close(&w);
    static const struct {
        const char *conf, *msg;
    } bad[] = {
        {"constant_learning_rate {}", "sparse_optimizer: no optimizer is named"},
        {"sgd_optimizer {}", "sparse_optimizer: no learning-rate schedule is named"},
        {"lamb_optimizer { beta2: 1 } constant_learning_rate {}",
         "sparse_optimizer: lamb_optimizer: beta2: 1 is outside [0, 1)"},
        {"sgd_optimizer { gradient_clipping: true max_gradient: 0 } "
         "constant_learning_rate {}",
         "sparse_optimizer: sgd_optimizer: max_gradient: 0 must be above 0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        written_open(&w, &pc_SparseOptimizer_def, bad[i].conf);
        CHECK(optim_sparse_from(w.msg, &s, &err) == RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        written_close(&w);
    }
}

static const struct tap_case cases[] = {
    TAP(the_first_part_that_matches_the_whole_name_counts),
    TAP(what_is_wrong_is_named),
    TAP(a_model_without_dense_parameters_is_fine),
    TAP(gradients_that_are_not_finite_are_found_and_left_alone),
    TAP(clipping_settings_are_checked),
    TAP(the_loss_scale_backs_off_and_grows),
    TAP(without_a_scaler_the_scale_is_one),
    TAP(scaler_settings_are_checked),
    TAP(micro_steps_make_up_a_step),
    TAP(row_optimizers_come_from_their_messages),
    TAP(row_gradients_are_clamped_when_asked),
};
TAP_MAIN(cases)
