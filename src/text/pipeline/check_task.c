/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: labels, weights, losses, metrics, and how tasks see each other. Models write
 * their tasks in five forms; all become struct pc_task first, so that the rules are
 * written once. What a head puts out follows from its losses, and each metric is
 * compared with that.
 */
#include <string.h>

#include "text/pipeline/pipeline_private.h"

#define TAKE_TASK(t, m)                              \
    do {                                             \
        (t)->msg = &(m)->base;                       \
        (t)->losses = (m)->losses;                   \
        (t)->n_losses = (m)->n_losses;               \
        (t)->metrics = (m)->metrics;                 \
        (t)->n_metrics = (m)->n_metrics;             \
        (t)->train_metrics = (m)->train_metrics;     \
        (t)->n_train_metrics = (m)->n_train_metrics; \
        (t)->num_class = (m)->num_class;             \
    } while (0)
#define TAKE_TOWER(t, m)                                    \
    do {                                                    \
        TAKE_TASK(t, m);                                    \
        (t)->name = (m)->tower_name;                        \
        (t)->label = (m)->label_name;                       \
        (t)->space_label = (m)->task_space_indicator_label; \
        (t)->pareto_min = (m)->pareto_min_loss_weight;      \
    } while (0)

static void take_towers(struct pc_check *x, const struct pc_TaskTower *const *towers,
                        int64_t n)
{
    x->tasks = arena_alloc(&x->arena, (size_t)n * sizeof(*x->tasks) + 1);
    for (int64_t i = 0; i < n; i++) {
        TAKE_TOWER(&x->tasks[i], towers[i]);
        x->tasks[i].weight = towers[i]->sample_weight_name;
    }
    x->n_tasks = (size_t)n;
}

static void take_esmm(struct pc_check *x, const struct pc_ESMM *m)
{
    const struct pc_TaskTower *towers[] = {m->ctr_tower, m->cvr_tower};
    if (!m->ctr_tower || !m->cvr_tower)
        return; /* reported as missing */
    const char *cvr = m->cvr_tower->tower_name;
    take_towers(x, towers, 2);
    x->tasks[1].name = m->ctcvr_name; /* what its losses and metrics end in */
    if (!*cvr)
        schema_report(x->diags, DIAG_ERROR, E0376, &m->cvr_tower->base, NULL,
                      "the task has no tower_name");
    else if (strcmp(cvr, m->ctcvr_name) == 0 ||
             strcmp(cvr, m->ctr_tower->tower_name) == 0)
        schema_report(x->diags, DIAG_ERROR, E0376, &m->cvr_tower->base, "tower_name",
                      "there is already a task '%s'", cvr);
}

static void take_bayes(struct pc_check *x, const struct pc_DBMTL *m)
{
    x->tasks = arena_alloc(&x->arena, (size_t)m->n_task_towers * sizeof(*x->tasks) + 1);
    for (int64_t i = 0; i < m->n_task_towers; i++) {
        TAKE_TOWER(&x->tasks[i], m->task_towers[i]);
        x->tasks[i].weight = m->task_towers[i]->sample_weight_name;
    }
    x->n_tasks = (size_t)m->n_task_towers;
}

static void take_intervention(struct pc_check *x, const struct pc_DC2VR *m)
{
    x->tasks = arena_alloc(&x->arena, (size_t)m->n_task_towers * sizeof(*x->tasks) + 1);
    for (int64_t i = 0; i < m->n_task_towers; i++)
        TAKE_TOWER(&x->tasks[i], m->task_towers[i]);
    x->n_tasks = (size_t)m->n_task_towers;
}

static void take_fusion(struct pc_check *x, const struct pc_FusionMTLTower *m)
{
    if (!m)
        return;
    x->tasks = arena_alloc(&x->arena, (size_t)m->n_task_configs * sizeof(*x->tasks) + 1);
    for (int64_t i = 0; i < m->n_task_configs; i++) {
        TAKE_TASK(&x->tasks[i], m->task_configs[i]);
        x->tasks[i].name = m->task_configs[i]->task_name;
        x->tasks[i].label = m->task_configs[i]->label_name;
    }
    x->n_tasks = (size_t)m->n_task_configs;
}

