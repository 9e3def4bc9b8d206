/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_cases.h - every op of nn/ops.h that has an ONNX form, in a small graph. */
#ifndef INTEROP_ONNX_CASES_H
#define INTEROP_ONNX_CASES_H

#include "nn/ops.h"

struct onnx_case {
    const char *name;
    struct nn_val *(*build)(struct graph *g, struct nn_val *x, struct nn_val *seq,
                            int axis);
};

#define CASE(name)                                                        \
    static struct nn_val *build_##name(struct graph *g, struct nn_val *x, \
                                       struct nn_val *seq, int axis)

static struct nn_val *fields(struct graph *g, struct nn_val *x)
{
    return nn_reshape(g, x, (const int64_t[]){3, 4}, 2);
}

static struct nn_val *weight(struct graph *g, struct nn_val *seq)
{
    return nn_linear(g, "score", seq, 1, true, ACT_NONE);
}

CASE(linear)
{
    return nn_linear(g, "l", x, 5, true, ACT_NONE);
}
CASE(linear_no_bias)
{
    return nn_linear(g, "l", x, 5, false, ACT_NONE);
}
CASE(linear_relu)
{
    return nn_linear(g, "l", x, 5, true, ACT_RELU);
}
CASE(linear_sigmoid)
{
    return nn_linear(g, "l", x, 5, false, ACT_SIGMOID);
}
CASE(linear_tanh)
{
    return nn_linear(g, "l", x, 5, true, ACT_TANH);
}
CASE(linear_fields)
{
    return nn_linear(g, "l", fields(g, x), 5, true, ACT_RELU);
}
CASE(linear_sequence)
{
    return nn_seq_sum(g, NULL, nn_linear(g, "l", seq, 6, true, ACT_TANH));
}
CASE(linear_front)
{
    return nn_linear_front(g, "l", x, nn_slice(g, x, 0, 4), 5, ACT_SIGMOID);
}
CASE(linear_rows)
{
    struct nn_init u = {INIT_UNIFORM, -1, 1};
    struct param *w = nn_param(g, "w", (const int64_t[]){9, 12}, 2, u, true);
    struct param *b = nn_param(g, "b", (const int64_t[]){9}, 1, u, true);
    return nn_add(g, nn_linear_rows(g, w, b, 3, 4, x),
                  nn_linear_rows(g, w, NULL, 0, 4, x));
}
CASE(batch_norm)
{
    return nn_batch_norm(g, "n", fields(g, x), true);
}
CASE(batch_norm_plain)
{
    return nn_batch_norm(g, "n", x, false);
}
CASE(batch_norm_padded)
{
    struct nn_val *pad = nn_linear(g, "p", x, 4, true, ACT_NONE), *out = NULL;
    struct nn_val *y = nn_batch_norm_padded(g, "n", seq, pad, true, &out);
    return nn_add(g, nn_seq_mean(g, y), out);
}
CASE(layer_norm)
{
    return nn_layer_norm(g, "n", fields(g, x));
}
CASE(layer_norm_by)
{
    struct nn_init u = {INIT_UNIFORM, -1, 1};
    struct param *w = nn_param(g, "w", (const int64_t[]){3, 4}, 2, u, true);
    struct param *b = nn_param(g, "b", (const int64_t[]){12}, 1, u, true);
    return nn_layer_norm_by(g, w, b, 1e-6, x);
}
CASE(dropout)
{
    return nn_dropout(g, x, 0.5);
}
CASE(feature_dropout)
{
    struct nn_val *loss;
    return nn_feature_dropout(g, "d", x, (const int64_t[]){3, 4, 5}, 3, 0.1, &loss);
}
CASE(prelu)
{
    return nn_prelu(g, "p", x, 0.25f);
}
CASE(dice)
{
    return nn_dice(g, "d", x);
}
CASE(dice_padded)
{
    struct nn_val *pad = nn_linear(g, "p", x, 4, true, ACT_NONE), *out = NULL;
    struct nn_val *y = nn_dice_padded(g, "d", seq, pad, &out);
    return nn_add(g, nn_seq_sum(g, NULL, y), out);
}
CASE(softmax)
{
    return nn_softmax(g, fields(g, x));
}
CASE(both_logit)
{
    return nn_both_logit(g, nn_linear(g, "a", x, 1, true, ACT_NONE),
                         nn_linear(g, "b", x, 1, true, ACT_NONE));
}
CASE(pick)
{
    return nn_pick(g, x, nn_scale(g, nn_row_sum(g, x), 0, 3));
}
CASE(rotate)
{
    struct nn_rotation by = nn_rotation(g, "r", 12, 5);
    return nn_rotate(g, by, nn_rotate(g, by, x, false), true);
}
CASE(l2_normalise)
{
    return nn_l2_normalise(g, x, 1e-12f);
}
CASE(arithmetic)
{
    struct nn_val *y = nn_reshape(g, fields(g, x), (const int64_t[]){12}, 1);
    return nn_scale(g, nn_mul(g, nn_sub(g, nn_add(g, x, y), nn_scale(g, x, 3, 1)), y), 2,
                    -0.5f);
}
CASE(add_relu)
{
    return nn_add_relu(g, x, nn_mul_by(g, x, nn_scale(g, x, 3, 1), 0.5f));
}
CASE(arithmetic_shapes)
{
    return nn_mul(g, fields(g, x), x);
}
CASE(concat)
{
    return nn_concat(g, (struct nn_val *[]){x, fields(g, x), nn_slice(g, x, 3, 2)}, 3);
}
CASE(slice_pad)
{
    return nn_pad(g, nn_slice(g, fields(g, x), 2, 7), 9);
}
CASE(pad_sequence)
{
    return nn_seq_sum(g, NULL, nn_pad(g, seq, 6));
}
CASE(stop_gradient)
{
    return nn_stop_gradient(g, fields(g, x));
}
CASE(row_sum)
{
    return nn_row_sum(g, fields(g, x));
}
CASE(fm)
{
    return nn_fm(g, fields(g, x));
}
CASE(pair_dots)
{
    return nn_pair_dots(g, fields(g, x));
}
CASE(mix)
{
    return nn_mix(g, nn_softmax(g, nn_slice(g, x, 0, 3)), fields(g, x));
}
CASE(transpose)
{
    return nn_transpose(g, fields(g, x));
}
CASE(product)
{
    return nn_product(g, fields(g, x), nn_transpose(g, fields(g, x)));
}
CASE(outer)
{
    return nn_outer(g, fields(g, x), nn_linear(g, "l", fields(g, x), 2, true, ACT_NONE));
}
CASE(sum_fields)
{
    return nn_sum_fields(g, fields(g, x));
}
CASE(sum_within)
{
    return nn_sum_within(g, fields(g, x));
}
CASE(gate_fields)
{
    return nn_gate_fields(g, nn_slice(g, x, 2, 3), fields(g, x));
}
CASE(bias)
{
    return nn_bias(g, "b", fields(g, x));
}
CASE(pair_products)
{
    return nn_pair_products(g, nn_scale(g, fields(g, x), 2, 1), false, fields(g, x));
}
CASE(flat_pairs)
{
    return nn_pair_products_flat(g, fields(g, x), false, fields(g, x));
}
CASE(given_pairs)
{
    return nn_pair_products(g, nn_field_linear(g, "w", fields(g, x), true, 4, "b"), true,
                            fields(g, x));
}
CASE(aware_pairs)
{
    return nn_aware_pairs(g, nn_linear(g, "l", fields(g, x), 6, true, ACT_NONE), false);
}
CASE(aware_dots)
{
    return nn_aware_pairs(g, nn_linear(g, "l", fields(g, x), 6, true, ACT_NONE), true);
}
CASE(mix_fields)
{
    struct nn_init u = {INIT_UNIFORM, -1, 1};
    struct param *w = nn_param(g, "w", (const int64_t[]){3, 5}, 2, u, true);
    return nn_mix_fields(g, w, fields(g, x));
}
static struct nn_val *maps(struct graph *g, struct nn_val *x)
{
    return nn_reshape(g, x, (const int64_t[]){2, 3, 2}, 3);
}

