/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/kernel/kernels.h - the kernels, for callers in C. Each call is queued on `stream` and
 * returns at once; what fails is seen by the next synchronisation. Pointers are the device's.
 *
 * Sums have one order, so that two runs give the same bytes: no kernel adds floats with
 * atomic operations.
 */
#ifndef CUDA_KERNEL_KERNELS_H
#define CUDA_KERNEL_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
typedef struct CUstream_st *cuda_stream;

/* Rows of floats with a stride, as struct view. */
struct cuda_rows {
    float *at;
    int64_t rows, width, ld;
};

/* The same of bf16, as its bits. */
struct cuda_rows16 {
    uint16_t *at;
    int64_t rows, width, ld;
};

/* --- map.cu: element by element --- */

enum cuda_act_kind {
    CUDA_ACT_NONE,
    CUDA_ACT_RELU,
    CUDA_ACT_LEAKY,
    CUDA_ACT_ELU,
    CUDA_ACT_SELU,
    CUDA_ACT_GELU,
    CUDA_ACT_GELU_TANH,
    CUDA_ACT_SILU,
    CUDA_ACT_SIGMOID,
    CUDA_ACT_TANH,
    CUDA_ACT_SOFTPLUS,
    CUDA_ACT_MISH,
    CUDA_ACT_HARDSWISH,
    CUDA_ACT_RELU6,
};
/* y = act(x) */
void cuda_act(cuda_stream s, enum cuda_act_kind act, float param, struct cuda_rows x,
              struct cuda_rows y);
/* dx (+)= dy * act'(x) */
void cuda_act_back(cuda_stream s, enum cuda_act_kind act, float param, struct cuda_rows x,
                   struct cuda_rows dy, struct cuda_rows dx, bool add);
/* y = act(y + bias); bias may be NULL */
void cuda_bias_act(cuda_stream s, const float *bias, enum cuda_act_kind act,
                   struct cuda_rows y);
/* dy *= act'(x), where act' follows from y = act(x): relu, sigmoid, tanh */
void cuda_act_from_out(cuda_stream s, enum cuda_act_kind act, struct cuda_rows y,
                       struct cuda_rows dy);

enum cuda_binary_kind { CUDA_ADD, CUDA_SUB, CUDA_MUL, CUDA_ADD_RELU };
/* y = a op b; a product is also multiplied with `by` */
void cuda_binary(cuda_stream s, enum cuda_binary_kind op, float by, struct cuda_rows a,
                 struct cuda_rows b, struct cuda_rows y);
/* dx (+)= dy * by * other; `other` may have no .at: by alone */
void cuda_product_back(cuda_stream s, float by, struct cuda_rows other,
                       struct cuda_rows dy, struct cuda_rows dx, bool add);
/* y (+)= x * by + plus */
void cuda_scale(cuda_stream s, float by, float plus, struct cuda_rows x,
                struct cuda_rows y, bool add);
/* y = (y + x * by) * scale */
void cuda_mixed(cuda_stream s, float by, float scale, struct cuda_rows x,
                struct cuda_rows y);
/* dy *= the slope of a leaky rectifier, which follows from its result y */
void cuda_leaky_from_out(cuda_stream s, float slope, struct cuda_rows y,
                         struct cuda_rows dy);
/* y (+)= x */
void cuda_put(cuda_stream s, struct cuda_rows x, struct cuda_rows y, bool add);
void cuda_fill(cuda_stream s, struct cuda_rows y, float value);
/* y = x, and 0 in columns that x has not */
void cuda_pad(cuda_stream s, struct cuda_rows x, struct cuda_rows y);
/* y (+)= x * mask, drawn from (key, row) as base/rng.h does */
void cuda_dropout(cuda_stream s, const uint32_t key[2], uint32_t below, float scale,
                  struct cuda_rows x, struct cuda_rows y, bool add);

/* --- sum.cu: over rows, in one order (sums.cuh) --- */

/* Floats of scratch that cuda_column_sums() wants for so many columns. */
int64_t cuda_column_scratch(int64_t columns);
/* out[width] += sum of the rows of x, or of x * y where y has .at */
void cuda_column_sums(cuda_stream s, struct cuda_rows x, struct cuda_rows y,
                      float *scratch, float *out);
