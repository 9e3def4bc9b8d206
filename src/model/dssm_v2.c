/* SPDX-License-Identifier: Apache-2.0 */
/* DSSM with one set of tables: those of the same name are shared by both towers. */
#include "model/parts.h"

static struct nn_val *tower(struct model *m, const char *name, const struct pc_Tower *c,
                            const struct match_conf *conf, const struct group *g)
{
    graph_push(m->graph, name);
    struct nn_val *y = part_tower(m, conf, c->mlp, g->deep);
    graph_pop(m->graph);
    return y;
}

static void dssm_v2_build(struct model *m)
{
    const struct pc_DSSMV2 *c = (const void *)m->message;
    struct match_conf conf = {.output_dim = c->output_dim,
                              .similarity = (enum pc_Similarity)c->similarity,
                              .temperature = c->temperature,
                              .in_batch = c->in_batch_negative};
    struct group user, item;
    if (!c->user_tower || !c->item_tower) {
        graph_fail(m->graph, "there is no %s",
                   c->user_tower ? "item_tower" : "user_tower");
        return;
    }
    if (!part_tower_group(m, "user_tower", c->user_tower->input, false, &user) ||
        !part_tower_group(m, "item_tower", c->item_tower->input, false, &item))
        return;
    struct nn_val *u = tower(m, "user_tower", c->user_tower, &conf, &user);
    head_match(m, &conf, u, tower(m, "item_tower", c->item_tower, &conf, &item));
}

const struct model_ops model_dssm_v2 = {.name = "dssm_v2", .build = dssm_v2_build};
