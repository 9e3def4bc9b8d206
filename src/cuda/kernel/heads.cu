/* SPDX-License-Identifier: Apache-2.0 */
/* What heads and activations with learnt slopes need. */
#include "sums.cuh"

static __device__ __forceinline__ float sigmoid(float v)
{
    return 1.0f / (1.0f + expf(-v));
}

void cuda_prelu(cuda_stream s, const float *slope, cuda_rows x, cuda_rows by, cuda_rows y,
                bool add)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        float v = row_of(by, r)[c];
        put(row_of(y, r) + c, row_of(x, r)[c] > 0.0f ? v : *slope * v, add);
    });
}

void cuda_prelu_grad(cuda_stream s, cuda_rows x, cuda_rows dy, float *scratch, float *sums,
                     float *d_slope)
{
    int64_t width = x.width;
    column_sums(
        s, x.rows, width, scratch,
        [=] __device__(int64_t r, int64_t c) {
            float v = row_of(x, r)[c];
            return v > 0.0f ? 0.0 : (double)v * (double)row_of(dy, r)[c];
        },
        [=] __device__(int64_t c, double sum) { sums[c] = (float)sum; });
    for_rows(s, 1, [=] __device__(int64_t, int lane) {
        double sum = 0;
        for (int64_t c = lane; c < width; c += WARP)
            sum += (double)sums[c];
        sum = warp_sum(sum);
        if (lane == 0)
            *d_slope += (float)sum;
    });
}

void cuda_dice(cuda_stream s, int64_t n, const float *alpha, cuda_rows z, cuda_rows by,
               cuda_rows y, bool add)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        float a = alpha[c % n];
        put(row_of(y, r) + c, row_of(by, r)[c] * (a + (1.0f - a) * sigmoid(row_of(z, r)[c])),
            add);
    });
}

void cuda_dice_back_norm(cuda_stream s, int64_t n, const float *alpha, cuda_rows x,
                         cuda_rows z, cuda_rows dy, cuda_rows dz, bool add)
{
    for_elements(s, dz.rows, dz.width, [=] __device__(int64_t r, int64_t c) {
        float a = alpha[c % n], p = sigmoid(row_of(z, r)[c]);
        float d = row_of(dy, r)[c] * row_of(x, r)[c] * (1.0f - a) * p * (1.0f - p);
        put(row_of(dz, r) + c, d, add);
    });
}

void cuda_dice_grad(cuda_stream s, int64_t n, cuda_rows x, cuda_rows z, cuda_rows dy,
                    float *scratch, float *d_alpha)
{
    int64_t per_row = x.width / n;
    column_sums(
        s, x.rows * per_row, n, scratch,
        [=] __device__(int64_t k, int64_t c) {
            int64_t r = k / per_row, at = (k - r * per_row) * n + c;
            double p = (double)sigmoid(row_of(z, r)[at]);
            return (double)row_of(dy, r)[at] * (double)row_of(x, r)[at] * (1.0 - p);
        },
        [=] __device__(int64_t c, double sum) { d_alpha[c] += (float)sum; });
}

/* With p = sigmoid(a) sigmoid(b): p / (1 - p) = 1 / (e^-a + e^-b + e^-(a+b)); the shares of the
 * three terms are the slopes.
 */
static __device__ double both(double a, double b, double share[3])
{
    double term[] = {-a, -b, -a - b}, most = fmax(fmax(term[0], term[1]), term[2]);
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += share[i] = exp(term[i] - most);
    for (int i = 0; i < 3; i++)
        share[i] /= sum;
    return -(most + log(sum));
}

void cuda_both_logit(cuda_stream s, cuda_rows a, cuda_rows b, cuda_rows y)
{
    for_elements(s, y.rows, 1, [=] __device__(int64_t r, int64_t) {
        double share[3];
        *row_of(y, r) = (float)both((double)*row_of(a, r), (double)*row_of(b, r), share);
    });
}

void cuda_both_logit_back(cuda_stream s, cuda_rows a, cuda_rows b, cuda_rows dy, int which,
                          cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, 1, [=] __device__(int64_t r, int64_t) {
        double share[3];
        both((double)*row_of(a, r), (double)*row_of(b, r), share);
        put(row_of(dx, r),
            (float)((double)*row_of(dy, r) * ((which ? share[1] : share[0]) + share[2])), add);
    });
}

static __device__ int64_t picked(float at, int64_t n)
{
    return at >= 0 && at < (float)n ? (int64_t)at : at >= (float)n ? n - 1 : 0;
}

void cuda_pick(cuda_stream s, cuda_rows x, cuda_rows at, cuda_rows y)
{
    for_elements(s, y.rows, 1, [=] __device__(int64_t r, int64_t) {
        *row_of(y, r) = row_of(x, r)[picked(*row_of(at, r), x.width)];
    });
}

void cuda_pick_back(cuda_stream s, cuda_rows at, cuda_rows dy, cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t c) {
        bool here = c == picked(*row_of(at, r), dx.width);
        put(row_of(dx, r) + c, here ? *row_of(dy, r) : 0.0f, add);
    });
}

void cuda_dot_total(cuda_stream s, cuda_rows x, cuda_rows y, float *scratch, double *out)
{
    column_sums(
        s, x.rows, 1, scratch,
        [=] __device__(int64_t r, int64_t) {
            double v = (double)*row_of(x, r);
            return y.at ? v * (double)*row_of(y, r) : v;
        },
        [=] __device__(int64_t, double sum) { *out = sum; });
}

void cuda_root_share(cuda_stream s, const double *sum, cuda_rows x, cuda_rows y)
{
    for_elements(s, y.rows, 1, [=] __device__(int64_t r, int64_t) {
        double by = *sum > 0 ? 1 / sqrt(*sum) : 0;
        *row_of(y, r) = (float)((double)*row_of(x, r) * by);
    });
}

void cuda_root_share_back(cuda_stream s, const double *sum, const double *slopes,
                          cuda_rows dy, cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, 1, [=] __device__(int64_t r, int64_t) {
        double by = *sum > 0 ? 1 / sqrt(*sum) : 0;
        double less = *sum > 0 ? *slopes / (2 * *sum) * by : 0;
        put(row_of(dx, r), (float)((double)*row_of(dy, r) * by - less), add);
    });
}