/* *out = sum of all elements, or of their squares, or their largest magnitude */
enum cuda_total_kind { CUDA_SUM, CUDA_SUM_SQUARES, CUDA_SUM_MAGNITUDES, CUDA_LARGEST };
#define CUDA_TOTAL_PARTS 256
void cuda_total(cuda_stream s, enum cuda_total_kind what, struct cuda_rows x,
                double *parts, double *out);

/* --- half.cu: rows of bf16; what goes back through an activation --- */

/* y = x, and 0 in columns that x has not */
void cuda_to_bf16(cuda_stream s, struct cuda_rows x, struct cuda_rows16 y);
/* Floats of scratch for so many columns. */
int64_t cuda_back_scratch(int64_t columns);
/* to = dy * act'(x), where act' follows from y = act(x), and sums[width] += the sums of its
 * columns, where `sums` is not NULL; in one pass. `to` may be dy.
 */
void cuda_act_back_sums(cuda_stream s, enum cuda_act_kind act, struct cuda_rows y,
                        struct cuda_rows dy, struct cuda_rows to, float *scratch,
                        float *sums);
void cuda_act_back_sums_to16(cuda_stream s, enum cuda_act_kind act, struct cuda_rows y,
                             struct cuda_rows dy, struct cuda_rows16 to, float *scratch,
                             float *sums);
void cuda_act_back_sums16(cuda_stream s, enum cuda_act_kind act, struct cuda_rows16 y,
                          struct cuda_rows16 dy, struct cuda_rows16 to, float *scratch,
                          float *sums);

/* --- rows.cu: each row by itself --- */

void cuda_row_sum(cuda_stream s, struct cuda_rows x, struct cuda_rows y);
void cuda_row_spread(cuda_stream s, struct cuda_rows dy, struct cuda_rows dx, bool add);
/* n fields of d floats; sum: [rows, d] is kept */
void cuda_fm(cuda_stream s, int64_t n, int64_t d, struct cuda_rows x,
             struct cuda_rows sum, struct cuda_rows y);
void cuda_fm_back(cuda_stream s, int64_t n, int64_t d, struct cuda_rows x,
                  struct cuda_rows sum, struct cuda_rows dy, struct cuda_rows dx,
                  bool add);
void cuda_pair_dots(cuda_stream s, int64_t n, int64_t d, struct cuda_rows x,
                    struct cuda_rows y);
void cuda_pair_dots_back(cuda_stream s, int64_t n, int64_t d, struct cuda_rows x,
                         struct cuda_rows dy, struct cuda_rows dx, bool add);
/* dots.cu: the same by tensor cores, with TF32 factors; false, and nothing is queued, where the
 * shape or the alignment does not suit them.
 */
bool cuda_pair_dots_tensor(cuda_stream s, int64_t n, int64_t d, struct cuda_rows x,
                           struct cuda_rows y);
bool cuda_pair_dots_tensor_back(cuda_stream s, int64_t n, int64_t d, struct cuda_rows x,
                                struct cuda_rows dy, struct cuda_rows dx, bool add);
/* y[d] = sum over n of gate[i] * x[i][d] */
void cuda_mix(cuda_stream s, int64_t n, int64_t d, struct cuda_rows gate,
              struct cuda_rows x, struct cuda_rows y);
void cuda_mix_back_gate(cuda_stream s, int64_t n, int64_t d, struct cuda_rows x,
                        struct cuda_rows dy, struct cuda_rows d_gate, bool add);
void cuda_mix_back_x(cuda_stream s, int64_t n, int64_t d, struct cuda_rows gate,
                     struct cuda_rows dy, struct cuda_rows dx, bool add);
/* over each n values of a row */
void cuda_softmax(cuda_stream s, int64_t n, struct cuda_rows x, struct cuda_rows y);
void cuda_softmax_back(cuda_stream s, int64_t n, struct cuda_rows y, struct cuda_rows dy,
                       struct cuda_rows dx, bool add);
