/* SPDX-License-Identifier: Apache-2.0 */
/* Capsules: positions mixed into interests, their lengths, which of them a row has, and the one
 * that a target looks at (nn/cpu/capsule.c). A warp has a vector, or a thread a value.
 */
#include "launch.cuh"

void cuda_seq_mix(cuda_stream s, const int64_t *at, int64_t n, int64_t d, cuda_rows weights,
                  cuda_rows x, cuda_rows y)
{
    for_elements(s, y.rows, n * d, [=] __device__(int64_t b, int64_t c) {
        int64_t k = c / d, e = c - k * d;
        float sum = 0;
        for (int64_t t = at[b]; t < at[b + 1]; t++)
            sum += row_of(weights, t)[k] * row_of(x, t)[e];
        row_of(y, b)[c] = sum;
    });
}

void cuda_seq_mix_back_x(cuda_stream s, const int64_t *at, int64_t n, cuda_rows weights,
                         cuda_rows dy, cuda_rows dx, bool add)
{
    int64_t d = dx.width;
    for_rows(s, dy.rows, [=] __device__(int64_t b, int lane) {
        for (int64_t t = at[b]; t < at[b + 1]; t++)
            for (int64_t e = lane; e < d; e += WARP) {
                float sum = 0;
                for (int64_t k = 0; k < n; k++)
                    sum += row_of(weights, t)[k] * row_of(dy, b)[k * d + e];
                put(row_of(dx, t) + e, sum, add);
            }
    });
}

void cuda_seq_mix_back_weights(cuda_stream s, const int64_t *at, int64_t n, cuda_rows x,
                               cuda_rows dy, cuda_rows dw, bool add)
{
    int64_t d = x.width;
    for_rows(s, dy.rows, [=] __device__(int64_t b, int lane) {
        for (int64_t t = at[b]; t < at[b + 1]; t++)
            for (int64_t k = 0; k < n; k++) {
                float sum = 0;
                for (int64_t e = lane; e < d; e += WARP)
                    sum += row_of(dy, b)[k * d + e] * row_of(x, t)[e];
                sum = warp_sum(sum);
                if (lane == 0)
                    put(row_of(dw, t) + k, sum, add);
            }
    });
}

/* The factor, and its slope over the length divided by the length. */
static __device__ double squash_factor(double power, double least, double length,
                                       double *slope)
{
    bool small = length <= least;
    double n = small ? least : length, q = n * n / (1 + n * n);
    double f = (power == 0 ? 1 : pow(q, power)) / n;
    *slope = small ? 0 : f * (2 * power / (1 + n * n) - 1) / (n * n);
    return f;
}

static __device__ double dot_of(const float *a, const float *b, int64_t d, int lane)
{
    double sum = 0;
    for (int64_t e = lane; e < d; e += WARP)
        sum += (double)a[e] * (double)b[e];
    return warp_sum(sum);
}

void cuda_squash(cuda_stream s, int64_t d, double power, double least, cuda_rows x, cuda_rows y)
{
    int64_t n = x.width / d;
    for_rows(s, x.rows * n, [=] __device__(int64_t k, int lane) {
        int64_t r = k / n, at = (k - r * n) * d;
        const float *from = row_of(x, r) + at;
        double slope, f = squash_factor(power, least, sqrt(dot_of(from, from, d, lane)), &slope);
        for (int64_t e = lane; e < d; e += WARP)
            row_of(y, r)[at + e] = (float)f * from[e];
    });
}

void cuda_squash_back(cuda_stream s, int64_t d, double power, double least, cuda_rows x,
                      cuda_rows dy, cuda_rows dx, bool add)
{
    int64_t n = x.width / d;
    for_rows(s, x.rows * n, [=] __device__(int64_t k, int lane) {
        int64_t r = k / n, at = (k - r * n) * d;
        const float *from = row_of(x, r) + at, *slopes = row_of(dy, r) + at;
        double slope, f = squash_factor(power, least, sqrt(dot_of(from, from, d, lane)), &slope);
        double dot = dot_of(from, slopes, d, lane);
        for (int64_t e = lane; e < d; e += WARP)
            put(row_of(dx, r) + at + e,
                (float)(f * (double)slopes[e] + slope * dot * (double)from[e]), add);
    });
}