static void take_all(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    if (x->family != FAMILY_TASKS) {
        x->tasks = arena_alloc(&x->arena, sizeof(*x->tasks));
        TAKE_TASK(x->tasks, m);
        x->n_tasks = 1;
    } else if (m->simple_multi_task) {
        take_towers(x, m->simple_multi_task->task_towers,
                    m->simple_multi_task->n_task_towers);
    } else if (m->share_bottom) {
        take_towers(x, m->share_bottom->task_towers, m->share_bottom->n_task_towers);
    } else if (m->esmm) {
        take_esmm(x, m->esmm);
    } else if (m->mmoe) {
        take_towers(x, m->mmoe->task_towers, m->mmoe->n_task_towers);
    } else if (m->ple) {
        take_towers(x, m->ple->task_towers, m->ple->n_task_towers);
    } else if (m->pepnet) {
        take_towers(x, m->pepnet->task_towers, m->pepnet->n_task_towers);
    } else if (m->dbmtl) {
        take_bayes(x, m->dbmtl);
    } else if (m->dc2vr) {
        take_intervention(x, m->dc2vr);
    } else if (m->dlrm_hstu) {
        take_fusion(x, m->dlrm_hstu->fusion_mtl_tower);
    } else if (m->ultra_hstu) {
        take_fusion(x, m->ultra_hstu->fusion_mtl_tower);
    }
}

/* Outputs end in the task's name. */
static void check_names(struct pc_check *x)
{
    if (x->n_tasks == 0)
        schema_report(x->diags, DIAG_ERROR, E0375, x->model, NULL, "%s has no tasks",
                      x->model_field->name);
    for (size_t i = 0; i < x->n_tasks; i++) {
        const struct pc_task *t = &x->tasks[i];
        const char *field = t->msg->def->title;
        bool twice = false;
        if (!t->name)
            continue;
        for (size_t k = 0; k < i; k++)
            twice = twice || strcmp(x->tasks[k].name, t->name) == 0;
        if (!*t->name)
            schema_report(x->diags, DIAG_ERROR, E0376, t->msg, NULL, "the task has no %s",
                          field);
        else if (twice)
            schema_report(x->diags, DIAG_ERROR, E0376, t->msg, field,
                          "there is already a task '%s'", t->name);
    }
}

static void check_label(struct pc_check *x, const struct msg *m, const char *field,
                        const char *name)
{
    if (!x->data || x->data->n_label_fields == 0 ||
        check_listed(name, x->data->label_fields, x->data->n_label_fields))
        return;
    struct diag *g =
        schema_report(x->diags, DIAG_ERROR, E0377, m, field,
                      "%s '%s' is not in data_config.label_fields", field, name);
    check_nearest_in(x, g, name, x->data->label_fields, x->data->n_label_fields);
}

/* label_name may be left out in dbmtl and dc2vr, then the place decides. */
static void check_task_columns(struct pc_check *x, const struct pc_task *t, size_t place)
{
    bool by_place = x->model_config->dbmtl || x->model_config->dc2vr;
    if (t->label && *t->label)
        check_label(x, t->msg, "label_name", t->label);
    else if (t->label && (!by_place || (x->data && x->data->n_label_fields > 0 &&
                                        place >= (size_t)x->data->n_label_fields)))
        schema_report(x->diags, DIAG_ERROR, E0377, t->msg, NULL,
                      "task '%s' has no label_name", t->name);
    if (t->space_label && *t->space_label)
        check_label(x, t->msg, "task_space_indicator_label", t->space_label);
    if (!t->weight || !*t->weight || !x->data ||
        check_listed(t->weight, x->data->sample_weight_fields,
                     x->data->n_sample_weight_fields))
        return;
    struct diag *g =
        schema_report(x->diags, DIAG_ERROR, E0378, t->msg, "sample_weight_name",
                      "sample_weight_name '%s' is none of "
                      "data_config.sample_weight_fields",
                      t->weight);
    check_nearest_in(x, g, t->weight, x->data->sample_weight_fields,
                     x->data->n_sample_weight_fields);
}

/* The first id of a sparse feature */
static void check_key(struct pc_check *x, const struct msg *m, const char *field,
                      const char *name)
{
    const struct pc_feature *f = pc_features_find(&x->features, str_c(name));
    if (!*name) {
        schema_report(x->diags, DIAG_ERROR, E0383, m, NULL, "%s needs %s", m->field,
                      field);
        return;
    }
    if (f)
        map_put(&x->used, str_c(f->name));
    if (!f) {
        struct diag *g = schema_report(x->diags, DIAG_ERROR, E0383, m, field,
                                       "%s: there is no feature '%s'", field, name);
        check_nearest(x, g, name, &x->features.by_name);
    } else if (!pc_feature_is_sparse(f)) {
        schema_report(x->diags, DIAG_ERROR, E0383, m, field,
                      "%s: feature '%s' is a number, not an id", field, name);
    }
}

