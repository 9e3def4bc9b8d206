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
/* y (+)= x */
void cuda_put(cuda_stream s, struct cuda_rows x, struct cuda_rows y, bool add);
void cuda_fill(cuda_stream s, struct cuda_rows y, float value);
/* y = x, and 0 in columns that x has not */
void cuda_pad(cuda_stream s, struct cuda_rows x, struct cuda_rows y);
/* y (+)= x * mask, drawn from (key, row) as base/rng.h does */
void cuda_dropout(cuda_stream s, const uint32_t key[2], uint32_t below, float scale,
                  struct cuda_rows x, struct cuda_rows y, bool add);

/* --- sum.cu: over rows, in one order --- */

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
void cuda_update(cuda_stream s, struct cuda_update_args u);
void cuda_clamp(cuda_stream s, float *g, int64_t n, float max);
void cuda_times(cuda_stream s, float *g, int64_t n, float by);
void cuda_average(cuda_stream s, float *avg, const float *w, int64_t n, float keep,
                  float take);
void cuda_exchange(cuda_stream s, float *a, float *b, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
