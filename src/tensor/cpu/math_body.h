/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/math_body.h - functions of a vector; included after a vec_*.h.
 *
 * Polynomials interpolate the function at Chebyshev nodes of the stated range; with exact
 * coefficients they are off by less than 4e-9.
 */

#define LOG2_E 1.44269504f
#define LN2_HIGH 0.693359375f /* few bits: products with whole numbers are exact */
#define LN2_LOW (-2.12194440e-4f)

/* (e^r - 1 - r) / r^2 for |r| <= 0.35 */
static ALWAYS_INLINE VF v_exp_tail(VF r)
{
    VF p = V_SET1(1.989198131e-04f);
    p = V_FMA(p, r, V_SET1(1.393454193e-03f));
    p = V_FMA(p, r, V_SET1(8.333310024e-03f));
    p = V_FMA(p, r, V_SET1(4.166645681e-02f));
    p = V_FMA(p, r, V_SET1(1.666666668e-01f));
    return V_FMA(p, r, V_SET1(5.000000014e-01f));
}

static ALWAYS_INLINE VF v_exp(VF x)
{
    x = V_MIN(V_SET1(89.0f), V_MAX(V_SET1(-104.0f), x)); /* NaN stays */
    VF n = V_ROUND(V_MUL(x, V_SET1(LOG2_E)));
    VF r = V_FNMA(n, V_SET1(LN2_LOW), V_FNMA(n, V_SET1(LN2_HIGH), x));
    VF e = V_FMA(V_MUL(r, r), v_exp_tail(r), r);
    return V_SCALE2(V_ADD(e, V_SET1(1.0f)), n);
}

/* e^x - 1 for x <= 0 */
static ALWAYS_INLINE VF v_expm1_negative(VF x)
{
    VF near = V_FMA(V_MUL(x, x), v_exp_tail(x), x);
    return V_SEL(V_LT(x, V_SET1(-0.34f)), V_SUB(v_exp(x), V_SET1(1.0f)), near);
}

/* ln(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1] */
static ALWAYS_INLINE VF v_log_near_one(VF f)
{
    VF p = V_SET1(6.989834475e-02f);
    p = V_FMA(p, f, V_SET1(-1.150942766e-01f));
    p = V_FMA(p, f, V_SET1(1.169272952e-01f));
    p = V_FMA(p, f, V_SET1(-1.242236598e-01f));
    p = V_FMA(p, f, V_SET1(1.424803968e-01f));
    p = V_FMA(p, f, V_SET1(-1.666790079e-01f));
    p = V_FMA(p, f, V_SET1(2.000074551e-01f));
    p = V_FMA(p, f, V_SET1(-2.499999628e-01f));
    p = V_FMA(p, f, V_SET1(3.333333106e-01f));
    VF f2 = V_MUL(f, f);
    return V_FMA(V_MUL(f2, f), p, V_FMA(f2, V_SET1(-0.5f), f));
}

/* For 0 < x < infinity. */
static ALWAYS_INLINE VF v_log_inside(VF x)
{
    VF s = V_SIGNIFICAND(x), e = V_EXPONENT(x);
    VM big = V_GT(s, V_SET1(1.41421356f));
    s = V_SEL(big, V_MUL(s, V_SET1(0.5f)), s);
    e = V_SEL(big, V_ADD(e, V_SET1(1.0f)), e);
    VF near = v_log_near_one(V_SUB(s, V_SET1(1.0f)));
    return V_FMA(e, V_SET1(LN2_HIGH), V_FMA(e, V_SET1(LN2_LOW), near));
}

static ALWAYS_INLINE VF v_log(VF x)
{
    VF y = v_log_inside(x), infinity = V_SET1(INFINITY);
    y = V_SEL(V_LT(x, infinity), y, x); /* infinity and NaN stay */
    y = V_SEL(V_GT(x, V_ZERO), y, V_SUB(V_ZERO, infinity));
    return V_SEL(V_OR(V_LT(x, V_ZERO), V_NAN(x)), V_SET1(NAN), y);
}

