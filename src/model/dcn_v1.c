/* SPDX-License-Identifier: Apache-2.0 */
/* Deep & Cross Network (Wang et al. 2017): cross layers with a vector each, beside a net.
 */
#include "model/parts.h"

static void dcn_v1_build(struct model *m)
{
    const struct pc_DCNV1 *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group in;
    if (!group_first(m) || !group_of(m, group_first(m), 0, NULL, &in))
        return;
    struct nn_val *x = in.deep;
    graph_push(g, "cross");
    for (uint32_t i = 0; c->cross && i < c->cross->cross_num; i++)
        x = nn_cross(g, arena_printf(&m->arena, "w.%u", i),
                     arena_printf(&m->arena, "b.%u", i), in.deep, x);
    graph_pop(g);
    struct nn_val *deep = part_mlp(m, "deep", c->deep, in.deep);
    struct nn_val *h =
        part_mlp(m, "final_dnn", c->final, nn_concat(g, (struct nn_val *[]){x, deep}, 2));
    head_single(m, nn_linear(g, "output_linear", h, m->conf->model_config->num_class,
                             !c->final, ACT_NONE));
}

const struct model_ops model_dcn_v1 = {.name = "dcn_v1", .build = dcn_v1_build};
