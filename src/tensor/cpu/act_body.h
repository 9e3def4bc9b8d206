/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/act_body.h - activations and their slopes; included after map_body.h. */

static ALWAYS_INLINE VF elu_part(VF v, VF a)
{
    return V_SEL(V_GT(v, V_ZERO), v, V_MUL(a, v_expm1_negative(V_MIN(V_ZERO, v))));
}

static ALWAYS_INLINE VF elu_slope(VF v, VF a)
{
    return V_SEL(V_GT(v, V_ZERO), V_SET1(1.0f), V_MUL(a, v_exp(V_MIN(V_ZERO, v))));
}

static ALWAYS_INLINE VF gelu_slope(VF v)
{
    VF density, left = v_normal_cdf(v, &density);
    VF far = V_MUL(v, density); /* infinity * 0 */
    return V_ADD(left, V_SEL(V_GT(density, V_ZERO), far, density));
}

static ALWAYS_INLINE VF gelu_value(VF v)
{
    VF density, left = v_normal_cdf(v, &density);
    return V_SEL(V_LT(v, V_SET1(-15.0f)), V_ZERO, V_MUL(v, left));
}

/* 1 - sigmoid(x), without loss for large x */
static ALWAYS_INLINE VF v_sigmoid_rest(VF x)
{
    return v_sigmoid(V_SUB(V_ZERO, x));
}

/* sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3); *at is 2 u. */
static ALWAYS_INLINE VF gelu_gate(VF x, VF *at)
{
    VF inner = V_FMA(V_MUL(x, x), V_SET1(0.0713548162726f), V_SET1(1.59576912161f));
    *at = V_MUL(x, inner);
    return v_sigmoid(*at);
}

static ALWAYS_INLINE VF gelu_tanh_value(VF v)
{
    VF at, gate = gelu_gate(V_MIN(V_SET1(15.0f), V_MAX(V_SET1(-15.0f), v)), &at);
    return V_SEL(V_LT(v, V_SET1(-15.0f)), V_ZERO, V_MUL(v, gate));
}

/* Beyond 15 the gate is open or shut, to the last bit. */
static ALWAYS_INLINE VF gelu_tanh_slope(VF v)
{
    VF x = V_MIN(V_SET1(15.0f), V_MAX(V_SET1(-15.0f), v)), at, s = gelu_gate(x, &at);
    VF steep = V_FMA(V_MUL(x, x), V_SET1(0.214064448818f), V_SET1(1.59576912161f));
    return V_MUL(s, V_FMA(V_MUL(x, steep), v_sigmoid_rest(at), V_SET1(1.0f)));
}

static ALWAYS_INLINE VF silu_value(VF v)
{
    return V_SEL(V_LT(v, V_SET1(-88.0f)), V_ZERO, V_MUL(v, v_sigmoid(v)));
}

static ALWAYS_INLINE VF silu_slope(VF v)
{
    VF x = V_MIN(V_SET1(88.0f), V_MAX(V_SET1(-88.0f), v));
    return V_MUL(v_sigmoid(x), V_FMA(x, v_sigmoid_rest(x), V_SET1(1.0f)));
}

/* tanh(softplus(x)) = n / (n + 2) with n = e^x (e^x + 2); *rest is one less that. */
static ALWAYS_INLINE VF mish_part(VF x, VF *rest)
{
    VF two = V_SET1(2.0f), e = v_exp(V_MIN(V_SET1(20.0f), x));
    VF n = V_MUL(e, V_ADD(e, two)), below = V_DIV(V_SET1(1.0f), V_ADD(n, two));
    *rest = V_MUL(two, below);
    return V_MUL(n, below);
}

static ALWAYS_INLINE VF mish_value(VF v)
{
    VF rest, t = mish_part(v, &rest);
    return V_SEL(V_LT(v, V_SET1(-88.0f)), V_ZERO, V_MUL(v, t));
}

static ALWAYS_INLINE VF mish_slope(VF v)
{
    VF x = V_MIN(V_SET1(88.0f), V_MAX(V_SET1(-88.0f), v)), rest, t = mish_part(x, &rest);
    rest = V_MUL(rest, V_ADD(V_SET1(1.0f), t)); /* 1 - t^2 */
    return V_FMA(V_MUL(x, rest), v_sigmoid(x), t);
}

static ALWAYS_INLINE VF hardswish_value(VF v)
{
    VF three = V_SET1(3.0f), part = V_MIN(V_SET1(6.0f), V_MAX0(V_ADD(v, three)));
    VF y = V_MUL(V_MUL(v, part), V_SET1(1.0f / 6));
    return V_SEL(V_GT(v, three), v, V_SEL(V_LT(v, V_SET1(-3.0f)), V_ZERO, y));
}

static ALWAYS_INLINE VF hardswish_slope(VF v)
{
    VF one = V_SET1(1.0f), inner = V_FMA(v, V_SET1(1.0f / 3), V_SET1(0.5f));
    VF y = V_SEL(V_LT(v, V_SET1(3.0f)), inner, one);
    y = V_SEL(V_GT(v, V_SET1(-3.0f)), y, V_ZERO);
    return V_SEL(V_NAN(v), v, y);
}

