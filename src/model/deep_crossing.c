/* SPDX-License-Identifier: Apache-2.0 */
/* Deep Crossing (Shan et al. 2016): residual units relu(W2 relu(W1 x) + x). */
#include "model/parts.h"

static struct nn_val *unit(struct model *m, int64_t i, struct nn_val *x, int64_t hidden)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    graph_push(g, arena_printf(&m->arena, "residual_units.%jd", (intmax_t)i));
    struct nn_val *h = nn_linear(g, "0", x, hidden, true, ACT_RELU);
    h = nn_linear(g, "1", h, nn_shape_width(nn_val_shape(x)), true, ACT_NONE);
    graph_pop(g);
    return nn_add_relu(g, h, x);
}

static void deep_crossing_build(struct model *m)
{
    const struct pc_DeepCrossing *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    if (!group_of(m, "deep", 0, NULL, &deep))
        return;
    struct nn_val *parts[] = {deep.deep, part_weights(m, c->wide_init_fn)};
    struct nn_val *x = parts[1] ? nn_concat(g, parts, 2) : parts[0];
    x = part_with_dense(m, x);
    for (int64_t i = 0; i < c->n_residual_units; i++)
        x = unit(m, i, x, c->residual_units[i]);
    head_single(m, nn_linear(g, "output_mlp", x, m->conf->model_config->num_class, true,
                             ACT_NONE));
}

const struct model_ops model_deep_crossing = {.name = "deep_crossing",
                                              .build = deep_crossing_build};
