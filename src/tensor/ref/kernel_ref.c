/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C: the definition of each kernel, which the faster tables are compared with. Sums and
 * functions are computed in double and rounded once, so that the reference is the most
 * accurate of them, not the fastest.
 */
#include <math.h>
#include <string.h>

#include "tensor/kernel_private.h"
#include "tensor/tensor.h"

#define EACH(n) for (int64_t i = 0; i < (n); i++)

static void k_add(float *y, const float *x, int64_t n)
{
    EACH(n)
    y[i] += x[i];
}

static void k_axpy(float *y, float a, const float *x, int64_t n)
{
    EACH(n)
    y[i] += a * x[i];
}

static void k_times(float *y, float a, const float *x, int64_t n)
{
    EACH(n)
    y[i] = a * x[i];
}

static void k_axpby(float *y, float a, const float *x, float b, int64_t n)
{
    EACH(n)
    y[i] = a * x[i] + b * y[i];
}

static void k_scale(float *y, float a, int64_t n)
{
    EACH(n)
    y[i] *= a;
}

static void k_mul(float *y, const float *a, const float *b, int64_t n)
{
    EACH(n)
    y[i] = a[i] * b[i];
}

static void k_mul_add(float *y, const float *a, const float *b, int64_t n)
{
    EACH(n)
    y[i] += a[i] * b[i];
}

static void k_clamp(float *y, float low, float high, int64_t n)
{
    EACH(n)
    y[i] = y[i] < low ? low : y[i] > high ? high : y[i];
}

static void k_scale_shift(float *y, const float *x, const float *a, const float *b,
                          int64_t n)
{
    EACH(n)
    y[i] = x[i] * a[i] + b[i];
}

static double exact_dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    EACH(n)
    sum += (double)a[i] * (double)b[i];
    return sum;
}

static double exact_sum(const float *x, int64_t n)
{
    double sum = 0;
    EACH(n)
    sum += (double)x[i];
    return sum;
}

static float k_dot(const float *a, const float *b, int64_t n)
{
    return (float)exact_dot(a, b, n);
}

static void k_dot_rows(float *y, const float *x, int64_t ld, int64_t rows, const float *w,
                       int64_t n)
{
    EACH(rows)
    y[i] = k_dot(x + i * ld, w, n);
}

static void k_add_rows(float *y, const float *x, int64_t ld, int64_t rows, const float *s,
                       int64_t ld_s, int64_t n)
{
    for (int64_t r = 0; r < rows; r++)
        EACH(n)
    y[i] += (s ? s[r * ld_s] : 1.0f) * x[r * ld + i];
}

static float k_sum(const float *x, int64_t n)
{
    return (float)exact_sum(x, n);
}

static double k_sum_squares(const float *x, int64_t n)
{
    return exact_dot(x, x, n);
}

static float k_max(const float *x, int64_t n)
{
    float most = -INFINITY;
    EACH(n)
    if (x[i] > most || isnan(x[i]))
        most = x[i];
    EACH(n)
    if (isnan(x[i]))
        return NAN;
    return most;
}

static bool k_finite(const float *x, int64_t n)
{
    EACH(n)
    if (!isfinite(x[i]))
        return false;
    return true;
}

static void k_exp(float *y, const float *x, int64_t n)
{
    EACH(n)
    y[i] = (float)exp((double)x[i]);
}

static void k_log(float *y, const float *x, int64_t n)
{
    EACH(n)
    y[i] = (float)log((double)x[i]);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752);
}

/* Far out, products of something endless and nothing take their limit. */
static double near_zero(double x)
{
    return x < -1000 ? -1000 : x > 1000 ? 1000 : x;
}

static double gelu_slope(double x)
{
    return normal_cdf(x) + x * 0.39894228040143268 * exp(-0.5 * x * x);
}

/* 0.5 (1 + tanh(u)) is sigmoid(2 u), with u = sqrt(2 / pi) (x + 0.044715 x^3). */
static double gelu_gate(double x)
{
    return sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x));
}

static double gelu_tanh_slope(double x)
{
    double s = gelu_gate(x);
    return s + x * s * (1 - s) * 1.5957691216057308 * (1 + 3 * 0.044715 * x * x);
}

static double silu_slope(double x)
{
    return sigmoid(x) * (1 + x * sigmoid(-x));
}

