/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas: operators, functions, vectors, mistakes. */
#include <float.h>

#include "base/mem.h"
#include "feature/expr/expr.h"
#include "tap.h"

static const double vec[] = {1, 2, 3, 4}, other[] = {2, 4, 6, 9}, two[] = {5, 7};
static const char *const names[] = {"x", "y", "v", "w", "u", "nan_", "名"};
static const struct expr_value vars[] = {{1, 3, NULL},  {1, -2, NULL}, {4, 0, vec},
                                         {4, 0, other}, {2, 0, two},   {1, NAN, NULL},
                                         {1, 11, NULL}};

static double value(const char *text, double filler)
{
    struct expr *e = NULL;
    struct err err = {0};
    struct expr_stack *s = expr_stack_create();
    struct expr_value out = {.n = 0};
    double v = -12345;
    if (expr_parse(str_c(text), names, 7, &e, &err))
        printf("# %s\n", err.msg);
    else if (expr_eval(e, vars, filler, s, &out, &err) == RC_OK && out.n == 1)
        v = out.one;
    expr_destroy(e);
    expr_stack_destroy(s);
    return v;
}

static void scalars(void)
{
    static const struct {
        const char *text;
        double want;
    } rows[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"7 - 4 - 2", 1},
        {"8 / 4 / 2", 1},
        {"2 ^ 3 ^ 2", 512},
        {"-2 ^ 2", -4},
        {"2 ^ -1", 0.5},
        {"2 * -3", -6},
        {"- - 3", 3},
        {"+x", 3},
        {"1.5e2 + .5 + 2.", 152.5},
        {"x > 2 ? 10 : 20", 10},
        {"x < 2 ? 10 : y < 0 ? 30 : 40", 30},
        {"x >= 3 && y <= -2", 1},
        {"x == 3 || nosuch == 1", -12345},
        {"0 || 0", 0},
        {"x != 3", 0},
        {"1 < 2 == 1", 1},
        {"6 & 3", 2},
        {"6 | 3", 7},
        {"1 + 1 & 3", 2},
        {"_pi", 3.141592653589793},
        {"_e", 2.718281828459045},
        {"名 + 1", 12},
        {"isnan(nan_)", 1},
        {"isnan(x)", 0},
        {"sin(0) + cos(0) + tan(0)", 1},
        {"asin(1) - acos(0)", 0},
        {"atan(1) * 4 - _pi", 0},
        {"sinh(0) + cosh(0) + tanh(0)", 1},
        {"asinh(sinh(2))", 2},
        {"acosh(cosh(2))", 2},
        {"atanh(tanh(0.5))", 0.5},
        {"log2(8) + log10(100) + log(_e) + ln(_e)", 7},
        {"exp(0)", 1},
        {"sqrt(16)", 4},
        {"sign(-3) + sign(0) + sign(9)", 0},
        {"abs(-3)", 3},
        {"rint(2.5)", 2},
        {"round(2.5)", 3},
        {"round(-2.5)", -3},
        {"floor(-1.5)", -2},
        {"ceil(1.2)", 2},
        {"trunc(-1.7)", -1},
        {"roundp(3.14159, 2)", 3.14},
        {"mod(7, 3)", 1},
        {"mod(-7, 3)", -1},
        {"sigmoid(0)", 0.5},
        {"min(3, 1, 2)", 1},
        {"max(3, 1, 2)", 3},
        {"sum(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", 55},
        {"avg(1, 2, 3)", 2},
        {"rnd() >= 0 && rnd() < 1", 1},
        {"floor(haversine(116.4074, 39.9042, 121.4737, 31.2304))", 1067},
        {"floor(sphere_dist(116.4074, 39.9042, 121.4737, 31.2304))", 1067},
        {"sphere_dist(1, 2, 1, 2)", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double got = value(rows[i].text, NAN);
        if (fabs(got - rows[i].want) > 1e-12)
            printf("# %s: got %.17g\n", rows[i].text, got);
        CHECK_NEAR(got, rows[i].want, 1e-12);
    }
}

