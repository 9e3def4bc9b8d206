/* SPDX-License-Identifier: Apache-2.0 */
/* MultiTowerDIN: MultiTower with attention over behaviour sequences (Deep Interest
 * Network, Zhou et al. 2018).
 */
#include "model/parts.h"

static bool add_towers(struct model *m, const struct pc_MultiTowerDIN *c,
                       struct nn_val **parts, int *n)
{
    struct group g;
    for (int64_t i = 0; i < c->n_towers && *n < OP_INPUTS_MAX; i++) {
        if (!group_of(m, c->towers[i]->input, 0, NULL, &g))
            return false;
        graph_push(m->graph, "towers");
        parts[(*n)++] = part_mlp(m, c->towers[i]->input, c->towers[i]->mlp, g.deep);
        graph_pop(m->graph);
    }
    for (int64_t i = 0; i < c->n_din_towers && *n < OP_INPUTS_MAX; i++) {
        const struct pc_DINTower *t = c->din_towers[i];
        if (!group_of(m, t->input, 0, NULL, &g))
            return false;
        graph_push(m->graph, "din_towers");
        parts[(*n)++] = part_din(m, arena_printf(&m->arena, "%jd", (intmax_t)i),
                                 t->attn_mlp, g.query, g.sequence, g.axis);
        graph_pop(m->graph);
    }
    return true;
}

static void multi_tower_din_build(struct model *m)
{
    const struct pc_MultiTowerDIN *c = (const void *)m->message;
    struct nn_val *parts[OP_INPUTS_MAX];
    int n = 0;
    if (!add_towers(m, c, parts, &n))
        return;
    if (n == 0) {
        graph_fail(m->graph, "there are no towers");
        return;
    }
    struct nn_val *h = part_mlp(m, "final_mlp", c->final, nn_concat(m->graph, parts, n));
    head_single(m, nn_linear(m->graph, "output_mlp", h, m->conf->model_config->num_class,
                             true, ACT_NONE));
}

const struct model_ops model_multi_tower_din = {.name = "multi_tower_din",
                                                .build = multi_tower_din_build};
