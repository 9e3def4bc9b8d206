/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of different lengths, one behind the other: no padding is stored or computed.
 * Where a batch row has all of its positions to add, a thread has one column of it and goes
 * through the positions in order.
 */
#include "launch.cuh"

/* fn(b, position, lane) for each position of each batch row, a warp per batch row. */
template <class Fn>
static void for_positions(cuda_stream s, const int64_t *at, int64_t batch, Fn fn)
{
    for_rows(s, batch, [=] __device__(int64_t b, int lane) {
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            fn(b, k, lane);
    });
}

void cuda_expand(cuda_stream s, const int64_t *at, cuda_rows x, cuda_rows y)
{
    for_positions(s, at, x.rows, [=] __device__(int64_t b, int64_t k, int lane) {
        for (int64_t c = lane; c < x.width; c += WARP)
            row_of(y, k)[c] = row_of(x, b)[c];
    });
}

void cuda_expand_back(cuda_stream s, const int64_t *at, cuda_rows dy, cuda_rows dx,
                      bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t b, int64_t c) {
        float sum = add ? row_of(dx, b)[c] : 0.0f;
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            sum += row_of(dy, k)[c];
        row_of(dx, b)[c] = sum;
    });
}

void cuda_seq_last(cuda_stream s, const int64_t *at, cuda_rows x, cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t b, int64_t c) {
        row_of(y, b)[c] = at[b + 1] > at[b] ? row_of(x, at[b + 1] - 1)[c] : 0.0f;
    });
}

void cuda_seq_last_back(cuda_stream s, const int64_t *at, cuda_rows dy, cuda_rows dx,
                        bool add)
{
    for_positions(s, at, dy.rows, [=] __device__(int64_t b, int64_t k, int lane) {
        for (int64_t c = lane; c < dx.width; c += WARP)
            put(row_of(dx, k) + c, k == at[b + 1] - 1 ? row_of(dy, b)[c] : 0.0f, add);
    });
}

void cuda_seq_prepend(cuda_stream s, const int64_t *at, const int64_t *to, cuda_rows first,
                      cuda_rows x, cuda_rows y)
{
    for_positions(s, to, first.rows, [=] __device__(int64_t b, int64_t k, int lane) {
        const float *from = k == to[b] ? row_of(first, b) : row_of(x, at[b] + k - to[b] - 1);
        for (int64_t c = lane; c < y.width; c += WARP)
            row_of(y, k)[c] = from[c];
    });
}

void cuda_seq_prepend_back_first(cuda_stream s, const int64_t *to, cuda_rows dy,
                                 cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t b, int64_t c) {
        put(row_of(dx, b) + c, row_of(dy, to[b])[c], add);
    });
}

void cuda_seq_prepend_back(cuda_stream s, const int64_t *at, const int64_t *to, cuda_rows dy,
                           int64_t batch, cuda_rows dx, bool add)
{
    for_positions(s, at, batch, [=] __device__(int64_t b, int64_t k, int lane) {
        for (int64_t c = lane; c < dx.width; c += WARP)
            put(row_of(dx, k) + c, row_of(dy, to[b] + 1 + k - at[b])[c], add);
    });
}

static __device__ float weight_at(const cuda_rows &weights, int64_t k, bool mean,
                                  int64_t n)
{
    return weights.at ? *row_of(weights, k) : mean && n > 0 ? 1.0f / (float)n : 1.0f;
}

void cuda_seq_sum(cuda_stream s, const int64_t *at, bool mean, cuda_rows x,
                  cuda_rows weights, cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t b, int64_t c) {
        float sum = 0;
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            sum += weight_at(weights, k, mean, at[b + 1] - at[b]) * row_of(x, k)[c];
        row_of(y, b)[c] = sum;
    });
}

void cuda_seq_sum_back(cuda_stream s, const int64_t *at, bool mean, cuda_rows weights,
                       cuda_rows dy, cuda_rows dx, bool add)
{
    for_positions(s, at, dy.rows, [=] __device__(int64_t b, int64_t k, int lane) {
        float by = weight_at(weights, k, mean, at[b + 1] - at[b]);
        for (int64_t c = lane; c < dx.width; c += WARP)
            put(row_of(dx, k) + c, by * row_of(dy, b)[c], add);
    });
}

void cuda_seq_sum_back_weights(cuda_stream s, const int64_t *at, cuda_rows x,
                               cuda_rows dy, cuda_rows dw, bool add)
{
    for_positions(s, at, dy.rows, [=] __device__(int64_t b, int64_t k, int lane) {
        float dot = 0;
        for (int64_t c = lane; c < x.width; c += WARP)
            dot += row_of(dy, b)[c] * row_of(x, k)[c];
        dot = warp_sum(dot);
        if (lane == 0)
            put(row_of(dw, k), dot, add);
    });
}

