/* SPDX-License-Identifier: Apache-2.0 */
/* nn/ops.h - the builders that models call; each stands in a file of nn/op/ (see op.h).
 *
 * All pass NULL through and report through graph_fail(). Shapes are given per row: [n] is
 * a value of n floats per row.
 */
#ifndef NN_OPS_H
#define NN_OPS_H

#include "nn/graph.h"

enum nn_act {
    ACT_NONE,
    ACT_RELU,
    ACT_LEAKY_RELU, /* param: slope */
    ACT_ELU,        /* param: alpha */
    ACT_SELU,
    ACT_GELU,      /* x times the share of the normal distribution below x */
    ACT_GELU_TANH, /* the same to three digits, by way of tanh */
    ACT_SILU,
    ACT_SIGMOID,
    ACT_TANH,
    ACT_SOFTPLUS,
    ACT_MISH,
    ACT_HARDSWISH,
    ACT_RELU6,
    ACT_SOFTSIGN,
};

/* Whether a product can do this activation by itself, and as what. */
bool nn_fused_act(enum nn_act act, enum gemm_act *out);
/* [.., n] -> [.., out]: x * w^T + b over the last dimension, then an activation
 * (ACT_NONE, ACT_RELU, ACT_SIGMOID, ACT_TANH are fused). Parameters `name`.weight [out,
 * in] and `name`.bias [out], both uniform within 1/sqrt(in).
 */
struct nn_val *nn_linear(struct graph *g, const char *name, struct nn_val *x, int64_t out,
                         bool bias, enum nn_act act);
/* The same without activation, by rows [from, from + out) of a parameter that several
 * layers share: w [.., in], b [..] or NULL.
 */
struct nn_val *nn_linear_rows(struct graph *g, struct param *w, struct param *b,
                              int64_t from, int64_t out, struct nn_val *x);
/* The same as nn_linear(x), where x takes no gradients and `front`, its first columns,
 * does instead of them. The activation must be a fused one.
 */
struct nn_val *nn_linear_front(struct graph *g, const char *name, struct nn_val *x,
                               struct nn_val *front, int64_t out, enum nn_act act);
/* What nn_linear() makes of [q, k, q - k, q * k] (or [k, q * k, q] without
 * `differences`), where q is the query [n] of the batch row that key k [n] belongs to:
 * the same parameters and, but for rounding, the same values, without laying it out.
 */
struct nn_val *nn_pair_linear(struct graph *g, const char *name, struct nn_val *query,
                              struct nn_val *keys, bool differences, int64_t out,
                              bool bias, enum nn_act act);
bool nn_pairs_fit(const struct nn_val *query,
                  const struct nn_val *keys); /* not too wide */
/* That layer and a linear one behind it: the same as both one after the other, but the
 * values between them are never written to memory.
 */
struct nn_pair_layer {
    const char *name;
    int64_t out;
    bool bias;
    enum nn_act act;
};
struct nn_val *nn_pair_net(struct graph *g, struct nn_val *query, struct nn_val *keys,
                           bool differences, const struct nn_pair_layer layers[2]);
/* Whether it can: both activations are done by the product, the first is not too wide. */
bool nn_pair_net_fits(const struct nn_pair_layer layers[2]);
/* [.., in] times a parameter w [in, out]. */
struct nn_val *nn_times(struct graph *g, struct param *w, struct nn_val *x);
/* The same and a bias [out]. */
struct nn_val *nn_times_bias(struct graph *g, struct param *w, struct param *bias,
                             struct nn_val *x);
/* Over the last dimension n of [.., n]: batch statistics in training, running ones
 * otherwise. Parameters `name`.weight and .bias when `affine`; buffers .running_mean,
 * .running_var, .num_batches_tracked. Rows of a sequence axis count as they are: there is
 * no padding.
 */
struct nn_val *nn_batch_norm(struct graph *g, const char *name, struct nn_val *x,
                             bool affine);
/* The same for a sequence whose padding counts: `pad` says per row of the batch what
 * stands at its padded positions, of which there are as many as it is shorter than the
 * longest row. *pad_out: the normalised padding; NULL when nobody wants it.
 */