static ALWAYS_INLINE VF step(VF v, VF below, VF above)
{
    return V_SEL(V_GT(v, V_ZERO), above, below);
}

static ALWAYS_INLINE VF relu6_slope(VF v)
{
    return V_SEL(V_LT(v, V_SET1(6.0f)), step(v, V_ZERO, V_SET1(1.0f)), V_ZERO);
}

/* 1 + |v| */
static ALWAYS_INLINE VF softsign_part(VF v)
{
    return V_ADD(V_SET1(1.0f), V_MAX(v, V_SUB(V_ZERO, v)));
}

static ALWAYS_INLINE VF softsign_slope(VF v)
{
    VF part = V_DIV(V_SET1(1.0f), softsign_part(v));
    return V_SEL(V_NAN(v), v, V_MUL(part, part));
}

static ALWAYS_INLINE VF tanh_slope(VF v)
{
    VF one = V_SET1(1.0f), s = v_tanh(v);
    return V_MUL(V_SUB(one, s), V_ADD(one, s));
}

/* One activation: its value and its slope at v; `a` is the parameter. */
#define ACTIVATION(name, value_of, slope_of)                                             \
    static void k_##name(float *y, const float *x, float param, int64_t n)               \
    {                                                                                    \
        VF a = V_SET1(param);                                                            \
        (void)a;                                                                         \
        EACH(n, VF v = GET(x); PUT(y, value_of));                                        \
    }                                                                                    \
    static void k_##name##_grad(float *dx, const float *dy, const float *x, float param, \
                                int64_t n)                                               \
    {                                                                                    \
        VF a = V_SET1(param), one = V_SET1(1.0f);                                        \
        (void)a;                                                                         \
        (void)one;                                                                       \
        EACH(n, VF v = GET(x); PUT(dx, V_FMA(GET(dy), slope_of, GET(dx))));              \
    }

#define SELU_ALPHA 1.67326324f
#define SELU_SCALE 1.05070099f
#define SELU_PART V_SET1(SELU_SCALE *SELU_ALPHA)

ACTIVATION(relu, V_MAX0(v), step(v, V_ZERO, one))
ACTIVATION(leaky, V_SEL(V_GT(v, V_ZERO), v, V_MUL(a, v)), step(v, a, one))
ACTIVATION(elu, elu_part(v, a), elu_slope(v, a))
ACTIVATION(selu,
           V_SEL(V_GT(v, V_ZERO), V_MUL(V_SET1(SELU_SCALE), v), elu_part(v, SELU_PART)),
           V_SEL(V_GT(v, V_ZERO), V_SET1(SELU_SCALE), elu_slope(v, SELU_PART)))
ACTIVATION(gelu, gelu_value(v), gelu_slope(v))
ACTIVATION(gelu_tanh, gelu_tanh_value(v), gelu_tanh_slope(v))
ACTIVATION(silu, silu_value(v), silu_slope(v))
ACTIVATION(sigmoid, v_sigmoid(v), V_MUL(v_sigmoid(v), v_sigmoid_rest(v)))
ACTIVATION(tanh, v_tanh(v), tanh_slope(v))
ACTIVATION(softplus, v_softplus(v), v_sigmoid(v))
ACTIVATION(mish, mish_value(v), mish_slope(v))
ACTIVATION(hardswish, hardswish_value(v), hardswish_slope(v))
ACTIVATION(relu6, V_MIN(V_SET1(6.0f), V_MAX0(v)), relu6_slope(v))
ACTIVATION(softsign, V_DIV(v, softsign_part(v)), softsign_slope(v))

static void k_none_out(const float *y, float *dy, int64_t n)
{
}

static void k_relu_out(const float *y, float *dy, int64_t n)
{
    EACH(n, PUT(dy, step(GET(y), V_ZERO, GET(dy))));
}

static void k_sigmoid_out(const float *y, float *dy, int64_t n)
{
    VF one = V_SET1(1.0f);
    EACH(n, VF s = GET(y); PUT(dy, V_MUL(GET(dy), V_MUL(s, V_SUB(one, s)))));
}

static void k_tanh_out(const float *y, float *dy, int64_t n)
{
    VF one = V_SET1(1.0f);
    EACH(n, VF t = GET(y); PUT(dy, V_MUL(GET(dy), V_FNMA(t, t, one))));
}

static void k_dice(float *y, const float *x, const float *p, const float *alpha,
                   int64_t n)
{
    VF one = V_SET1(1.0f);
    EACH(n, VF a = GET(alpha); PUT(y, V_MUL(GET(x), V_FMA(GET(p), V_SUB(one, a), a))));
}

static void k_dice_grad(float *dx, float *dp, float *dalpha, const float *dy,
                        const float *x, const float *p, const float *alpha, int64_t n)
{
    VF one = V_SET1(1.0f);
    EACH(n, VF a = GET(alpha), q = GET(p), d = GET(dy), v = V_MUL(d, GET(x));
         PUT(dx, V_FMA(d, V_FMA(q, V_SUB(one, a), a), GET(dx)));
         PUT(dp, V_MUL(v, V_SUB(one, a)));
         PUT(dalpha, V_FMA(v, V_SUB(one, q), GET(dalpha))));
}
