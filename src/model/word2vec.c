/* SPDX-License-Identifier: Apache-2.0 */
/* Word2Vec (Mikolov et al. 2013), skip-gram with negative sampling: a word's vector tells
 * the words beside it from others, each on its own.
 */
#include "model/parts.h"

static void word2vec_build(struct model *m)
{
    const struct pc_Word2Vec *c = (const void *)m->message;
    struct match_conf conf = {.similarity = pc_Similarity_INNER_PRODUCT,
                              .temperature = 1,
                              .in_batch = c->in_batch_negative,
                              .logistic = true};
    struct group word;
    if (!part_tower_group(m, "user_tower", c->input, true, &word))
        return;
    struct nn_val *i =
        part_items(m, "item_tower", c->context_input, true, c->context_bias);
    if (i && nn_shape_width(nn_val_shape(word.deep)) + (c->context_bias ? 1 : 0) !=
                 nn_shape_width(nn_val_shape(i))) {
        graph_fail(
            m->graph, "words have %jd values, context words %jd",
            (intmax_t)nn_shape_width(nn_val_shape(word.deep)),
            (intmax_t)(nn_shape_width(nn_val_shape(i)) - (c->context_bias ? 1 : 0)));
        return;
    }
    head_match(m, &conf, part_meet(m, word.deep, i, c->context_bias), i);
}

const struct model_ops model_word2vec = {.name = "word2vec", .build = word2vec_build};