static double mish_slope(double x)
{
    double t = tanh(softplus(x));
    return t + x * (1 - t * t) * sigmoid(x);
}

#define SELU_ALPHA 1.6732632423543772
#define SELU_SCALE 1.0507009873554805

/* One activation: its value and its slope at v, in double. */
#define ACTIVATION(name, value, slope)                                                   \
    static void k_##name(float *y, const float *x, float param, int64_t n)               \
    {                                                                                    \
        double a = (double)param;                                                        \
        (void)a;                                                                         \
        EACH(n)                                                                          \
        {                                                                                \
            double v = (double)x[i];                                                     \
            y[i] = (float)(value);                                                       \
        }                                                                                \
    }                                                                                    \
    static void k_##name##_grad(float *dx, const float *dy, const float *x, float param, \
                                int64_t n)                                               \
    {                                                                                    \
        double a = (double)param;                                                        \
        (void)a;                                                                         \
        EACH(n)                                                                          \
        {                                                                                \
            double v = (double)x[i];                                                     \
            (void)v;                                                                     \
            dx[i] = (float)((double)dx[i] + (double)dy[i] * (slope));                    \
        }                                                                                \
    }

ACTIVATION(relu, v <= 0 ? 0 : v, v > 0 ? 1.0 : 0.0)
ACTIVATION(leaky, v > 0 ? v : a * v, v > 0 ? 1.0 : a)
ACTIVATION(elu, v > 0 ? v : a * expm1(v), v > 0 ? 1.0 : a * exp(v))
ACTIVATION(selu, SELU_SCALE *(v > 0 ? v : SELU_ALPHA * expm1(v)),
           SELU_SCALE *(v > 0 ? 1.0 : SELU_ALPHA * exp(v)))
ACTIVATION(gelu, v < -1000 ? 0 : v * normal_cdf(v), gelu_slope(near_zero(v)))
ACTIVATION(gelu_tanh, v < -1000 ? 0 : v * gelu_gate(near_zero(v)),
           gelu_tanh_slope(near_zero(v)))
ACTIVATION(silu, v < -1000 ? 0 : v * sigmoid(v), silu_slope(near_zero(v)))
ACTIVATION(sigmoid, sigmoid(v), sigmoid(v) * (1 - sigmoid(v)))
ACTIVATION(tanh, tanh(v), 1 - tanh(v) * tanh(v))
ACTIVATION(softplus, softplus(v), sigmoid(v))
ACTIVATION(mish, v < -1000 ? 0 : v * tanh(softplus(v)), mish_slope(near_zero(v)))
ACTIVATION(hardswish,
           v <= -3  ? 0
           : v >= 3 ? v
                    : v * (v + 3) / 6,
           v <= -3  ? 0.0
           : v >= 3 ? 1.0
                    : (2 * v + 3) / 6)
ACTIVATION(relu6, v <= 0 ? 0 : v >= 6 ? 6 : v, v > 0 && v < 6 ? 1.0 : 0.0)
ACTIVATION(softsign, v / (1 + fabs(v)), 1 / ((1 + fabs(v)) * (1 + fabs(v))))

static void k_none_out(const float *y, float *dy, int64_t n)
{
}

static void k_relu_out(const float *y, float *dy, int64_t n)
{
    EACH(n)
    dy[i] = y[i] > 0.0f ? dy[i] : 0.0f;
}

static void k_sigmoid_out(const float *y, float *dy, int64_t n)
{
    EACH(n)
    dy[i] *= y[i] * (1.0f - y[i]);
}

static void k_tanh_out(const float *y, float *dy, int64_t n)
{
    EACH(n)
    dy[i] *= 1.0f - y[i] * y[i];
}

static void k_softmax_masked(float *y, const float *x, const uint8_t *keep, int64_t n)
{
    double most = -INFINITY, sum = 0;
    EACH(n)
    if (keep[i] && (double)x[i] > most)
        most = (double)x[i];
    EACH(n)
    sum += keep[i] ? exp((double)x[i] - most) : 0;
    EACH(n)
    y[i] = keep[i] ? (float)(exp((double)x[i] - most) / sum) : 0.0f;
}

static void k_softmax(float *y, const float *x, int64_t len, int64_t n)
{
    double most = -INFINITY, sum = 0;
    EACH(len)
    most = fmax(most, (double)x[i]);
    EACH(len)
    sum += exp((double)x[i] - most);
    EACH(len)
    y[i] = (float)(exp((double)x[i] - most) / sum);
    for (int64_t i = len; i < n; i++)
        y[i] = 0.0f;
}

