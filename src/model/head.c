/* SPDX-License-Identifier: Apache-2.0 */
/* Heads: from raw outputs to losses and named predictions, for one task or several. A task is
 * a struct model_task with its labels, weights and losses as inputs and values of the graph;
 * head_add() makes its predictions, their names in exports and its losses, which are weighted
 * so that the graph's total is the sum.
 */
#include <math.h>
#include <string.h>

#include "model/parts.h"

static struct nn_val *column(struct model *m, const struct model_task *t,
                             const char *prefix)
{
    struct nn_shape one = {.axis = t->axis, .n_dims = 1, .dims = {1}};
    return nn_input(m->graph, arena_printf(&m->arena, "%s%s", prefix, t->name), &one,
                    false);
}

static void predict_binary(struct model *m, struct model_task *t, struct nn_val *o)
{
    t->logits = o;
    t->probs = nn_act(m->graph, o, ACT_SIGMOID, 0);
}

static void name_outputs(struct model *m, const struct model_task *t)
{
    if (t->inner) {
        nn_keep(m->graph, t->logits);
        nn_keep(m->graph, t->probs);
        nn_keep(m->graph, t->y);
        return;
    }
    if (t->logits)
        nn_output(m->graph, arena_printf(&m->arena, "logits%s", t->suffix), t->logits);
    if (t->probs)
        nn_output(m->graph, arena_printf(&m->arena, "probs%s", t->suffix), t->probs);
    if (t->probs && t->num_class == 2)
        nn_output(m->graph, arena_printf(&m->arena, "probs1%s", t->suffix),
                  nn_slice(m->graph, t->probs, 1, 1));
    if (t->y)
        nn_output(m->graph, arena_printf(&m->arena, "y%s", t->suffix), t->y);
}

static struct nn_val *jrc_loss(struct model *m, struct model_task *t,
                               const struct pc_JRCLoss *c, struct nn_val *o)
{
    if (t->num_class != 2)
        return graph_fail(m->graph, "jrc_loss needs num_class 2, not %u", t->num_class);
    const struct pc_feature *f =
        c->session_name ? pc_features_find(&m->features, str_c(c->session_name)) : NULL;
    if (!f || f->sequence || !pc_feature_is_sparse(f))
        return graph_fail(m->graph, "jrc_loss: session_name '%s' is not an id feature",
                          c->session_name ? c->session_name : "");
    if (t->session && t->session != f)
        return graph_fail(m->graph, "one task has sessions by '%s' and by '%s'",
                          t->session->name, f->name);
    if (!t->session)
        t->sessions = column(m, t, "session:");
    t->session = f;
    t->logits = o;
    t->probs = nn_softmax(m->graph, o);
    return nn_jrc_loss(m->graph, o, t->labels, t->sessions, t->weights, (float)c->alpha);
}

/* ln(sigmoid(z) + epsilon) - ln(1 + epsilon), with c = ln(epsilon / (1 + epsilon)). */
static struct nn_val *log_of(struct graph *g, struct nn_val *z, float sign, float c)
{
    struct nn_val *moved = nn_act_preset(g, nn_scale(g, z, -sign, c), ACT_SOFTPLUS);
    struct nn_val *plain = nn_act_preset(g, nn_scale(g, z, -sign, 0), ACT_SOFTPLUS);
    return nn_sub(g, moved, plain);
}

static struct nn_val *log_loss(struct model *m, const struct model_task *t,
                               const struct pc_LogLoss *c, struct nn_val *z)
{
    struct graph *g = m->graph;
    double epsilon = c->epsilon, scale = c->scale;
    float moved = (float)log(epsilon / (1 + epsilon));
    struct nn_val *yes = log_of(g, z, 1, moved), *no = log_of(g, z, -1, moved);
    struct nn_val *x = nn_add(g, nn_mul(g, t->labels, nn_sub(g, yes, no)), no);
    x = nn_scale(g, x, (float)-scale, (float)(-scale * log1p(epsilon)));
    bool sum = strcmp(c->reduction, "sum") == 0;
    if (!t->weights)
        return sum ? x : nn_mean_share(g, x);
    x = nn_mul(g, x, t->weights);
    return sum ? nn_batch_times(g, x) : x;
}

static struct nn_val *softmax_loss(struct model *m, const struct model_task *t,
                                   const struct pc_SoftmaxCrossEntropy *c,
                                   struct nn_val *o)
{
    struct graph *g = m->graph;
    struct nn_val *x =
        nn_softmax_loss(g, o, t->labels, t->weights, (float)c->label_smoothing);
    if (strcmp(c->reduction, "sum") == 0)
        x = nn_batch_times(g, x);
    return c->scale == 1 ? x : nn_scale(g, x, (float)c->scale, 0);
}