void cuda_capsule_mask(cuda_stream s, const int64_t *at, bool constant, cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t b, int64_t k) {
        int64_t length = at[b + 1] - at[b];
        double n = length < 1 ? 1.0 : ceil(log2((double)length));
        row_of(y, b)[k] = constant || (double)k < (n < 1 ? 1.0 : n) ? 1.0f : 0.0f;
    });
}

void cuda_masked_rows(cuda_stream s, int64_t n, cuda_rows mask, cuda_rows x, cuda_rows front,
                      cuda_rows y)
{
    int64_t d = x.width / n, e = front.at ? front.width : 0;
    for_elements(s, y.rows, n * (e + d), [=] __device__(int64_t r, int64_t c) {
        int64_t k = c / (e + d), i = c - k * (e + d);
        float v = i < e ? row_of(front, r)[i] : row_of(x, r)[k * d + i - e];
        row_of(y, r)[c] = v * row_of(mask, r)[k];
    });
}

void cuda_masked_rows_back(cuda_stream s, int64_t n, int64_t e, cuda_rows mask, cuda_rows dy,
                           cuda_rows dx, bool add)
{
    int64_t d = dx.width / n;
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t c) {
        int64_t k = c / d;
        put(row_of(dx, r) + c, row_of(mask, r)[k] * row_of(dy, r)[k * (e + d) + e + c - k * d],
            add);
    });
}

void cuda_masked_rows_back_front(cuda_stream s, int64_t n, int64_t d, cuda_rows mask,
                                 cuda_rows dy, cuda_rows dx, bool add)
{
    int64_t e = dx.width;
    for_elements(s, dx.rows, e, [=] __device__(int64_t r, int64_t i) {
        float sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += row_of(mask, r)[k] * row_of(dy, r)[k * (e + d) + i];
        put(row_of(dx, r) + i, sum, add);
    });
}

static __device__ float dot32(const float *a, const float *b, int64_t d, int lane)
{
    float sum = 0;
    for (int64_t e = lane; e < d; e += WARP)
        sum += a[e] * b[e];
    return warp_sum(sum);
}

/* keep: the shares; those behind the first that the mask lacks are 0. */
void cuda_interest(cuda_stream s, float power, int64_t n, cuda_rows mask, cuda_rows x,
                   cuda_rows target, cuda_rows keep, cuda_rows y)
{
    int64_t d = target.width;
    for_rows(s, y.rows, [=] __device__(int64_t r, int lane) {
        const float *from = row_of(x, r);
        float *w = row_of(keep, r), most = -INFINITY, all = 0;
        int64_t valid = 0;
        while (valid < n && row_of(mask, r)[valid] > 0)
            valid++;
        for (int64_t k = 0; k < n; k++) {
            float v = power * dot32(from + k * d, row_of(target, r), d, lane);
            most = k < valid && v > most ? v : most;
            if (lane == 0)
                w[k] = v;
        }
        __syncwarp();
        for (int64_t k = 0; k < valid; k++)
            all += expf(w[k] - most);
        __syncwarp();
        for (int64_t k = lane; k < n; k += WARP)
            w[k] = k < valid ? expf(w[k] - most) / all : 0.0f;
        __syncwarp();
        for (int64_t e = lane; e < d; e += WARP) {
            float sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += w[k] * from[k * d + e];
            row_of(y, r)[e] = sum;
        }
    });
}

void cuda_interest_back(cuda_stream s, float power, int64_t n, cuda_rows x, cuda_rows target,
                        cuda_rows keep, cuda_rows dy, cuda_rows dx, bool add_x,
                        cuda_rows d_target, bool add_target)
{
    int64_t d = target.width;
    for_rows(s, dy.rows, [=] __device__(int64_t r, int lane) {
        const float *from = row_of(x, r), *w = row_of(keep, r), *slopes = row_of(dy, r);
        float mean = 0;
        for (int64_t k = 0; k < n; k++)
            mean += w[k] * dot32(slopes, from + k * d, d, lane);
        for (int64_t k = 0; k < n; k++) {
            float ds = power * w[k] * (dot32(slopes, from + k * d, d, lane) - mean);
            for (int64_t e = lane; e < d; e += WARP) {
                if (dx.at)
                    put(row_of(dx, r) + k * d + e, w[k] * slopes[e] + ds * row_of(target, r)[e],
                        add_x);
                if (d_target.at)
                    put(row_of(d_target, r) + e, ds * from[k * d + e], add_target || k > 0);
            }
        }
    });
}
