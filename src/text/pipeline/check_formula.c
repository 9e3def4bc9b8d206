/* SPDX-License-Identifier: Apache-2.0 */
/* The small languages inside strings: formulas, initialisers (init_fn), normalizers. A
 * formula is scanned for names only; its syntax is the parser's task when features are
 * made. Initialisers and normalizers are a name and arguments, checked against a table
 * each.
 */
#include <ctype.h>
#include <string.h>

#include "text/pipeline/pipeline_private.h"

static const char *const functions[] = {
#define EACH(name, n_args) #name,
#define MANY(name) #name,
#define OVER(name, n_args) #name,
#include "text/pipeline/functions.def"
#undef EACH
#undef MANY
#undef OVER
};

/* The next name of a formula, from *at on; numbers are passed over. */
static bool next_name(const char **at, struct str *name, bool *called)
{
    const char *s = *at;
    for (;;) {
        if (isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]))) {
            while (isalnum((unsigned char)*s) || *s == '.' ||
                   ((*s == '-' || *s == '+') && (s[-1] == 'e' || s[-1] == 'E')))
                s++;
        } else if (isalpha((unsigned char)*s) || *s == '_') {
            break;
        } else if (!*s++) {
            return false;
        }
    }
    *name = str_of(s, 0);
    while (isalnum((unsigned char)*s) || *s == '_')
        s++;
    name->n = (size_t)(s - name->p);
    *at = s;
    while (*s == ' ')
        s++;
    *called = *s == '(';
    return true;
}

static bool is_function(struct pc_check *x, struct str name)
{
    return check_listed(arena_strndup(&x->arena, name.p, name.n), functions,
                        ARRAY_LEN(functions));
}

static bool is_constant(struct str name)
{
    return str_is(name, "_pi") || str_is(name, "_e");
}

static void unknown_name(struct pc_check *x, const struct pc_feature *f, const char *text,
                         struct str name, bool called)
{
    struct diag *g = schema_report(
        x->diags, DIAG_ERROR, E0351, f->msg, "expression",
        called ? "the formula calls '%.*s', which is not a known function"
               : "the formula uses '%.*s', which is not one of the variables",
        (int)name.n, name.p);
    check_aim(g, f->msg, "expression", -1, text, name);
    const char *word = arena_strndup(&x->arena, name.p, name.n);
    if (called) {
        check_nearest_in(x, g, word, functions, ARRAY_LEN(functions));
        return;
    }
    const char **names = arena_alloc(&x->arena, (f->n_inputs + 1) * sizeof(*names));
    for (size_t i = 0; i < f->n_inputs; i++)
        names[i] =
            arena_strndup(&x->arena, f->inputs[i].name.p ? f->inputs[i].name.p : "",
                          f->inputs[i].name.n);
    check_nearest_in(x, g, word, names, (int64_t)f->n_inputs);
}

/* Variables are referred to by bare name. */
void check_formula(struct pc_check *x, const struct pc_feature *f)
{
    const struct pc_ExprFeature *e = (const void *)f->msg;
    const char *at = e->expression;
    bool *used = arena_alloc(&x->arena, f->n_inputs + 1);
    struct str name;
    bool called;
    if (!x->generates)
        return;
    if (!*at) {
        schema_report(x->diags, DIAG_ERROR, E0330, f->msg, NULL,
                      "expr_feature '%s' has no expression", f->name);
        return;
    }
    while (next_name(&at, &name, &called)) {
        bool known = called ? is_function(x, name) : is_constant(name);
        for (size_t i = 0; i < f->n_inputs && !called; i++)
            if (str_eq(f->inputs[i].name, name))
                known = used[i] = true;
        if (!known)
            unknown_name(x, f, e->expression, name, called);
    }
    for (size_t i = 0; i < f->n_inputs; i++)
        if (!used[i] && f->inputs[i].ok)
            check_item(x, DIAG_WARNING, E0352, f->msg, "variables", (int64_t)i,
                       "the formula does not use '%s'", f->inputs[i].text);
}

struct init_function {
    const char *name;
    const char *args; /* names, separated by '|', in order */
};

static const struct init_function inits[] = {
    {"uniform_", "a|b"},
    {"normal_", "mean|std"},
    {"trunc_normal_", "mean|std|a|b"},
    {"constant_", "val"},
    {"zeros_", ""},
    {"ones_", ""},
    {"xavier_uniform_", "gain"},
    {"xavier_normal_", "gain"},
    {"kaiming_uniform_", "a|mode|nonlinearity"},
    {"kaiming_normal_", "a|mode|nonlinearity"},
};

