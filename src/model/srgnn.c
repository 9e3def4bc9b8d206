/* SPDX-License-Identifier: Apache-2.0 */
/* SR-GNN (Wu et al. 2019): a session is a graph of its items, in which each follows
 * another; gated steps let neighbours exchange what they know, and the last item looks at
 * all of them. The same table holds the items of the session and those to choose from.
 */
#include <string.h>

#include "model/parts.h"

/* The session's values without the last, which tells items apart. */
static struct nn_val *session(struct model *m, const struct pc_SRGNN *c,
                              struct nn_val **node)
{
    struct graph *g = m->graph;
    struct group s = {0};
    if (!group_of(m, c->input, 0, NULL, &s))
        return NULL;
    const struct pc_FeatureGroupConfig *conf = s.conf;
    const char *last =
        conf->n_feature_names ? conf->feature_names[conf->n_feature_names - 1] : "";
    const struct pc_feature *f = pc_features_find(&m->features, str_c(last));
    if (!s.sequence || !f || strcmp(last, c->node_feature) != 0 || !f->sequence ||
        pc_feature_is_sparse(f) || pc_feature_width(f) != 1)
        return graph_fail(g,
                          "node_feature '%s' must be the last of sequence group '%s', a "
                          "raw feature of one number",
                          c->node_feature, c->input);
    int64_t width = nn_shape_width(nn_val_shape(s.sequence)) - 1;
    if (width < 1)
        return graph_fail(g, "group '%s' holds no vectors beside node_feature", c->input);
    *node = nn_slice(g, s.sequence, width, 1);
    return nn_slice(g, s.sequence, 0, width);
}

static struct nn_val *step(struct model *m, int64_t i, struct nn_val *h,
                           struct nn_val *node)
{
    struct graph *g = m->graph;
    int64_t w = nn_shape_width(nn_val_shape(h));
    graph_push(g, arena_printf(&m->arena, "gnn.%jd", (intmax_t)i));
    struct nn_val *both = nn_linear(g, "edge", h, 2 * w, true, ACT_NONE);
    struct nn_val *a =
        nn_linear(g, "input", nn_session_graph(g, both, node), 3 * w, true, ACT_NONE);
    struct nn_val *b = nn_linear(g, "hidden", h, 3 * w, true, ACT_NONE);
    graph_pop(g);
    return nn_gru_cell(g, a, b, h);
}

/* All items by how they look from the last one, beside the last. */
static struct nn_val *readout(struct model *m, struct nn_val *h)
{
    struct graph *g = m->graph;
    if (!h)
        return NULL;
    int64_t w = nn_shape_width(nn_val_shape(h));
    struct nn_val *last = nn_seq_last(g, h);
    struct nn_val *from = nn_linear(g, "linear_one", last, w, true, ACT_NONE);
    struct nn_val *to = nn_linear(g, "linear_two", h, w, false, ACT_NONE);
    struct nn_val *seen = nn_add(g, nn_expand(g, from, nn_val_shape(h)->axis), to);
    struct nn_val *weight =
        nn_linear(g, "linear_three", nn_act(g, seen, ACT_SIGMOID, 0), 1, false, ACT_NONE);
    struct nn_val *parts[] = {nn_seq_sum(g, weight, h), last};
    return nn_linear(g, "linear_transform", nn_concat(g, parts, 2), w, false, ACT_NONE);
}

static void srgnn_build(struct model *m)
{
    const struct pc_SRGNN *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct match_conf conf = {.similarity = pc_Similarity_INNER_PRODUCT,
                              .temperature = c->temperature,
                              .in_batch = c->in_batch_negative};
    struct nn_val *node = NULL;
    m->one_table = true;
    struct nn_val *h = session(m, c, &node);
    if (!h)
        return;
    graph_push(g, "user_tower");
    for (int64_t i = 0; i < c->steps; i++)
        h = h ? step(m, i, h, node) : NULL;
    struct nn_val *u = readout(m, h);
    graph_pop(g);
    struct nn_val *i = part_items(m, "item_tower", c->item_input, false, false);
    graph_push(g, "user_tower");
    u = part_meet(m, u, i, false);
    graph_pop(g);
    head_match(m, &conf, u, i);
}

const struct model_ops model_srgnn = {.name = "srgnn", .build = srgnn_build};