/* out[row] = a . b; b of ld 0 is one row for all */
void cuda_row_dots(cuda_stream s, struct cuda_rows a, struct cuda_rows b,
                   struct cuda_rows out);
/* y = x0 * dot + bias + x; dx0 (+)= dy * dot; dx (+)= dy + d_dot * w */
void cuda_cross(cuda_stream s, struct cuda_rows x0, struct cuda_rows x,
                struct cuda_rows dot, const float *bias, struct cuda_rows y);
void cuda_cross_back_first(cuda_stream s, struct cuda_rows dy, struct cuda_rows dot,
                           struct cuda_rows dx, bool add);
void cuda_cross_back(cuda_stream s, struct cuda_rows dy, struct cuda_rows d_dot,
                     const float *w, struct cuda_rows dx, bool add);

/* --- norm.cu: over rows of [t, n] as t samples of n channels --- */

struct cuda_batch_norm {
    int64_t n;
    double eps;
    const float *weight, *bias; /* NULL: neither */
    float *running_mean, *running_var, *batches;
    float *mean, *inv;        /* [n]: of this batch, or running; kept for the way back */
    float *d_mean, *d_dot;    /* [n] */
    float *d_weight, *d_bias; /* NULL: not wanted */
};
/* scratch: cuda_column_scratch(n) */
void cuda_batch_norm_forward(cuda_stream s, struct cuda_batch_norm b, bool training,
                             struct cuda_rows x, float *scratch, struct cuda_rows y);
/* dx may have no .at: the parameters' gradients alone */
void cuda_batch_norm_back(cuda_stream s, struct cuda_batch_norm b, bool training,
                          struct cuda_rows x, struct cuda_rows dy, float *scratch,
                          struct cuda_rows dx, bool add);
/* keep: two floats per sample */
void cuda_layer_norm(cuda_stream s, int64_t n, double eps, const float *weight,
                     const float *bias, struct cuda_rows x, struct cuda_rows keep,
                     struct cuda_rows y);
void cuda_layer_norm_back(cuda_stream s, int64_t n, const float *weight,
                          struct cuda_rows x, struct cuda_rows keep, struct cuda_rows dy,
                          struct cuda_rows dx, bool add);
/* scratch: cuda_column_scratch(n) */
void cuda_layer_norm_grads(cuda_stream s, int64_t n, struct cuda_rows x,
                           struct cuda_rows keep, struct cuda_rows dy, float *scratch,
                           float *d_weight, float *d_bias);
/* keep: a float per row */
void cuda_l2_normalise(cuda_stream s, float eps, struct cuda_rows x,
                       struct cuda_rows keep, struct cuda_rows y);
void cuda_l2_normalise_back(cuda_stream s, float eps, struct cuda_rows y,
                            struct cuda_rows keep, struct cuda_rows dy,
                            struct cuda_rows dx, bool add);

/* --- fields.cu: a row as n fields of d floats, or as small matrices --- */

/* y[d] = sum over the fields; otherwise y[n] = sum within each */
void cuda_field_sum(cuda_stream s, int64_t n, int64_t d, bool over_fields,
                    struct cuda_rows x, struct cuda_rows y);
void cuda_field_sum_back(cuda_stream s, int64_t d, bool over_fields, struct cuda_rows dy,
                         struct cuda_rows dx, bool add);
/* y[i][c] (+)= gate[i] * x[i][c]; y[i] (+)= a[i] . b[i] */
void cuda_field_gate(cuda_stream s, int64_t d, struct cuda_rows gate, struct cuda_rows x,
                     struct cuda_rows y, bool add);
void cuda_field_dots(cuda_stream s, int64_t d, struct cuda_rows a, struct cuda_rows b,
                     struct cuda_rows y, bool add);
/* y [d][n] (+)= x [n][d] turned */
void cuda_turn(cuda_stream s, int64_t n, int64_t d, struct cuda_rows x,
               struct cuda_rows y, bool add);
/* A factor: block b of a row begins at b * block, its row (or column) i at i * step, and what is
 * summed over lies `inner` apart.
 */
