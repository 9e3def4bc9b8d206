/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders of sequences: DIN attention (Zhou et al. 2018), dot-product attention,
 * pooling. */
#include <string.h>

#include "model/parts.h"

struct val *part_din(struct model *m, const char *name, const struct pc_MLP *attn_mlp,
                     struct val *query, struct val *sequence, int axis)
{
    struct graph *g = m->graph;
    if (!query)
        return graph_fail(g, "%s: attention needs a query feature in its group", name);
    int64_t width = sequence ? shape_width(val_shape(sequence)) : 0;
    struct val *row = nn_pad(g, query, width), *q = nn_expand(g, row, axis);
    struct val *parts[] = {q, sequence, nn_sub(g, q, sequence), nn_mul(g, q, sequence)};
    struct val *pad = NULL;
    if (m->options.graph.training && part_mlp_counts_padding(attn_mlp)) {
        struct val *half =
            nn_pad(g, row, 2 * width); /* q and 0; twice, as q - 0, q * 0 */
        pad = nn_concat(g, (struct val *[]){half, half}, 2);
    }
    graph_push(g, name);
    struct val *h = part_mlp_padded(m, "mlp", attn_mlp, nn_concat(g, parts, 4), pad);
    struct val *scores = nn_linear(g, "linear", h, 1, true, ACT_NONE);
    graph_pop(g);
    return nn_seq_sum(g, nn_seq_softmax(g, scores), sequence);
}

static struct val *simple_attention(struct model *m, struct val *query,
                                    struct val *sequence, int axis)
{
    struct graph *g = m->graph;
    if (!query || !sequence ||
        shape_width(val_shape(query)) != shape_width(val_shape(sequence)))
        return graph_fail(g, "simple_attention needs a query as wide as the sequence");
    struct val *scores = nn_row_sum(g, nn_mul(g, nn_expand(g, query, axis), sequence));
    return nn_seq_sum(g, nn_seq_softmax(g, scores), sequence);
}

int64_t part_encoder_max_length(const struct pc_SeqEncoderConfig *c)
{
    int32_t n = c->din_encoder              ? c->din_encoder->max_seq_length
                : c->simple_attention       ? c->simple_attention->max_seq_length
                : c->pooling_encoder        ? c->pooling_encoder->max_seq_length
                : c->self_attention_encoder ? c->self_attention_encoder->max_seq_length
                                            : 0;
    return n > 0 ? n : 0;
}

struct val *part_encoder(struct model *m, const char *name,
                         const struct pc_SeqEncoderConfig *c, struct val *query,
                         struct val *sequence, int axis)
{
    if (c->din_encoder)
        return part_din(m, name, c->din_encoder->attn_mlp, query, sequence, axis);
    if (c->simple_attention)
        return simple_attention(m, query, sequence, axis);
    if (c->pooling_encoder)
        return strcmp(c->pooling_encoder->pooling_type, "sum") == 0
                   ? nn_seq_sum(m->graph, NULL, sequence)
                   : nn_seq_mean(m->graph, sequence);
    return graph_fail(m->graph, "this sequence encoder is not part of this version");
}