static ALWAYS_INLINE VF v_sigmoid(VF x)
{
    VF one = V_SET1(1.0f);
    return V_DIV(one, V_ADD(one, v_exp(V_SUB(V_ZERO, x))));
}

static ALWAYS_INLINE VF v_tanh(VF x)
{
    VF u = V_MUL(x, x), p = V_SET1(2.277154836e-03f), one = V_SET1(1.0f);
    p = V_FMA(p, u, V_SET1(-8.330076703e-03f));
    p = V_FMA(p, u, V_SET1(2.176464921e-02f));
    p = V_FMA(p, u, V_SET1(-5.395873069e-02f));
    p = V_FMA(p, u, V_SET1(1.333330131e-01f));
    p = V_FMA(p, u, V_SET1(-3.333333316e-01f));
    VF near = V_FMA(V_MUL(p, u), x, x), a = V_ABS(x);
    VF e = v_exp(V_ADD(a, a));
    VF far = V_SUB(one, V_DIV(V_SET1(2.0f), V_ADD(e, one)));
    return V_SEL(V_GT(a, V_SET1(0.625f)), V_SIGNED(far, x), near);
}

/* ln(1 + u) for 0 <= u <= 1: what 1 + u loses is put back. */
static ALWAYS_INLINE VF v_log1p_unit(VF u)
{
    VF one = V_SET1(1.0f), w = V_ADD(one, u);
    VF lost = V_SUB(u, V_SUB(w, one));
    return V_ADD(v_log_inside(w), V_DIV(lost, w));
}

static ALWAYS_INLINE VF v_softplus(VF x)
{
    VF u = v_exp(V_SUB(V_ZERO, V_ABS(x)));
    return V_ADD(V_MAX(V_ZERO, x), v_log1p_unit(u));
}

/* The normal distribution at x: its density and what lies left of x. With t = 1 / (1 +
 * 0.4 z), erfc(z) e^(z^2) is a polynomial of t.
 */
static ALWAYS_INLINE VF v_normal_cdf(VF x, VF *density)
{
    VF one = V_SET1(1.0f), z = V_MUL(V_ABS(x), V_SET1(0.707106781f));
    VF t = V_DIV(one, V_FMA(z, V_SET1(0.4f), one));
    VF p = V_SET1(-1.470076680e-02f);
    p = V_FMA(p, t, V_SET1(5.542908980e-02f));
    p = V_FMA(p, t, V_SET1(-1.735577241e-02f));
    p = V_FMA(p, t, V_SET1(-1.847890518e-01f));
    p = V_FMA(p, t, V_SET1(2.561570998e-01f));
    p = V_FMA(p, t, V_SET1(-1.051287975e-01f));
    p = V_FMA(p, t, V_SET1(1.981070217e-01f));
    p = V_FMA(p, t, V_SET1(1.498521908e-01f));
    p = V_FMA(p, t, V_SET1(2.114432191e-01f));
    p = V_FMA(p, t, V_SET1(2.252933584e-01f));
    p = V_FMA(p, t, V_SET1(2.256924082e-01f));
    /* x^2 / 2 in two parts, or its rounding is what one sees in the tail */
    VF square = V_MUL(x, x), low = V_FMA(x, x, V_SUB(V_ZERO, square));
    square = V_MIN(V_SET1(300.0f), square);
    VF e = v_exp(V_MUL(square, V_SET1(-0.5f)));
    low = V_SEL(V_LT(square, V_SET1(300.0f)), low, V_ZERO);
    e = V_FMA(e, V_MUL(low, V_SET1(-0.5f)), e);
    *density = V_MUL(e, V_SET1(0.39894228f));
    VF tail = V_MUL(V_MUL(p, t), V_MUL(e, V_SET1(0.5f)));
    return V_SEL(V_GT(x, V_ZERO), V_SUB(one, tail), tail);
}
