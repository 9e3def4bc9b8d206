/* SPDX-License-Identifier: Apache-2.0 */
/* MIND (Li et al. 2019): a user has several interest vectors, capsules of what it
 * clicked; in training the one nearest to the item counts most.
 */
#include "model/parts.h"

#define NORM_EPS 1e-12f

/* What stands behind the end of a sequence, when the statistics of a net count it. */
static struct nn_val *padding(struct model *m, const struct pc_MLP *conf,
                              struct nn_val *x)
{
    if (!x || nn_val_shape(x)->axis == AXIS_BATCH || !m->options.graph.training ||
        !part_mlp_counts_padding(conf))
        return NULL;
    return nn_scale(m->graph, nn_seq_sum(m->graph, NULL, x), 0.0f, 0.0f);
}

/* All layers of a net but the last, which is linear and ends in `name`_out; with one
 * layer that is `name` itself. Only the first dropout ratio counts.
 */
static struct nn_val *net_and_linear(struct model *m, const char *name,
                                     const struct pc_MLP *conf, bool bias,
                                     struct nn_val *x)
{
    int64_t n = conf->n_hidden_units;
    struct pc_MLP rest = *conf;
    if (n == 0)
        return x;
    int64_t last = conf->hidden_units[n - 1];
    if (n == 1)
        return nn_linear(m->graph, name, x, last, bias, ACT_NONE);
    rest.n_hidden_units = n - 1;
    rest.bias = bias;
    rest.use_ln = false;
    rest.n_dropout_ratio = conf->n_dropout_ratio > 1 ? 1 : conf->n_dropout_ratio;
    x = part_mlp_padded(m, name, &rest, x, padding(m, &rest, x));
    return nn_linear(m->graph, arena_printf(&m->arena, "%s_out", name), x, last, bias,
                     ACT_NONE);
}

static struct nn_capsule_conf routing_of(const struct pc_B2ICapsule *c)
{
    return (struct nn_capsule_conf){.capsules = c->max_k,
                                    .iterations = c->num_iters,
                                    .most = c->max_seq_len,
                                    .scale = (float)c->routing_logits_scale,
                                    .deviation = (float)c->routing_logits_stddev,
                                    .constant = c->const_caps_num,
                                    .zeros = c->routing_init_method[0] == 'z'};
}

/* [max_k, high_dim] per row. */
static struct nn_val *capsules(struct model *m, const struct pc_B2ICapsule *c,
                               const struct nn_capsule_conf *routing,
                               struct nn_val *history)
{
    struct graph *g = m->graph;
    if (!history)
        return NULL;
    int64_t low = nn_shape_width(nn_val_shape(history));
    graph_push(g, "_capsule_layer");
    struct param *w = nn_param(g, "bilinear_matrix", (const int64_t[]){low, c->high_dim},
                               2, (struct nn_init){INIT_NORMAL, 0, 1}, true);
    graph_pop(g);
    struct nn_val *x = nn_times(g, w, history);
    return nn_squash(g, nn_seq_mix(g, nn_capsule_routing(g, x, routing), x),
                     c->squash_pow);
}

/* Interests and which of them there are. */
static struct nn_val *user_tower(struct model *m, const struct pc_MIND *c,
                                 struct nn_val **mask)
{
    const struct pc_MINDUserTower *t = c->user_tower;
    struct graph *g = m->graph;
    struct group user, history = {0};
    if (!part_tower_group(m, "user_tower", t->input, true, &user))
        return NULL;
    graph_push(g, "user_tower");
    bool ok = group_of(m, t->history_input, 0, NULL, &history);
    graph_pop(g);
    if (!ok || !history.sequence)
        return graph_fail(g, "history_input '%s' is not a sequence", t->history_input);
    if (!t->user_mlp || !t->capsule_config || !t->concat_mlp)
        return graph_fail(g, "user_tower needs user_mlp, capsule_config and concat_mlp");
    struct nn_capsule_conf routing = routing_of(t->capsule_config);
    graph_push(g, "user_tower");
    struct nn_val *u = net_and_linear(m, "user_mlp", t->user_mlp, true, user.deep);
    struct nn_val *h = history.sequence;
    if (t->hist_seq_mlp)
        h = net_and_linear(m, "_hist_seq_mlp", t->hist_seq_mlp, false, h);
    *mask = nn_capsule_mask(g, h, &routing);
    h = capsules(m, t->capsule_config, &routing, h);
    struct nn_val *z =
        part_mlp(m, "_concat_mlp", t->concat_mlp, nn_masked_rows(g, *mask, h, u));
    z = nn_masked_rows(g, *mask, z, NULL);
    if (c->output_dim > 0)
        z = nn_linear(g, "output", z, c->output_dim, false, ACT_NONE);
    graph_pop(g);
    return z;
}

static void mind_build(struct model *m)
{
    const struct pc_MIND *c = (const void *)m->message;
    struct match_conf conf = {.output_dim = c->output_dim,
                              .similarity = (enum pc_Similarity)c->similarity,
                              .temperature = c->temperature,
                              .in_batch = c->in_batch_negative};
    struct graph *g = m->graph;
    struct group item;
    struct nn_val *mask = NULL;
    if (!c->user_tower || !c->item_tower) {
        graph_fail(g, "there is no %s", c->user_tower ? "item_tower" : "user_tower");
        return;
    }
    struct nn_val *z = user_tower(m, c, &mask);
    if (conf.similarity == pc_Similarity_COSINE)
        z = nn_normalise_last(g, z, NORM_EPS);
    if (!part_tower_group(m, "item_tower", c->item_tower->input, true, &item))
        return;
    graph_push(g, "item_tower");
    struct nn_val *i = part_tower(m, &conf, c->item_tower->mlp, item.deep);
    graph_pop(g);
    if (m->options.alone) {
        head_match(m, &conf, z, i);
        return;
    }
    head_match(m, &conf,
               nn_interest_attention(g, mask, z, nn_own_items(g, i), (float)c->simi_pow),
               i);
}

const struct model_ops model_mind = {.name = "mind", .build = mind_build};
