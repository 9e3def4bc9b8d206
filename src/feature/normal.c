/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/normal.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

struct param {
    const char *name;
    float *to;
};

static enum rc parse_params(struct str rest, const struct param *params, size_t n,
                            struct err *err)
{
    struct str part, key;
    while (rest.p && rest.n && str_split(&rest, ',', &part)) {
        double v;
        struct str value = part;
        if (!memchr(part.p, '=', part.n) || !str_split(&value, '=', &key))
            return err_coded(err, RC_INVAL, E1311, "'%.*s' is not of the form name=value",
                             (int)part.n, part.p);
        size_t i = 0;
        while (i < n && !str_is(str_trim(key), params[i].name))
            i++;
        if (i == n)
            return err_coded(err, RC_INVAL, E1311, "there is no parameter '%.*s'",
                             (int)key.n, key.p);
        if (!str_to_f64(str_trim(value), &v))
            return err_coded(err, RC_INVAL, E1311, "%s: '%.*s' is not a number",
                             params[i].name, (int)value.n, value.p);
        *params[i].to = (float)v;
    }
    return RC_OK;
}

static enum rc parse_expr(struct str rest, struct normal *out, struct err *err)
{
    static const char *const names[] = {"x"};
    if (rest.n < 5 || memcmp(rest.p, "expr=", 5) != 0)
        return err_coded(err, RC_INVAL, E1311, "expression needs expr=");
    out->kind = NORMAL_EXPR;
    return expr_parse(str_of(rest.p + 5, rest.n - 5), names, 1, &out->expr, err);
}

static float in_float(const struct normal *n, float x)
{
    if (n->kind == NORMAL_LOG10)
        return x > n->a ? log10f(x) : n->b;
    return (x - n->a) / (n->kind == NORMAL_ZSCORE ? n->b : n->b - n->a);
}

static enum rc parse_log10(struct str rest, struct normal *out, struct err *err)
{
    *out = (struct normal){.kind = NORMAL_LOG10, .a = 1.0f};
    enum rc rc = parse_params(
        rest, (struct param[]){{"threshold", &out->a}, {"default", &out->b}}, 2, err);
    if (rc)
        return rc;
    out->whole = mem_alloc(NORMAL_WHOLE * sizeof(*out->whole));
    for (int k = 0; k < NORMAL_WHOLE; k++)
        out->whole[k] = in_float(out, (float)k);
    return RC_OK;
}

enum rc normal_parse(const char *text, struct normal *out, struct err *err)
{
    struct str rest = str_c(text ? text : ""), part;
    *out = (struct normal){0};
    if (rest.n == 0)
        return RC_OK;
    str_split(&rest, ',', &part);
    if (part.n < 7 || memcmp(part.p, "method=", 7) != 0)
        return err_coded(err, RC_INVAL, E1311, "it does not begin with method=");
    struct str method = str_trim(str_of(part.p + 7, part.n - 7));
    if (str_is(method, "expression"))
        return parse_expr(rest, out, err);
    if (str_is(method, "log10"))
        return parse_log10(rest, out, err);
    if (str_is(method, "zscore")) {
        *out = (struct normal){.kind = NORMAL_ZSCORE, .b = 1.0f};
        return parse_params(
            rest, (struct param[]){{"mean", &out->a}, {"standard_deviation", &out->b}}, 2,
            err);
    }
    if (str_is(method, "minmax")) {
        *out = (struct normal){.kind = NORMAL_MINMAX, .b = 1.0f};
        return parse_params(rest, (struct param[]){{"min", &out->a}, {"max", &out->b}}, 2,
                            err);
    }
    return err_coded(err, RC_INVAL, E1311, "there is no method '%.*s'", (int)method.n,
                     method.p);
}

void normal_release(struct normal *n)
{
    expr_destroy(n->expr);
    mem_free(n->whole);
    *n = (struct normal){0};
}

static float in_double(const struct normal *n, double x)
{
    double a = (double)n->a, b = (double)n->b;
    if (n->kind == NORMAL_LOG10)
        return x > a ? (float)log10(x) : n->b;
    return (float)((x - a) / (n->kind == NORMAL_ZSCORE ? b : b - a));
}

float normal_apply(const struct normal *n, double v, bool narrow,
                   struct expr_stack *stack)
{
    if (n->kind == NORMAL_EXPR)
        return (float)expr_eval1(n->expr, v, stack);
    return narrow ? in_float(n, (float)v) : in_double(n, v);
}

/* Counts are small whole numbers most of the time, and their logarithms are known. */
static float log_float(const struct normal *n, float x)
{
    if (x >= 0 && x < NORMAL_WHOLE && x == (float)(int32_t)x)
        return n->whole[(int32_t)x];
    return in_float(n, x);
}

void normal_floats(const struct normal *n, float *v, int64_t count)
{
    if (n->kind == NORMAL_LOG10) {
        for (int64_t i = 0; i < count; i++)
            v[i] = log_float(n, v[i]);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        v[i] = in_float(n, v[i]);
}

void normal_whole(const struct normal *n, const int64_t *v, float *out, int64_t count)
{
    if (n->kind == NORMAL_LOG10) {
        for (int64_t i = 0; i < count; i++)
            out[i] =
                (uint64_t)v[i] < NORMAL_WHOLE ? n->whole[v[i]] : in_float(n, (float)v[i]);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out[i] = in_float(n, (float)v[i]);
}
