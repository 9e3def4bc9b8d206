/* SPDX-License-Identifier: Apache-2.0 */
/* Precedence climbing straight into code for a stack machine, without a tree between: an
 * operand emits a push, an operator emits itself behind its operands. Nesting is
 * bounded. Names are variables, functions or constants; one that is none of them is
 * reported with the nearest that exists.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "feature/expr/expr_private.h"

struct parser {
    struct str text;
    size_t at;
    int depth;
    const char *const *names;
    size_t n_names;
    struct expr *e;
    struct err *err;
};

static const struct {
    const char *word;
    enum expr_op op;
    int level; /* higher binds tighter */
} operators[] = {
    {"||", EXPR_OR, 1},     {"&&", EXPR_AND, 2}, {"|", EXPR_BIT_OR, 3},
    {"&", EXPR_BIT_AND, 4}, {"<=", EXPR_LE, 5},  {">=", EXPR_GE, 5},
    {"!=", EXPR_NE, 5},     {"==", EXPR_EQ, 5},  {">", EXPR_GT, 5},
    {"<", EXPR_LT, 5},      {"+", EXPR_ADD, 6},  {"-", EXPR_SUB, 6},
    {"*", EXPR_MUL, 7},     {"/", EXPR_DIV, 7},  {"^", EXPR_POW, 9},
};
#define LEVEL_SIGN 8

static enum rc parse_choice(struct parser *p);

static enum rc expr_parse_fail(struct parser *p, size_t at, const char *what)
{
    return err_coded(p->err, RC_INVAL, E1310, "formula '%.*s', character %zu: %s",
                     (int)(p->text.n < 200 ? p->text.n : 200), p->text.p, at + 1, what);
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->text.n && strchr(" \t\r\n", p->text.p[p->at]) && p->text.p[p->at])
        p->at++;
}

static bool expr_parse_take(struct parser *p, char c)
{
    skip_blanks(p);
    if (p->at == p->text.n || p->text.p[p->at] != c)
        return false;
    p->at++;
    return true;
}

static enum rc expr_parse_emit(struct parser *p, struct expr_code code)
{
    if (p->e->code.n >= EXPR_CODE_MAX)
        return expr_parse_fail(p, p->at, "the formula is too long");
    VEC_PUSH(&p->e->code, code);
    return RC_OK;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
           (unsigned char)c >= 0x80;
}

static enum rc parse_number(struct parser *p)
{
    size_t start = p->at, i = p->at, n = p->text.n;
    const char *s = p->text.p;
    double v;
    while (i < n && (is_digit(s[i]) || s[i] == '.'))
        i++;
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        size_t k = i + 1;
        if (k < n && (s[k] == '+' || s[k] == '-'))
            k++;
        if (k < n && is_digit(s[k]))
            for (i = k; i < n && is_digit(s[i]);)
                i++;
    }
    p->at = i;
    if (!str_to_f64(str_of(s + start, i - start), &v) || (i < n && is_name(s[i])))
        return expr_parse_fail(p, start, "this is not a number");
    return expr_parse_emit(p, (struct expr_code){.op = EXPR_NUMBER, .number = v});
}

