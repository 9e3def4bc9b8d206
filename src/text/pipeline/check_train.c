/* SPDX-License-Identifier: Apache-2.0 */
/* train_config and export_config: how training ends, optimizers and their schedules,
 * checkpoints, what counts as best. A schedule's lengths must be above 0 because they
 * are divided by; names of results are worked out as the trainer will name them, so that
 * best_exporter_metric is found.
 */
#include <math.h>
#include <string.h>

#include "text/pipeline/pipeline_private.h"

static void check_end(struct pc_check *x)
{
    const struct pc_TrainConfig *t = x->conf->train_config;
    if (t->num_steps == 0 && t->num_epochs == 0)
        schema_report(x->diags, DIAG_ERROR, E0303, &t->base, NULL,
                      "neither num_steps nor num_epochs is above 0");
    else if (t->num_steps == t->num_epochs)
        schema_report(x->diags, DIAG_ERROR, E0303, &t->base, "num_steps",
                      "num_steps and num_epochs are both %u; leave one of them out",
                      t->num_steps);
    else if (t->num_steps > 0 && t->num_epochs > 0)
        schema_report(x->diags, DIAG_WARNING, E0303, &t->base, "num_steps",
                      "num_steps %u and num_epochs %u are both set; training ends at the "
                      "one that comes first",
                      t->num_steps, t->num_epochs);
}

/* ManualStep */
static void check_manual(struct pc_check *x, const struct pc_ManualStepLR *m)
{
    if (m->n_schedule_sizes != m->n_learning_rates)
        schema_report(x->diags, DIAG_ERROR, E0307, &m->base, "learning_rates",
                      "%jd schedule_sizes and %jd learning_rates",
                      (intmax_t)m->n_schedule_sizes, (intmax_t)m->n_learning_rates);
    else if (m->n_schedule_sizes == 0)
        schema_report(x->diags, DIAG_ERROR, E0307, &m->base, NULL,
                      "manual_step_learning_rate has no schedule_sizes");
    for (int64_t i = 0; i < m->n_learning_rates; i++)
        if (!(m->learning_rates[i] >= 0) || isinf(m->learning_rates[i]))
            check_item(x, DIAG_ERROR, E0307, &m->base, "learning_rates", i,
                       "learning_rates: %g is not a learning rate", m->learning_rates[i]);
    for (int64_t i = 1; i < m->n_schedule_sizes; i++)
        if (m->schedule_sizes[i] <= m->schedule_sizes[i - 1]) {
            check_item(x, DIAG_ERROR, E0307, &m->base, "schedule_sizes", i,
                       "schedule_sizes: %u follows %u", m->schedule_sizes[i],
                       m->schedule_sizes[i - 1]);
            break;
        }
}

/* These lengths are divided by. */
static void check_length(struct pc_check *x, const struct msg *m, const char *field,
                         uint32_t value)
{
    if (value == 0)
        schema_report(x->diags, DIAG_ERROR, E0306, m, field, "%s: %s must be above 0",
                      m->field, field);
}

static void check_schedule(struct pc_check *x, const struct msg *schedule)
{
    check_ranges(x, schedule);
    if (schedule->def == &pc_ManualStepLR_def)
        check_manual(x, (const void *)schedule);
    else if (schedule->def == &pc_ExponentialDecayLR_def)
        check_length(
            x, schedule, "decay_size",
            ((const struct pc_ExponentialDecayLR *)(const void *)schedule)->decay_size);
    else if (schedule->def == &pc_CosineAnnealingLR_def)
        check_length(
            x, schedule, "T_max",
            ((const struct pc_CosineAnnealingLR *)(const void *)schedule)->T_max);
    else if (schedule->def == &pc_CosineAnnealingWarmRestartsLR_def)
        check_length(
            x, schedule, "T_0",
            ((const struct pc_CosineAnnealingWarmRestartsLR *)(const void *)schedule)
                ->T_0);
}