struct cuda_factor {
    struct cuda_rows rows;
    int64_t block, step, inner;
    int64_t outer; /* of the second: columns of the result */
};
/* Block by block, y[i][j] (+)= sum over m < k of a[i][m] * b[m][j]. */
void cuda_row_product(cuda_stream s, struct cuda_factor a, struct cuda_factor b,
                      int64_t k, int64_t blocks, struct cuda_rows y, bool add);

/* y [out][d] (+)= w x, w[o][i] being at o * step + i * inner */
void cuda_field_mix(cuda_stream s, int64_t n, int64_t d, const float *w, int64_t step,
                    int64_t inner, struct cuda_rows x, struct cuda_rows y, bool add);
/* dw [n][out] += sum over rows of x dy^T; scratch: cuda_column_scratch(n * out) */
void cuda_field_mix_grad(cuda_stream s, int64_t d, int64_t out, struct cuda_rows x,
                         struct cuda_rows dy, float *scratch, float *dw, int64_t n);
/* Pairs i < j of n vectors of d floats, in order. What the left one is: field i, a vector for
 * each pair, or part j of field i (then the right one is part i of field j).
 */
enum cuda_pair_left { CUDA_LEFT_FIELD, CUDA_LEFT_PAIR, CUDA_LEFT_AWARE };
struct cuda_pairs {
    enum cuda_pair_left left;
    int64_t n, d;
    bool dots; /* one number for each pair, not d products */
};
void cuda_field_pairs(cuda_stream s, struct cuda_pairs p, struct cuda_rows left,
                      struct cuda_rows right, struct cuda_rows y);
void cuda_field_pairs_back_left(cuda_stream s, struct cuda_pairs p,
                                struct cuda_rows right, struct cuda_rows dy,
                                struct cuda_rows d_left, bool add);
void cuda_field_pairs_back_right(cuda_stream s, struct cuda_pairs p,
                                 struct cuda_rows left, struct cuda_rows dy,
                                 struct cuda_rows d_right, bool add);

/* A row as [places][n][maps]: the largest of each `height` fields next to each other. */
struct cuda_max_fields {
    int64_t n, maps, height;
};
void cuda_field_max(cuda_stream s, struct cuda_max_fields f, struct cuda_rows x,
                    struct cuda_rows y);
void cuda_field_max_back(cuda_stream s, struct cuda_max_fields f, struct cuda_rows x,
                         struct cuda_rows y, struct cuda_rows dy, struct cuda_rows dx,
                         bool add);

/* --- heads.cu: heads, activations with learnt slopes --- */

/* y (+)= by, times the slope where x is not above 0 */
void cuda_prelu(cuda_stream s, const float *slope, struct cuda_rows x,
                struct cuda_rows by, struct cuda_rows y, bool add);
/* scratch: cuda_column_scratch(width), sums: width */
void cuda_prelu_grad(cuda_stream s, struct cuda_rows x, struct cuda_rows dy,
                     float *scratch, float *sums, float *d_slope);
/* y (+)= by * (alpha + (1 - alpha) * sigmoid(z)), alpha of n channels */
void cuda_dice(cuda_stream s, int64_t n, const float *alpha, struct cuda_rows z,
               struct cuda_rows by, struct cuda_rows y, bool add);
void cuda_dice_back_norm(cuda_stream s, int64_t n, const float *alpha, struct cuda_rows x,
                         struct cuda_rows z, struct cuda_rows dy, struct cuda_rows dz,
                         bool add);
void cuda_dice_grad(cuda_stream s, int64_t n, struct cuda_rows x, struct cuda_rows z,
                    struct cuda_rows dy, float *scratch, float *d_alpha);
/* The logit of sigmoid(a) sigmoid(b) */
void cuda_both_logit(cuda_stream s, struct cuda_rows a, struct cuda_rows b,
                     struct cuda_rows y);
void cuda_both_logit_back(cuda_stream s, struct cuda_rows a, struct cuda_rows b,
                          struct cuda_rows dy, int which, struct cuda_rows dx, bool add);
/* y = x[at], the nearest that there is */
void cuda_pick(cuda_stream s, struct cuda_rows x, struct cuda_rows at,
               struct cuda_rows y);