static void k_softmax_grad(float *dx, const float *y, const float *dy, int64_t n)
{
    double mean = exact_dot(y, dy, n);
    EACH(n)
    dx[i] = (float)((double)dx[i] + (double)y[i] * ((double)dy[i] - mean));
}

static void k_layer_norm(float *y, const float *x, const float *gamma, const float *beta,
                         float eps, float stats[2], int64_t n)
{
    double mean = n ? exact_sum(x, n) / (double)n : 0, square = 0;
    EACH(n)
    square += ((double)x[i] - mean) * ((double)x[i] - mean);
    double scale = 1 / sqrt((n ? square / (double)n : 0) + (double)eps);
    EACH(n)
    y[i] = (float)(((double)x[i] - mean) * scale * (gamma ? (double)gamma[i] : 1) +
                   (beta ? (double)beta[i] : 0));
    stats[0] = (float)mean;
    stats[1] = (float)scale;
}

static void k_layer_norm_grad(float *dx, const float *dy, const float *x,
                              const float *gamma, const float stats[2], int64_t n)
{
    double s = 0, t = 0, mean = (double)stats[0], scale = (double)stats[1];
    EACH(n)
    {
        double d = (double)dy[i] * (gamma ? (double)gamma[i] : 1);
        s += d;
        t += d * ((double)x[i] - mean) * scale;
    }
    EACH(n)
    {
        double d = (double)dy[i] * (gamma ? (double)gamma[i] : 1);
        double hat = ((double)x[i] - mean) * scale;
        dx[i] =
            (float)((double)dx[i] + scale * (d - s / (double)n - hat * t / (double)n));
    }
}

static void k_layer_norm_params(float *dgamma, float *dbeta, const float *dy,
                                const float *x, const float stats[2], int64_t n)
{
    EACH(n)
    {
        dgamma[i] += dy[i] * ((x[i] - stats[0]) * stats[1]);
        dbeta[i] += dy[i];
    }
}

static void k_deviations(float *s, const float *x, const float *mean, int64_t n)
{
    EACH(n)
    s[i] += (x[i] - mean[i]) * (x[i] - mean[i]);
}

static void k_norm_sums(float *s, float *t, const float *dy, const float *x,
                        const float *mean, int64_t n)
{
    EACH(n)
    {
        s[i] += dy[i];
        t[i] += dy[i] * (x[i] - mean[i]);
    }
}

static void k_norm_grad(float *dx, const float *dy, const float *x, const float *a,
                        const float *b, const float *c, int64_t n)
{
    EACH(n)
    dx[i] += a[i] * dy[i] + (b[i] * x[i] + c[i]);
}

static void k_dice(float *y, const float *x, const float *p, const float *alpha,
                   int64_t n)
{
    EACH(n)
    y[i] = x[i] * (alpha[i] + p[i] * (1.0f - alpha[i]));
}

static void k_dice_grad(float *dx, float *dp, float *dalpha, const float *dy,
                        const float *x, const float *p, const float *alpha, int64_t n)
{
    EACH(n)
    {
        dx[i] += dy[i] * (alpha[i] + p[i] * (1.0f - alpha[i]));
        dp[i] = dy[i] * x[i] * (1.0f - alpha[i]);
        dalpha[i] += dy[i] * x[i] * (1.0f - p[i]);
    }
}

/* The gradient that a rule works on; shrinks w when the decay is decoupled. */
static float decayed(float *w, float g, const struct kernel_optim_step *o)
{
    if (!o->decoupled)
        return g + (float)o->weight_decay * *w;
    *w *= (float)(1 - o->lr * o->weight_decay);
    return g;
}

static void k_sgd(float *w, const float *g, float *m, const struct kernel_optim_step *o,
                  int64_t n)
{
    EACH(n)
    {
        float d = decayed(&w[i], g[i], o);
        if (m) {
            m[i] = o->first ? d : (float)o->rate1 * m[i] + (float)(1 - o->rate2) * d;
            d = o->nesterov ? d + (float)o->rate1 * m[i] : m[i];
        }
        w[i] -= (float)o->lr * d;
    }
}