/* One loss of a task; what it predicts is set on the way. */
static struct nn_val *task_loss(struct model *m, struct model_task *t,
                                const struct pc_LossConfig *c, struct nn_val *o,
                                const char **name)
{
    struct graph *g = m->graph;
    bool one = t->num_class == 1;
    if (c->binary_cross_entropy || c->binary_focal_loss) {
        *name = c->binary_cross_entropy ? "binary_cross_entropy" : "binary_focal_loss";
        if (!one)
            return graph_fail(g, "%s needs num_class 1, not %u", *name, t->num_class);
        predict_binary(m, t, o);
        if (c->binary_cross_entropy)
            return nn_bce_loss(g, o, t->labels, t->weights,
                               (float)c->binary_cross_entropy->label_smoothing);
        return nn_focal_loss(g, o, t->labels, t->weights,
                             (float)c->binary_focal_loss->gamma,
                             (float)c->binary_focal_loss->alpha);
    }
    if (c->log_loss) {
        *name = "log_loss";
        if (!one)
            return graph_fail(g, "log_loss needs num_class 1, not %u", t->num_class);
        predict_binary(m, t, o);
        return log_loss(m, t, c->log_loss, o);
    }
    if (c->softmax_cross_entropy) {
        *name = "softmax_cross_entropy";
        if (one)
            return graph_fail(g, "softmax_cross_entropy needs num_class above 1");
        t->logits = o;
        t->probs = nn_softmax(g, o);
        return softmax_loss(m, t, c->softmax_cross_entropy, o);
    }
    if (c->jrc_loss) {
        *name = "jrc_loss";
        return jrc_loss(m, t, c->jrc_loss, o);
    }
    if (c->hinge_loss) {
        *name = "hinge_loss";
        if (one)
            return graph_fail(g, "hinge_loss needs num_class above 1");
        t->logits = o;
        t->probs = nn_softmax(g, o);
        return nn_hinge_loss(g, o, t->labels, t->weights, (float)c->hinge_loss->margin);
    }
    if (c->l2_loss) {
        *name = "l2_loss";
        if (c->l2_loss->sigmoid_scale > 0)
            o = nn_scale(g, nn_act(g, o, ACT_SIGMOID, 0),
                         (float)c->l2_loss->sigmoid_scale, 0);
        t->y = o;
        return nn_l2_loss(g, o, t->labels, t->weights);
    }
    return graph_fail(g, "this loss is not part of this version");
}

void head_add(struct model *m, struct model_task *t, struct nn_val *o)
{
    if (!o)
        return;
    t->suffix = t->name[0] ? arena_printf(&m->arena, "_%s", t->name) : "";
    t->labels = column(m, t, "label:");
    if (t->weighted)
        t->weights = column(m, t, "weight:");
    if (t->n_losses == 0)
        graph_fail(m->graph, "%s%shas no loss", t->name,
                   t->name[0] ? ": " : "the model ");
    t->first_loss = graph_n_losses(m->graph);
    for (int64_t i = 0; i < t->n_losses; i++) {
        const char *name = "";
        struct nn_val *loss = task_loss(m, t, t->losses[i], o, &name);
        name = arena_printf(&m->arena, "%s%s", name, t->suffix);
        if (t->training)
            nn_loss_training(m->graph, name, loss);
        else
            nn_loss(m->graph, name, loss);
    }
    name_outputs(m, t);
    VEC_PUSH(&m->tasks, *t);
}

struct model_task head_only(const struct model *m)
{
    const struct pc_ModelConfig *c = m->conf->model_config;
    const struct pc_DataConfig *d = m->conf->data_config;
    struct model_task t = {.name = "",
                           .weight = 1,
                           .in_space = 1,
                           .out_space = 1,
                           .num_class = c->num_class,
                           .losses = c->losses,
                           .n_losses = c->n_losses,
                           .metrics = c->metrics,
                           .n_metrics = c->n_metrics,
                           .train_metrics = c->train_metrics,
                           .n_train_metrics = c->n_train_metrics};
    if (d && d->n_sample_weight_fields) {
        t.sample_weight = d->sample_weight_fields[0];
        t.weighted = true;
    }
    return t;
}

bool head_of_model(struct model *m, struct model_task *out)
{
    const struct pc_DataConfig *d = m->conf->data_config;
    if (!d || d->n_label_fields == 0)
        return graph_fail(m->graph, "data_config.label_fields is empty") != NULL;
    *out = head_only(m);
    out->label = d->label_fields[0];
    return true;
}