static void check_range(struct pc_check *x, bool ok, const struct msg *m,
                        const char *field, const char *limits)
{
    if (!ok)
        schema_report(x->diags, DIAG_ERROR, E0384, m, field, "%s of %s %s", field,
                      m->field, limits);
}

static void check_loss_settings(struct pc_check *x, const struct pc_LossConfig *l)
{
    if (l->binary_cross_entropy) {
        double s = l->binary_cross_entropy->label_smoothing;
        check_range(x, s >= 0 && s < 1, &l->binary_cross_entropy->base, "label_smoothing",
                    "must be at least 0 and below 1");
    } else if (l->softmax_cross_entropy) {
        double s = l->softmax_cross_entropy->label_smoothing;
        check_range(x, s >= 0 && s <= 1, &l->softmax_cross_entropy->base,
                    "label_smoothing", "must lie between 0 and 1");
    } else if (l->binary_focal_loss) {
        const struct pc_BinaryFocalLoss *f = l->binary_focal_loss;
        check_range(x, f->gamma >= 0, &f->base, "gamma", "must not be negative");
        check_range(x, f->alpha > 0 && f->alpha < 1, &f->base, "alpha",
                    "must be above 0 and below 1");
    } else if (l->jrc_loss) {
        check_key(x, &l->jrc_loss->base, "session_name", l->jrc_loss->session_name);
        check_range(x, l->jrc_loss->alpha >= 0 && l->jrc_loss->alpha <= 1,
                    &l->jrc_loss->base, "alpha", "must lie between 0 and 1");
    } else if (l->commitment_loss) {
        int64_t n = l->commitment_loss->n_latent_weight;
        check_range(x, n == 0 || n == 2, &l->commitment_loss->base, "latent_weight",
                    "must hold two weights");
    }
}

/* Outputs of the head that each loss needs */
static void check_num_class(struct pc_check *x, const struct pc_task *t,
                            const struct pc_LossConfig *l)
{
    const struct field_def *f = schema_oneof(&l->base, "loss", NULL);
    const char *needs = NULL;
    if (!f)
        return;
    if ((l->binary_cross_entropy || l->binary_focal_loss || l->log_loss) &&
        t->num_class != 1)
        needs = "1";
    else if ((l->softmax_cross_entropy || l->hinge_loss) && t->num_class < 2)
        needs = "2 or more";
    else if (l->jrc_loss && t->num_class != 2)
        needs = "2";
    if (needs)
        schema_report(x->diags, DIAG_ERROR, E0381, t->msg, "num_class",
                      "%s needs num_class %s, not %u", f->name, needs, t->num_class);
}

/* Which losses a family of models takes */
static void check_loss_kind(struct pc_check *x, const struct pc_LossConfig *l)
{
    const struct field_def *loss = schema_oneof(&l->base, "loss", NULL);
    const struct field_def *sid = schema_oneof(&l->base, "sid_loss", NULL);
    const char *model = x->model_field->name;
    if (!loss && !sid)
        schema_report(x->diags, DIAG_ERROR, E0380, &l->base, NULL,
                      "an entry of losses names no loss");
    else if (x->family == FAMILY_SID && !sid)
        schema_report(x->diags, DIAG_ERROR, E0380, &l->base, loss->name,
                      "%s takes recon_loss, commitment_loss or contrastive_loss, not %s",
                      model, loss->name);
    else if (x->family != FAMILY_SID && !loss)
        schema_report(x->diags, DIAG_ERROR, E0380, &l->base, sid->name,
                      "%s is for semantic-id models, not for %s", sid->name, model);
    else if (x->model_config->word2vec && !l->binary_cross_entropy)
        schema_report(x->diags, DIAG_ERROR, E0380, &l->base, loss->name,
                      "%s takes binary_cross_entropy, not %s", model, loss->name);
    else if (x->family == FAMILY_MATCH && !x->model_config->word2vec &&
             !l->softmax_cross_entropy)
        schema_report(x->diags, DIAG_ERROR, E0380, &l->base, loss->name,
                      "%s takes softmax_cross_entropy, not %s", model, loss->name);
}

static void check_losses(struct pc_check *x, const struct pc_task *t)
{
    if (t->n_losses == 0 && !x->model_config->sid_rqkmeans)
        schema_report(x->diags, DIAG_ERROR, E0379, t->msg, NULL, "%s has no losses",
                      t->name ? t->name : x->model_field->name);
    if (t->n_losses > 1 && x->family == FAMILY_MATCH)
        schema_report(x->diags, DIAG_ERROR, E0380, &t->losses[1]->base, NULL,
                      "%s takes one loss, not %jd", x->model_field->name,
                      (intmax_t)t->n_losses);
    for (int64_t i = 0; i < t->n_losses; i++) {
        check_loss_kind(x, t->losses[i]);
        check_loss_settings(x, t->losses[i]);
        if (x->family == FAMILY_RANK || x->family == FAMILY_TASKS)
            check_num_class(x, t, t->losses[i]);
    }
}