struct nn_val *nn_batch_norm_padded(struct graph *g, const char *name, struct nn_val *x,
                                    struct nn_val *pad, bool affine,
                                    struct nn_val **pad_out);
/* Over the last dimension, eps 1e-5. Parameters `name`.weight, `name`.bias. */
struct nn_val *nn_layer_norm(struct graph *g, const char *name, struct nn_val *x);
/* By parameters of any shape with as many values as the last dimension has. */
struct nn_val *nn_layer_norm_by(struct graph *g, struct param *weight, struct param *bias,
                                double eps, struct nn_val *x);
/* Zero with probability p and 1/(1-p) else, in training; the same in every run of a seed.
 */
struct nn_val *nn_dropout(struct graph *g, struct nn_val *x, double p);
/* Each of n features side by side (widths[i] values, n >= 1) has a learnt probability of
 * being left out, sigmoid of parameter `name`.feature_p [n]. *loss: a value per row for
 * nn_loss(), in all lambda / rows * the sum of the probabilities to stay.
 */
struct nn_val *nn_feature_dropout(struct graph *g, const char *name, struct nn_val *x,
                                  const int64_t *widths, int64_t n, double lambda,
                                  struct nn_val **loss);
/* One learnt slope for negative values: parameter `name`.weight, initially `first` (torch:
 * 0.25).
 */
struct nn_val *nn_prelu(struct graph *g, const char *name, struct nn_val *x, float first);
/* alpha * (1 - p) * x + p * x with p = sigmoid(batch norm without affine); parameter
 * `name`.alpha [n], buffers `name`.bn.*.
 */
struct nn_val *nn_dice(struct graph *g, const char *name, struct nn_val *x);
/* With padding that counts, as nn_batch_norm_padded(). */
struct nn_val *nn_dice_padded(struct graph *g, const char *name, struct nn_val *x,
                              struct nn_val *pad, struct nn_val **pad_out);
/* Over the last dimension. */
struct nn_val *nn_softmax(struct graph *g, struct nn_val *x);
/* Rows divided by their length: x / max(|x|, eps). */
struct nn_val *nn_l2_normalise(struct graph *g, struct nn_val *x, float eps);
/* Element by element, any shape. */
struct nn_val *nn_act(struct graph *g, struct nn_val *x, enum nn_act act, float param);
/* With the parameter that torch has when none is given. */
struct nn_val *nn_act_preset(struct graph *g, struct nn_val *x, enum nn_act act);
/* The same shape: a + b, a - b, a * b, a * b * by, relu(a + b). */
struct nn_val *nn_add(struct graph *g, struct nn_val *a, struct nn_val *b);
struct nn_val *nn_sub(struct graph *g, struct nn_val *a, struct nn_val *b);
struct nn_val *nn_mul(struct graph *g, struct nn_val *a, struct nn_val *b);
struct nn_val *nn_mul_by(struct graph *g, struct nn_val *a, struct nn_val *b, float by);
struct nn_val *nn_add_relu(struct graph *g, struct nn_val *a, struct nn_val *b);
/* x * by + plus */
struct nn_val *nn_scale(struct graph *g, struct nn_val *x, float by, float plus);
/* Rows side by side: [n1], [n2], ... -> [n1 + n2 + ...]. */
struct nn_val *nn_concat(struct graph *g, struct nn_val *const *x, int n);
/* Floats [from, from + n) of each row. */
struct nn_val *nn_slice(struct graph *g, struct nn_val *x, int64_t from, int64_t n);
/* The same floats under another shape of the same axis and width. */
struct nn_val *nn_reshape(struct graph *g, struct nn_val *x, const int64_t *dims,
                          int n_dims);
/* Rows made longer with zeros at their end, to `n` floats. */
struct nn_val *nn_pad(struct graph *g, struct nn_val *x, int64_t n);
struct nn_val *nn_stop_gradient(struct graph *g, struct nn_val *x);
/* [n] -> [1]: the sum of each row. */
struct nn_val *nn_row_sum(struct graph *g, struct nn_val *x);