static void vectors(void)
{
    static const struct {
        const char *text;
        double want;
    } rows[] = {
        {"len(v)", 4},
        {"len(x)", 1},
        {"reduce_sum(v)", 10},
        {"reduce_mean(v)", 2.5},
        {"reduce_prod(v)", 24},
        {"reduce_min(w) + reduce_max(w)", 11},
        {"squared_norm(v)", 30},
        {"l2_norm(v) ^ 2", 30},
        {"dot(v, w)", 2 + 8 + 18 + 36},
        {"dot(v, 2)", 20},
        {"euclid_dist(v, w) ^ 2", 1 + 4 + 9 + 25},
        {"variance(v)", 1.25},
        {"pop_variance(v)", 5.0 / 3},
        {"std_dev(v) ^ 2", 1.25},
        {"pop_std_dev(v) ^ 2 * 3", 5},
        {"corr(v, v * 2 + 1)", 1},
        {"corr(v, -v)", -1},
        {"reduce_sum(v + w * 2)", 10 + 42},
        {"reduce_sum(v > 2 ? v : 0)", 7},
        {"reduce_sum(max(v, 2.5, x))", 3 + 3 + 3 + 4},
        {"reduce_sum(v + u)", 10 + 12 + 200},
        {"dot(v, u)", 5 + 14 + 300 + 400},
        {"len(v + u)", 4},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double got = value(rows[i].text, 100);
        if (fabs(got - rows[i].want) > 1e-9)
            printf("# %s: got %.17g\n", rows[i].text, got);
        CHECK_NEAR(got, rows[i].want, 1e-9);
    }
    CHECK(isnan(value("reduce_sum(v + u)", NAN)));
}

static void mistakes(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", "formula '', character 1: the formula ends where a value is missing"},
        {"1 +", "formula '1 +', character 4: the formula ends where a value is missing"},
        {"1 2", "formula '1 2', character 3: an operator is missing here"},
        {"(1", "formula '(1', character 3: ')' is missing"},
        {"1)", "formula '1)', character 2: an operator is missing here"},
        {"x ? 1", "formula 'x ? 1', character 6: ':' is missing"},
        {"sqr(1)",
         "formula 'sqr(1)', character 1: there is no function 'sqr'; did you mean "
         "'sqrt'?"},
        {"foo", "formula 'foo', character 1: there is no variable 'foo'"},
        {"mod(1)", "formula 'mod(1)', character 1: mod takes 2 arguments, not 1"},
        {"abs()", "formula 'abs()', character 1: abs takes 1 argument, not 0"},
        {"max()", "formula 'max()', character 1: max takes at least 1 argument, not 0"},
        {"rnd(1)", "formula 'rnd(1)', character 1: rnd takes 0 arguments, not 1"},
        {"min(1, 2", "formula 'min(1, 2', character 9: ')' or ',' is missing"},
        {"1.2.3", "formula '1.2.3', character 1: this is not a number"},
        {"2x", "formula '2x', character 1: this is not a number"},
        {"1 @ 2", "formula '1 @ 2', character 3: an operator is missing here"},
        {"* 2", "formula '* 2', character 1: a value is missing here"},
        {"!x", "formula '!x', character 1: a value is missing here"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct expr *e = NULL;
        struct err err = {0};
        CHECK_INT(expr_parse(str_c(rows[i].text), names, 7, &e, &err), RC_INVAL);
        CHECK_STR(err.msg, rows[i].want);
        CHECK_INT(err.code, E1310);
        CHECK(!e);
    }
}

static void depth_is_bounded(void)
{
    struct expr *e = NULL;
    struct err err = {0};
    char text[2000];
    memset(text, '(', sizeof(text));
    CHECK_INT(expr_parse(str_of(text, sizeof(text)), names, 7, &e, &err), RC_INVAL);
    CHECK_HAS(err.msg, "nested too deeply");
    memset(text, '-', sizeof(text));
    CHECK_INT(expr_parse(str_of(text, sizeof(text)), names, 7, &e, &err), RC_INVAL);
    CHECK_HAS(err.msg, "nested too deeply");
}

static void short_memory_is_reported(void)
{
    struct expr *e = NULL;
    struct err err = {0};
    struct expr_value out;
    CHECK_INT(
        expr_parse(str_c("dot(v + w, v * w) + reduce_sum(v - u)"), names, 7, &e, &err),
        RC_OK);
    enum rc rc = RC_NOMEM;
    int tries = 0;
    for (; rc == RC_NOMEM && tries < 20; tries++) {
        struct expr_stack *s = expr_stack_create();
        mem_fail_at(tries + 1);
        rc = expr_eval(e, vars, 0, s, &out, &err);
        mem_fail_at(0);
        expr_stack_destroy(s);
    }
    CHECK(rc == RC_OK && tries > 1);
    CHECK(expr_uses(e, 2) && !expr_uses(e, 0));
    expr_destroy(e);
}

static const struct tap_case cases[] = {
    TAP(scalars),
    TAP(vectors),
    TAP(mistakes),
    TAP(depth_is_bounded),
    TAP(short_memory_is_reported),
};
TAP_MAIN(cases)
