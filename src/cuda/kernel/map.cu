/* SPDX-License-Identifier: Apache-2.0 */
/* Element by element. What the CPU works out in float is worked out in float here, in the
 * same order and without fused products (-fmad=false): those bytes are the same.
 */
#include "launch.cuh"
#include "rng.cuh"

#define SELU_ALPHA 1.6732632423543772f
#define SELU_SCALE 1.0507009873554805f
#define ROOT_HALF 0.70710678118654752f
#define ROOT_2_PI 0.79788456080286536f
#define NORMAL_TOP 0.39894228040143268f
#define GELU_CUBE 0.044715f

static __device__ float sigmoid(float x)
{
    float e = expf(-fabsf(x));
    return x >= 0 ? 1.0f / (1.0f + e) : e / (1.0f + e);
}

static __device__ float softplus(float x)
{
    return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x));
}

static __device__ float value_of(enum cuda_act_kind act, float param, float x)
{
    switch (act) {
    case CUDA_ACT_RELU:
        return x < 0 ? 0.0f : x; /* NaN stays */
    case CUDA_ACT_LEAKY:
        return x < 0 ? x * param : x;
    case CUDA_ACT_ELU:
        return x > 0 ? x : param * expm1f(x);
    case CUDA_ACT_SELU:
        return SELU_SCALE * (x > 0 ? x : SELU_ALPHA * expm1f(x));
    case CUDA_ACT_GELU:
        return x * 0.5f * erfcf(-x * ROOT_HALF);
    case CUDA_ACT_GELU_TANH:
        return 0.5f * x * (1.0f + tanhf(ROOT_2_PI * (x + GELU_CUBE * x * x * x)));
    case CUDA_ACT_SILU:
        return x * sigmoid(x);
    case CUDA_ACT_SIGMOID:
        return sigmoid(x);
    case CUDA_ACT_TANH:
        return tanhf(x);
    case CUDA_ACT_SOFTPLUS:
        return softplus(x);
    case CUDA_ACT_MISH:
        return x < -1000.0f ? 0.0f : x * tanhf(softplus(x));
    case CUDA_ACT_HARDSWISH:
        return x <= -3 ? 0.0f : x >= 3 ? x : x * (x + 3) / 6;
    case CUDA_ACT_RELU6:
        return x < 0 ? 0.0f : x > 6 ? 6.0f : x;
    default:
        return x;
    }
}

static __device__ float slope_gelu_tanh(float x)
{
    float t = tanhf(ROOT_2_PI * (x + GELU_CUBE * x * x * x));
    float inner = ROOT_2_PI * (1.0f + 3.0f * GELU_CUBE * x * x);
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
}

static __device__ float slope_mish(float x)
{
    if (x < -100.0f)
        return 0.0f;
    float t = tanhf(softplus(x));
    return t + x * sigmoid(x) * (1.0f - t * t);
}

static __device__ float slope_of(enum cuda_act_kind act, float param, float x)
{
    float p;
    switch (act) {
    case CUDA_ACT_RELU:
        return x > 0 ? 1.0f : 0.0f;
    case CUDA_ACT_LEAKY:
        return x > 0 ? 1.0f : param;
    case CUDA_ACT_ELU:
        return x > 0 ? 1.0f : param * expf(x);
    case CUDA_ACT_SELU:
        return SELU_SCALE * (x > 0 ? 1.0f : SELU_ALPHA * expf(x));
    case CUDA_ACT_GELU:
        return 0.5f * erfcf(-x * ROOT_HALF) + x * NORMAL_TOP * expf(-0.5f * x * x);
    case CUDA_ACT_GELU_TANH:
        return slope_gelu_tanh(x);
    case CUDA_ACT_SILU:
        p = sigmoid(x);
        return p * (1.0f + x * (1.0f - p));
    case CUDA_ACT_SIGMOID:
        p = sigmoid(x);
        return p * (1.0f - p);
    case CUDA_ACT_TANH:
        p = tanhf(x);
        return 1.0f - p * p;
    case CUDA_ACT_SOFTPLUS:
        return sigmoid(x);
    case CUDA_ACT_MISH:
        return slope_mish(x);
    case CUDA_ACT_HARDSWISH:
        return x <= -3 ? 0.0f : x >= 3 ? 1.0f : (2 * x + 3) / 6;
    case CUDA_ACT_RELU6:
        return x > 0 && x < 6 ? 1.0f : 0.0f;
    default:
        return 1.0f;
    }
}

void cuda_act(cuda_stream s, enum cuda_act_kind act, float param, cuda_rows x, cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        row_of(y, r)[c] = value_of(act, param, row_of(x, r)[c]);
    });
}

void cuda_act_back(cuda_stream s, enum cuda_act_kind act, float param, cuda_rows x,
                   cuda_rows dy, cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t c) {
        put(row_of(dx, r) + c,
            row_of(dy, r)[c] * slope_of(act, param, row_of(x, r)[c]), add);
    });
}