/* Numbers as vectors of `dim`; parameters are named after the feature. [v] times
 * proj_w_F.weight [v, dim] ([dim] when v is 1).
 */
struct nn_val *nn_number_embed(struct graph *g, const char *feature, struct nn_val *x,
                               int64_t dim);
/* [1] -> [dim]: h = leaky(x * proj_w [c]); the rows of meta_emb [c, dim] mixed with
 * softmax((proj_m [c, c] h + keep * h) / temperature).
 */
struct nn_val *nn_autodis(struct graph *g, const char *feature, struct nn_val *x,
                          int64_t channels, int64_t dim, float keep, float temperature);

/* [n, d] -> [d]: half of (sum)^2 - sum of squares. */
struct nn_val *nn_fm(struct graph *g, struct nn_val *x);
/* The same of the n fields of d values in front of longer rows. */
struct nn_val *nn_fm_first(struct graph *g, struct nn_val *x, int64_t n, int64_t d);
/* [n, d] -> [n (n - 1) / 2]: dot products of all pairs i < j, in row-major order. */
struct nn_val *nn_pair_dots(struct graph *g, struct nn_val *x);
/* gate [e] and experts [e, d] -> [d]: the weighted sum. */
struct nn_val *nn_mix(struct graph *g, struct nn_val *gate, struct nn_val *experts);
/* [n, d] -> [d, n]. */
struct nn_val *nn_transpose(struct graph *g, struct nn_val *x);
/* a [n, d] times b [d, k] of the same row: [n, k]. */
struct nn_val *nn_product(struct graph *g, struct nn_val *a, struct nn_val *b);
/* a [d, n] and b [d, k] -> [d, n * k]: a[d][i] * b[d][j] at i * k + j. */
struct nn_val *nn_outer(struct graph *g, struct nn_val *a, struct nn_val *b);
/* Fields [n, d] mixed by a parameter w [n, out] -> [out, d]. */
struct nn_val *nn_mix_fields(struct graph *g, struct param *w, struct nn_val *x);
/* [n, d] -> [d]: the sum of the fields; [n, d] -> [n]: the sum of what each holds. */
struct nn_val *nn_sum_fields(struct graph *g, struct nn_val *x);
struct nn_val *nn_sum_within(struct graph *g, struct nn_val *x);
/* gates [n] and fields [n, d] -> [n, d]: each field times its gate. */
struct nn_val *nn_gate_fields(struct graph *g, struct nn_val *gates, struct nn_val *x);
/* A learnt number, initially 0, added to each value of a row: parameter `name`. */
struct nn_val *nn_bias(struct graph *g, const char *name, struct nn_val *x);
/* a [n, d], b [n, d] -> [n (n - 1) / 2, d]: for all pairs i < j, in row-major order, a_i
 * times b_j element by element. With `of_pairs` a is [n (n - 1) / 2, d]: one per pair.
 * The second gives the same as [n (n - 1) / 2 * d].
 */
struct nn_val *nn_pair_products(struct graph *g, struct nn_val *a, bool of_pairs,
                                struct nn_val *b);
struct nn_val *nn_pair_products_flat(struct graph *g, struct nn_val *a, bool of_pairs,
                                     struct nn_val *b);
/* [n, n * d]: field i holds a vector for each field j. What i holds for j times what j
 * holds for i, as [pairs, d], or summed up as [pairs].
 */
struct nn_val *nn_aware_pairs(struct graph *g, struct nn_val *x, bool dots);
/* [n, d] -> [n, out]: each field times a matrix of its own. With `pairs` [n (n - 1) / 2,
 * out]: field i times a matrix of each pair i < j. Parameter `name`.weight [n or pairs,
 * out, d]; and parameter `bias` [n or pairs, out], initially 0, unless it is NULL.
 */
struct nn_val *nn_field_linear(struct graph *g, const char *name, struct nn_val *x,
                               bool pairs, int64_t out, const char *bias);
/* [d, n, maps] of n fields of width d, a row of the batch -> [d, n, out]: a convolution
 * along the fields. Field f is made of `height` fields from f - (height - 1) / 2 on;
 * those outside count as zeros. Parameters `name`.weight [out, maps, height] and, with
 * `bias`, `name`.bias [out], uniform within 1/sqrt(maps * height).
 */