void cuda_pick_back(cuda_stream s, struct cuda_rows at, struct cuda_rows dy,
                    struct cuda_rows dx, bool add);
/* *out = sum of x, or of x * y where y has .at, all of one column; scratch: that of a column */
void cuda_dot_total(cuda_stream s, struct cuda_rows x, struct cuda_rows y, float *scratch,
                    double *out);
/* y = x / sqrt(*sum) */
void cuda_root_share(cuda_stream s, const double *sum, struct cuda_rows x,
                     struct cuda_rows y);
void cuda_root_share_back(cuda_stream s, const double *sum, const double *slopes,
                          struct cuda_rows dy, struct cuda_rows dx, bool add);

/* --- match.cu: users against items, see nn/cpu/match.c --- */

/* How a user's scores lie: the own item first, hard ones from hard_col on. */
struct cuda_match {
    int64_t width;
    const int64_t *hard; /* [users + 1], the card's, or NULL */
    int64_t first_hard, hard_col;
};
void cuda_match_own(cuda_stream s, struct cuda_match m, struct cuda_rows user,
                    struct cuda_rows item, float *scores);
/* Both add. */
void cuda_match_own_back_item(cuda_stream s, struct cuda_match m, const float *slopes,
                              struct cuda_rows user, struct cuda_rows d_item);
void cuda_match_own_back_user(cuda_stream s, struct cuda_match m, const float *slopes,
                              struct cuda_rows item, struct cuda_rows d_user);
struct cuda_match_loss {
    const int64_t *at; /* scores of user b: at[b] to at[b + 1] */
    bool diagonal;     /* the target of user b is score b, not the first */
    bool logistic;     /* each score by itself, not one among all */
    double weight;     /* of each user, where `weights` has no .at */
    struct cuda_rows weights;
};
/* keep: a float per user, or no .at with `logistic` */
void cuda_match_losses(cuda_stream s, struct cuda_match_loss l, struct cuda_rows x,
                       struct cuda_rows keep, struct cuda_rows y);
void cuda_match_losses_back(cuda_stream s, struct cuda_match_loss l, struct cuda_rows x,
                            struct cuda_rows keep, struct cuda_rows dy,
                            struct cuda_rows dx, bool add);

/* --- loss.cu --- */

enum cuda_loss_kind { CUDA_BCE, CUDA_FOCAL, CUDA_SQUARED, CUDA_CROSS_ENTROPY };
struct cuda_loss_conf {
    enum cuda_loss_kind kind;
    float smoothing, gamma, alpha;
    float weight; /* of each row, where `weights` has no .at */
};
/* y: the loss of a row, slopes: its derivatives by x, both times the weight */
void cuda_losses(cuda_stream s, struct cuda_loss_conf c, struct cuda_rows x,
                 struct cuda_rows label, struct cuda_rows weights,
                 struct cuda_rows slopes, struct cuda_rows y);
/* dx (+)= slopes * dy, dy being one per row */
void cuda_rows_times(cuda_stream s, struct cuda_rows slopes, struct cuda_rows dy,
                     struct cuda_rows dx, bool add);

/* --- sequence.cu: rows of sequences, those of batch row b being at[b] to at[b + 1] --- */

void cuda_expand(cuda_stream s, const int64_t *at, struct cuda_rows x,
                 struct cuda_rows y);
void cuda_expand_back(cuda_stream s, const int64_t *at, struct cuda_rows dy,
                      struct cuda_rows dx, bool add);
/* y = the last position, or 0 when there is none */
void cuda_seq_last(cuda_stream s, const int64_t *at, struct cuda_rows x,
                   struct cuda_rows y);
void cuda_seq_last_back(cuda_stream s, const int64_t *at, struct cuda_rows dy,
                        struct cuda_rows dx, bool add);
/* y: `first`, then the positions of x; those of y are to[b] to to[b + 1] */
void cuda_seq_prepend(cuda_stream s, const int64_t *at, const int64_t *to,
                      struct cuda_rows first, struct cuda_rows x, struct cuda_rows y);
