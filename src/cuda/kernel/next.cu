/* SPDX-License-Identifier: Apache-2.0 */
/* Losses that tell what comes next from what does not (nn/cpu/next.c), and means over windows of a
 * sequence. A warp has a row of the batch.
 */
#include "launch.cuh"

static __device__ double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static __device__ float dot_of(const float *a, const float *b, int64_t n, int lane)
{
    float sum = 0;
    for (int64_t c = lane; c < n; c += WARP)
        sum += a[c] * b[c];
    return warp_sum(sum);
}

void cuda_next_loss(cuda_stream s, const int64_t *at, double total, cuda_rows state,
                    cuda_rows next, cuda_rows other, cuda_rows y)
{
    for_rows(s, y.rows, [=] __device__(int64_t b, int lane) {
        double sum = 0;
        for (int64_t k = at[b] + 1; k < at[b + 1]; k++) {
            const float *h = row_of(state, k - 1);
            sum += softplus(-(double)dot_of(h, row_of(next, k), state.width, lane)) +
                   softplus((double)dot_of(h, row_of(other, k), state.width, lane));
        }
        if (lane == 0)
            *row_of(y, b) = (float)(sum / total);
    });
}

/* The slope of the score of position k with what came, or with what did not. */
static __device__ float next_slope(const cuda_next &d, int64_t b, int64_t k, bool came,
                                   int lane)
{
    float dy = *row_of(d.dy, b) / d.total;
    float score = dot_of(row_of(d.state, k - 1), row_of(came ? d.next : d.other, k),
                         d.state.width, lane);
    return came ? -dy / (1 + expf(score)) : dy / (1 + expf(-score));
}

/* A state meets the position behind it: the last one of a row meets none. */
void cuda_next_loss_back_state(cuda_stream s, cuda_next d, cuda_rows dx, bool add)
{
    for_rows(s, d.dy.rows, [=] __device__(int64_t b, int lane) {
        for (int64_t k = d.at[b]; k < d.at[b + 1]; k++) {
            bool last = k + 1 == d.at[b + 1];
            float came = last ? 0.0f : next_slope(d, b, k + 1, true, lane);
            float not_ = last ? 0.0f : next_slope(d, b, k + 1, false, lane);
            for (int64_t c = lane; c < dx.width; c += WARP)
                put(row_of(dx, k) + c,
                    last ? 0.0f
                         : came * row_of(d.next, k + 1)[c] + not_ * row_of(d.other, k + 1)[c],
                    add);
        }
    });
}

void cuda_next_loss_back(cuda_stream s, cuda_next d, bool came, cuda_rows dx, bool add)
{
    for_rows(s, d.dy.rows, [=] __device__(int64_t b, int lane) {
        for (int64_t k = d.at[b]; k < d.at[b + 1]; k++) {
            bool first = k == d.at[b];
            float slope = first ? 0.0f : next_slope(d, b, k, came, lane);
            for (int64_t c = lane; c < dx.width; c += WARP)
                put(row_of(dx, k) + c, first ? 0.0f : slope * row_of(d.state, k - 1)[c], add);
        }
    });
}

void cuda_tell_loss(cuda_stream s, double total, cuda_rows x, cuda_rows happened,
                    cuda_rows others, cuda_rows weight, cuda_rows y)
{
    int64_t d = x.width;
    for_rows(s, y.rows, [=] __device__(int64_t b, int lane) {
        const float *from = row_of(x, b);
        double sum = softplus(-(double)dot_of(from, row_of(happened, b), d, lane));
        for (int64_t k = 0; k < others.width; k += d)
            sum += softplus((double)dot_of(from, row_of(others, b) + k, d, lane));
        if (lane == 0)
            *row_of(y, b) = (float)((double)*row_of(weight, b) * sum / total);
    });
}

void cuda_tell_loss_back(cuda_stream s, cuda_tell t, cuda_rows dx, bool add_x, cuda_rows dh,
                         bool add_h, cuda_rows d_others, bool add_others)
{
    int64_t d = t.x.width;
    for_rows(s, t.dy.rows, [=] __device__(int64_t b, int lane) {
        const float *from = row_of(t.x, b), *happened = row_of(t.happened, b);
        float dy = *row_of(t.dy, b) * *row_of(t.weight, b) / t.total;
        float slope = -dy / (1 + expf(dot_of(from, happened, d, lane)));
        for (int64_t c = lane; c < d; c += WARP) {
            if (dx.at)
                put(row_of(dx, b) + c, slope * happened[c], add_x);
            if (dh.at)
                put(row_of(dh, b) + c, slope * from[c], add_h);
        }
        for (int64_t k = 0; k < t.others.width; k += d) {
            const float *other = row_of(t.others, b) + k;
            slope = dy / (1 + expf(-dot_of(from, other, d, lane)));
            for (int64_t c = lane; c < d; c += WARP) {
                if (dx.at)
                    put(row_of(dx, b) + c, slope * other[c], true);
                if (d_others.at)
                    put(row_of(d_others, b) + k + c, slope * from[c], add_others);
            }
        }
    });
}

/* Positions [from, to) of window `w` of a row, and what their sum is divided by. */
static __device__ float window_of(const cuda_windows &c, int64_t b, int64_t w, int64_t *from,
                                  int64_t *to)
{
    int64_t length = c.at[b + 1] - c.at[b];
    int64_t first = c.start[w] < length ? c.start[w] : length;
    int64_t last = c.start[w + 1] < length ? c.start[w + 1] : length;
    *from = c.at[b] + first;
    *to = c.at[b] + last;
    return last > first ? 1.0f / (float)(last - first) : 1.0f;
}

void cuda_seq_windows(cuda_stream s, cuda_windows c, cuda_rows x, cuda_rows weights, cuda_rows y)
{
    int64_t width = x.width;
    for_elements(s, y.rows, y.width, [=] __device__(int64_t b, int64_t i) {
        int64_t w = i / width, from, to;
        float scale = window_of(c, b, w, &from, &to), sum = 0;
        for (int64_t k = from; k < to; k++)
            sum += scale * *row_of(weights, k) * row_of(x, k)[i - w * width];
        row_of(y, b)[i] = sum;
    });
}

/* Windows follow each other, so a position is in one of them at most. */
void cuda_seq_windows_back(cuda_stream s, cuda_windows c, cuda_rows x, cuda_rows weights,
                           cuda_rows dy, cuda_rows dx, bool add_x, cuda_rows dw, bool add_w)
{
    int64_t width = x.width;
    for_rows(s, dy.rows, [=] __device__(int64_t b, int lane) {
        for (int64_t k = c.at[b]; k < c.at[b + 1]; k++) {
            int64_t w = 0, from, to;
            float scale = window_of(c, b, w, &from, &to);
            while (w + 1 < c.n && k >= to)
                scale = window_of(c, b, ++w, &from, &to);
            if (k < from || k >= to)
                scale = 0;
            const float *d = row_of(dy, b) + w * width;
            float dot = dot_of(d, row_of(x, k), width, lane);
            for (int64_t i = lane; dx.at && i < width; i += WARP)
                put(row_of(dx, k) + i, scale * *row_of(weights, k) * d[i], add_x);
            if (dw.at && lane == 0)
                put(row_of(dw, k), scale * dot, add_w);
        }
    });
}