static bool is_text_arg(struct str name)
{
    return str_is(name, "mode") || str_is(name, "nonlinearity");
}

static const char *init_arg_problem(struct pc_check *x, const struct init_function *fn,
                                    struct str arg)
{
    struct str value = arg, name;
    double number;
    if (!memchr(arg.p, '=', arg.n)) {
        if (!*fn->args)
            return arena_printf(&x->arena, "%s takes no arguments", fn->name);
        return str_to_f64(arg, &number) || (arg.n && strchr("'\"", *arg.p))
                   ? NULL
                   : arena_printf(&x->arena, "'%.*s' is not a number", (int)arg.n, arg.p);
    }
    str_split(&value, '=', &name);
    name = str_trim(name);
    value = str_trim(value);
    if (!str_lists(str_c(fn->args), '|', name))
        return arena_printf(&x->arena, "%s has no argument '%.*s'", fn->name, (int)name.n,
                            name.p);
    if (!is_text_arg(name) && !str_to_f64(value, &number))
        return arena_printf(&x->arena, "%.*s: '%.*s' is not a number", (int)name.n,
                            name.p, (int)value.n, value.p);
    return NULL;
}

const char *pc_init_fn_problem(struct pc_check *x, const char *text)
{
    struct str rest = str_c(text), part;
    str_split(&rest, ',', &part);
    struct str name = str_trim(part);
    static const char *const prefixes[] = {"torch.nn.init.", "nn.init."};
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        if (name.n <= n || memcmp(name.p, prefixes[i], n) != 0)
            continue;
        name = str_of(name.p + n, name.n - n);
        for (size_t k = 0; k < ARRAY_LEN(inits); k++) {
            const char *bad = NULL;
            if (!str_is(name, inits[k].name))
                continue;
            while (!bad && rest.p && str_split(&rest, ',', &part))
                if (str_trim(part).n)
                    bad = init_arg_problem(x, &inits[k], str_trim(part));
            return bad;
        }
        return arena_printf(&x->arena, "there is no initialiser '%.*s'", (int)name.n,
                            name.p);
    }
    return "it does not begin with nn.init.";
}

/* Names inside "expr=...", where x stands for the number. */
static const char *expr_problem(struct pc_check *x, const char *text)
{
    struct str name;
    bool called;
    if (!*text)
        return "expr is empty";
    while (next_name(&text, &name, &called)) {
        bool known =
            called ? is_function(x, name) : str_is(name, "x") || is_constant(name);
        if (!known)
            return arena_printf(&x->arena, "expr uses '%.*s'; the number is called x",
                                (int)name.n, name.p);
    }
    return NULL;
}

static const char *normalizer_args(struct pc_check *x, const char *method,
                                   const char *keys, struct str rest)
{
    struct str part, key;
    double number;
    while (rest.p && str_split(&rest, ',', &part)) {
        struct str value = part;
        if (!memchr(part.p, '=', part.n) || !str_split(&value, '=', &key))
            return arena_printf(&x->arena, "'%.*s' is not of the form name=value",
                                (int)part.n, part.p);
        key = str_trim(key);
        if (!str_lists(str_c(keys), '|', key))
            return arena_printf(&x->arena, "%s has no setting '%.*s'", method, (int)key.n,
                                key.p);
        if (!str_to_f64(str_trim(value), &number))
            return arena_printf(&x->arena, "%.*s: '%.*s' is not a number", (int)key.n,
                                key.p, (int)value.n, value.p);
    }
    return NULL;
}

const char *normalizer_problem(struct pc_check *x, const char *text)
{
    static const struct {
        const char *method, *keys;
    } methods[] = {{"log10", "threshold|default"},
                   {"zscore", "mean|standard_deviation"},
                   {"minmax", "min|max"}};
    struct str rest = str_c(text), part;
    str_split(&rest, ',', &part);
    if (part.n < 7 || memcmp(part.p, "method=", 7) != 0)
        return "it does not begin with method=";
    struct str method = str_trim(str_of(part.p + 7, part.n - 7));
    if (str_is(method, "expression")) {
        if (!rest.p || rest.n < 5 || memcmp(rest.p, "expr=", 5) != 0)
            return "expression needs expr=";
        return expr_problem(x, rest.p + 5);
    }
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_is(method, methods[i].method))
            return normalizer_args(x, methods[i].method, methods[i].keys, rest);
    return arena_printf(&x->arena, "there is no method '%.*s'", (int)method.n, method.p);
}