void cuda_seq_prepend_back_first(cuda_stream s, const int64_t *to, struct cuda_rows dy,
                                 struct cuda_rows dx, bool add);
void cuda_seq_prepend_back(cuda_stream s, const int64_t *at, const int64_t *to,
                           struct cuda_rows dy, int64_t batch, struct cuda_rows dx,
                           bool add);
/* weights may have no .at: 1, or with `mean` 1 / length */
void cuda_seq_sum(cuda_stream s, const int64_t *at, bool mean, struct cuda_rows x,
                  struct cuda_rows weights, struct cuda_rows y);
void cuda_seq_sum_back(cuda_stream s, const int64_t *at, bool mean,
                       struct cuda_rows weights, struct cuda_rows dy, struct cuda_rows dx,
                       bool add);
void cuda_seq_sum_back_weights(cuda_stream s, const int64_t *at, struct cuda_rows x,
                               struct cuda_rows dy, struct cuda_rows dw, bool add);
/* Pairs of a query per batch row and the keys of its positions. Positions are counted from
 * `first` on: that of batch row b of `query` are at[b] - first to at[b + 1] - first.
 */
/* out = [key, query * key] */
void cuda_pair_operand(cuda_stream s, const int64_t *at, int64_t first,
                       struct cuda_rows query, struct cuda_rows key,
                       struct cuda_rows out);
/* y = act(y + start of the batch row) */
void cuda_pair_act(cuda_stream s, const int64_t *at, int64_t first,
                   struct cuda_rows start, enum cuda_act_kind act, struct cuda_rows y);
/* dx (+)= sum of dy over the positions */
void cuda_pair_sum(cuda_stream s, const int64_t *at, int64_t first, struct cuda_rows dy,
                   struct cuda_rows dx, bool add);
/* Of cuda_pair_operand(): dx (+)= d[0] + query * d[1]; dx (+)= sum of key * d[1] */
void cuda_pair_back_key(cuda_stream s, const int64_t *at, int64_t first,
                        struct cuda_rows query, struct cuda_rows d, struct cuda_rows dx,
                        bool add);
void cuda_pair_back_query(cuda_stream s, const int64_t *at, int64_t first,
                          struct cuda_rows key, struct cuda_rows d, struct cuda_rows dx,
                          bool add);
/* pairs.cu: the same of bf16, for all positions; widths are multiples of 4, of 8 for y and dy.
 * d_start, d_key and d_query may have no .at.
 */
void cuda_pair_operand16(cuda_stream s, const int64_t *at, struct cuda_rows query,
                         struct cuda_rows key, struct cuda_rows16 out);
void cuda_pair_act16(cuda_stream s, const int64_t *at, struct cuda_rows start,
                     enum cuda_act_kind act, struct cuda_rows16 y);
/* dy *= act'(x), which follows from y = act(x); d_start (+)= sum of it over the positions */
void cuda_pair_back16(cuda_stream s, const int64_t *at, int64_t batch,
                      enum cuda_act_kind act, struct cuda_rows16 y, struct cuda_rows16 dy,
                      struct cuda_rows d_start, bool add);
/* d_key (+)= d[0] + query * d[1]; d_query (+)= sum of key * d[1] */
void cuda_pair_split16(cuda_stream s, const int64_t *at, struct cuda_rows query,
                       struct cuda_rows key, struct cuda_rows16 d, struct cuda_rows d_key,
                       bool add_key, struct cuda_rows d_query, bool add_query);
/* over the positions of each row; `but_last` leaves the last out, as 0 */
void cuda_seq_softmax(cuda_stream s, const int64_t *at, int64_t batch, bool but_last,
                      struct cuda_rows x, struct cuda_rows y);
void cuda_seq_softmax_back(cuda_stream s, const int64_t *at, int64_t batch,
                           struct cuda_rows y, struct cuda_rows dy, struct cuda_rows dx,
                           bool add);

/* --- attention.cu: positions of a row to each other --- */

