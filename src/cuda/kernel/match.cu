/* SPDX-License-Identifier: Apache-2.0 */
/* Users against items, and what is lost by the scores: see nn/cpu/match.c for how rows lie. A warp
 * has a user.
 */
#include "launch.cuh"

#define NO_SCORE (-1e32f) /* of a hard item that a user does not have */

static __device__ int64_t hard_items(const cuda_match &m, int64_t user)
{
    return m.hard ? m.hard[user + 1] - m.hard[user] : 0;
}

static __device__ float dot_of(const float *a, const float *b, int64_t n, int lane)
{
    float sum = 0;
    for (int64_t c = lane; c < n; c += WARP)
        sum += a[c] * b[c];
    return warp_sum(sum);
}

void cuda_match_own(cuda_stream s, cuda_match m, cuda_rows user, cuda_rows item, float *scores)
{
    for_rows(s, user.rows, [=] __device__(int64_t b, int lane) {
        float *to = scores + b * m.width, own;
        const float *from = row_of(user, b);
        int64_t n = hard_items(m, b);
        own = dot_of(from, row_of(item, b), user.width, lane);
        if (lane == 0)
            to[0] = own;
        for (int64_t k = 0; k < n; k++) {
            float v = dot_of(from, row_of(item, m.first_hard + m.hard[b] + k), user.width, lane);
            if (lane == 0)
                to[m.hard_col + k] = v;
        }
        for (int64_t c = m.hard_col + n + lane; c < m.width; c += WARP)
            to[c] = NO_SCORE;
    });
}

void cuda_match_own_back_item(cuda_stream s, cuda_match m, const float *slopes, cuda_rows user,
                              cuda_rows d_item)
{
    for_elements(s, user.rows, user.width, [=] __device__(int64_t b, int64_t c) {
        const float *d = slopes + b * m.width;
        float v = row_of(user, b)[c];
        row_of(d_item, b)[c] += d[0] * v;
        for (int64_t k = 0; k < hard_items(m, b); k++)
            row_of(d_item, m.first_hard + m.hard[b] + k)[c] += d[m.hard_col + k] * v;
    });
}

void cuda_match_own_back_user(cuda_stream s, cuda_match m, const float *slopes, cuda_rows item,
                              cuda_rows d_user)
{
    for_elements(s, d_user.rows, d_user.width, [=] __device__(int64_t b, int64_t c) {
        const float *d = slopes + b * m.width;
        float sum = d[0] * row_of(item, b)[c];
        for (int64_t k = 0; k < hard_items(m, b); k++)
            sum += d[m.hard_col + k] * row_of(item, m.first_hard + m.hard[b] + k)[c];
        row_of(d_user, b)[c] += sum;
    });
}

static __device__ double weight_of(const cuda_match_loss &l, int64_t b)
{
    return l.weights.at ? (double)*row_of(l.weights, b) : l.weight;
}

static __device__ int64_t target_of(const cuda_match_loss &l, int64_t b)
{
    return l.at[b] + (l.diagonal ? b : 0);
}

static __device__ float softplus(float x)
{
    return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x));
}

/* The logarithm of the sum of e^x, or the sum of the logarithms of 1 + e^x. */
static __device__ double sum_of(const cuda_match_loss &l, cuda_rows x, int64_t b, int lane)
{
    float max = l.logistic ? 0.0f : -INFINITY;
    double sum = 0;
    for (int64_t k = l.at[b] + lane; !l.logistic && k < l.at[b + 1]; k += WARP)
        max = fmaxf(max, *row_of(x, k));
    max = warp_max(max);
    for (int64_t k = l.at[b] + lane; k < l.at[b + 1]; k += WARP)
        sum += (double)(l.logistic ? softplus(*row_of(x, k)) : expf(*row_of(x, k) - max));
    sum = warp_sum(sum);
    return l.logistic ? sum : (double)max + log(sum);
}

void cuda_match_losses(cuda_stream s, cuda_match_loss l, cuda_rows x, cuda_rows keep,
                       cuda_rows y)
{
    for_rows(s, y.rows, [=] __device__(int64_t b, int lane) {
        double sum = sum_of(l, x, b, lane);
        if (lane != 0)
            return;
        if (keep.at)
            *row_of(keep, b) = (float)sum;
        *row_of(y, b) = (float)(weight_of(l, b) * (sum - (double)*row_of(x, target_of(l, b))));
    });
}

void cuda_match_losses_back(cuda_stream s, cuda_match_loss l, cuda_rows x, cuda_rows keep,
                            cuda_rows dy, cuda_rows dx, bool add)
{
    for_rows(s, dy.rows, [=] __device__(int64_t b, int lane) {
        float d = (float)((double)*row_of(dy, b) * weight_of(l, b));
        int64_t target = target_of(l, b);
        for (int64_t k = l.at[b] + lane; k < l.at[b + 1]; k += WARP) {
            float v = *row_of(x, k);
            float slope = l.logistic ? 1.0f / (1.0f + expf(-v)) : expf(v - *row_of(keep, b));
            put(row_of(dx, k), d * slope - (k == target ? d : 0.0f), add);
        }
    });
}
