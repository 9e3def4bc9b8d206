/* SPDX-License-Identifier: Apache-2.0 */
/* xDeepFM (Lian et al. 2018): a compressed interaction network on field vectors beside a
 * deep net.
 */
#include "model/parts.h"

/* Fields lie in the last dimension all the way: [width, fields], so that a layer is a
 * product of all pairs and a linear map. No activation between layers.
 */
static struct nn_val *cin(struct model *m, const struct pc_CIN *c,
                          const struct group *wide, bool bias)
{
    struct graph *g = m->graph;
    struct nn_val *parts[OP_INPUTS_MAX];
    struct nn_val *x0 = nn_transpose(g, group_fields(m, wide)), *x = x0;
    if (!c || c->n_cin_layer_size < 1 || c->n_cin_layer_size > OP_INPUTS_MAX)
        return graph_fail(g, "cin: cin_layer_size has %jd layers, 1 to %d are possible",
                          (intmax_t)(c ? c->n_cin_layer_size : 0), OP_INPUTS_MAX);
    /* the sum over the width of a field: mixed with ones */
    struct nn_val *ones =
        nn_scale(g, nn_slice(g, wide->deep, 0, wide->field_width), 0.0f, 1.0f);
    graph_push(g, "cin");
    for (int64_t i = 0; i < c->n_cin_layer_size; i++) {
        x = nn_linear(g, arena_printf(&m->arena, "cin_layers.%jd", (intmax_t)i),
                      nn_outer(g, x, x0), c->cin_layer_size[i], bias, ACT_NONE);
        parts[i] = nn_mix(g, ones, x);
    }
    graph_pop(g);
    return nn_concat(g, parts, (int)c->n_cin_layer_size);
}

/* PaddleRec's form: both read the same vectors, and weights of first order are added. */
static void build_shared(struct model *m, const struct pc_xDeepFM *c)
{
    struct graph *g = m->graph;
    struct group deep;
    if (!part_deep_fields(m, &deep))
        return;
    struct nn_val *parts[] = {cin(m, c->cin, &deep, false),
                              part_mlp(m, "deep", c->deep, deep.deep)};
    struct nn_val *h = part_mlp(m, "final", c->final, nn_concat(g, parts, 2));
    head_first_order(
        m, c->wide_init_fn, false,
        nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true, ACT_NONE));
}

static void xdeepfm_build(struct model *m)
{
    const struct pc_xDeepFM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group wide, deep;
    if (c->share_fields) {
        build_shared(m, c);
        return;
    }
    int64_t dim = c->wide_embedding_dim ? c->wide_embedding_dim : 16;
    if (!group_of(m, "wide", dim, c->wide_init_fn, &wide) ||
        !group_of(m, "deep", 0, NULL, &deep))
        return;
    struct nn_val *parts[] = {cin(m, c->cin, &wide, true),
                              part_mlp(m, "deep", c->deep, deep.deep)};
    struct nn_val *h = part_mlp(m, "final", c->final, nn_concat(g, parts, 2));
    head_single(m, nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true,
                             ACT_NONE));
}

const struct model_ops model_xdeepfm = {.name = "xdeepfm", .build = xdeepfm_build};