void cuda_bias_act(cuda_stream s, const float *bias, enum cuda_act_kind act, cuda_rows y)
{
    if (!bias && act == CUDA_ACT_NONE)
        return;
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        float *at = row_of(y, r) + c;
        *at = value_of(act, 0.0f, bias ? *at + bias[c] : *at);
    });
}

static __device__ float from_out(enum cuda_act_kind act, float y)
{
    if (act == CUDA_ACT_RELU)
        return y > 0 ? 1.0f : 0.0f;
    return act == CUDA_ACT_SIGMOID ? y * (1.0f - y) : 1.0f - y * y;
}

void cuda_act_from_out(cuda_stream s, enum cuda_act_kind act, cuda_rows y, cuda_rows dy)
{
    if (act == CUDA_ACT_NONE)
        return;
    for_elements(s, dy.rows, dy.width, [=] __device__(int64_t r, int64_t c) {
        row_of(dy, r)[c] *= from_out(act, row_of(y, r)[c]);
    });
}

void cuda_binary(cuda_stream s, enum cuda_binary_kind op, float by, cuda_rows a, cuda_rows b,
                 cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        float u = row_of(a, r)[c], v = row_of(b, r)[c], w;
        if (op == CUDA_MUL)
            w = u * v * by;
        else
            w = op == CUDA_SUB ? u - v : u + v;
        row_of(y, r)[c] = op == CUDA_ADD_RELU && w < 0 ? 0.0f : w;
    });
}

void cuda_product_back(cuda_stream s, float by, cuda_rows other, cuda_rows dy,
                       cuda_rows dx, bool add)
{
    for_elements(s, dx.rows, dx.width, [=] __device__(int64_t r, int64_t c) {
        float d = row_of(dy, r)[c] * by;
        put(row_of(dx, r) + c, other.at ? d * row_of(other, r)[c] : d, add);
    });
}

void cuda_scale(cuda_stream s, float by, float plus, cuda_rows x, cuda_rows y, bool add)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        put(row_of(y, r) + c, row_of(x, r)[c] * by + plus, add);
    });
}

void cuda_mixed(cuda_stream s, float by, float scale, cuda_rows x, cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        float *at = row_of(y, r) + c;
        *at = (*at + row_of(x, r)[c] * by) * scale;
    });
}

void cuda_leaky_from_out(cuda_stream s, float slope, cuda_rows y, cuda_rows dy)
{
    for_elements(s, dy.rows, dy.width, [=] __device__(int64_t r, int64_t c) {
        row_of(dy, r)[c] *= row_of(y, r)[c] > 0 ? 1.0f : slope;
    });
}

static bool is_wide(cuda_rows v)
{
    return (uintptr_t)v.at % 16 == 0 && v.ld % 4 == 0 && v.width % 4 == 0;
}

void cuda_put(cuda_stream s, cuda_rows x, cuda_rows y, bool add)
{
    if (is_wide(x) && is_wide(y)) {
        for_elements(s, y.rows, y.width / 4, [=] __device__(int64_t r, int64_t c) {
            float4 v = ((const float4 *)row_of(x, r))[c];
            float4 *to = (float4 *)row_of(y, r) + c, old = make_float4(0, 0, 0, 0);
            if (add) {
                old = *to;
                v = make_float4(old.x + v.x, old.y + v.y, old.z + v.z, old.w + v.w);
            }
            *to = v;
        });
        return;
    }
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        put(row_of(y, r) + c, row_of(x, r)[c], add);
    });
}

void cuda_pad(cuda_stream s, cuda_rows x, cuda_rows y)
{
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        row_of(y, r)[c] = c < x.width ? row_of(x, r)[c] : 0.0f;
    });
}

void cuda_fill(cuda_stream s, cuda_rows y, float value)
{
    for_elements(s, y.rows, y.width,
                 [=] __device__(int64_t r, int64_t c) { row_of(y, r)[c] = value; });
}

/* The word-th word of a row's sequence. */
static __device__ uint32_t random_word(uint32_t k0, uint32_t k1, uint64_t row,
                                       uint64_t word)
{
    uint32_t block[4];
    rng_block_at(k0, k1, word / 4, row, block);
    return word % 4 == 0   ? block[0]
           : word % 4 == 1 ? block[1]
           : word % 4 == 2 ? block[2]
                           : block[3];
}

void cuda_dropout(cuda_stream s, const uint32_t key[2], uint32_t below, float scale,
                  cuda_rows x, cuda_rows y, bool add)
{
    uint32_t k0 = key[0], k1 = key[1];
    for_elements(s, y.rows, y.width, [=] __device__(int64_t r, int64_t c) {
        bool drop = random_word(k0, k1, (uint64_t)r, (uint64_t)c) < below;
        put(row_of(y, r) + c, drop ? 0.0f : row_of(x, r)[c] * scale, add);
    });
}
