/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders of sequences: DIN attention (Zhou et al. 2018), the same over windows of time,
 * self-attention (Vaswani et al. 2017), dot-product attention, pooling.
 */
#include <math.h>
#include <string.h>

#include "model/parts.h"
#include "model/reference.h"

#define LOWEST_SCORE 2147483647.0f /* of steps that do not count, in TorchEasyRec */

/* The net of an attention can read its pairs without their being laid out. */
static bool reads_pairs(const struct pc_MLP *conf, const struct nn_val *query,
                        const struct nn_val *sequence)
{
    return conf && conf->n_hidden_units > 0 && !part_mlp_counts_padding(conf) &&
           nn_pairs_fit(query, sequence);
}

/* The net on [q, k, q - k, q * k], laid out. */
static struct nn_val *din_laid_out(struct model *m, const struct pc_MLP *attn_mlp,
                                   struct nn_val *row, struct nn_val *sequence, int axis)
{
    struct graph *g = m->graph;
    int64_t width = sequence ? nn_shape_width(nn_val_shape(sequence)) : 0;
    struct nn_val *q = nn_expand(g, row, axis), *pad = NULL;
    struct nn_val *parts[] = {q, sequence, nn_sub(g, q, sequence),
                              nn_mul(g, q, sequence)};
    if (m->options.graph.training && part_mlp_counts_padding(attn_mlp)) {
        struct nn_val *half =
            nn_pad(g, row, 2 * width); /* q and 0; twice, as q - 0, q * 0 */
        pad = nn_concat(g, (struct nn_val *[]){half, half}, 2);
    }
    return part_mlp_padded(m, "mlp", attn_mlp, nn_concat(g, parts, 4), pad);
}

struct nn_val *part_din_scores(struct model *m, const char *name,
                               const struct pc_MLP *attn_mlp, struct nn_val *query,
                               struct nn_val *sequence, int axis)
{
    struct graph *g = m->graph;
    if (!query)
        return graph_fail(g, "%s: attention needs a query feature in its group", name);
    struct nn_val *row =
        nn_pad(g, query, sequence ? nn_shape_width(nn_val_shape(sequence)) : 0);
    graph_push(g, name);
    struct nn_val *h = reads_pairs(attn_mlp, row, sequence)
                           ? part_mlp_pairs(m, "mlp", attn_mlp, row, sequence, true)
                           : din_laid_out(m, attn_mlp, row, sequence, axis);
    struct nn_val *scores = nn_linear(g, "linear", h, 1, true, ACT_NONE);
    graph_pop(g);
    return scores;
}

static struct model_axis *axis_of(struct model *m, int axis)
{
    for (size_t i = 0; i < m->axes.n; i++)
        if (m->axes.at[i].axis == axis)
            return &m->axes.at[i];
    return NULL;
}

static struct nn_val *step_input(struct model *m, const char *name, int axis)
{
    struct nn_shape shape = {.axis = axis, .n_dims = 1, .dims = {1}};
    return nn_input(m->graph, arena_printf(&m->arena, "axis %d %s", axis, name), &shape,
                    false);
}

/* As TorchEasyRec does: scores of steps that are not the first sequence's are so low that
 * they count in rows without any other.
 */
static struct nn_val *masked(struct model *m, struct nn_val *scores, int axis)
{
    struct model_axis *a =
        m->options.reference & REFERENCE_STEPS ? axis_of(m, axis) : NULL;
    if (!a || !scores)
        return scores;
    a->extends = true;
    a->own = step_input(m, "own", axis);
    struct nn_val *low = nn_scale(m->graph, a->own, LOWEST_SCORE, -LOWEST_SCORE);
    return nn_add(m->graph, nn_mul(m->graph, scores, a->own), low);
}

/* The mean over the steps; as TorchEasyRec takes it when asked to. */
static struct nn_val *mean_of(struct model *m, struct nn_val *sequence, int axis,
                              bool extends)
{
    struct model_axis *a =
        m->options.reference & REFERENCE_STEPS ? axis_of(m, axis) : NULL;
    if (!a)
        return nn_seq_mean(m->graph, sequence);
    a->extends = extends;
    a->uncut = !extends;
    a->share = step_input(m, "share", axis);
    return nn_seq_sum(m->graph, a->share, sequence);
}

static struct nn_val *sum_of(struct model *m, struct nn_val *sequence, int axis)
{
    struct model_axis *a =
        m->options.reference & REFERENCE_STEPS ? axis_of(m, axis) : NULL;
    if (a)
        a->extends = true;
    return nn_seq_sum(m->graph, NULL, sequence);
}

struct nn_val *part_din(struct model *m, const char *name, const struct pc_MLP *attn_mlp,
                        struct nn_val *query, struct nn_val *sequence, int axis)
{
    struct nn_val *scores = part_din_scores(m, name, attn_mlp, query, sequence, axis);
    scores = masked(m, scores, axis);
    return nn_seq_sum(m->graph, nn_seq_softmax(m->graph, scores), sequence);
}

static struct nn_val *simple_attention(struct model *m, struct nn_val *query,
                                       struct nn_val *sequence, int axis)
{
    struct graph *g = m->graph;
    if (!query || !sequence ||
        nn_shape_width(nn_val_shape(query)) != nn_shape_width(nn_val_shape(sequence)))
        return graph_fail(g, "simple_attention needs a query as wide as the sequence");
    struct nn_val *scores = nn_row_sum(g, nn_mul(g, nn_expand(g, query, axis), sequence));
    scores = masked(m, scores, axis);
    return nn_seq_sum(g, nn_seq_softmax(g, scores), sequence);
}

