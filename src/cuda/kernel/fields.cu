/* SPDX-License-Identifier: Apache-2.0 */
/* A row as fields, or as a small matrix: sums, gates, products of two. A thread has one value of
 * the result and adds in the order of the columns.
 */
#include "sums.cuh"

void cuda_field_sum(cuda_stream s, int64_t n, int64_t d, bool over_fields, cuda_rows x,
                    cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        const float *from = row_of(x, r) + (over_fields ? c : c * d);
        float sum = 0;
        for (int64_t i = 0; i < (over_fields ? n : d); i++)
            sum += from[over_fields ? i * d : i];
        row_of(y, r)[c] = sum;
    });
}

void cuda_field_sum_back(cuda_stream s, int64_t d, bool over_fields, cuda_rows dy,
                         cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t c) {
        put(row_of(dx, r) + c, row_of(dy, r)[over_fields ? c % d : c / d], add);
    });
}

void cuda_field_gate(cuda_stream s, int64_t d, cuda_rows gate, cuda_rows x, cuda_rows y,
                     bool add)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        put(row_of(y, r) + c, row_of(gate, r)[c / d] * row_of(x, r)[c], add);
    });
}

void cuda_field_dots(cuda_stream s, int64_t d, cuda_rows a, cuda_rows b, cuda_rows y,
                     bool add)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t f) {
        const float *u = row_of(a, r) + f * d, *v = row_of(b, r) + f * d;
        float sum = 0;
        for (int64_t i = 0; i < d; i++)
            sum += u[i] * v[i];
        put(row_of(y, r) + f, sum, add);
    });
}

void cuda_turn(cuda_stream s, int64_t n, int64_t d, cuda_rows x, cuda_rows y, bool add)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        int64_t j = c / n, i = c - j * n;
        put(row_of(y, r) + c, row_of(x, r)[i * d + j], add);
    });
}

void cuda_row_product(cuda_stream s, cuda_factor a, cuda_factor b, int64_t k, int64_t blocks,
                      cuda_rows y, bool add)
{
    int64_t size = y.width / blocks;
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        int64_t block = c / size, at = c - block * size, i = at / b.outer, j = at - i * b.outer;
        const float *u = row_of(a.rows, r) + block * a.block + i * a.step;
        const float *v = row_of(b.rows, r) + block * b.block + j * b.step;
        float sum = 0;
        for (int64_t m = 0; m < k; m++)
            sum += u[m * a.inner] * v[m * b.inner];
        put(row_of(y, r) + c, sum, add);
    });
}

void cuda_field_mix(cuda_stream s, int64_t n, int64_t d, const float *w, int64_t step,
                    int64_t inner, cuda_rows x, cuda_rows y, bool add)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        int64_t o = c / d, e = c - o * d;
        float sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += w[o * step + i * inner] * row_of(x, r)[i * d + e];
        put(row_of(y, r) + c, sum, add);
    });
}

void cuda_field_mix_grad(cuda_stream s, int64_t d, int64_t out, cuda_rows x, cuda_rows dy,
                         float *scratch, float *dw, int64_t n)
{
    column_sums(
        s, x.rows, n * out, scratch,
        [=] __device__(int64_t r, int64_t c) {
            const float *u = row_of(x, r) + c / out * d, *v = row_of(dy, r) + c % out * d;
            float sum = 0;
            for (int64_t e = 0; e < d; e++)
                sum += u[e] * v[e];
            return (double)sum;
        },
        [=] __device__(int64_t c, double sum) { dw[c] += (float)sum; });
}

static __device__ int64_t pair_at(int64_t n, int64_t i, int64_t j)
{
    return i * n - i * (i + 1) / 2 + j - i - 1;
}

/* Where the two sides of pair p = (i, j) begin. */
static __device__ int64_t left_at(const cuda_pairs &p, int64_t i, int64_t j)
{
    return p.d * (p.left == CUDA_LEFT_PAIR    ? pair_at(p.n, i, j)
                  : p.left == CUDA_LEFT_AWARE ? i * p.n + j
                                              : i);
}

static __device__ int64_t right_at(const cuda_pairs &p, int64_t i, int64_t j)
{
    return p.d * (p.left == CUDA_LEFT_AWARE ? j * p.n + i : j);
}

