/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars live on the stack itself. Vectors lie in one block that is emptied before each
 * formula; results are appended to it, and values refer to it by place, because it may
 * move while it grows.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "feature/expr/expr_private.h"

struct slot {
    int64_t n;
    double one;
    size_t at;       /* in the block, when p is NULL */
    const double *p; /* a variable's values */
};

struct expr_stack {
    VEC(struct slot) slots;
    double *block;
    size_t n, cap;
    struct expr_rng rng;
};

struct expr_stack *expr_stack_create(void)
{
    struct expr_stack *s = mem_calloc(1, sizeof(*s));
    VEC_RESERVE(&s->slots);
    s->block = mem_calloc(1, sizeof(*s->block)); /* never NULL, so that places add up */
    s->cap = 1;
    return s;
}

void expr_stack_destroy(struct expr_stack *s)
{
    if (!s)
        return;
    VEC_RELEASE(&s->slots);
    mem_free(s->block);
    mem_free(s);
}

static bool room(struct expr_stack *s, int64_t n)
{
    size_t need = s->n + (size_t)n;
    if (need <= s->cap)
        return true;
    size_t cap = s->cap * 2 > need ? s->cap * 2 : need + 64;
    double *block = mem_try_realloc(s->block, cap, sizeof(*block));
    if (!block)
        return false;
    s->block = block;
    s->cap = cap;
    return true;
}

static double value_at(const struct expr_stack *s, const struct slot *v, int64_t i,
                       double filler)
{
    if (v->n == 1)
        return v->one;
    if (i >= v->n)
        return filler;
    return v->p ? v->p[i] : s->block[v->at + (size_t)i];
}

static double expr_eval_whole(double v)
{
    return v > -9.2e18 && v < 9.2e18 ? v : 0;
}

static double binary(enum expr_op op, double a, double b)
{
    switch (op) {
    case EXPR_OR:
        return a != 0 || b != 0;
    case EXPR_AND:
        return a != 0 && b != 0;
    case EXPR_BIT_OR:
        return (double)((int64_t)expr_eval_whole(a) | (int64_t)expr_eval_whole(b));
    case EXPR_BIT_AND:
        return (double)((int64_t)expr_eval_whole(a) & (int64_t)expr_eval_whole(b));
    case EXPR_LE:
        return a <= b;
    case EXPR_GE:
        return a >= b;
    case EXPR_NE:
        return a != b;
    case EXPR_EQ:
        return a == b;
    case EXPR_GT:
        return a > b;
    case EXPR_LT:
        return a < b;
    case EXPR_ADD:
        return a + b;
    case EXPR_SUB:
        return a - b;
    case EXPR_MUL:
        return a * b;
    case EXPR_DIV:
        return a / b;
    default:
        return pow(a, b);
    }
}

static double once(const struct expr_code *c, const double *a, struct expr_rng *rng)
{
    double v = a[0];
    switch (c->op) {
    case EXPR_NEG:
        return -v;
    case EXPR_CHOOSE:
        return a[0] != 0 ? a[1] : a[2];
    case EXPR_CALL:
        if (c->fn->kind == EXPR_EACH)
            return c->fn->each(a, rng);
        for (int i = 1; i < c->arg; i++)
            v = c->fn->many(v, a[i]);
        return c->fn->name[0] == 'a' ? v / c->arg : v;
    default:
        return binary(c->op, a[0], a[1]);
    }
}

/* Length of the result: that of the longest; none of an empty one and a scalar. */
static int64_t common_length(const struct slot *args, int n)
{
    int64_t most = 1;
    for (int i = 0; i < n; i++)
        if (args[i].n > most || (most == 1 && args[i].n == 0))
            most = args[i].n;
    return most;
}