CASE(field_conv)
{
    return nn_field_conv(g, "c", maps(g, x), 5, 3, true);
}
CASE(field_conv_even)
{
    return nn_field_conv(g, "c", nn_reshape(g, x, (const int64_t[]){3, 4, 1}, 3), 2, 6,
                         false);
}
CASE(field_max)
{
    return nn_field_max(g, maps(g, x), 2);
}
CASE(field_linear)
{
    return nn_field_linear(g, "w", fields(g, x), false, 5, NULL);
}
CASE(field_linear_sequence)
{
    struct nn_val *y = nn_reshape(g, seq, (const int64_t[]){2, 2}, 2);
    return nn_seq_sum(g, NULL,
                      nn_sum_within(g, nn_field_linear(g, "w", y, false, 3, NULL)));
}
CASE(field_attention)
{
    struct nn_val *y = nn_linear(g, "l", fields(g, x), 6, true, ACT_NONE);
    return nn_field_attention(g, y, nn_scale(g, y, -0.5f, 1), y, 2, 0.4f);
}
CASE(cross)
{
    return nn_cross(g, "w", "b", x, nn_scale(g, x, 0.5f, 0.1f));
}
CASE(expand)
{
    struct nn_val *wide = nn_expand(g, nn_slice(g, x, 0, 4), axis);
    return nn_seq_sum(g, NULL, nn_mul(g, wide, seq));
}
CASE(seq_softmax)
{
    return nn_seq_sum(g, nn_seq_softmax(g, weight(g, seq)), seq);
}
CASE(seq_mean)
{
    return nn_seq_mean(g, seq);
}
CASE(seq_max)
{
    return nn_seq_max(g, seq);
}
CASE(seq_around)
{
    return nn_seq_max(g, nn_seq_around(g, seq, -1, 4));
}
CASE(seq_attention)
{
    return nn_seq_sum(g, NULL, nn_seq_attention(g, seq, seq, seq, 2, 0.1));
}
CASE(seq_gru)
{
    return nn_seq_last(g, nn_seq_gru(g, "g", 0, seq, 5));
}
CASE(seq_gru_states)
{
    return nn_seq_mean(g, nn_seq_gru(g, "g", 1, nn_seq_gru(g, "g", 0, seq, 3), 7));
}
CASE(seq_weighted_gru)
{
    struct nn_val *a = nn_seq_softmax(g, weight(g, seq));
    return nn_seq_last(g, nn_seq_weighted_gru(g, "g", 0, seq, a, 5));
}
CASE(seq_weighted_gru_states)
{
    struct nn_val *a = nn_act(g, weight(g, seq), ACT_SIGMOID, 0);
    struct nn_val *h = nn_seq_weighted_gru(g, "g", 0, seq, a, 3);
    return nn_seq_sum(g, NULL, nn_seq_weighted_gru(g, "g", 1, h, a, 7));
}
CASE(gru_cell)
{
    struct nn_val *h = nn_slice(g, x, 0, 4);
    return nn_gru_cell(g, x, nn_linear(g, "b", h, 12, true, ACT_NONE), h);
}
CASE(seq_last)
{
    return nn_seq_last(g, seq);
}
CASE(seq_prepend)
{
    struct nn_val *y = nn_seq_prepend(g, nn_linear(g, "p", x, 4, true, ACT_NONE), seq);
    return nn_seq_sum(g, NULL, nn_seq_attention(g, y, y, y, 2, 0.0));
}
static const struct nn_capsule_conf routing = {
    .capsules = 4, .iterations = 3, .scale = 2, .zeros = true};
