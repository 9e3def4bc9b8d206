/* SPDX-License-Identifier: Apache-2.0 */
/* GRU4Rec (Hidasi et al. 2016): recurrent units run along a session; the state behind its
 * last item, or behind each, picks the next one, among items that a sampler draws or among
 * all as classes.
 */
#include "model/parts.h"

/* The states along the session, whose axis it tells. */
static struct nn_val *states(struct model *m, const struct pc_GRU4Rec *c, bool own,
                             int *axis)
{
    struct graph *g = m->graph;
    struct group s = {0};
    if (own)
        graph_push(g, "user_tower");
    bool ok = group_of(m, c->input, 0, NULL, &s);
    if (own)
        graph_pop(g);
    if (!ok || !s.sequence)
        return graph_fail(g, "input '%s' is not a sequence", c->input);
    if (c->n_hidden_units == 0)
        return graph_fail(g, "there are no hidden_units");
    graph_push(g, "user_tower");
    struct nn_val *h = s.sequence;
    for (int64_t i = 0; i < c->n_hidden_units; i++) {
        h = nn_seq_gru(g, "gru", (int)i, h, c->hidden_units[i]);
        if (c->dropout_ratio > 0)
            h = nn_dropout(g, h, c->dropout_ratio);
    }
    graph_pop(g);
    *axis = s.axis;
    return h;
}

/* A label per position. */
static void head_steps(struct model *m, struct nn_val *h, int axis)
{
    struct model_task t;
    if (!h || !head_of_model(m, &t))
        return;
    if (t.weighted) {
        graph_fail(m->graph, "every_step: positions have no sample weights");
        return;
    }
    t.axis = axis;
    head_add(m, &t, nn_linear(m->graph, "output", h, t.num_class, true, ACT_NONE));
}

static void gru4rec_build(struct model *m)
{
    const struct pc_GRU4Rec *c = (const void *)m->message;
    struct graph *g = m->graph;
    m->one_table = c->share_tables;
    int axis = AXIS_BATCH;
    struct nn_val *h = states(m, c, !c->share_tables, &axis);
    if (c->every_step && !c->has_item_input) {
        head_steps(m, h, axis);
        return;
    }
    struct nn_val *u = nn_seq_last(g, h);
    if (!c->has_item_input) {
        head_single(m, nn_linear(g, "output", u, m->conf->model_config->num_class, true,
                                 ACT_NONE));
        return;
    }
    struct match_conf conf = {.similarity = pc_Similarity_INNER_PRODUCT,
                              .temperature = c->temperature,
                              .in_batch = c->in_batch_negative};
    struct nn_val *i =
        part_items(m, "item_tower", c->item_input, !c->share_tables, c->item_bias);
    graph_push(g, "user_tower");
    u = part_meet(m, u, i, c->item_bias);
    graph_pop(g);
    head_match(m, &conf, u, i);
}

const struct model_ops model_gru4rec = {.name = "gru4rec", .build = gru4rec_build};
