/* SPDX-License-Identifier: Apache-2.0 */
/* Norms: over the batch, over a row, of its length. A row of [t, n] is t samples of n channels;
 * so is everything here, by way of sample().
 */
#include "sums.cuh"

#define MOMENTUM 0.1

static __device__ __forceinline__ float *sample(const cuda_rows &v, int64_t n, int64_t k)
{
    int64_t per_row = v.width / n, row = per_row == 1 ? k : k / per_row;
    return row_of(v, row) + (k - row * per_row) * n;
}

static int64_t samples(const cuda_rows &v, int64_t n)
{
    return v.rows * (v.width / n);
}

/* The mean of a batch first, then squares around it. */
static void take_statistics(cuda_stream s, cuda_batch_norm b, cuda_rows x, float *scratch)
{
    int64_t count = samples(x, b.n), n = b.n;
    column_sums(
        s, count, n, scratch,
        [=] __device__(int64_t k, int64_t c) { return (double)sample(x, n, k)[c]; },
        [=] __device__(int64_t c, double sum) { b.mean[c] = (float)(sum / (double)count); });
    column_sums(
        s, count, n, scratch,
        [=] __device__(int64_t k, int64_t c) {
            double d = (double)sample(x, n, k)[c] - (double)b.mean[c];
            return d * d;
        },
        [=] __device__(int64_t c, double sum) {
            double var = sum / (double)count;
            double unbiased = count > 1 ? sum / (double)(count - 1) : var;
            b.inv[c] = (float)(1.0 / sqrt(var + b.eps));
            b.running_mean[c] +=
                (float)(MOMENTUM * ((double)b.mean[c] - (double)b.running_mean[c]));
            b.running_var[c] += (float)(MOMENTUM * (unbiased - (double)b.running_var[c]));
            if (c == 0)
                *b.batches += 1.0f;
        });
}

void cuda_batch_norm_forward(cuda_stream s, cuda_batch_norm b, bool training, cuda_rows x,
                             float *scratch, cuda_rows y)
{
    int64_t n = b.n;
    if (training && x.rows > 0)
        take_statistics(s, b, x, scratch);
    else
        for_elements(s, 1, n, [=] __device__(int64_t, int64_t c) {
            b.mean[c] = b.running_mean[c];
            b.inv[c] = (float)(1.0 / sqrt((double)b.running_var[c] + b.eps));
        });
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t i) {
        int64_t c = i % n;
        float v = (row_of(x, r)[i] - b.mean[c]) * b.inv[c];
        row_of(y, r)[i] = b.weight ? v * b.weight[c] + b.bias[c] : v;
    });
}

/* Sums of dy and of dy times what was normalised, for the parameters and for dx. */
static void sum_slopes(cuda_stream s, cuda_batch_norm b, bool training, cuda_rows x,
                       cuda_rows dy, float *scratch)
{
    int64_t count = samples(x, b.n), n = b.n;
    double share = training && count > 0 ? 1.0 / (double)count : 0.0;
    column_sums(
        s, count, n, scratch,
        [=] __device__(int64_t k, int64_t c) { return (double)sample(dy, n, k)[c]; },
        [=] __device__(int64_t c, double sum) {
            b.d_mean[c] = (float)(sum * share);
            if (b.d_bias)
                b.d_bias[c] += (float)sum;
        });
    column_sums(
        s, count, n, scratch,
        [=] __device__(int64_t k, int64_t c) {
            float hat = (sample(x, n, k)[c] - b.mean[c]) * b.inv[c];
            return (double)sample(dy, n, k)[c] * (double)hat;
        },
        [=] __device__(int64_t c, double sum) {
            b.d_dot[c] = (float)(sum * share);
            if (b.d_weight)
                b.d_weight[c] += (float)sum;
        });
}

void cuda_batch_norm_back(cuda_stream s, cuda_batch_norm b, bool training, cuda_rows x,
                          cuda_rows dy, float *scratch, cuda_rows dx, bool add)
{
    int64_t n = b.n;
    sum_slopes(s, b, training, x, dy, scratch);
    if (!dx.at)
        return;
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t i) {
        int64_t c = i % n;
        float hat = (row_of(x, r)[i] - b.mean[c]) * b.inv[c];
        float d = row_of(dy, r)[i] - (b.d_mean[c] + hat * b.d_dot[c]);
        put(row_of(dx, r) + i, d * b.inv[c] * (b.weight ? b.weight[c] : 1.0f), add);
    });
}