static const struct nn_capsule_conf all_capsules = {
    .capsules = 3, .iterations = 2, .scale = 1, .zeros = true, .constant = true};
CASE(capsules)
{
    return nn_seq_mix(g, nn_capsule_routing(g, seq, &routing), seq);
}
CASE(capsules_constant)
{
    return nn_seq_mix(g, nn_capsule_routing(g, seq, &all_capsules), seq);
}
static const struct nn_capsule_conf few_positions = {
    .capsules = 4, .iterations = 3, .most = 2, .scale = 2, .zeros = true};
CASE(capsules_cut)
{
    return nn_seq_mix(g, nn_capsule_routing(g, seq, &few_positions), seq);
}
CASE(capsule_mask)
{
    return nn_capsule_mask(g, seq, &routing);
}
CASE(squash)
{
    return nn_squash(g, fields(g, x), 0.7);
}
CASE(normalise_last)
{
    return nn_normalise_last(g, fields(g, x), 1e-12f);
}
CASE(masked_rows)
{
    struct nn_val *h = nn_seq_mix(g, nn_capsule_routing(g, seq, &routing), seq);
    return nn_masked_rows(g, nn_capsule_mask(g, seq, &routing), h, x);
}
CASE(session_graph)
{
    struct nn_val *number =
        nn_act(g, nn_scale(g, nn_slice(g, seq, 0, 1), 1e9f, 0), ACT_RELU6, 0);
    struct nn_val *even = nn_linear(g, "e", seq, 6, true, ACT_NONE);
    return nn_seq_mean(g, nn_session_graph(g, even, number));
}
CASE(seq_windows)
{
    return nn_seq_windows(g, weight(g, seq), seq, (const uint32_t[]){1, 3, 5}, 3);
}

