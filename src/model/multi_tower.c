/* SPDX-License-Identifier: Apache-2.0 */
/* MultiTower: one net per feature group, joined, then a final net. */
#include "model/parts.h"

static const struct pc_MultiTower *conf_of(const struct model *m)
{
    return (const void *)m->message;
}

static void multi_tower_build(struct model *m)
{
    const struct pc_MultiTower *c = conf_of(m);
    struct nn_val *parts[OP_INPUTS_MAX];
    int n = 0;
    for (int64_t i = 0; i < c->n_towers && n < OP_INPUTS_MAX; i++) {
        struct group g;
        if (!group_of(m, c->towers[i]->input, 0, NULL, &g))
            return;
        graph_push(m->graph, "towers");
        parts[n++] = part_mlp(m, c->towers[i]->input, c->towers[i]->mlp, g.deep);
        graph_pop(m->graph);
    }
    if (n == 0) {
        graph_fail(m->graph, "there are no towers");
        return;
    }
    struct nn_val *h = part_mlp(m, "final_mlp", c->final, nn_concat(m->graph, parts, n));
    head_single(m, nn_linear(m->graph, "output_mlp", h, m->conf->model_config->num_class,
                             true, ACT_NONE));
}

const struct model_ops model_multi_tower = {.name = "multi_tower",
                                            .build = multi_tower_build};