/* What the losses of a task let its head put out. */
struct outputs {
    bool probs, probs1, y;
};

static struct outputs outputs_of(const struct pc_task *t)
{
    struct outputs o = {0};
    for (int64_t i = 0; i < t->n_losses; i++) {
        const struct pc_LossConfig *l = t->losses[i];
        o.y = o.y || l->l2_loss;
        o.probs = o.probs || l->binary_cross_entropy || l->binary_focal_loss ||
                  l->log_loss || l->softmax_cross_entropy || l->hinge_loss || l->jrc_loss;
        o.probs1 = o.probs1 || l->jrc_loss || l->softmax_cross_entropy || l->hinge_loss;
    }
    return o;
}

enum needs { NEEDS_SIMILARITY, NEEDS_CLASSES, NEEDS_SCORE, NEEDS_NUMBER };

/* What each metric is computed from */
static enum needs needs_of(const char *metric)
{
    static const struct {
        const char *metric;
        enum needs needs;
    } rows[] = {
#define METRIC(name_, msg_, file_, needs_, doc_) {#name_, NEEDS_##needs_},
#include "text/pipeline/metrics.def"
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].metric, metric) == 0)
            return rows[i].needs;
    return NEEDS_SCORE; /* no other has a field */
}

static void check_metric_kind(struct pc_check *x, const struct pc_task *t,
                              const struct msg *m)
{
    const struct field_def *f = schema_oneof(m, "metric", NULL);
    struct outputs o = outputs_of(t);
    if (!f) {
        schema_report(x->diags, DIAG_ERROR, E0382, m, NULL,
                      "an entry of %s names no metric", m->field);
        return;
    }
    enum needs needs = needs_of(f->name);
    if (x->family == FAMILY_SID)
        return;
    if ((x->family == FAMILY_MATCH) != (needs == NEEDS_SIMILARITY))
        schema_report(x->diags, DIAG_ERROR, E0382, m, f->name, "%s is not for %s%s",
                      f->name, x->model_field->name,
                      x->family == FAMILY_MATCH ? "; match models have recall_at_k" : "");
    else if (needs == NEEDS_SCORE && t->num_class > 2)
        schema_report(x->diags, DIAG_ERROR, E0382, m, f->name,
                      "%s needs one score per row, and num_class is %u", f->name,
                      t->num_class);
    else if ((needs == NEEDS_CLASSES || needs == NEEDS_SCORE) && !o.probs && t->n_losses)
        schema_report(x->diags, DIAG_ERROR, E0382, m, f->name,
                      "%s needs probabilities, and none of the losses is for "
                      "classification",
                      f->name);
    else if (needs == NEEDS_NUMBER && !o.y && t->n_losses)
        schema_report(x->diags, DIAG_ERROR, E0382, m, f->name, "%s needs l2_loss",
                      f->name);
}

static void check_auc(struct pc_check *x, const struct pc_AUC *a)
{
    if (a)
        check_range(x, a->thresholds >= 2, &a->base, "thresholds", "must be 2 or more");
}

static void check_recall(struct pc_check *x, const struct pc_RecallAtK *r)
{
    if (r)
        check_range(x, r->top_k >= 1, &r->base, "top_k", "must be 1 or more");
}

static void check_accuracy(struct pc_check *x, const struct pc_Accuracy *a)
{
    if (!a)
        return;
    check_range(x, a->threshold >= 0 && a->threshold <= 1, &a->base, "threshold",
                "must lie between 0 and 1");
    check_range(x, a->top_k >= 1, &a->base, "top_k", "must be 1 or more");
}

static void check_xauc(struct pc_check *x, const struct pc_XAUC *a)
{
    if (a)
        check_range(x, a->sample_ratio > 0 && a->sample_ratio <= 1, &a->base,
                    "sample_ratio", "must be above 0 and at most 1");
}

