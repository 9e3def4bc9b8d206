/* SPDX-License-Identifier: Apache-2.0 */
/* HSTUMatch: retrieval with a sequence model of transduction units (Zhai et al. 2024) as the
 * user's tower: what it makes of the last token of the history. A row has several items that
 * the user took, each of which stands against what a sampler drew. Formulas: docs/models.md.
 */
#include "model/parts.h"

#define COSINE_EPS 1e-6f

/* The time of the request, when there is a group for it; false when the graph has failed. */
static bool query_time(struct model *m, struct part_hstu_conf *out)
{
    struct group g;
    if (!group_exists(m, "query_time"))
        return true;
    if (!group_of(m, "query_time", 0, NULL, &g))
        return false;
    if (!g.deep || nn_shape_width(nn_val_shape(g.deep)) != 1)
        return graph_fail(m->graph, "group 'query_time' is not one number per row") !=
               NULL;
    out->query_time = g.deep;
    return true;
}

static struct nn_val *user_tower(struct model *m, const struct pc_HSTUMatch *c,
                                 const struct match_conf *conf)
{
    const struct pc_HSTUUserTower *t = c->user_tower;
    struct part_hstu_conf h = {.hstu = t->hstu,
                               .name = "user_tower._hstu_encoder",
                               .history = t->input,
                               .max_seq_len = t->max_seq_len,
                               .newest_first = !c->sequence_timestamp_is_ascending};
    if (group_exists(m, "contextual") && !part_hstu_context(m, false, &h))
        return NULL;
    if (!query_time(m, &h))
        return NULL;
    struct nn_val *x = part_hstu(m, &h);
    graph_push(m->graph, "user_tower");
    x = part_tower(m, conf, NULL, x);
    graph_pop(m->graph);
    return x;
}

static struct nn_val *item_tower(struct model *m, const struct pc_HSTUMatch *c,
                                 const struct match_conf *conf)
{
    const struct pc_Tower *t = c->item_tower;
    struct group g;
    if (!m->features.candidates)
        return graph_fail(
            m->graph, "hstu_match needs a sampler whose item_id_field is a column of a "
                      "sequence_feature, the candidates");
    if (!group_query(m, t->input, &g))
        return NULL;
    if (!m->options.alone && nn_val_shape(g.deep)->axis != m->match.items)
        return graph_fail(
            m->graph, "group '%s': the sampler's attr_fields name none of its columns",
            t->input);
    graph_push(m->graph, "item_tower");
    struct nn_val *x = part_tower(m, conf, t->mlp, g.deep);
    graph_pop(m->graph);
    return x;
}

static void hstu_match_build(struct model *m)
{
    const struct pc_HSTUMatch *c = (const void *)m->message;
    struct match_conf conf = {.output_dim = c->output_dim,
                              .similarity = (enum pc_Similarity)c->similarity,
                              .temperature = c->temperature,
                              .lists = true,
                              .eps = COSINE_EPS};
    if (!c->user_tower || !c->item_tower) {
        graph_fail(m->graph, "there is no %s",
                   c->user_tower ? "item_tower" : "user_tower");
        return;
    }
    if (c->in_batch_negative) {
        graph_fail(m->graph, "hstu_match takes its negatives from a sampler; "
                             "in_batch_negative must stay false");
        return;
    }
    m->jagged = true;
    struct nn_val *user = user_tower(m, c, &conf);
    struct nn_val *item = user ? item_tower(m, c, &conf) : NULL;
    head_match(m, &conf, user, item);
}

const struct model_ops model_hstu_match = {.name = "hstu_match",
                                           .build = hstu_match_build};