void head_single(struct model *m, struct nn_val *o)
{
    struct model_task t;
    if (head_of_model(m, &t))
        head_add(m, &t, o);
}

struct nn_val *part_each_class(struct model *m, struct nn_val *x)
{
    struct nn_val *parts[OP_INPUTS_MAX];
    uint32_t n = m->conf->model_config->num_class;
    if (n < 2)
        return x;
    if (n > OP_INPUTS_MAX)
        return graph_fail(m->graph, "without 'final' there are up to %d classes, not %u",
                          OP_INPUTS_MAX, n);
    for (uint32_t i = 0; i < n; i++)
        parts[i] = x;
    return nn_concat(m->graph, parts, (int)n);
}

/* What all kinds of task towers say alike. */
#define TAKE_TOWER(t, c)                                        \
    do {                                                        \
        (t).name = (c)->tower_name;                             \
        (t).label = (c)->label_name;                            \
        (t).weight = (c)->weight;                               \
        (t).least_weight = (double)(c)->pareto_min_loss_weight; \
        (t).in_space = (c)->in_task_space_weight;               \
        (t).out_space = (c)->out_task_space_weight;             \
        (t).num_class = (c)->num_class;                         \
        (t).losses = (c)->losses;                               \
        (t).n_losses = (c)->n_losses;                           \
        (t).metrics = (c)->metrics;                             \
        (t).n_metrics = (c)->n_metrics;                         \
        (t).train_metrics = (c)->train_metrics;                 \
        (t).n_train_metrics = (c)->n_train_metrics;             \
        (t).indicator = (c)->has_task_space_indicator_label     \
                            ? (c)->task_space_indicator_label   \
                            : NULL;                             \
        (t).weighted = (t).indicator || (c)->has_weight;        \
    } while (0)

static void take_sample_weight(struct model_task *t, bool has, const char *name)
{
    t->sample_weight = has ? name : NULL;
    t->weighted = t->weighted || has;
}

/* A label that is not named is that of the same place in data_config. */
static void label_by_place(const struct model *m, int64_t place, struct model_task *t)
{
    const struct pc_DataConfig *d = m->conf->data_config;
    if ((!t->label || !t->label[0]) && d && place < d->n_label_fields)
        t->label = d->label_fields[place];
}

struct model_task head_of_tower(const struct pc_TaskTower *c)
{
    struct model_task t = {0};
    TAKE_TOWER(t, c);
    take_sample_weight(&t, c->has_sample_weight_name, c->sample_weight_name);
    return t;
}

struct model_task head_of_bayes(const struct model *m, const struct pc_BayesTaskTower *c,
                                int64_t place)
{
    struct model_task t = {0};
    TAKE_TOWER(t, c);
    take_sample_weight(&t, c->has_sample_weight_name, c->sample_weight_name);
    label_by_place(m, place, &t);
    return t;
}

struct model_task head_of_intervention(const struct model *m,
                                       const struct pc_InterventionTaskTower *c,
                                       int64_t place)
{
    struct model_task t = {0};
    TAKE_TOWER(t, c);
    label_by_place(m, place, &t);
    return t;
}

struct model_task head_of_fusion(const struct pc_FusionSubTaskConfig *c, int axis)
{
    return (struct model_task){.name = c->task_name,
                               .label = c->label_name,
                               .weight = c->weight,
                               .in_space = 1,
                               .out_space = 1,
                               .num_class = c->num_class,
                               .losses = c->losses,
                               .n_losses = c->n_losses,
                               .metrics = c->metrics,
                               .n_metrics = c->n_metrics,
                               .train_metrics = c->train_metrics,
                               .n_train_metrics = c->n_train_metrics,
                               .weighted = c->has_weight,
                               .axis = axis,
                               .masked = c->has_task_bitmask,
                               .bits = c->task_bitmask};
}

void head_task(struct model *m, const char *name, const struct pc_TaskTower *c,
               struct nn_val *x)
{
    struct model_task t = head_of_tower(c);
    graph_push(m->graph, name);
    struct nn_val *h = part_mlp(m, "tower_mlp", c->mlp, x);
    struct nn_val *o = nn_linear(m->graph, "linear", h, c->num_class, true, ACT_NONE);
    graph_pop(m->graph);
    head_add(m, &t, o);
}

void head_towers(struct model *m, const struct pc_TaskTower *const *towers, int64_t n,
                 struct nn_val *const *x)
{
    for (int64_t t = 0; t < n; t++)
        head_task(m, arena_printf(&m->arena, "_task_tower.%jd", (intmax_t)t), towers[t],
                  x[t]);
}