static void check_metrics(struct pc_check *x, const struct pc_task *t)
{
    for (int64_t i = 0; i < t->n_metrics; i++) {
        const struct pc_MetricConfig *m = t->metrics[i];
        check_metric_kind(x, t, &m->base);
        check_auc(x, m->auc);
        check_recall(x, m->recall_at_k);
        check_accuracy(x, m->accuracy);
        check_xauc(x, m->xauc);
        if (m->multiclass_auc)
            check_range(x, m->multiclass_auc->thresholds >= 2, &m->multiclass_auc->base,
                        "thresholds", "must be 2 or more");
        if (m->grouped_auc)
            check_key(x, &m->grouped_auc->base, "grouping_key",
                      m->grouped_auc->grouping_key);
        if (m->grouped_xauc)
            check_key(x, &m->grouped_xauc->base, "grouping_key",
                      m->grouped_xauc->grouping_key);
    }
    for (int64_t i = 0; i < t->n_train_metrics; i++) {
        const struct pc_TrainMetricConfig *m = t->train_metrics[i];
        check_metric_kind(x, t, &m->base);
        check_auc(x, m->auc);
        check_recall(x, m->recall_at_k);
        check_accuracy(x, m->accuracy);
        check_xauc(x, m->xauc);
        check_range(x, m->decay_step > 0, &m->base, "decay_step", "must be above 0");
    }
}

/* A task sees tasks that stand before it. */
static void check_earlier(struct pc_check *x, const struct msg *m, const char *field,
                          const char *const *names, int64_t n, size_t place)
{
    for (int64_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < x->n_tasks && strcmp(x->tasks[k].name, names[i]) != 0)
            k++;
        if (k < place)
            continue;
        if (k < x->n_tasks) {
            check_item(x, DIAG_ERROR, E0390, m, field, i,
                       "task '%s' %s, so '%s' cannot see it", names[i],
                       k == place ? "is this one" : "comes later", x->tasks[place].name);
            continue;
        }
        struct diag *g = check_item(x, DIAG_ERROR, E0390, m, field, i,
                                    "there is no task '%s'", names[i]);
        const char **all = arena_alloc(&x->arena, x->n_tasks * sizeof(*all));
        for (size_t j = 0; j < x->n_tasks; j++)
            all[j] = x->tasks[j].name;
        check_nearest_in(x, g, names[i], all, (int64_t)x->n_tasks);
    }
}

static void check_relations(struct pc_check *x)
{
    const struct pc_DBMTL *b = x->model_config->dbmtl;
    const struct pc_DC2VR *d = x->model_config->dc2vr;
    for (int64_t i = 0; b && i < b->n_task_towers; i++) {
        const struct pc_BayesTaskTower *t = b->task_towers[i];
        check_earlier(x, &t->base, "relation_tower_names", t->relation_tower_names,
                      t->n_relation_tower_names, (size_t)i);
        if (t->n_relation_tower_names > 0 && !t->relation_mlp)
            schema_report(x->diags, DIAG_WARNING, E0390, &t->base, "relation_tower_names",
                          "relation_tower_names has no effect without relation_mlp");
    }
    for (int64_t i = 0; d && i < d->n_task_towers; i++)
        check_earlier(x, &d->task_towers[i]->base, "intervention_tower_names",
                      d->task_towers[i]->intervention_tower_names,
                      d->task_towers[i]->n_intervention_tower_names, (size_t)i);
}

/* 0 <= sum < 1, one weight per task and loss */
static void check_pareto(struct pc_check *x)
{
    double sum = 0;
    if (!x->model_config->use_pareto_loss_weight)
        return;
    for (size_t i = 0; i < x->n_tasks; i++) {
        if (x->tasks[i].pareto_min < 0)
            schema_report(x->diags, DIAG_ERROR, E0397, x->tasks[i].msg,
                          "pareto_min_loss_weight",
                          "pareto_min_loss_weight must not be negative");
        sum += x->tasks[i].pareto_min * (double)x->tasks[i].n_losses;
    }
    if (sum >= 1)
        schema_report(x->diags, DIAG_ERROR, E0397, &x->model_config->base,
                      "use_pareto_loss_weight",
                      "the pareto_min_loss_weight of all losses add up to %g, not less "
                      "than 1",
                      sum);
}

/* The domain's number is a label column. */
static void check_domain(struct pc_check *x)
{
    const struct pc_PEPNet *p = x->model_config->pepnet;
    if (!p || !*p->domain_input_name)
        return;
    check_label(x, &p->base, "domain_input_name", p->domain_input_name);
    if (p->task_domain_num == 0)
        schema_report(x->diags, DIAG_ERROR, E0398, &p->base, "task_domain_num",
                      "task_domain_num must be above 0");
}

void check_tasks(struct pc_check *x)
{
    if (!x->model)
        return;
    take_all(x);
    check_names(x);
    for (size_t i = 0; i < x->n_tasks; i++) {
        check_task_columns(x, &x->tasks[i], i);
        check_losses(x, &x->tasks[i]);
        check_metrics(x, &x->tasks[i]);
    }
    check_relations(x);
    check_pareto(x);
    check_domain(x);
}