struct nn_val *nn_field_conv(struct graph *g, const char *name, struct nn_val *x,
                             int64_t out, int64_t height, bool bias);
/* [d, n, maps] -> [d, n / height, maps]: the largest of each `height` fields that follow
 * each other; what is left over at the end is left out. The gradient goes to the first
 * that is the largest.
 */
struct nn_val *nn_field_max(struct graph *g, struct nn_val *x, int64_t height);
/* query, key, value [n, h * d] -> [n, h * d]: fields attend to each other, per head with
 * weights softmax(scale * q . k).
 */
struct nn_val *nn_field_attention(struct graph *g, struct nn_val *query,
                                  struct nn_val *key, struct nn_val *value, int64_t heads,
                                  float scale);
/* x0 [n], x [n] -> x0 * (w . x) + b + x: one layer of the first cross network. Parameters
 * `name_w`.weight [1, n], `name_b` [n].
 */
struct nn_val *nn_cross(struct graph *g, const char *name_w, const char *name_b,
                        struct nn_val *x0, struct nn_val *x);

/* Sequences. `axis` comes from graph_axis(). */

/* A row of the batch repeated for each of its positions. */
struct nn_val *nn_expand(struct graph *g, struct nn_val *x, int axis);
/* x [d] per row in front of values [d] of its positions, on a longer axis of its own. */
struct nn_val *nn_seq_prepend(struct graph *g, struct nn_val *x, struct nn_val *values);
/* [1] per position -> softmax over the positions of each row. */
struct nn_val *nn_seq_softmax(struct graph *g, struct nn_val *scores);
/* The same over all positions but the last, which weighs nothing. For losses: it has no
 * form in ONNX.
 */
struct nn_val *nn_seq_softmax_before(struct graph *g, struct nn_val *scores);
/* weights [1] and values [d] per position -> [d] per row; NULL weights: all 1. */
struct nn_val *nn_seq_sum(struct graph *g, struct nn_val *weights, struct nn_val *values);
/* The mean over the positions of each row; an empty row gives zeros. */
struct nn_val *nn_seq_mean(struct graph *g, struct nn_val *values);
/* The largest of each value over the positions of a row; an empty row gives zeros. The
 * gradient goes to the first position that holds it.
 */
struct nn_val *nn_seq_max(struct graph *g, struct nn_val *values);
/* [d] per position -> [count * d]: the values of `count` positions side by side, from
 * `first` positions behind it (before it, when negative) on; those outside its row are
 * zeros. With nn_linear() on it a convolution along the positions.
 */
struct nn_val *nn_seq_around(struct graph *g, struct nn_val *values, int64_t first,
                             int64_t count);
/* query, key, value [h * d] per position -> [h * d]: each position attends to all of its
 * row, per head with weights softmax(q . k / sqrt(d)). In training a weight is dropped
 * with probability `dropout`.
 */
struct nn_val *nn_seq_attention(struct graph *g, struct nn_val *query, struct nn_val *key,
                                struct nn_val *value, int64_t heads, double dropout);
/* weights [1] and values [d] per position -> [n, d] per row: the mean of weight * value
 * over each of n windows that follow each other; positions behind the last are left out,
 * a window without any gives zeros.
 */
#define NN_WINDOWS_MAX 64
struct nn_val *nn_seq_windows(struct graph *g, struct nn_val *weights,
                              struct nn_val *values, const uint32_t *lengths, int64_t n);

/* [d] per position -> [d] per row: that of the last position; zeros when there is none.
 */
struct nn_val *nn_seq_last(struct graph *g, struct nn_val *values);
/* Gated recurrent units along the positions of each row, from a state of zeros: [n] per
 * position -> the state [width] behind it. Parameters `name`.weight_ih_l<layer> [3 *
 * width, n], .weight_hh_l<layer> [3 * width, width], .bias_ih_l<layer> and
 * .bias_hh_l<layer>, gates in the order reset, update, new; all uniform within
 * 1/sqrt(width).
 */