#define CUDA_HEAD_MAX 256 /* columns of a head */
struct cuda_attention {
    const int64_t *at; /* positions of batch row b: at[b] to at[b + 1] */
    int64_t fields;    /* of each batch row instead; 0: positions */
    int64_t heads, width;
    float scale;
    bool drops;
    uint32_t key[2], below; /* of the words that drop weights, as base/rng.h */
    float kept;
};
/* All have a row per position. keep: the logarithm of the sum of weights, by head. */
void cuda_attention_forward(cuda_stream s, struct cuda_attention a, int64_t batch,
                            struct cuda_rows query, struct cuda_rows key,
                            struct cuda_rows value, struct cuda_rows keep,
                            struct cuda_rows y);
struct cuda_attention_back {
    struct cuda_rows query, key, value, keep, y, dy;
};
void cuda_attention_back_query(cuda_stream s, struct cuda_attention a, int64_t batch,
                               struct cuda_attention_back b, struct cuda_rows d_query,
                               bool add);
/* d_key or d_value may have no .at */
void cuda_attention_back_keys(cuda_stream s, struct cuda_attention a, int64_t batch,
                              struct cuda_attention_back b, struct cuda_rows d_key,
                              bool add_key, struct cuda_rows d_value, bool add_value);

/* --- gru.cu --- */

/* One step of each row; keep [5 * width]. */
void cuda_gru_cell(cuda_stream s, struct cuda_rows a, struct cuda_rows b,
                   struct cuda_rows h, struct cuda_rows keep, struct cuda_rows y);
/* Gradients that have no .at are not wanted. */
void cuda_gru_cell_back(cuda_stream s, struct cuda_rows keep, struct cuda_rows dy,
                        struct cuda_rows da, bool add_a, struct cuda_rows db, bool add_b,
                        struct cuda_rows dh, bool add_h);
struct cuda_gru {
    const int64_t *at; /* positions of batch row b: at[b] to at[b + 1] */
    int64_t width;
    const float *w, *bias;    /* [3 * width][width], [3 * width] */
    struct cuda_rows weights; /* of positions; no .at: 1 */
};
/* keep [8 * width]: the last three are the slopes of what comes from the state */
void cuda_gru_forward(cuda_stream s, struct cuda_gru g, int64_t batch, struct cuda_rows a,
                      struct cuda_rows keep, struct cuda_rows y);
struct cuda_gru_back {
    struct cuda_rows keep, dy;
    struct cuda_rows da; /* no .at: not wanted */
    bool add_a;
    struct cuda_rows d_weights; /* no .at: not wanted */
    bool add_weights;
};
void cuda_gru_backward(cuda_stream s, struct cuda_gru g, int64_t batch,
                       struct cuda_gru_back d);

/* --- capsule.cu --- */

/* y [n][d] = sum over positions of weights[n] * x[d] */
void cuda_seq_mix(cuda_stream s, const int64_t *at, int64_t n, int64_t d,
                  struct cuda_rows weights, struct cuda_rows x, struct cuda_rows y);
void cuda_seq_mix_back_x(cuda_stream s, const int64_t *at, int64_t n,
                         struct cuda_rows weights, struct cuda_rows dy,
                         struct cuda_rows dx, bool add);
void cuda_seq_mix_back_weights(cuda_stream s, const int64_t *at, int64_t n,
                               struct cuda_rows x, struct cuda_rows dy,
                               struct cuda_rows dw, bool add);
/* Each d values of a row as a vector. */
void cuda_squash(cuda_stream s, int64_t d, double power, double least, struct cuda_rows x,
                 struct cuda_rows y);
void cuda_squash_back(cuda_stream s, int64_t d, double power, double least,
                      struct cuda_rows x, struct cuda_rows dy, struct cuda_rows dx,
                      bool add);
/* 1 for the capsules that a row of its length has; `constant`: for all */
void cuda_capsule_mask(cuda_stream s, const int64_t *at, bool constant,
                       struct cuda_rows y);
/* y [n][e + d] = mask[n] * [front [e], x [n][d]]; front may have no .at */
void cuda_masked_rows(cuda_stream s, int64_t n, struct cuda_rows mask, struct cuda_rows x,
                      struct cuda_rows front, struct cuda_rows y);
