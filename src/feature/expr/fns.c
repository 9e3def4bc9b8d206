/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of formulas, one line of functions.def each. Three forms: `each` works on
 * every element alone, `many` folds any number of arguments, `over` makes one number of
 * one or two vectors. Angles are radians, those of the distances degrees.
 */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "feature/expr/expr_private.h"

#define EARTH_KM 6371.0

#define C_FN(name, call)                                             \
    static double each_##name(const double *a, struct expr_rng *rng) \
    {                                                                \
        return call;                                                 \
    }
C_FN(abs, fabs(a[0]))
C_FN(acos, acos(a[0]))
C_FN(acosh, acosh(a[0]))
C_FN(asin, asin(a[0]))
C_FN(asinh, asinh(a[0]))
C_FN(atan, atan(a[0]))
C_FN(atanh, atanh(a[0]))
C_FN(ceil, ceil(a[0]))
C_FN(cos, cos(a[0]))
C_FN(cosh, cosh(a[0]))
C_FN(exp, exp(a[0]))
C_FN(floor, floor(a[0]))
C_FN(isnan, isnan(a[0]) ? 1.0 : 0.0)
C_FN(ln, log(a[0]))
C_FN(log, log(a[0]))
C_FN(log10, log10(a[0]))
C_FN(log2, log2(a[0]))
C_FN(mod, fmod(a[0], a[1]))
C_FN(rint, rint(a[0]))
C_FN(round, round(a[0]))
C_FN(sigmoid, 1.0 / (1.0 + exp(-a[0])))
C_FN(sign, a[0] > 0 ? 1.0 : a[0] < 0 ? -1.0 : a[0])
C_FN(sin, sin(a[0]))
C_FN(sinh, sinh(a[0]))
C_FN(sqrt, sqrt(a[0]))
C_FN(tan, tan(a[0]))
C_FN(tanh, tanh(a[0]))
C_FN(trunc, trunc(a[0]))

static double each_roundp(const double *a, struct expr_rng *rng)
{
    double scale = pow(10.0, trunc(a[1]));
    return round(a[0] * scale) / scale;
}

/* The same numbers in every run: number i of a thread's stack depends on i alone. */
static double each_rnd(const double *a, struct expr_rng *rng)
{
    uint64_t z = ++rng->count * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double radians(double degrees)
{
    return degrees * (3.14159265358979323846 / 180.0);
}

/* lng1, lat1, lng2, lat2 */
static double each_haversine(const double *a, struct expr_rng *rng)
{
    double dlat = sin(radians(a[3] - a[1]) / 2), dlng = sin(radians(a[2] - a[0]) / 2);
    double h = dlat * dlat + cos(radians(a[1])) * cos(radians(a[3])) * dlng * dlng;
    return 2.0 * EARTH_KM * asin(fmin(1.0, sqrt(h)));
}

static double each_sphere_dist(const double *a, struct expr_rng *rng)
{
    double c = sin(radians(a[1])) * sin(radians(a[3])) +
               cos(radians(a[1])) * cos(radians(a[3])) * cos(radians(a[2] - a[0]));
    return EARTH_KM * acos(c > 1.0 ? 1.0 : c < -1.0 ? -1.0 : c);
}

static double many_sum(double a, double b)
{
    return a + b;
}
#define many_avg many_sum /* divided at the end */

static double many_min(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}

static double many_max(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

static double over_len(const double *a, const double *b, int64_t n)
{
    return (double)n;
}

static double over_dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double over_squared_norm(const double *a, const double *b, int64_t n)
{
    return over_dot(a, a, n);
}

static double over_l2_norm(const double *a, const double *b, int64_t n)
{
    return sqrt(over_dot(a, a, n));
}

static double over_euclid_dist(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

static double over_reduce_sum(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

static double over_reduce_mean(const double *a, const double *b, int64_t n)
{
    return over_reduce_sum(a, b, n) / (double)n;
}

static double over_reduce_prod(const double *a, const double *b, int64_t n)
{
    double product = 1;
    for (int64_t i = 0; i < n; i++)
        product *= a[i];
    return product;
}

static double over_reduce_min(const double *a, const double *b, int64_t n)
{
    double best = n ? a[0] : NAN;
    for (int64_t i = 1; i < n; i++)
        best = many_min(best, a[i]);
    return best;
}

static double over_reduce_max(const double *a, const double *b, int64_t n)
{
    double best = n ? a[0] : NAN;
    for (int64_t i = 1; i < n; i++)
        best = many_max(best, a[i]);
    return best;
}

/* Sum of (a - mean a) * (b - mean b). */
static double expr_fns_spread(const double *a, const double *b, int64_t n)
{
    double ma = over_reduce_mean(a, NULL, n), mb = over_reduce_mean(b, NULL, n), sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - ma) * (b[i] - mb);
    return sum;
}

static double over_variance(const double *a, const double *b, int64_t n)
{
    return expr_fns_spread(a, a, n) / (double)n;
}

static double over_pop_variance(const double *a, const double *b, int64_t n)
{
    return expr_fns_spread(a, a, n) / (double)(n - 1);
}

static double over_std_dev(const double *a, const double *b, int64_t n)
{
    return sqrt(over_variance(a, b, n));
}

static double over_pop_std_dev(const double *a, const double *b, int64_t n)
{
    return sqrt(over_pop_variance(a, b, n));
}

static double over_corr(const double *a, const double *b, int64_t n)
{
    return expr_fns_spread(a, b, n) /
           sqrt(expr_fns_spread(a, a, n) * expr_fns_spread(b, b, n));
}

static const struct expr_fn fns[] = {
#define EACH(fn, n) {.name = #fn, .kind = EXPR_EACH, .n_args = n, .each = each_##fn},
#define MANY(fn) {.name = #fn, .kind = EXPR_MANY, .n_args = -1, .many = many_##fn},
#define OVER(fn, n) {.name = #fn, .kind = EXPR_OVER, .n_args = n, .over = over_##fn},
#include "text/pipeline/functions.def"
#undef EACH
#undef MANY
#undef OVER
};

const struct expr_fn *expr_fn_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(fns); i++)
        if (str_is(name, fns[i].name))
            return &fns[i];
    return NULL;
}

const char *expr_fn_near(struct str name)
{
    const char *names[ARRAY_LEN(fns)];
    for (size_t i = 0; i < ARRAY_LEN(fns); i++)
        names[i] = fns[i].name;
    return str_nearest(name, names, ARRAY_LEN(fns));
}