/* Both oneofs must be set; a part may leave its schedule out. */
static void check_optimizer(struct pc_check *x, const struct msg *m, bool needs_schedule)
{
    const struct msg *schedule = NULL, *rule = NULL;
    if (schema_oneof(m, "optimizer", &rule)) {
        check_ranges(x, rule);
        check_nesterov(x, rule);
    } else {
        struct diag *g = schema_report(x->diags, DIAG_ERROR, E0304, m, NULL,
                                       "%s names no optimizer", m->field);
        diag_hint(x->diags, g, "for example adam_optimizer { lr: 0.001 }");
    }
    if (schema_oneof(m, "learning_rate", &schedule)) {
        check_schedule(x, schedule);
    } else if (needs_schedule) {
        struct diag *g = schema_report(x->diags, DIAG_ERROR, E0305, m, NULL,
                                       "%s names no learning-rate schedule", m->field);
        diag_hint(x->diags, g, "constant_learning_rate {} keeps lr as it is");
    }
}

/* Whether (), [] are balanced, escapes left out; full syntax is the regex engine's task.
 */
static bool brackets_balance(const char *s)
{
    int round = 0;
    for (; *s; s++) {
        if (*s == '\\') {
            if (!*++s)
                return false;
        } else if (*s == '[') {
            s += s[1] == '^';
            s += s[1] == ']'; /* the first one is a member */
            while (*++s && *s != ']')
                s += *s == '\\' && s[1];
            if (!*s)
                return false;
        } else if (*s == '(') {
            round++;
        } else if (*s == ')' && --round < 0) {
            return false;
        }
    }
    return round == 0;
}

/* Part optimizers */
static void check_part(struct pc_check *x, const struct pc_PartOptimizer *p)
{
    check_optimizer(x, &p->base, false);
    if (!*p->regex_pattern)
        schema_report(x->diags, DIAG_ERROR, E0308, &p->base, "regex_pattern",
                      "regex_pattern is empty: it matches no parameter");
    else if (!brackets_balance(p->regex_pattern))
        schema_report(x->diags, DIAG_ERROR, E0308, &p->base, "regex_pattern",
                      "regex_pattern '%s': unbalanced brackets or a lone backslash",
                      p->regex_pattern);
}

static void check_optimizers(struct pc_check *x)
{
    const struct pc_TrainConfig *t = x->conf->train_config;
    if (t->sparse_optimizer)
        check_optimizer(x, &t->sparse_optimizer->base, true);
    else
        schema_report(x->diags, DIAG_ERROR, E0304, &t->base, NULL,
                      "train_config has no sparse_optimizer");
    if (!t->dense_optimizer) {
        schema_report(x->diags, DIAG_ERROR, E0304, &t->base, NULL,
                      "train_config has no dense_optimizer");
        return;
    }
    check_optimizer(x, &t->dense_optimizer->base, true);
    if (t->dense_optimizer->ema)
        check_ranges(x, &t->dense_optimizer->ema->base);
    for (int64_t i = 0; i < t->dense_optimizer->n_part_optimizers; i++)
        check_part(x, t->dense_optimizer->part_optimizers[i]);
}

static void check_quorum(struct pc_check *x)
{
    const struct pc_TrainConfig *t = x->conf->train_config;
    bool on = t->save_checkpoints_timestamp_interval || t->n_save_checkpoints_timestamps;
    double q = t->save_checkpoints_timestamp_quorum;
    if (on && !(q > 0 && q <= 1))
        schema_report(x->diags, DIAG_ERROR, E0309, &t->base,
                      "save_checkpoints_timestamp_quorum",
                      "save_checkpoints_timestamp_quorum: %g is outside (0, 1]", q);
}