#define NN_GRU_WIDTH_MAX 512
struct nn_val *nn_seq_gru(struct graph *g, const char *name, int layer, struct nn_val *x,
                          int64_t width);
/* The same where the update of a position counts by a weight [1] (Zhou et al. 2019): the
 * new state is h + weight * (1 - z) * (n - h). Has no form in ONNX.
 */
struct nn_val *nn_seq_weighted_gru(struct graph *g, const char *name, int layer,
                                   struct nn_val *x, struct nn_val *weights,
                                   int64_t width);
/* One step for rows of any axis: a [3 * w] from the input and b [3 * w] from the state h
 * [w], both linear and in that order of gates -> the next state.
 */
struct nn_val *nn_gru_cell(struct graph *g, struct nn_val *a, struct nn_val *b,
                           struct nn_val *h);

/* A session as a graph: x [2 n] per position, node [1] per position, the same number for
 * the same item. Of the items that stand before the position's item anywhere in its row
 * the mean of their first n values, of those behind it the mean of their last n; values
 * of an item are those of its first position.
 */
struct nn_val *nn_session_graph(struct graph *g, struct nn_val *x, struct nn_val *node);

/* Tokens: sequences made of parts of a row. Each of n parts (AXIS_PARTS_MAX at most) has
 * values of one or several tokens of `width` per row; one on the batch axis comes once.
 * `axis`: one that has as many rows as all of them (that of an earlier join), or
 * AXIS_BATCH: a new one, `name`.
 */
struct nn_val *nn_seq_join(struct graph *g, const char *name, struct nn_val *const *parts,
                           int n, int64_t width, int axis);
/* The first `front` positions of each row, and of the others the last ones: as many in all
 * as `axis` has.
 */
struct nn_val *nn_seq_keep(struct graph *g, struct nn_val *x, int64_t front, int axis);
/* The positions of each row in the opposite order. */
struct nn_val *nn_seq_reverse(struct graph *g, struct nn_val *x);
/* x [in] per position, matrix [in * out] and bias [out] per row -> x times the row's
 * matrix, and the bias.
 */
struct nn_val *nn_seq_times(struct graph *g, struct nn_val *x, struct nn_val *matrix,
                            struct nn_val *bias);
/* [n * in] -> [n * out]: each field times a matrix of its own; w [n, in, out], bias [n, 1,
 * out].
 */
struct nn_val *nn_field_times(struct graph *g, struct param *w, struct param *bias,
                              struct nn_val *x);

/* Attention of a sequential transduction unit (Zhai et al. 2024), heads side by side. A
 * row's tokens are `contextual` ones, its history, and candidates: as many as axis
 * `targets` has there (0: there are none). Token i gives the sum of silu(alpha q_i . k_j) * scale * v_j over
 * the tokens j that it sees: of the history itself and what stands before it; of the
 * context all but candidates; of candidates itself and all that is no candidate. With
 * `window` tokens further back are not seen, except by the last `full` of the history
 * and candidates; the context counts as one token there. With `local` or `global` above
 * 0, instead: the last `local` tokens up to itself and the first max(global, contextual);
 * of candidates all that is no candidate, but not itself. `bias` [n], or NULL: bias[d] is
 * added to alpha q_i . k_j, d the distance of the two tokens, n - 1 at most; all candidates
 * stand right behind the history.
 */
#define NN_STU_WIDTH_MAX 1024
#define NN_STU_EPS 1e-6f
struct nn_stu_conf {
    int64_t heads, hidden, attention;
    int64_t contextual, window, full, local, global;
    int targets;
    float alpha, scale;
};
/* [2 * heads * (hidden + attention)]: gates, values, queries, keys -> [heads * hidden]. */
struct nn_val *nn_stu_attention(struct graph *g, struct nn_val *uvqk, struct param *bias,
                                const struct nn_stu_conf *conf);
/* The gates u in front of `uvqk`, and o [n], what was attended to -> [3 n]: silu(u), o, and silu(u)
 * times the layer norm of o (eps NN_STU_EPS): of each of `groups` by one weight and one bias,
 * [groups]; of one group also by those of each value, [n].
 */
