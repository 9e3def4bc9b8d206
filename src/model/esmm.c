/* SPDX-License-Identifier: Apache-2.0 */
/* Entire space multi-task model (Ma et al. 2018): conversions are learnt from all rows,
 * not from the clicked ones alone, because what is compared with the label is the
 * probability of a click times that of a conversion given a click.
 */
#include "model/parts.h"

static struct nn_val *logit(struct model *m, const char *name,
                            const struct pc_TaskTower *c, struct nn_val *x)
{
    graph_push(m->graph, name);
    struct nn_val *h = part_mlp(m, "tower_mlp", c->mlp, x);
    struct nn_val *o = nn_linear(m->graph, "linear", h, 1, true, ACT_NONE);
    graph_pop(m->graph);
    return o;
}

static bool is_binary(struct model *m, const struct pc_TaskTower *c)
{
    for (int64_t i = 0; i < c->n_losses; i++)
        if (!c->losses[i]->binary_cross_entropy && !c->losses[i]->binary_focal_loss)
            return graph_fail(m->graph,
                              "%s: losses are binary_cross_entropy or binary_focal_loss",
                              c->tower_name) != NULL;
    return true;
}

static void esmm_build(struct model *m)
{
    const struct pc_ESMM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group in;
    if (!c->ctr_tower || !c->cvr_tower) {
        graph_fail(g, "there is no %s", c->ctr_tower ? "cvr_tower" : "ctr_tower");
        return;
    }
    if (!is_binary(m, c->ctr_tower) || !is_binary(m, c->cvr_tower) ||
        !part_first_group(m, &in))
        return;
    struct nn_val *x = part_mlp(m, "bottom_mlp", c->bottom_mlp, in.deep);
    struct nn_val *ctr = logit(m, "_task_tower.0", c->ctr_tower, x);
    struct nn_val *cvr = logit(m, "_task_tower.1", c->cvr_tower, x);
    struct model_task click = head_of_tower(c->ctr_tower);
    struct model_task both = head_of_tower(c->cvr_tower);
    head_add(m, &click, ctr);
    both.name = c->ctcvr_name;
    head_add(m, &both, nn_both_logit(g, ctr, cvr));
    nn_output(g, arena_printf(&m->arena, "probs_%s", c->cvr_tower->tower_name),
              nn_act(g, cvr, ACT_SIGMOID, 0));
}

const struct model_ops model_esmm = {.name = "esmm", .build = esmm_build};
