/* SPDX-License-Identifier: Apache-2.0 */
/* MMoE (Ma et al. 2018): tasks that mix shared experts, each with a gate of its own. */
#include "model/parts.h"

static struct val *experts_of(struct model *m, const struct pc_MMoE *c, struct val *x)
{
    struct val *experts[OP_INPUTS_MAX];
    int64_t n = c->num_expert;
    if (n < 1 || n > OP_INPUTS_MAX)
        return graph_fail(m->graph, "%jd experts", (intmax_t)n);
    for (int64_t i = 0; i < n; i++)
        experts[i] = part_mlp(m, arena_printf(&m->arena, "expert_mlps.%jd", (intmax_t)i),
                              c->expert_mlp, x);
    if (!experts[0])
        return NULL;
    int64_t width = shape_width(val_shape(experts[0]));
    return nn_reshape(m->graph, nn_concat(m->graph, experts, (int)n),
                      (const int64_t[]){n, width}, 2);
}

static void build(struct model *m)
{
    const struct pc_MMoE *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group in;
    if (!group_first(m) || !group_of(m, group_first(m), 0, NULL, &in))
        return;
    graph_push(g, "mmoe");
    struct val *experts = experts_of(m, c, in.deep);
    graph_pop(g);
    for (int64_t t = 0; t < c->n_task_towers; t++) {
        graph_push(g, "mmoe");
        struct val *gate =
            part_mlp(m, arena_printf(&m->arena, "gate_mlps.%jd", (intmax_t)t),
                     c->gate_mlp, in.deep);
        gate = nn_linear(g, arena_printf(&m->arena, "gate_finals.%jd", (intmax_t)t), gate,
                         c->num_expert, true, ACT_NONE);
        struct val *mixed = nn_mix(g, nn_softmax(g, gate), experts);
        graph_pop(g);
        head_task(m, arena_printf(&m->arena, "_task_tower.%jd", (intmax_t)t),
                  c->task_towers[t], mixed);
    }
}

const struct model_ops model_mmoe = {.name = "mmoe", .build = build};