void cuda_field_pairs(cuda_stream s, cuda_pairs p, cuda_rows left, cuda_rows right,
                      cuda_rows y)
{
    int64_t per_pair = p.dots ? 1 : p.d, width = p.n * p.n * per_pair;
    for_elements(s, y.rows, width, [=] __device__(int64_t r, int64_t c) {
        int64_t k = c / per_pair, e = c - k * per_pair, i = k / p.n, j = k - i * p.n;
        if (j <= i)
            return;
        const float *u = row_of(left, r) + left_at(p, i, j);
        const float *v = row_of(right, r) + right_at(p, i, j);
        float sum = 0;
        for (int64_t m = 0; p.dots && m < p.d; m++)
            sum += u[m] * v[m];
        row_of(y, r)[pair_at(p.n, i, j) * per_pair + e] = p.dots ? sum : u[e] * v[e];
    });
}

/* The slope of value e of pair (i, j). */
static __device__ float slope(const cuda_pairs &p, const float *dy, int64_t i, int64_t j,
                              int64_t e)
{
    return p.dots ? dy[pair_at(p.n, i, j)] : dy[pair_at(p.n, i, j) * p.d + e];
}

/* Parts of fields are left and right at once: part j of field i meets part i of field j. */
static __device__ float aware_slope(const cuda_pairs &p, const float *x, const float *dy,
                                    int64_t k, int64_t e)
{
    int64_t i = k / p.n, j = k - i * p.n;
    if (i == j)
        return 0.0f;
    return slope(p, dy, i < j ? i : j, i < j ? j : i, e) * x[(j * p.n + i) * p.d + e];
}

static __device__ float left_slope(const cuda_pairs &p, const float *right, const float *dy,
                                   int64_t i, int64_t e)
{
    float sum = 0;
    for (int64_t j = i + 1; j < p.n; j++)
        sum += slope(p, dy, i, j, e) * right[j * p.d + e];
    return sum;
}

/* Of pair k: which right vector it meets. */
static __device__ int64_t second_of(int64_t n, int64_t k)
{
    int64_t i = 0;
    for (; k >= n - 1 - i; i++)
        k -= n - 1 - i;
    return i + 1 + k;
}

void cuda_field_pairs_back_left(cuda_stream s, cuda_pairs p, cuda_rows right, cuda_rows dy,
                                cuda_rows d_left, bool add)
{
    for_elements(s, d_left.rows, d_left.width, [=] __device__(int64_t r, int64_t c) {
        const float *from = row_of(right, r), *d = row_of(dy, r);
        int64_t k = c / p.d, e = c - k * p.d;
        float v = p.left == CUDA_LEFT_AWARE  ? aware_slope(p, from, d, k, e)
                  : p.left == CUDA_LEFT_PAIR ? d[c] * from[second_of(p.n, k) * p.d + e]
                                             : left_slope(p, from, d, k, e);
        put(row_of(d_left, r) + c, v, add);
    });
}

void cuda_field_pairs_back_right(cuda_stream s, cuda_pairs p, cuda_rows left, cuda_rows dy,
                                 cuda_rows d_right, bool add)
{
    for_elements(s, d_right.rows, d_right.width, [=] __device__(int64_t r, int64_t c) {
        int64_t j = c / p.d, e = c - j * p.d;
        float sum = 0;
        for (int64_t i = 0; i < j; i++)
            sum += slope(p, row_of(dy, r), i, j, e) * row_of(left, r)[left_at(p, i, j) + e];
        put(row_of(d_right, r) + c, sum, add);
    });
}

/* Where field 0 of the fields that value c of the result is made of lies. */
static __device__ int64_t first_field(const cuda_max_fields &f, int64_t c)
{
    int64_t left = f.n / f.height, field = c / f.maps, place = field / left;
    return (place * f.n + (field - place * left) * f.height) * f.maps + c % f.maps;
}

/* NaN stays. */
void cuda_field_max(cuda_stream s, cuda_max_fields f, cuda_rows x, cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        const float *from = row_of(x, r) + first_field(f, c);
        float most = from[0];
        for (int64_t h = 1; h < f.height; h++) {
            float v = from[h * f.maps];
            most = most >= v || most != most ? most : v;
        }
        row_of(y, r)[c] = most;
    });
}

/* To the first of the fields that none is larger than; fields behind the last whole group get
 * nothing.
 */
void cuda_field_max_back(cuda_stream s, cuda_max_fields f, cuda_rows x, cuda_rows y,
                         cuda_rows dy, cuda_rows dx, bool add)
{
    if (!add)
        cuda_fill(s, dx, 0);
    for_elements(s, dy.rows, dy.width, [=] __device__(int64_t r, int64_t c) {
        int64_t at = first_field(f, c), h = 0;
        while (h + 1 < f.height && row_of(x, r)[at + h * f.maps] < row_of(y, r)[c])
            h++;
        row_of(dx, r)[at + h * f.maps] += row_of(dy, r)[c];
    });
}