struct nn_val *nn_stu_gate(struct graph *g, struct nn_val *uvqk, struct nn_val *attended,
                           struct param *weight, struct param *bias, int64_t groups);

/* scale * x + a row of positions [n, d] (+ a row of times [k + 1, d], or NULL). Without
 * times the row is that of the token's place; with them it counts from the end of the history
 * backwards, behind those of the `contextual` tokens; all candidates have the same one.
 * Of times the row is by how long before the query (a time per row; NULL: the time of its
 * last token) a token's `time` was, in units of `increments`: its root or logarithm, k at
 * most.
 */
struct nn_positions_conf {
    int64_t contextual;
    int targets; /* axis of the candidates; 0: there are none */
    bool log;
    float scale, increments;
};
struct nn_val *nn_add_positions(struct graph *g, struct nn_val *x, struct nn_val *time,
                                struct nn_val *query, struct param *positions,
                                struct param *times,
                                const struct nn_positions_conf *conf);
/* time [1] -> [2 n]: for each unit the cosine and sine of where in its period of `per`
 * units it is.
 */
struct nn_val *nn_time_waves(struct graph *g, struct nn_val *time, const uint32_t *units,
                             const uint32_t *per, int64_t n);
/* action [1], a number whose bits say what was done -> [types * d]: for each type row i of
 * `table` [types, d] when one of its bits is set, else zeros. Bits of the last
 * `thresholds` types are set, too, where watch [1] is at least that.
 */
#define NN_ACTIONS_MAX 64
struct nn_action_conf {
    int64_t types, thresholds;
    uint64_t bits[NN_ACTIONS_MAX];
    uint32_t threshold[NN_ACTIONS_MAX];
};
struct nn_val *nn_action_embed(struct graph *g, struct nn_val *action,
                               struct nn_val *watch, struct param *table,
                               const struct nn_action_conf *conf);
/* The same learnt values for every row of the axis that `like` is on. */
struct nn_val *nn_learned_row(struct graph *g, struct param *row, struct nn_val *like);

/* Users and items. The rows of items are those of the users, then those that stand
 * against all users, then hard ones: row b of the batch has hard items offsets[b] ..
 * offsets[b + 1] of `hard_axis` (-1: there are none). user [d] and item [d] -> [1] per
 * candidate, on `axis`, whose offsets give every user the same number: 1 + items for all +
 * hard items of the row that has most, missing ones far below the others; with `in_batch`
 * one per row of the batch. All times `scale`. A user is a row of the batch, or of another
 * axis when a row has several own items.
 */
struct nn_val *nn_match_scores(struct graph *g, struct nn_val *user, struct nn_val *item,
                               int axis, int hard_axis, bool in_batch, float scale);
/* Cross entropy per user, which are on `axis`, of the first of its scores, or with
 * `diagonal` of score i of row i; ready for nn_loss(). `weights` as below, of rows of the
 * batch.
 */
struct nn_val *nn_match_loss(struct graph *g, struct nn_val *scores,
                             struct nn_val *weights, bool diagonal, int axis);
/* The same with each score on its own: softplus(-score) of the first (or score i), plus
 * softplus(score) of all others.
 */
struct nn_val *nn_match_logistic(struct graph *g, struct nn_val *scores,
                                 struct nn_val *weights, bool diagonal);
/* Items of the rows of the batch. */
struct nn_val *nn_own_items(struct graph *g, struct nn_val *items);

/* Interests of a user: capsules that positions are routed to. A row of l positions has
 * min(capsules, log2 l) of them rounded up, at least one.
 */
struct nn_capsule_conf {
    int64_t capsules, iterations;
    int64_t most; /* positions of a row that are routed, the others count; 0: all */
    float scale, deviation; /* of the initial logits, which are drawn anew each time */
    bool constant;          /* every row has all capsules */
    bool zeros;             /* the initial logits are 0: nothing is drawn */
};
/* [d] per position -> its share in each capsule [capsules]; gradients stop here. */
struct nn_val *nn_capsule_routing(struct graph *g, struct nn_val *x,
                                  const struct nn_capsule_conf *conf);
