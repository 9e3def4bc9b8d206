/* SPDX-License-Identifier: Apache-2.0 */
/* Dual augmented two-tower model (Yu et al. 2021): beside its own input each tower reads
 * an augment vector that learns to be what the other tower gives for positives.
 */
#include "model/parts.h"

#define NORM_EPS 1e-12f

struct side {
    struct nn_val *out, *augment;
};

static bool tower(struct model *m, const char *name, const struct pc_DATTower *c,
                  const struct match_conf *conf, struct side *out)
{
    struct group own, augment;
    if (!c)
        return graph_fail(m->graph, "there is no %s", name) != NULL;
    if (!part_tower_group(m, name, c->input, true, &own) ||
        !part_tower_group(m, name, c->augment_input, true, &augment))
        return false;
    graph_push(m->graph, name);
    struct nn_val *both =
        nn_concat(m->graph, (struct nn_val *[]){own.deep, augment.deep}, 2);
    *out =
        (struct side){.out = part_tower(m, conf, c->mlp, both), .augment = augment.deep};
    graph_pop(m->graph);
    if (out->out && nn_shape_width(nn_val_shape(out->out)) !=
                        nn_shape_width(nn_val_shape(out->augment)))
        return graph_fail(m->graph, "%s ends in %jd values, its augment vector has %jd",
                          name, (intmax_t)nn_shape_width(nn_val_shape(out->out)),
                          (intmax_t)nn_shape_width(nn_val_shape(out->augment))) != NULL;
    return out->out != NULL;
}

/* The distance of augment vectors to what the other side gives, which does not move. */
static void imitate(struct model *m, const char *name, struct nn_val *augment,
                    struct nn_val *other, double weight)
{
    struct graph *g = m->graph;
    const struct model_task *t = m->tasks.n ? &m->tasks.at[0] : NULL;
    struct nn_val *own = nn_l2_normalise(g, nn_own_items(g, augment), NORM_EPS);
    struct nn_val *diff = nn_sub(g, own, nn_stop_gradient(g, nn_own_items(g, other)));
    struct nn_val *rows =
        nn_scale(g, nn_row_sum(g, nn_mul(g, diff, diff)), (float)weight, 0);
    /* a sum over the batch; with sample weights their mean */
    if (t && t->weights)
        rows = nn_mul(g, rows, t->weights);
    nn_loss_training(g, name, rows);
}

static void dat_build(struct model *m)
{
    const struct pc_DAT *c = (const void *)m->message;
    struct match_conf conf = {.output_dim = c->output_dim,
                              .similarity = (enum pc_Similarity)c->similarity,
                              .temperature = c->temperature,
                              .in_batch = c->in_batch_negative};
    struct side user, item;
    if (!tower(m, "user_tower", c->user_tower, &conf, &user) ||
        !tower(m, "item_tower", c->item_tower, &conf, &item))
        return;
    head_match(m, &conf, user.out, item.out);
    if (!m->options.graph.training)
        return;
    imitate(m, "amm_loss_u", user.augment, item.out, c->amm_u_weight);
    imitate(m, "amm_loss_i", item.augment, user.out, c->amm_i_weight);
}

const struct model_ops model_dat = {.name = "dat", .build = dat_build};