/* The arguments are the last n slots; they become one. */
static bool each(struct expr_stack *s, const struct expr_code *c, int n, double filler)
{
    double few[8] = {0}, *a = few;
    struct slot *args = s->slots.at + s->slots.n - n;
    int64_t len = common_length(args, n);
    size_t extra = n > 8 ? (size_t)n : 0;
    struct slot out = {.n = len, .at = s->n + extra};
    if ((len != 1 || extra) && !room(s, len + (int64_t)extra))
        return false;
    if (extra)
        a = s->block + s->n;
    for (int64_t i = 0; i < len; i++) {
        for (int k = 0; k < n; k++)
            a[k] = value_at(s, &args[k], i, filler);
        double v = once(c, a, &s->rng);
        if (len == 1)
            out.one = v;
        else
            s->block[out.at + (size_t)i] = v;
    }
    if (len != 1)
        s->n = out.at + (size_t)len;
    if (n == 0)
        VEC_RESERVE(&s->slots);
    s->slots.n = s->slots.n - (size_t)n + 1;
    s->slots.at[s->slots.n - 1] = out;
    return true;
}

/* The values of a slot side by side, lengthened to n; they stay until s->n goes back. */
static bool flatten(struct expr_stack *s, const struct slot *v, int64_t n, double filler,
                    size_t *at)
{
    if (!room(s, n))
        return false;
    *at = s->n;
    for (int64_t i = 0; i < n; i++)
        s->block[*at + (size_t)i] = value_at(s, v, i, filler);
    s->n += (size_t)n;
    return true;
}

static bool over(struct expr_stack *s, const struct expr_code *c, double filler)
{
    struct slot *args = s->slots.at + s->slots.n - c->arg;
    int64_t n = args[0].n;
    size_t a, b = 0, start = s->n;
    if (c->arg == 2)
        n = common_length(args, 2);
    if (!flatten(s, &args[0], n, filler, &a) ||
        (c->arg == 2 && !flatten(s, &args[1], n, filler, &b)))
        return false;
    double v = c->fn->over(s->block + a, s->block + (c->arg == 2 ? b : a), n);
    s->n = start;
    s->slots.n -= (size_t)c->arg - 1;
    s->slots.at[s->slots.n - 1] = (struct slot){.n = 1, .one = v};
    return true;
}

static bool run_code(const struct expr_code *c, const struct expr_value *vars,
                     double filler, struct expr_stack *s)
{
    switch (c->op) {
    case EXPR_NUMBER:
        VEC_PUSH(&s->slots, ((struct slot){.n = 1, .one = c->number}));
        return true;
    case EXPR_NAME: {
        const struct expr_value *v = &vars[c->arg];
        VEC_PUSH(&s->slots, ((struct slot){.n = v->n, .one = v->one, .p = v->p}));
        return true;
    }
    case EXPR_NEG:
        return each(s, c, 1, filler);
    case EXPR_CHOOSE:
        return each(s, c, 3, filler);
    case EXPR_CALL:
        return c->fn->kind == EXPR_OVER ? over(s, c, filler) : each(s, c, c->arg, filler);
    default:
        return each(s, c, 2, filler);
    }
}

enum rc expr_eval(const struct expr *e, const struct expr_value *vars, double filler,
                  struct expr_stack *s, struct expr_value *out, struct err *err)
{
    s->slots.n = 0;
    s->n = 0;
    for (size_t i = 0; i < e->code.n; i++)
        if (!run_code(&e->code.at[i], vars, filler, s))
            return err_set(err, RC_NOMEM, "no memory for a formula");
    const struct slot *last = &s->slots.at[0];
    *out = (struct expr_value){.n = last->n, .one = last->one, .p = last->p};
    if (last->n > 1 && !last->p)
        out->p = s->block + last->at;
    return RC_OK;
}

double expr_eval1(const struct expr *e, double x, struct expr_stack *s)
{
    struct expr_value var = {.n = 1, .one = x}, out;
    if (expr_eval(e, &var, NAN, s, &out, NULL))
        return NAN;
    return out.n == 1 ? out.one : out.n ? out.p[0] : NAN;
}