void cuda_masked_rows_back(cuda_stream s, int64_t n, int64_t e, struct cuda_rows mask,
                           struct cuda_rows dy, struct cuda_rows dx, bool add);
void cuda_masked_rows_back_front(cuda_stream s, int64_t n, int64_t d,
                                 struct cuda_rows mask, struct cuda_rows dy,
                                 struct cuda_rows dx, bool add);
/* y = x [n][d] mixed by softmax(power * x . target); keep: the n shares */
void cuda_interest(cuda_stream s, float power, int64_t n, struct cuda_rows mask,
                   struct cuda_rows x, struct cuda_rows target, struct cuda_rows keep,
                   struct cuda_rows y);
void cuda_interest_back(cuda_stream s, float power, int64_t n, struct cuda_rows x,
                        struct cuda_rows target, struct cuda_rows keep,
                        struct cuda_rows dy, struct cuda_rows dx, bool add_x,
                        struct cuda_rows d_target, bool add_target);

/* --- next.cu --- */

void cuda_next_loss(cuda_stream s, const int64_t *at, double total,
                    struct cuda_rows state, struct cuda_rows next, struct cuda_rows other,
                    struct cuda_rows y);
struct cuda_next {
    const int64_t *at;
    float total;
    struct cuda_rows state, next, other, dy;
};
void cuda_next_loss_back_state(cuda_stream s, struct cuda_next d, struct cuda_rows dx,
                               bool add);
/* Of what came next, or of what did not. */
void cuda_next_loss_back(cuda_stream s, struct cuda_next d, bool came,
                         struct cuda_rows dx, bool add);
void cuda_tell_loss(cuda_stream s, double total, struct cuda_rows x,
                    struct cuda_rows happened, struct cuda_rows others,
                    struct cuda_rows weight, struct cuda_rows y);
struct cuda_tell {
    float total;
    struct cuda_rows x, happened, others, weight, dy;
};
/* Gradients that have no .at are not wanted. */
void cuda_tell_loss_back(cuda_stream s, struct cuda_tell t, struct cuda_rows dx,
                         bool add_x, struct cuda_rows dh, bool add_h,
                         struct cuda_rows d_others, bool add_others);
#define CUDA_WINDOWS_MAX 64
struct cuda_windows {
    const int64_t *at;
    int64_t n, start[CUDA_WINDOWS_MAX + 1]; /* the last is where all end */
};
/* y [n][width]: the mean of weights * x over the positions of each window */
void cuda_seq_windows(cuda_stream s, struct cuda_windows c, struct cuda_rows x,
                      struct cuda_rows weights, struct cuda_rows y);
/* dx or dw may have no .at */
void cuda_seq_windows_back(cuda_stream s, struct cuda_windows c, struct cuda_rows x,
                           struct cuda_rows weights, struct cuda_rows dy,
                           struct cuda_rows dx, bool add_x, struct cuda_rows dw,
                           bool add_w);

/* --- update.cu: dense optimizers --- */

enum cuda_rule_kind {
    CUDA_SGD,
    CUDA_SGD_MOMENTUM,
    CUDA_SGD_NESTEROV,
    CUDA_ADAGRAD,
    CUDA_ADAM,
    CUDA_ADAM_MAX,
    CUDA_ADADELTA,
    CUDA_RMSPROP,
};
struct cuda_update_args {
    enum cuda_rule_kind rule;
    float lr, mix1, take1, mix2, take2, root, keep, eps, weight_decay;
    float *w;
    const float *g;
    float *state[3];
    int64_t n;
};
#define CUDA_UPDATES_MAX 32
struct cuda_updates {
    struct cuda_update_args of[CUDA_UPDATES_MAX];
};
/* `n` parameters in one launch. */
void cuda_update(cuda_stream s, const struct cuda_updates *u, int n);
void cuda_clamp(cuda_stream s, float *g, int64_t n, float max);
void cuda_times(cuda_stream s, float *g, int64_t n, float by);
void cuda_average(cuda_stream s, float *avg, const float *w, int64_t n, float keep,
                  float take);
void cuda_exchange(cuda_stream s, float *a, float *b, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
