/* SPDX-License-Identifier: Apache-2.0 */
/* DIEN (Zhou et al. 2019): recurrent units extract interests from the history, and a
 * further one follows those that the item is about. Without recurrent units it is a Deep
 * Interest Network (Zhou et al. 2018).
 */
#include <math.h>
#include <string.h>

#include "model/parts.h"

/* The state behind the last position, where positions count by attention. */
static struct nn_val *evolved(struct model *m, const struct pc_DIEN *c,
                              struct nn_val *states, struct nn_val *weights, int64_t d)
{
    struct graph *g = m->graph;
    if (strcmp(c->evolution, "DIN") == 0)
        return nn_linear(g, "interest", nn_seq_sum(g, weights, states), d, true,
                         ACT_NONE);
    if (strcmp(c->evolution, "AUGRU") == 0)
        return nn_seq_last(g, nn_seq_weighted_gru(g, "evolution", 0, states, weights, d));
    struct nn_val *x = nn_reshape(g, states, (const int64_t[]){1, d}, 2);
    x = nn_reshape(g, nn_gate_fields(g, weights, x), (const int64_t[]){d}, 1);
    return nn_seq_last(g, nn_seq_gru(g, "evolution", 0, x, d));
}

/* A state should tell what happens next from what does not. */
static void next_loss(struct model *m, const struct pc_DIEN *c, struct nn_val *states,
                      struct nn_val *happened, struct nn_val *others)
{
    struct nn_val *loss = nn_next_loss(m->graph, states, happened, others);
    nn_loss_training(m->graph, "aux_loss",
                     nn_scale(m->graph, loss, (float)c->aux_loss_weight, 0.0f));
}

static void dien_build(struct model *m)
{
    const struct pc_DIEN *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group seq;
    if (!group_of(m, "seq", 0, NULL, &seq))
        return;
    int64_t d = seq.query ? nn_shape_width(nn_val_shape(seq.query)) : 0;
    int64_t width = nn_shape_width(nn_val_shape(seq.sequence));
    if (d == 0 || (width != d && width != 2 * d)) {
        graph_fail(g,
                   "group 'seq': the history has %jd values, the item %jd; it takes as "
                   "many, or twice as many with what did not happen behind",
                   (intmax_t)width, (intmax_t)d);
        return;
    }
    struct nn_val *history = width == d ? seq.sequence : nn_slice(g, seq.sequence, 0, d);
    struct nn_val *states = history;
    for (uint32_t i = 0; i < c->gru_layers; i++)
        states = nn_seq_gru(g, "extractor", (int)i, states, d);
    if (width > d)
        next_loss(m, c, states, history, nn_slice(g, seq.sequence, d, d));
    struct nn_val *scores =
        part_din_scores(m, "attention", c->attn_mlp, seq.query, states, seq.axis);
    scores = nn_scale(g, scores, (float)(1.0 / sqrt((double)d)), 0.0f);
    struct nn_val *last = evolved(m, c, states, nn_seq_softmax(g, scores), d);
    struct nn_val *h = nn_concat(g, (struct nn_val *[]){last, seq.query}, 2);
    h = part_mlp(m, "deep_mlp", c->deep, part_with_rest(m, h));
    head_first_order(
        m, c->wide_init_fn, false,
        nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_dien = {.name = "dien", .build = dien_build};