void cuda_seq_softmax(cuda_stream s, const int64_t *at, int64_t batch, bool but_last,
                      cuda_rows x, cuda_rows y)
{
    for_rows(s, batch, [=] __device__(int64_t b, int lane) {
        int64_t to = at[b + 1] - (but_last && at[b + 1] > at[b] ? 1 : 0);
        float max = -INFINITY;
        double sum = 0;
        for (int64_t k = at[b] + lane; k < to; k += WARP)
            max = fmaxf(max, *row_of(x, k));
        max = warp_max(max);
        for (int64_t k = at[b] + lane; k < to; k += WARP) {
            *row_of(y, k) = expf(*row_of(x, k) - max);
            sum += (double)*row_of(y, k);
        }
        float scale = (float)(1.0 / warp_sum(sum));
        for (int64_t k = at[b] + lane; k < to; k += WARP)
            *row_of(y, k) *= scale;
        if (lane == 0 && to < at[b + 1])
            *row_of(y, to) = 0.0f;
    });
}

void cuda_seq_softmax_back(cuda_stream s, const int64_t *at, int64_t batch, cuda_rows y,
                           cuda_rows dy, cuda_rows dx, bool add)
{
    for_rows(s, batch, [=] __device__(int64_t b, int lane) {
        double dot = 0;
        for (int64_t k = at[b] + lane; k < at[b + 1]; k += WARP)
            dot += (double)*row_of(y, k) * (double)*row_of(dy, k);
        float less = (float)warp_sum(dot);
        for (int64_t k = at[b] + lane; k < at[b + 1]; k += WARP)
            put(row_of(dx, k), *row_of(y, k) * (*row_of(dy, k) - less), add);
    });
}

void cuda_pair_operand(cuda_stream s, const int64_t *at, int64_t first, cuda_rows query,
                       cuda_rows key, cuda_rows out)
{
    for_positions(s, at, query.rows, [=] __device__(int64_t b, int64_t k, int lane) {
        for (int64_t c = lane; c < key.width; c += WARP) {
            float v = row_of(key, k - first)[c];
            row_of(out, k - first)[c] = v;
            row_of(out, k - first)[key.width + c] = row_of(query, b)[c] * v;
        }
    });
}

static __device__ float activated(enum cuda_act_kind act, float v)
{
    switch (act) {
    case CUDA_ACT_RELU:
        return v > 0.0f ? v : 0.0f;
    case CUDA_ACT_SIGMOID:
        return 1.0f / (1.0f + expf(-v));
    case CUDA_ACT_TANH:
        return tanhf(v);
    default:
        return v;
    }
}

void cuda_pair_act(cuda_stream s, const int64_t *at, int64_t first, cuda_rows start,
                   enum cuda_act_kind act, cuda_rows y)
{
    for_positions(s, at, start.rows, [=] __device__(int64_t b, int64_t k, int lane) {
        for (int64_t c = lane; c < y.width; c += WARP) {
            float *v = row_of(y, k - first) + c;
            *v = activated(act, *v + row_of(start, b)[c]);
        }
    });
}

void cuda_pair_sum(cuda_stream s, const int64_t *at, int64_t first, cuda_rows dy,
                   cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t b, int64_t c) {
        float sum = 0;
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            sum += row_of(dy, k - first)[c];
        put(row_of(dx, b) + c, sum, add);
    });
}

void cuda_pair_back_key(cuda_stream s, const int64_t *at, int64_t first, cuda_rows query,
                        cuda_rows d, cuda_rows dx, bool add)
{
    for_positions(s, at, query.rows, [=] __device__(int64_t b, int64_t k, int lane) {
        const float *from = row_of(d, k - first);
        for (int64_t c = lane; c < dx.width; c += WARP)
            put(row_of(dx, k - first) + c, from[c] + row_of(query, b)[c] * from[dx.width + c],
                add);
    });
}

void cuda_pair_back_query(cuda_stream s, const int64_t *at, int64_t first, cuda_rows key,
                          cuda_rows d, cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t b, int64_t c) {
        float sum = 0;
        for (int64_t k = at[b]; k < at[b + 1]; k++)
            sum += row_of(key, k - first)[c] * row_of(d, k - first)[dx.width + c];
        put(row_of(dx, b) + c, sum, add);
    });
}
