/* SPDX-License-Identifier: Apache-2.0 */
/* YoutubeDNN (Covington et al. 2016): a net on what is known of the user ends in a vector
 * that picks among all items, each of which has a vector and perhaps a bias. Trained
 * against items that a sampler draws, or, with few items, as a classifier.
 */
#include "model/parts.h"

static void youtube_dnn_build(struct model *m)
{
    const struct pc_YoutubeDNN *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group user;
    if (!c->user_tower || !c->user_tower->mlp) {
        graph_fail(g, "there is no %s", c->user_tower ? "mlp" : "user_tower");
        return;
    }
    if (!part_tower_group(m, "user_tower", c->user_tower->input, true, &user))
        return;
    graph_push(g, "user_tower");
    struct nn_val *u = part_mlp(m, "mlp", c->user_tower->mlp, user.deep);
    graph_pop(g);
    if (!c->has_item_input) {
        head_single(m, nn_linear(g, "output", u, m->conf->model_config->num_class, true,
                                 ACT_NONE));
        return;
    }
    struct match_conf conf = {.similarity = pc_Similarity_INNER_PRODUCT,
                              .temperature = c->temperature,
                              .in_batch = c->in_batch_negative};
    struct nn_val *i = part_items(m, "item_tower", c->item_input, true, c->item_bias);
    graph_push(g, "user_tower");
    u = part_meet(m, u, i, c->item_bias);
    graph_pop(g);
    head_match(m, &conf, u, i);
}

const struct model_ops model_youtube_dnn = {.name = "youtube_dnn",
                                            .build = youtube_dnn_build};
