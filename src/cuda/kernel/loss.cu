/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of rows, in double as on the CPU. */
#include "launch.cuh"

static __device__ double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static __device__ double sigmoid(double x)
{
    return x >= 0 ? 1.0 / (1.0 + exp(-x)) : exp(x) / (1.0 + exp(x));
}

/* Of one prediction; *slope is its derivative. */
static __device__ double single(const cuda_loss_conf &c, double v, double y, double *slope)
{
    if (c.kind == CUDA_SQUARED) {
        *slope = 2 * (v - y);
        return (v - y) * (v - y);
    }
    if (c.kind == CUDA_BCE) {
        y = y * (1.0 - (double)c.smoothing) + (double)c.smoothing / 2;
        *slope = sigmoid(v) - y;
        return softplus(v) - v * y;
    }
    double p = sigmoid(v), gamma = (double)c.gamma;
    double w = (double)c.alpha * y * pow(1 - p, gamma) +
               (1 - (double)c.alpha) * (1 - y) * pow(p, gamma);
    *slope = w * (p - y);
    return w * (softplus(v) - v * y);
}

static __device__ float weight_of(const cuda_loss_conf &c, const cuda_rows &weights,
                                  int64_t r)
{
    return weights.at ? *row_of(weights, r) : c.weight;
}

static __device__ void cross_entropy(const cuda_loss_conf &c, const float *x, int64_t n,
                                     int64_t hit, float w, float *slope, float *y,
                                     int lane)
{
    float max = -INFINITY;
    double sum = 0, all = 0, s = (double)c.smoothing;
    for (int64_t i = lane; i < n; i += WARP)
        max = fmaxf(max, x[i]);
    max = warp_max(max);
    for (int64_t i = lane; i < n; i += WARP)
        sum += exp((double)x[i] - (double)max);
    double log_sum = (double)max + log(warp_sum(sum));
    for (int64_t i = lane; i < n; i += WARP) {
        double target = s / (double)n + (i == hit ? 1 - s : 0);
        all += target * (log_sum - (double)x[i]);
        slope[i] = (float)(exp((double)x[i] - log_sum) - target) * w;
    }
    all = warp_sum(all);
    if (lane == 0)
        *y = (float)(all * (double)w);
}

void cuda_losses(cuda_stream s, struct cuda_loss_conf c, cuda_rows x, cuda_rows label,
                 cuda_rows weights, cuda_rows slopes, cuda_rows y)
{
    if (c.kind == CUDA_CROSS_ENTROPY) {
        for_rows(s, x.rows, [=] __device__(int64_t r, int lane) {
            cross_entropy(c, row_of(x, r), x.width, (int64_t)*row_of(label, r),
                          weight_of(c, weights, r), row_of(slopes, r), row_of(y, r),
                          lane);
        });
        return;
    }
    for_elements(s, x.rows, 1, [=] __device__(int64_t r, int64_t) {
        double slope;
        float w = weight_of(c, weights, r);
        double v = single(c, (double)*row_of(x, r), (double)*row_of(label, r), &slope);
        *row_of(slopes, r) = (float)slope * w;
        *row_of(y, r) = (float)(v * (double)w);
    });
}

void cuda_rows_times(cuda_stream s, cuda_rows slopes, cuda_rows dy, cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t c) {
        put(row_of(dx, r) + c, row_of(slopes, r)[c] * *row_of(dy, r), add);
    });
}