/* 1 for each capsule that a row has, 0 for the others; x tells the sequence. */
struct nn_val *nn_capsule_mask(struct graph *g, struct nn_val *x,
                               const struct nn_capsule_conf *conf);
/* weights [n] and values [d] per position -> [n, d] per row: n weighted sums. */
struct nn_val *nn_seq_mix(struct graph *g, struct nn_val *weights, struct nn_val *values);
/* Vectors of the last dimension: length l becomes (l^2 / (1 + l^2))^power. */
struct nn_val *nn_squash(struct graph *g, struct nn_val *x, double power);
/* The same made one long; shorter than eps: divided by eps. */
struct nn_val *nn_normalise_last(struct graph *g, struct nn_val *x, float eps);
/* mask [n] times x [n, d], with `front` [e] (or NULL) before each: [n, e + d]. */
struct nn_val *nn_masked_rows(struct graph *g, struct nn_val *mask, struct nn_val *x,
                              struct nn_val *front);
/* x [n, d] and target [d] -> [d]: mixed by softmax(power * x . target) over those whose
 * mask [n] is not 0, which are the first ones.
 */
struct nn_val *nn_interest_attention(struct graph *g, struct nn_val *mask,
                                     struct nn_val *x, struct nn_val *target,
                                     float power);

/* A matrix [n, r], r < n, whose columns are orthonormal and stay so in training:
 * parameter `name`.parametrizations.weight.original [n, r] and buffer ...0.base [n, n].
 * nn_rotate(): x [n] times it, or with `back` x [r] times its transpose.
 */
struct nn_rotation {
    struct param *original, *base; /* NULL when the graph has failed */
    int64_t n, r;
};
struct nn_rotation nn_rotation(struct graph *g, const char *name, int64_t n, int64_t r);
struct nn_val *nn_rotate(struct graph *g, struct nn_rotation by, struct nn_val *x,
                         bool back);

/* Codes (semantic ids). One layer of a residual quantiser: x [d] and a codebook [k, d] ->
 * the code's vector [d] and *code [1], its number. The distance is squared, or with `cosine`
 * minus the cosine. In training codes are shared out evenly over the batch with
 * `sinkhorn_iterations` > 0 (Sinkhorn's balancing, `sharpness`), or drawn with `gumbel` (its
 * gradient goes by the softmax of the distances); else the nearest is taken, from which x gets
 * no gradient. With `starts`, while `started` [1] is 0, the first batch in training sets codes to
 * the centres of its k-means (as many as it has rows); the layer with `last` sets `started` to 1.
 * With `unused` [k] (or NULL), which counts the steps in training that a code went without a row,
 * a code that did so `restart` times becomes some row of the next batch.
 */
struct nn_code_conf {
    bool cosine, gumbel, starts, last;
    uint32_t sinkhorn_iterations, restart;
    float sharpness;
};
struct nn_val *nn_nearest_code(struct graph *g, struct param *book, struct param *started,
                               struct param *unused, struct nn_val *x,
                               const struct nn_code_conf *conf, struct nn_val **code);
/* x [d] and codes [layers] of all layers -> [top * layers]: those codes, the last of them
 * replaced by each of the `top` nearest to x, and *distances [top] of these. No gradient.
 */
struct nn_val *nn_code_candidates(struct graph *g, struct param *book, struct nn_val *x,
                                  struct nn_val *codes, bool cosine, int64_t top,
                                  struct nn_val **distances);
/* z, whose gradient goes to x in its place (z gets none): as it is, or with `rotate` turned and
 * scaled as z is from x (Fifty et al. 2024).
 */
struct nn_val *nn_through(struct graph *g, struct nn_val *x, struct nn_val *z,
                          bool rotate);
/* How far rows a [n] and b [n] are apart, [1]: the mean square or mean absolute difference, or one
 * minus the cosine. Both get gradients.
 */
enum nn_distance { DISTANCE_L2, DISTANCE_L1, DISTANCE_COS };
struct nn_val *nn_distance(struct graph *g, struct nn_val *a, struct nn_val *b,
                           enum nn_distance kind);