/* The net on [k, q * k, q], laid out. */
static struct nn_val *windows_laid_out(struct model *m, const struct pc_MLP *attn_mlp,
                                       struct nn_val *row, struct nn_val *sequence,
                                       int axis)
{
    struct graph *g = m->graph;
    struct nn_val *q = nn_expand(g, row, axis), *pad = NULL;
    struct nn_val *parts[] = {sequence, nn_mul(g, q, sequence), q};
    if (m->options.graph.training && part_mlp_counts_padding(attn_mlp)) {
        struct nn_val *zeros = nn_scale(g, row, 0.0f, 0.0f);
        pad = nn_concat(g, (struct nn_val *[]){zeros, zeros, row}, 3);
    }
    return part_mlp_padded(m, "mlp", attn_mlp, nn_concat(g, parts, 3), pad);
}

struct nn_val *part_multi_window_din(struct model *m, const char *name,
                                     const struct pc_MLP *attn_mlp,
                                     const uint32_t *windows, int64_t n_windows,
                                     struct nn_val *query, struct nn_val *sequence,
                                     int axis)
{
    struct graph *g = m->graph;
    if (!query || !sequence)
        return graph_fail(g, "%s: attention needs a query feature in its group", name);
    int64_t width = nn_shape_width(nn_val_shape(sequence));
    struct nn_val *row = nn_pad(g, query, width);
    graph_push(g, name);
    struct nn_val *h = reads_pairs(attn_mlp, row, sequence)
                           ? part_mlp_pairs(m, "mlp", attn_mlp, row, sequence, false)
                           : windows_laid_out(m, attn_mlp, row, sequence, axis);
    h = nn_linear(g, "linear", h, 1, true, ACT_NONE);
    struct nn_val *weights = nn_prelu(g, "active", h, 0.25f);
    graph_pop(g);
    struct nn_val *y = nn_seq_windows(g, weights, sequence, windows, n_windows);
    y = nn_reshape(g, y, (const int64_t[]){n_windows * width}, 1);
    return nn_concat(g, (struct nn_val *[]){y, row}, 2);
}

/* One matrix holds what projects queries, keys and values once more. */
static struct nn_val *multi_head(struct model *m, const struct pc_SelfAttentionEncoder *c,
                                 struct nn_val *const *in)
{
    struct graph *g = m->graph;
    int64_t n = c->multihead_attn_dim, all = 3 * n;
    double xavier = sqrt(6.0 / (double)(4 * n)), bound = 1.0 / sqrt((double)n);
    struct nn_init zeros = {INIT_ZEROS, 0, 0};
    struct param *w = nn_param(g, "in_proj_weight", (const int64_t[]){all, n}, 2,
                               (struct nn_init){INIT_UNIFORM, -xavier, xavier}, true);
    struct param *b = nn_param(g, "in_proj_bias", &all, 1, zeros, true);
    struct nn_val *parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = nn_linear_rows(g, w, b, i * n, n, in[i]);
    struct nn_val *y =
        nn_seq_attention(g, parts[0], parts[1], parts[2], c->num_heads, c->dropout);
    graph_push(g, "out_proj");
    w = nn_param(g, "weight", (const int64_t[]){n, n}, 2,
                 (struct nn_init){INIT_UNIFORM, -bound, bound}, true);
    b = nn_param(g, "bias", &n, 1, zeros, true);
    graph_pop(g);
    return nn_linear_rows(g, w, b, 0, n, y);
}

static struct nn_val *self_attention(struct model *m, const char *name,
                                     const struct pc_SelfAttentionEncoder *c,
                                     struct nn_val *sequence, int axis)
{
    static const char *const names[] = {"_query", "_key", "_value"};
    struct graph *g = m->graph;
    struct nn_val *in[3];
    if (c->num_heads < 1 || c->multihead_attn_dim < 1 ||
        c->multihead_attn_dim % c->num_heads)
        return graph_fail(g, "self_attention: num_heads %d does not divide %d",
                          c->num_heads, c->multihead_attn_dim);
    graph_push(g, name);
    for (int i = 0; i < 3; i++)
        in[i] = nn_linear(g, names[i], sequence, c->multihead_attn_dim, true, ACT_NONE);
    graph_push(g, "_multihead_attn");
    struct nn_val *y = multi_head(m, c, in);
    graph_pop(g);
    graph_pop(g);
    return mean_of(m, y, axis, false);
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

struct nn_val *part_encoder(struct model *m, const char *name,
                            const struct pc_SeqEncoderConfig *c, struct nn_val *query,
                            struct nn_val *sequence, int axis)
{
    if (c->din_encoder)
        return part_din(m, name, c->din_encoder->attn_mlp, query, sequence, axis);
    if (c->simple_attention)
        return simple_attention(m, query, sequence, axis);
    if (c->pooling_encoder)
        return strcmp(c->pooling_encoder->pooling_type, "sum") == 0
                   ? sum_of(m, sequence, axis)
                   : mean_of(m, sequence, axis, true);
    if (c->self_attention_encoder)
        return self_attention(m, name, c->self_attention_encoder, sequence, axis);
    const struct pc_MultiWindowDINEncoder *w = c->multi_window_din_encoder;
    if (w)
        return part_multi_window_din(m, name, w->attn_mlp, w->windows_len,
                                     w->n_windows_len, query, sequence, axis);
    return graph_fail(m->graph, "encoder %s names no kind", name);
}