static void k_adam(float *w, const float *g, float *m, float *v, float *v_max,
                   const struct kernel_optim_step *o, int64_t n)
{
    EACH(n)
    {
        float d = decayed(&w[i], g[i], o);
        m[i] = (float)o->rate1 * m[i] + (float)(1 - o->rate1) * d;
        v[i] = (float)o->rate2 * v[i] + (float)(1 - o->rate2) * (d * d);
        float most = v[i];
        if (v_max)
            most = v_max[i] = v_max[i] > v[i] ? v_max[i] : v[i];
        w[i] -= (float)(o->lr / o->bias1) * m[i] /
                (sqrtf(most) * (float)(1 / sqrt(o->bias2)) + (float)o->eps);
    }
}

static void k_adagrad(float *w, const float *g, float *s,
                      const struct kernel_optim_step *o, int64_t n)
{
    EACH(n)
    {
        float d = decayed(&w[i], g[i], o);
        s[i] += d * d;
        w[i] -= (float)o->lr * d / (sqrtf(s[i]) + (float)o->eps);
    }
}

static void k_rmsprop(float *w, const float *g, float *s,
                      const struct kernel_optim_step *o, int64_t n)
{
    EACH(n)
    {
        float d = decayed(&w[i], g[i], o);
        s[i] = (float)o->rate1 * s[i] + (float)(1 - o->rate1) * (d * d);
        w[i] -= (float)o->lr * d / (sqrtf(s[i]) + (float)o->eps);
    }
}

static void k_adadelta(float *w, const float *g, float *s, float *acc,
                       const struct kernel_optim_step *o, int64_t n)
{
    EACH(n)
    {
        float d = decayed(&w[i], g[i], o);
        s[i] = (float)o->rate1 * s[i] + (float)(1 - o->rate1) * (d * d);
        d *= sqrtf(acc[i] + (float)o->eps) / sqrtf(s[i] + (float)o->eps);
        acc[i] = (float)o->rate1 * acc[i] + (float)(1 - o->rate1) * (d * d);
        w[i] -= (float)o->lr * d;
    }
}

static void k_gather(float *y, int64_t ld_y, const float *table, int64_t ld,
                     const int64_t *at, int64_t n_rows, int64_t width)
{
    EACH(n_rows)
    memcpy(y + i * ld_y, table + at[i] * ld, (size_t)width * sizeof(float));
}

static void k_scatter_add(float *table, int64_t ld, const int64_t *at, const float *x,
                          int64_t ld_x, int64_t n_rows, int64_t width)
{
    EACH(n_rows)
    k_add(table + at[i] * ld, x + i * ld_x, width);
}

static void k_to_bf16(uint16_t *y, const float *x, int64_t n)
{
    EACH(n)
    y[i] = bf16_from_f32(x[i]);
}

static void k_from_bf16(float *y, const uint16_t *x, int64_t n)
{
    EACH(n)
    y[i] = bf16_to_f32(x[i]);
}

static void k_round_bf16(float *y, const float *x, int64_t n)
{
    EACH(n)
    y[i] = bf16_to_f32(bf16_from_f32(x[i]));
}

static void k_to_f16(uint16_t *y, const float *x, int64_t n)
{
    EACH(n)
    y[i] = f16_from_f32(x[i]);
}

static void k_from_f16(float *y, const uint16_t *x, int64_t n)
{
    EACH(n)
    y[i] = f16_to_f32(x[i]);
}

static void k_random_bits(struct rng *r, uint32_t *out, int64_t n)
{
    rng_fill_u32(r, out, (size_t)n);
}

static void k_dropout(float *y, const float *x, const struct rng *r, float p, int64_t n)
{
    struct rng at = *r;
    uint32_t least = (uint32_t)((double)p * 0x1p32);
    float scale = 1.0f / (1.0f - p);
    EACH(n)
    y[i] = rng_u32(&at) >= least ? x[i] * scale : 0.0f;
}

static void k_dropout_add(float *y, const float *x, const struct rng *r, float p,
                          int64_t n)
{
    struct rng at = *r;
    uint32_t least = (uint32_t)((double)p * 0x1p32);
    float scale = 1.0f / (1.0f - p);
    EACH(n)
    y[i] += rng_u32(&at) >= least ? x[i] * scale : 0.0f;
}

const struct kernels kernels_plain = {
    .name = "ref",
#include "tensor/table_body.h"
};