/* DeltaEmbeddingDumpConfig */
static void check_dump(struct pc_check *x)
{
    const struct pc_DeltaEmbeddingDumpConfig *d =
        x->conf->train_config->delta_embedding_dump_config;
    if (!d)
        return;
    if (d->has_dump_interval_minutes && d->has_dump_interval_steps)
        schema_report(x->diags, DIAG_ERROR, E0310, &d->base, "dump_interval_minutes",
                      "dump_interval_steps and dump_interval_minutes are both set");
    else if (d->has_dump_interval_minutes && d->dump_interval_minutes == 0)
        schema_report(x->diags, DIAG_ERROR, E0310, &d->base, "dump_interval_minutes",
                      "dump_interval_minutes must be above 0");
    else if (!d->has_dump_interval_minutes && d->dump_interval_steps == 0)
        schema_report(x->diags, DIAG_ERROR, E0310, &d->base, "dump_interval_steps",
                      "dump_interval_steps must be above 0");
    if (d->file_prefix && strchr(d->file_prefix, '/'))
        schema_report(x->diags, DIAG_ERROR, E0310, &d->base, "file_prefix",
                      "file_prefix '%.64s' has a '/': output_dir is the directory",
                      d->file_prefix);
}

void check_train(struct pc_check *x)
{
    check_end(x);
    check_optimizers(x);
    check_scaling(x);
    check_quorum(x);
    check_dump(x);
}

/* The export does not follow the training's precision. */
static void check_precision(struct pc_check *x)
{
    const struct pc_TrainConfig *t = x->conf->train_config;
    const struct pc_ExportConfig *e = x->conf->export_config;
    if (t && e && e->has_mixed_precision &&
        strcmp(t->mixed_precision, e->mixed_precision) != 0)
        schema_report(x->diags, DIAG_WARNING, E0311, &e->base, "mixed_precision",
                      "the export uses mixed_precision \"%s\", training uses \"%s\"",
                      e->mixed_precision, t->mixed_precision);
}

static void add_name(struct pc_check *x, struct map *names, const char *name,
                     const char *task)
{
    if (task)
        name = arena_printf(&x->arena, "%s_%s", name, task);
    map_put(names, str_c(name));
}

/* Result keys are <metric><suffix>, recall@<k><suffix>, and every loss. */
static void result_names(struct pc_check *x, struct map *names)
{
    for (size_t i = 0; i < x->n_tasks; i++) {
        const struct pc_task *t = &x->tasks[i];
        for (int64_t k = 0; k < t->n_metrics; k++) {
            const struct field_def *f =
                schema_oneof(&t->metrics[k]->base, "metric", NULL);
            if (t->metrics[k]->recall_at_k)
                add_name(x, names,
                         arena_printf(&x->arena, "recall@%u",
                                      t->metrics[k]->recall_at_k->top_k),
                         t->name);
            else if (f)
                add_name(x, names, f->name, t->name);
        }
        for (int64_t k = 0; k < t->n_losses; k++) {
            const struct msg *loss = &t->losses[k]->base;
            const struct field_def *f = schema_oneof(loss, "loss", NULL);
            if (!f)
                f = schema_oneof(loss, "sid_loss", NULL);
            if (f)
                add_name(x, names, f->name, t->name);
        }
    }
}

/* Some models add results of their own, which are not known here. */
static void check_best(struct pc_check *x)
{
    const struct pc_ExportConfig *e = x->conf->export_config;
    struct map names = {0};
    if (!e || strcmp(e->exporter_type, "best") != 0 || !e->has_best_exporter_metric)
        return;
    bool rank = x->family == FAMILY_RANK && !x->model_config->rocket_launching;
    bool plain = rank || x->family == FAMILY_MATCH ||
                 (x->family == FAMILY_TASKS && !x->model_config->pepnet);
    result_names(x, &names);
    if (plain && !map_find(&names, str_c(e->best_exporter_metric))) {
        struct diag *g =
            schema_report(x->diags, DIAG_ERROR, E0312, &e->base, "best_exporter_metric",
                          "best_exporter_metric: no metric or loss is "
                          "called '%s'",
                          e->best_exporter_metric);
        check_nearest(x, g, e->best_exporter_metric, &names);
    }
    map_release(&names);
}

void check_export(struct pc_check *x)
{
    check_precision(x);
    check_best(x);
}
