/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/cpu/map_body.h - element by element loops and sums; included after math_body.h.
 */

/* The statement is run for whole vectors and then once for the `m` elements left over;
 * GET and PUT reach the vector at i.
 */
#define EACH(n, ...)                     \
    do {                                 \
        int64_t i = 0;                   \
        for (; i + VL <= (n); i += VL) { \
            const int m = VL;            \
            __VA_ARGS__;                 \
        }                                \
        if (i < (n)) {                   \
            const int m = (int)((n)-i);  \
            __VA_ARGS__;                 \
        }                                \
    } while (0)
#define GET(p) v_get((p) + i, m)
#define PUT(p, v) v_put((p) + i, v, m)

static void k_add(float *y, const float *x, int64_t n)
{
    EACH(n, PUT(y, V_ADD(GET(y), GET(x))));
}

static void k_axpy(float *y, float a, const float *x, int64_t n)
{
    VF by = V_SET1(a);
    EACH(n, PUT(y, V_FMA(by, GET(x), GET(y))));
}

static void k_times(float *y, float a, const float *x, int64_t n)
{
    VF by = V_SET1(a);
    EACH(n, PUT(y, V_MUL(by, GET(x))));
}

static void k_axpby(float *y, float a, const float *x, float b, int64_t n)
{
    VF by = V_SET1(a), old = V_SET1(b);
    EACH(n, PUT(y, V_FMA(by, GET(x), V_MUL(old, GET(y)))));
}

static void k_scale(float *y, float a, int64_t n)
{
    VF by = V_SET1(a);
    EACH(n, PUT(y, V_MUL(by, GET(y))));
}

static void k_mul(float *y, const float *a, const float *b, int64_t n)
{
    EACH(n, PUT(y, V_MUL(GET(a), GET(b))));
}

static void k_mul_add(float *y, const float *a, const float *b, int64_t n)
{
    EACH(n, PUT(y, V_FMA(GET(a), GET(b), GET(y))));
}

static void k_clamp(float *y, float low, float high, int64_t n)
{
    VF l = V_SET1(low), h = V_SET1(high);
    EACH(n, PUT(y, V_MIN(h, V_MAX(l, GET(y)))));
}

static void k_scale_shift(float *y, const float *x, const float *a, const float *b,
                          int64_t n)
{
    EACH(n, PUT(y, V_FMA(GET(x), GET(a), GET(b))));
}

/* Sums run in four vectors over at most so many elements, and from there in double. */
#define SUM_BLOCK 4096

static ALWAYS_INLINE float block_sum(const float *a, const float *b, int kind, int64_t n)
{
    VF acc[4] = {V_ZERO, V_ZERO, V_ZERO, V_ZERO};
    int64_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
        UNROLLED
        for (int k = 0; k < 4; k++) {
            VF v = V_LOAD(a + i + k * VL);
            acc[k] = kind == 0   ? V_ADD(acc[k], v)
                     : kind == 1 ? V_FMA(v, V_LOAD(b + i + k * VL), acc[k])
                                 : V_FMA(v, V_ZERO, acc[k]);
        }
    }
    for (; i < n; i += VL) {
        int m = n - i < VL ? (int)(n - i) : VL;
        VF v = v_get(a + i, m);
        acc[0] = kind == 0   ? V_ADD(acc[0], v)
                 : kind == 1 ? V_FMA(v, v_get(b + i, m), acc[0])
                             : V_FMA(v, V_ZERO, acc[0]);
    }
    return V_HSUM(V_ADD(V_ADD(acc[0], acc[1]), V_ADD(acc[2], acc[3])));
}

static ALWAYS_INLINE double long_sum(const float *a, const float *b, int kind, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i += SUM_BLOCK)
        sum += (double)block_sum(a + i, b ? b + i : NULL, kind,
                                 n - i < SUM_BLOCK ? n - i : SUM_BLOCK);
    return sum;
}

static float k_dot(const float *a, const float *b, int64_t n)
{
    return (float)long_sum(a, b, 1, n);
}

/* One vector of sums per row, as many rows side by side as hide the latency. */
static ALWAYS_INLINE void dot_some(const int rows, float *y, const float *x, int64_t ld,
                                   const float *w, int64_t n)
{
    VF acc[8];
    UNROLLED
    for (int r = 0; r < rows; r++)
        acc[r] = V_ZERO;
    EACH(n, VF v = GET(w); UNROLLED for (int r = 0; r < rows; r++) acc[r] =
                               V_FMA(GET(x + r * ld), v, acc[r]));
    UNROLLED
    for (int r = 0; r < rows; r++)
        y[r] = V_HSUM(acc[r]);
}

static void k_dot_rows(float *y, const float *x, int64_t ld, int64_t rows, const float *w,
                       int64_t n)
{
    int64_t r = 0;
    for (; r + 8 <= rows; r += 8)
        dot_some(8, y + r, x + r * ld, ld, w, n);
    for (; r < rows; r++)
        dot_some(1, y + r, x + r * ld, ld, w, n);
}

/* Some columns of all rows, the last `m` of them in the last vector. */
static ALWAYS_INLINE void add_columns(const int vectors, int m, float *y, const float *x,
                                      int64_t ld, int64_t rows, const float *s,
                                      int64_t ld_s)
{
    VF acc[4];
    UNROLLED
    for (int v = 0; v < vectors; v++)
        acc[v] = v_get(y + v * VL, v + 1 < vectors ? VL : m);
    for (int64_t r = 0; r < rows; r++, x += ld) {
        VF by = s ? V_SET1(s[r * ld_s]) : V_ZERO;
        UNROLLED
        for (int v = 0; v < vectors; v++) {
            VF part = v_get(x + v * VL, v + 1 < vectors ? VL : m);
            acc[v] = s ? V_FMA(by, part, acc[v]) : V_ADD(acc[v], part);
        }
    }
    UNROLLED
    for (int v = 0; v < vectors; v++)
        v_put(y + v * VL, acc[v], v + 1 < vectors ? VL : m);
}

static void k_add_rows(float *y, const float *x, int64_t ld, int64_t rows, const float *s,
                       int64_t ld_s, int64_t n)
{
    int64_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL)
        add_columns(4, VL, y + i, x + i, ld, rows, s, ld_s);
    for (; i < n; i += VL)
        add_columns(1, n - i < VL ? (int)(n - i) : VL, y + i, x + i, ld, rows, s, ld_s);
}

static float k_sum(const float *x, int64_t n)
{
    return (float)long_sum(x, NULL, 0, n);
}

static double k_sum_squares(const float *x, int64_t n)
{
    return long_sum(x, x, 1, n);
}

/* Zero times anything that is not finite is NaN. */
static bool k_finite(const float *x, int64_t n)
{
    return long_sum(x, NULL, 2, n) == 0;
}

static float k_max(const float *x, int64_t n)
{
    VF lowest = V_SET1(-INFINITY), most = lowest;
    VM odd = V_NONE;
    EACH(n, VF v = GET(x); odd = V_OR(odd, V_NAN(v));
         most = V_MAX(most, v_only(v, lowest, m)));
    return V_ANY(odd) ? NAN : V_HMAX(most);
}

static void k_exp(float *y, const float *x, int64_t n)
{
    EACH(n, PUT(y, v_exp(GET(x))));
}

static void k_log(float *y, const float *x, int64_t n)
{
    EACH(n, PUT(y, v_log(GET(x))));
}
