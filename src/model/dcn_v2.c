/* SPDX-License-Identifier: Apache-2.0 */
/* DCN v2 (Wang et al. 2021): cross layers with low-rank matrices. */
#include "model/parts.h"

static struct nn_val *cross_layers(struct model *m, const struct pc_CrossV2 *c,
                                   struct nn_val *x0)
{
    struct graph *g = m->graph;
    struct nn_val *x = x0;
    if (!x0)
        return NULL;
    int64_t width = nn_shape_width(nn_val_shape(x0));
    graph_push(g, "cross");
    for (uint32_t i = 0; i < c->cross_num; i++) {
        struct nn_val *u = nn_linear(g, arena_printf(&m->arena, "u_kernels.%u", i), x,
                                     c->low_rank, false, ACT_NONE);
        struct nn_val *v = nn_linear(g, arena_printf(&m->arena, "v_kernels.%u", i), u,
                                     width, true, ACT_NONE);
        x = nn_add(g, nn_mul(g, x0, v), x);
    }
    graph_pop(g);
    return x;
}

static void dcn_v2_build(struct model *m)
{
    const struct pc_DCNV2 *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group in;
    if (!group_first(m) || !group_of(m, group_first(m), 0, NULL, &in))
        return;
    if (!c->cross) {
        graph_fail(g, "'cross' is missing");
        return;
    }
    struct nn_val *x =
        cross_layers(m, c->cross, part_mlp(m, "backbone", c->backbone, in.deep));
    if (c->deep)
        x = nn_concat(g, (struct nn_val *[]){x, part_mlp(m, "deep", c->deep, in.deep)},
                      2);
    struct nn_val *h = part_mlp(m, "final", c->final, x);
    head_single(m, nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, false,
                             ACT_NONE));
}

const struct model_ops model_dcn_v2 = {.name = "dcn_v2", .build = dcn_v2_build};