CASE(times)
{
    struct param *w = nn_param(g, "w", (const int64_t[]){12, 5}, 2,
                               (struct nn_init){INIT_NORMAL, 0, 1}, true);
    return nn_times(g, w, x);
}
CASE(times_bias)
{
    struct nn_init u = {INIT_NORMAL, 0, 1};
    struct param *w = nn_param(g, "w", (const int64_t[]){12, 5}, 2, u, true);
    return nn_times_bias(g, w, nn_param(g, "b", (const int64_t[]){5}, 1, u, true), x);
}
CASE(field_times)
{
    struct nn_init u = {INIT_NORMAL, 0, 1};
    struct param *w = nn_param(g, "w", (const int64_t[]){3, 4, 2}, 3, u, true);
    struct param *b = nn_param(g, "b", (const int64_t[]){3, 1, 2}, 3, u, true);
    return nn_field_times(g, w, b, x);
}
CASE(seq_times)
{
    struct nn_val *bias = nn_slice(g, x, 0, 3);
    return nn_seq_sum(g, NULL, nn_seq_times(g, seq, x, bias));
}
CASE(number_embed)
{
    return nn_number_embed(g, "f", nn_slice(g, x, 0, 1), 6);
}
CASE(numbers_embed)
{
    return nn_number_embed(g, "f", x, 6);
}
CASE(autodis)
{
    return nn_autodis(g, "f", nn_slice(g, x, 0, 1), 5, 6, 0.3f, 0.7f);
}
CASE(pair_linear)
{
    return nn_seq_mean(
        g, nn_pair_linear(g, "l", nn_slice(g, x, 0, 4), seq, true, 5, true, ACT_RELU));
}
CASE(pair_linear_products)
{
    return nn_seq_mean(
        g, nn_pair_linear(g, "l", nn_slice(g, x, 0, 4), seq, false, 5, false, ACT_NONE));
}
CASE(pair_net)
{
    static const struct nn_pair_layer layers[] = {{"a", 6, true, ACT_RELU},
                                                  {"b", 3, true, ACT_SIGMOID}};
    return nn_seq_mean(g, nn_pair_net(g, nn_slice(g, x, 0, 4), seq, true, layers));
}

static struct param *codebook(struct graph *g)
{
    return nn_param(g, "book", (const int64_t[]){5, 12}, 2,
                    (struct nn_init){INIT_UNIFORM, -1, 1}, true);
}

static struct nn_val *with_codes(struct graph *g, struct nn_val *x, bool cosine)
{
    struct param *book = codebook(g), *started;
    struct nn_val *code = NULL, *far = NULL;
    started = nn_param(g, "started", (const int64_t[]){1}, 1,
                       (struct nn_init){INIT_ONES, 0, 0}, false);
    struct nn_val *e = nn_nearest_code(g, book, started, NULL, x,
                                       &(struct nn_code_conf){.cosine = cosine}, &code);
    struct nn_val *two = nn_concat(g, (struct nn_val *[]){code, code}, 2);
    struct nn_val *all = nn_code_candidates(g, book, x, two, cosine, 3, &far);
    far = nn_scale(g, far, 0.1f, 0); /* large numbers would be compared as small ones */
    return nn_concat(g, (struct nn_val *[]){nn_through(g, x, e, false), code, all, far},
                     4);
}

CASE(codes)
{
    return with_codes(g, x, false);
}
CASE(codes_cosine)
{
    return with_codes(g, x, true);
}

#define ACT_CASE(name, act, param)       \
    CASE(name)                           \
    {                                    \
        return nn_act(g, x, act, param); \
    }
ACT_CASE(relu, ACT_RELU, 0)
ACT_CASE(leaky_relu, ACT_LEAKY_RELU, 0.1f)
ACT_CASE(elu, ACT_ELU, 0.7f)
ACT_CASE(selu, ACT_SELU, 0)
ACT_CASE(gelu, ACT_GELU, 0)
ACT_CASE(gelu_tanh, ACT_GELU_TANH, 0)
ACT_CASE(silu, ACT_SILU, 0)
ACT_CASE(sigmoid, ACT_SIGMOID, 0)
ACT_CASE(tanh, ACT_TANH, 0)
ACT_CASE(softplus, ACT_SOFTPLUS, 0)
ACT_CASE(mish, ACT_MISH, 0)
ACT_CASE(hardswish, ACT_HARDSWISH, 0)
ACT_CASE(softsign, ACT_SOFTSIGN, 0)
ACT_CASE(relu6, ACT_RELU6, 0)