/* keep: mean and inverse deviation of each sample. */
void cuda_layer_norm(cuda_stream s, int64_t n, double eps, const float *weight,
                     const float *bias, cuda_rows x, cuda_rows keep, cuda_rows y)
{
    for_rows(s, samples(x, n), [=] __device__(int64_t k, int lane) {
        const float *from = sample(x, n, k);
        float *to = sample(y, n, k), *kept = sample(keep, 2, k);
        double sum = 0, squares = 0;
        for (int64_t c = lane; c < n; c += WARP)
            sum += (double)from[c];
        float mean = (float)(warp_sum(sum) / (double)n);
        for (int64_t c = lane; c < n; c += WARP) {
            double d = (double)from[c] - (double)mean;
            squares += d * d;
        }
        float inv = (float)(1.0 / sqrt(warp_sum(squares) / (double)n + eps));
        for (int64_t c = lane; c < n; c += WARP)
            to[c] = (from[c] - mean) * inv * weight[c] + bias[c];
        if (lane == 0) {
            kept[0] = mean;
            kept[1] = inv;
        }
    });
}

void cuda_layer_norm_back(cuda_stream s, int64_t n, const float *weight, cuda_rows x,
                          cuda_rows keep, cuda_rows dy, cuda_rows dx, bool add)
{
    for_rows(s, samples(x, n), [=] __device__(int64_t k, int lane) {
        const float *from = sample(x, n, k), *d = sample(dy, n, k);
        const float *kept = sample(keep, 2, k);
        float *to = sample(dx, n, k), mean = kept[0], inv = kept[1];
        double sum = 0, dots = 0;
        for (int64_t c = lane; c < n; c += WARP) {
            double v = (double)d[c] * (double)weight[c];
            sum += v;
            dots += v * (double)((from[c] - mean) * inv);
        }
        float d_mean = (float)(warp_sum(sum) / (double)n);
        float d_dot = (float)(warp_sum(dots) / (double)n);
        for (int64_t c = lane; c < n; c += WARP) {
            float hat = (from[c] - mean) * inv;
            put(to + c, inv * (d[c] * weight[c] - d_mean - hat * d_dot), add);
        }
    });
}

void cuda_layer_norm_grads(cuda_stream s, int64_t n, cuda_rows x, cuda_rows keep,
                           cuda_rows dy, float *scratch, float *d_weight, float *d_bias)
{
    if (d_weight)
        column_sums(
            s, samples(x, n), n, scratch,
            [=] __device__(int64_t k, int64_t c) {
                const float *kept = sample(keep, 2, k);
                float hat = (sample(x, n, k)[c] - kept[0]) * kept[1];
                return (double)sample(dy, n, k)[c] * (double)hat;
            },
            [=] __device__(int64_t c, double sum) { d_weight[c] += (float)sum; });
    if (d_bias)
        column_sums(
            s, samples(x, n), n, scratch,
            [=] __device__(int64_t k, int64_t c) { return (double)sample(dy, n, k)[c]; },
            [=] __device__(int64_t c, double sum) { d_bias[c] += (float)sum; });
}

/* keep: 1 / length. */
void cuda_l2_normalise(cuda_stream s, float eps, cuda_rows x, cuda_rows keep, cuda_rows y)
{
    for_rows(s, x.rows, [=] __device__(int64_t r, int lane) {
        double sum = 0;
        for (int64_t c = lane; c < x.width; c += WARP)
            sum += (double)row_of(x, r)[c] * (double)row_of(x, r)[c];
        double root = sqrt(warp_sum(sum)), length = root > (double)eps ? root : (double)eps;
        for (int64_t c = lane; c < x.width; c += WARP)
            row_of(y, r)[c] = (float)((double)row_of(x, r)[c] / length);
        if (lane == 0)
            *row_of(keep, r) = (float)(1.0 / length);
    });
}

/* A row shorter than eps is only scaled. */
void cuda_l2_normalise_back(cuda_stream s, float eps, cuda_rows y, cuda_rows keep,
                            cuda_rows dy, cuda_rows dx, bool add)
{
    for_rows(s, y.rows, [=] __device__(int64_t r, int lane) {
        float inv = *row_of(keep, r);
        double sum = 0;
        for (int64_t c = lane; c < y.width; c += WARP)
            sum += (double)row_of(y, r)[c] * (double)row_of(dy, r)[c];
        float dot = inv >= 1.0f / eps ? 0.0f : (float)warp_sum(sum);
        for (int64_t c = lane; c < y.width; c += WARP)
            put(row_of(dx, r) + c, (row_of(dy, r)[c] - row_of(y, r)[c] * dot) * inv, add);
    });
}