/* x [1] divided so that all rows whose flag [1] is (with `above`) or is not above 0.5 give their
 * mean together; the others give 0, as all do when there are no such rows.
 */
struct nn_val *nn_flagged_share(struct graph *g, struct nn_val *x, struct nn_val *flag,
                                bool above);
/* Contrast of rows a [n] with targets p [n], and of b [n] with q [n], among rows whose flag [1]
 * is above 0.5: per row the cross entropy of its own target over those of all of them, scores
 * being products times exp(min(scale, ln 100)); divided so that the rows' sum is the mean of
 * both. Parameter `name` [1], initially ln(1 / 0.07).
 */
struct nn_val *nn_contrast_loss(struct graph *g, const char *name, struct nn_val *a,
                                struct nn_val *p, struct nn_val *b, struct nn_val *q,
                                struct nn_val *flag);
/* Keeps a uniform sample of all rows x [n] seen in training, in parameters `name`.rows [most, n]
 * and `name`.seen [2] (their number, in units of 1 and of 2^24). Gives 0 [1] per row.
 */
struct nn_val *nn_reservoir(struct graph *g, const char *name, struct nn_val *x,
                            int64_t most);

/* Heads. Logits a, b [1] of two events, the second given the first -> that of both. */
struct nn_val *nn_both_logit(struct graph *g, struct nn_val *a, struct nn_val *b);
/* x [n] and number [1] -> x[number]; the nearest when it is outside. */
struct nn_val *nn_pick(struct graph *g, struct nn_val *x, struct nn_val *number);
/* x [1] divided so that all rows together give the mean of x; the root of its sum; and x
 * times the number of rows.
 */
struct nn_val *nn_mean_share(struct graph *g, struct nn_val *x);
struct nn_val *nn_batch_times(struct graph *g, struct nn_val *x);
struct nn_val *nn_root_share(struct graph *g, struct nn_val *x);

/* Losses: a weighted value per row, ready for nn_loss(). `labels` [1]; `weights` [1] per
 * row, already divided by the number of rows (NULL: 1 / rows).
 */
struct nn_val *nn_bce_loss(struct graph *g, struct nn_val *logits, struct nn_val *labels,
                           struct nn_val *weights, float smoothing);
struct nn_val *nn_focal_loss(struct graph *g, struct nn_val *logits,
                             struct nn_val *labels, struct nn_val *weights, float gamma,
                             float alpha);
/* states, next, others [d] per position: each state against what its next position holds
 * and what it might have held, as a loss per row (divided by the number of rows).
 */
struct nn_val *nn_next_loss(struct graph *g, struct nn_val *states, struct nn_val *next,
                            struct nn_val *others);
/* x, happened [d], others [k * d], weights [1]: x against what happened and k that did
 * not, times a weight, as a loss per row (divided by the number of rows).
 */
struct nn_val *nn_tell_loss(struct graph *g, struct nn_val *x, struct nn_val *happened,
                            struct nn_val *others, struct nn_val *weights);
/* logits [c], labels: the class as a float. */
struct nn_val *nn_softmax_loss(struct graph *g, struct nn_val *logits,
                               struct nn_val *labels, struct nn_val *weights,
                               float smoothing);
/* scores [c], labels: the class as a float. max(0, margin - its score + the largest other).
 */
struct nn_val *nn_hinge_loss(struct graph *g, struct nn_val *scores,
                             struct nn_val *labels, struct nn_val *weights, float margin);
struct nn_val *nn_l2_loss(struct graph *g, struct nn_val *y, struct nn_val *labels,
                          struct nn_val *weights);
/* logits [2], labels 0 or 1; sessions [1]: the number of the row's session within the
 * batch, below the number of rows. alpha * cross entropy over the two classes + (1 -
 * alpha) * cross entropy over the rows of the session.
 */
struct nn_val *nn_jrc_loss(struct graph *g, struct nn_val *logits, struct nn_val *labels,
                           struct nn_val *sessions, struct nn_val *weights, float alpha);

#endif