#define ENTRY(name)         \
    {                       \
#name, build_##name \
    }
static const struct onnx_case onnx_cases[] = {
    ENTRY(linear),
    ENTRY(linear_no_bias),
    ENTRY(linear_relu),
    ENTRY(linear_sigmoid),
    ENTRY(linear_tanh),
    ENTRY(linear_fields),
    ENTRY(linear_sequence),
    ENTRY(linear_front),
    ENTRY(linear_rows),
    ENTRY(batch_norm),
    ENTRY(batch_norm_plain),
    ENTRY(batch_norm_padded),
    ENTRY(layer_norm),
    ENTRY(layer_norm_by),
    ENTRY(dropout),
    ENTRY(feature_dropout),
    ENTRY(prelu),
    ENTRY(dice),
    ENTRY(dice_padded),
    ENTRY(softmax),
    ENTRY(both_logit),
    ENTRY(pick),
    ENTRY(rotate),
    ENTRY(l2_normalise),
    ENTRY(arithmetic),
    ENTRY(add_relu),
    ENTRY(arithmetic_shapes),
    ENTRY(concat),
    ENTRY(slice_pad),
    ENTRY(pad_sequence),
    ENTRY(stop_gradient),
    ENTRY(row_sum),
    ENTRY(fm),
    ENTRY(pair_dots),
    ENTRY(mix),
    ENTRY(transpose),
    ENTRY(product),
    ENTRY(outer),
    ENTRY(sum_fields),
    ENTRY(sum_within),
    ENTRY(gate_fields),
    ENTRY(bias),
    ENTRY(pair_products),
    ENTRY(flat_pairs),
    ENTRY(given_pairs),
    ENTRY(aware_pairs),
    ENTRY(aware_dots),
    ENTRY(mix_fields),
    ENTRY(field_conv),
    ENTRY(field_conv_even),
    ENTRY(field_max),
    ENTRY(field_linear),
    ENTRY(field_linear_sequence),
    ENTRY(field_attention),
    ENTRY(cross),
    ENTRY(expand),
    ENTRY(seq_softmax),
    ENTRY(seq_mean),
    ENTRY(seq_max),
    ENTRY(seq_around),
    ENTRY(seq_attention),
    ENTRY(seq_gru),
    ENTRY(seq_gru_states),
    ENTRY(seq_weighted_gru),
    ENTRY(seq_weighted_gru_states),
    ENTRY(gru_cell),
    ENTRY(seq_last),
    ENTRY(seq_prepend),
    ENTRY(capsules),
    ENTRY(capsules_constant),
    ENTRY(capsules_cut),
    ENTRY(capsule_mask),
    ENTRY(codes),
    ENTRY(codes_cosine),
    ENTRY(squash),
    ENTRY(normalise_last),
    ENTRY(masked_rows),
    ENTRY(session_graph),
    ENTRY(seq_windows),
    ENTRY(times),
    ENTRY(times_bias),
    ENTRY(field_times),
    ENTRY(seq_times),
    ENTRY(number_embed),
    ENTRY(numbers_embed),
    ENTRY(autodis),
    ENTRY(pair_linear),
    ENTRY(pair_linear_products),
    ENTRY(pair_net),
    ENTRY(relu),
    ENTRY(leaky_relu),
    ENTRY(elu),
    ENTRY(selu),
    ENTRY(gelu),
    ENTRY(gelu_tanh),
    ENTRY(silu),
    ENTRY(sigmoid),
    ENTRY(tanh),
    ENTRY(softplus),
    ENTRY(mish),
    ENTRY(hardswish),
    ENTRY(softsign),
    ENTRY(relu6),
};

/* What the case makes of an input of 12 numbers and a sequence of 4, behind an output. */
static inline struct graph *onnx_case_graph(const struct onnx_case *c, const char *output,
                                            struct nn_val **x, struct nn_val **seq)
{
    struct graph *g = graph_create(&(struct graph_options){.fixed = true, .seed = 1});
    int axis = graph_axis(g, "clicks");
    *x = nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {12}}, false);
    *seq = nn_input(g, "seq", &(struct nn_shape){axis, 1, {4}}, false);
    nn_output(g, output, c->build(g, *x, *seq, axis));
    return g;
}

#endif
