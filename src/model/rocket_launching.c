/* SPDX-License-Identifier: Apache-2.0 */
/* Rocket launching (Zhou et al. 2018): a light net is trained beside a large one, the
 * booster. Both read the same lower layers, which only the booster moves; the light net
 * is drawn to the booster's logits and, if asked for, to its layers of equal width. The
 * booster is not there when the model predicts.
 */
#include "model/parts.h"

#define NORM_EPS 1e-12f
#define COSINE_WEIGHT 0.1f

/* One of the two nets. */
struct side {
    struct nn_val **layers, *out;
    struct model_task task;
};

static void add_side(struct model *m, const char *name, const struct pc_MLP *conf,
                     struct nn_val *x, bool training, struct side *s)
{
    struct graph *g = m->graph;
    s->layers = part_vals(m, conf->n_hidden_units);
    struct nn_val *h =
        part_mlp_layers(m, arena_printf(&m->arena, "%s_mlp", name), conf, x, s->layers);
    s->out = nn_linear(g, arena_printf(&m->arena, "%s_linear", name), h,
                       s->task.num_class, true, ACT_NONE);
    s->task.name = name;
    s->task.inner = s->task.training = training;
    head_add(m, &s->task, s->out);
}

/* Of each row, by its weight. */
static struct nn_val *mean(struct model *m, const struct side *light, struct nn_val *rows)
{
    return light->task.weights ? nn_mul(m->graph, rows, light->task.weights)
                               : nn_mean_share(m->graph, rows);
}

static struct nn_val *squares(struct graph *g, struct nn_val *a, struct nn_val *b)
{
    struct nn_val *diff = nn_sub(g, a, nn_stop_gradient(g, b));
    return nn_row_sum(g, nn_mul(g, diff, diff));
}

static void hint(struct model *m, const struct side *light, const struct side *booster)
{
    struct graph *g = m->graph;
    struct nn_val *rows = squares(g, light->out, booster->out);
    rows = nn_scale(g, rows, 1.0f / (float)light->task.num_class, 0);
    nn_loss_training(g, "hint_l2_loss", mean(m, light, rows));
}

/* How far a layer of the light net is from one of the booster. */
static struct nn_val *distance(struct model *m, const struct side *light,
                               struct nn_val *own, struct nn_val *other, bool cosine)
{
    struct graph *g = m->graph;
    if (cosine) {
        struct nn_val *a = nn_l2_normalise(g, own, NORM_EPS);
        struct nn_val *b = nn_l2_normalise(g, nn_stop_gradient(g, other), NORM_EPS);
        struct nn_val *rows = nn_row_sum(g, nn_mul(g, a, b));
        return mean(m, light, nn_scale(g, rows, -COSINE_WEIGHT, 0));
    }
    struct nn_val *rows = squares(g, own, other);
    if (light->task.weights) /* which are divided by the number of rows */
        rows = nn_batch_times(g, nn_mul(g, rows, light->task.weights));
    return nn_root_share(g, rows);
}

static void distil(struct model *m, const struct pc_RocketLaunching *c,
                   const struct side *light, const struct side *booster)
{
    bool cosine = c->feature_distillation_function == pc_Similarity_COSINE;
    for (int64_t i = 0; i < c->light_mlp->n_hidden_units; i++) {
        int64_t j = 0;
        while (j < c->booster_mlp->n_hidden_units &&
               c->booster_mlp->hidden_units[j] != c->light_mlp->hidden_units[i])
            j++;
        if (j < c->booster_mlp->n_hidden_units)
            nn_loss_training(
                m->graph,
                arena_printf(&m->arena, "similarity_%jd_%jd", (intmax_t)i, (intmax_t)j),
                distance(m, light, light->layers[i], booster->layers[j], cosine));
    }
}

static void rocket_launching_build(struct model *m)
{
    const struct pc_RocketLaunching *c = (const void *)m->message;
    struct side light = {0}, booster = {0};
    struct group in;
    if (!c->booster_mlp || !c->light_mlp) {
        graph_fail(m->graph, "there is no %s",
                   c->light_mlp ? "booster_mlp" : "light_mlp");
        return;
    }
    if (!part_first_group(m, &in) || !head_of_model(m, &light.task))
        return;
    booster.task = light.task;
    struct nn_val *x = part_mlp(m, "share_mlp", c->share_mlp, in.deep);
    add_side(m, "booster", c->booster_mlp, x, true, &booster);
    add_side(m, "light", c->light_mlp, nn_stop_gradient(m->graph, x), false, &light);
    hint(m, &light, &booster);
    if (c->feature_based_distillation)
        distil(m, c, &light, &booster);
}

const struct model_ops model_rocket_launching = {.name = "rocket_launching",
                                                 .build = rocket_launching_build};