static enum rc expr_parse_unknown(struct parser *p, size_t at, struct str name,
                                  bool called)
{
    char what[200];
    const char *near =
        called ? expr_fn_near(name) : str_nearest(name, p->names, p->n_names);
    snprintf(what, sizeof(what), "there is no %s '%.*s'%s%s%s",
             called ? "function" : "variable", (int)(name.n < 60 ? name.n : 60), name.p,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return expr_parse_fail(p, at, what);
}

static enum rc parse_call(struct parser *p, size_t start, struct str name)
{
    const struct expr_fn *fn = expr_fn_find(name);
    int n = 0;
    char what[120];
    if (!fn)
        return expr_parse_unknown(p, start, name, true);
    if (!expr_parse_take(p, ')')) {
        do {
            enum rc rc = parse_choice(p);
            if (rc)
                return rc;
            n++;
        } while (expr_parse_take(p, ','));
        if (!expr_parse_take(p, ')'))
            return expr_parse_fail(p, p->at, "')' or ',' is missing");
    }
    if (fn->n_args >= 0 ? n != fn->n_args : n < 1) {
        snprintf(what, sizeof(what), "%s takes %s%d argument%s, not %d", fn->name,
                 fn->n_args < 0 ? "at least " : "", fn->n_args < 0 ? 1 : fn->n_args,
                 fn->n_args == 1 || fn->n_args < 0 ? "" : "s", n);
        return expr_parse_fail(p, start, what);
    }
    return expr_parse_emit(p, (struct expr_code){.op = EXPR_CALL, .arg = n, .fn = fn});
}

static enum rc parse_name(struct parser *p)
{
    size_t start = p->at;
    while (p->at < p->text.n && is_name(p->text.p[p->at]))
        p->at++;
    struct str name = str_of(p->text.p + start, p->at - start);
    if (expr_parse_take(p, '('))
        return parse_call(p, start, name);
    for (size_t i = 0; i < p->n_names; i++)
        if (str_is(name, p->names[i])) {
            p->e->used[i] = true;
            return expr_parse_emit(
                p, (struct expr_code){.op = EXPR_NAME, .arg = (int32_t)i});
        }
    if (str_is(name, "_pi"))
        return expr_parse_emit(p, (struct expr_code){.op = EXPR_NUMBER, .number = M_PI});
    if (str_is(name, "_e"))
        return expr_parse_emit(p, (struct expr_code){.op = EXPR_NUMBER, .number = M_E});
    return expr_parse_unknown(p, start, name, false);
}

static enum rc parse_primary(struct parser *p)
{
    skip_blanks(p);
    if (p->at == p->text.n)
        return expr_parse_fail(p, p->at, "the formula ends where a value is missing");
    char c = p->text.p[p->at];
    if (is_digit(c) || c == '.')
        return parse_number(p);
    if (is_name(c))
        return parse_name(p);
    if (!expr_parse_take(p, '('))
        return expr_parse_fail(p, p->at, "a value is missing here");
    enum rc rc = parse_choice(p);
    if (!rc && !expr_parse_take(p, ')'))
        rc = expr_parse_fail(p, p->at, "')' is missing");
    return rc;
}

/* Index into `operators` of the one that stands here, or -1. */
static int find_operator(struct parser *p)
{
    skip_blanks(p);
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        size_t n = strlen(operators[i].word);
        if (p->text.n - p->at >= n &&
            memcmp(p->text.p + p->at, operators[i].word, n) == 0)
            return (int)i;
    }
    return -1;
}

static enum rc parse_level(struct parser *p, int level);

static enum rc parse_sign(struct parser *p)
{
    if (expr_parse_take(p, '-')) {
        enum rc rc = parse_level(p, LEVEL_SIGN);
        return rc ? rc : expr_parse_emit(p, (struct expr_code){.op = EXPR_NEG});
    }
    if (expr_parse_take(p, '+'))
        return parse_level(p, LEVEL_SIGN);
    return parse_primary(p);
}

/* Everything that binds at least as tightly as `level`. */
static enum rc parse_level(struct parser *p, int level)
{
    if (++p->depth > EXPR_DEPTH_MAX)
        return expr_parse_fail(p, p->at, "the formula is nested too deeply");
    enum rc rc = parse_sign(p);
    for (int i; !rc && (i = find_operator(p)) >= 0 && operators[i].level >= level;) {
        bool from_right = operators[i].op == EXPR_POW;
        p->at += strlen(operators[i].word);
        /* The right side of a power may be signed: 2^-3. */
        rc = parse_level(p, from_right ? operators[i].level : operators[i].level + 1);
        if (!rc)
            rc = expr_parse_emit(p, (struct expr_code){.op = operators[i].op});
    }
    p->depth--;
    return rc;
}

static enum rc parse_choice(struct parser *p)
{
    if (++p->depth > EXPR_DEPTH_MAX)
        return expr_parse_fail(p, p->at, "the formula is nested too deeply");
    enum rc rc = parse_level(p, 1);
    if (!rc && expr_parse_take(p, '?')) {
        rc = parse_choice(p);
        if (!rc && !expr_parse_take(p, ':'))
            rc = expr_parse_fail(p, p->at, "':' is missing");
        if (!rc)
            rc = parse_choice(p);
        if (!rc)
            rc = expr_parse_emit(p, (struct expr_code){.op = EXPR_CHOOSE});
    }
    p->depth--;
    return rc;
}

enum rc expr_parse(struct str text, const char *const *names, size_t n_names,
                   struct expr **out, struct err *err)
{
    struct expr *e = mem_calloc(1, sizeof(*e));
    struct parser p = {
        .text = text, .names = names, .n_names = n_names, .e = e, .err = err};
    e->used = mem_calloc(n_names + 1, sizeof(*e->used));
    e->n_names = n_names;
    enum rc rc = RC_OK;
    if (text.n > EXPR_TEXT_MAX)
        rc = err_coded(err, RC_INVAL, E1310, "a formula of %zu characters is too long",
                       text.n);
    if (!rc)
        rc = parse_choice(&p);
    skip_blanks(&p);
    if (!rc && p.at < text.n)
        rc = expr_parse_fail(&p, p.at, "an operator is missing here");
    if (!rc) {
        *out = e;
        e = NULL;
    }
    expr_destroy(e);
    return rc;
}

void expr_destroy(struct expr *e)
{
    if (!e)
        return;
    VEC_RELEASE(&e->code);
    mem_free(e->used);
    mem_free(e);
}

bool expr_uses(const struct expr *e, size_t i)
{
    return i < e->n_names && e->used[i];
}
