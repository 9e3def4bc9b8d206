/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/norm_body.h - softmax and normalisation; included after map_body.h. */

/* y = e^(x - most) and the sum of it */
static ALWAYS_INLINE float exp_sum(float *y, const float *x, float most, int64_t n)
{
    VF top = V_SET1(most), sum = V_ZERO;
    EACH(n, VF e = v_exp(V_SUB(GET(x), top)); PUT(y, e);
         sum = V_ADD(sum, v_only(e, V_ZERO, m)));
    return V_HSUM(sum);
}

static void k_softmax(float *y, const float *x, int64_t len, int64_t n)
{
    float sum = exp_sum(y, x, k_max(x, len), len);
    k_scale(y, 1.0f / sum, len);
    if (len < n)
        memset(y + len, 0, (size_t)(n - len) * sizeof(float));
}

static void k_softmax_masked(float *y, const float *x, const uint8_t *keep, int64_t n)
{
    VF lowest = V_SET1(-INFINITY), most = lowest, sum = V_ZERO;
    EACH(n, most = V_MAX(most, V_SEL(v_kept(keep + i, m), GET(x), lowest)));
    VF top = V_SET1(V_HMAX(most));
    EACH(n, VF e = V_SEL(v_kept(keep + i, m), v_exp(V_SUB(GET(x), top)), V_ZERO);
         PUT(y, e); sum = V_ADD(sum, e));
    VF total = V_SET1(V_HSUM(sum));
    EACH(n, PUT(y, V_SEL(v_kept(keep + i, m), V_DIV(GET(y), total), V_ZERO)));
}

static void k_softmax_grad(float *dx, const float *y, const float *dy, int64_t n)
{
    VF mean = V_SET1(k_dot(y, dy, n));
    EACH(n, PUT(dx, V_FMA(GET(y), V_SUB(GET(dy), mean), GET(dx))));
}

static ALWAYS_INLINE VF or_one(const float *gamma, int64_t i, int m)
{
    return gamma ? v_get(gamma + i, m) : V_SET1(1.0f);
}

static void k_layer_norm(float *y, const float *x, const float *gamma, const float *beta,
                         float eps, float stats[2], int64_t n)
{
    float count = n ? (float)n : 1.0f, mean = k_sum(x, n) / count;
    VF middle = V_SET1(mean), square = V_ZERO;
    EACH(n, VF d = v_only(V_SUB(GET(x), middle), V_ZERO, m);
         square = V_FMA(d, d, square));
    float by = 1.0f / sqrtf(V_HSUM(square) / count + eps);
    VF scale = V_SET1(by);
    EACH(n, VF hat = V_MUL(V_SUB(GET(x), middle), scale);
         PUT(y, V_FMA(hat, or_one(gamma, i, m), beta ? GET(beta) : V_ZERO)));
    stats[0] = mean;
    stats[1] = by;
}

static void k_layer_norm_grad(float *dx, const float *dy, const float *x,
                              const float *gamma, const float stats[2], int64_t n)
{
    VF middle = V_SET1(stats[0]), scale = V_SET1(stats[1]), s = V_ZERO, t = V_ZERO;
    EACH(n, VF d = V_MUL(GET(dy), or_one(gamma, i, m)); s = V_ADD(s, d);
         t = V_FMA(d, V_MUL(V_SUB(GET(x), middle), scale), t));
    float count = n ? (float)n : 1.0f;
    VF mean_s = V_SET1(V_HSUM(s) / count), mean_t = V_SET1(V_HSUM(t) / count);
    EACH(n, VF d = V_MUL(GET(dy), or_one(gamma, i, m));
         VF hat = V_MUL(V_SUB(GET(x), middle), scale);
         VF part = V_FNMA(hat, mean_t, V_SUB(d, mean_s));
         PUT(dx, V_FMA(scale, part, GET(dx))));
}

static void k_layer_norm_params(float *dgamma, float *dbeta, const float *dy,
                                const float *x, const float stats[2], int64_t n)
{
    VF middle = V_SET1(stats[0]), scale = V_SET1(stats[1]);
    EACH(n, VF d = GET(dy), hat = V_MUL(V_SUB(GET(x), middle), scale);
         PUT(dgamma, V_FMA(d, hat, GET(dgamma))); PUT(dbeta, V_ADD(GET(dbeta), d)));
}

static void k_deviations(float *s, const float *x, const float *mean, int64_t n)
{
    EACH(n, VF d = V_SUB(GET(x), GET(mean)); PUT(s, V_FMA(d, d, GET(s))));
}

static void k_norm_sums(float *s, float *t, const float *dy, const float *x,
                        const float *mean, int64_t n)
{
    EACH(n, VF d = GET(dy); PUT(s, V_ADD(GET(s), d));
         PUT(t, V_FMA(d, V_SUB(GET(x), GET(mean)), GET(t))));
}

static void k_norm_grad(float *dx, const float *dy, const float *x, const float *a,
                        const float *b, const float *c, int64_t n)
{
    EACH(n, VF part = V_FMA(GET(a), GET(dy), V_FMA(GET(b), GET(x), GET(c)));
         PUT(dx, V_ADD(GET(dx), part)));
}
