/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars: what a field of each type accepts, dialect by dialect. A value that is
 * accepted is rewritten into the form that the type declares (3.0 for an integer becomes
 * 3, "true" under YAML a bool); one that is not is reported with what was expected and
 * left out. Limits and lists of words are checked here, too.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "text/normalise.h"

static bool is_yaml(const struct normaliser *x)
{
    return x->dialect == SCHEMA_YAML || x->dialect == SCHEMA_FOLDED;
}

/* How a value is quoted in messages. */
static struct str normalise_scalar_shown(const struct node *n)
{
    if (n->kind == NODE_LIST || n->kind == NODE_MAP)
        return str_c(node_kind_name(n->kind));
    return str_of(n->text.p, n->text.n > 60 ? 60 : n->text.n);
}

static struct node *wrong_type(struct normaliser *x, const struct msg *m,
                               const struct field_def *f, const struct node *n,
                               const char *wanted)
{
    struct str s = normalise_scalar_shown(n);
    bool quoted = n->kind == NODE_STR;
    struct diag *g;
    if (node_is_scalar(n))
        g = normalise_report(x, m, DIAG_ERROR, E0202, n->at,
                             "'%s' takes %s, not %s %s%.*s%s", f->name, wanted,
                             node_kind_name(n->kind), quoted ? "\"" : "'", (int)s.n, s.p,
                             quoted ? "\"" : "'");
    else
        g = normalise_report(x, m, DIAG_ERROR, E0202, n->at, "'%s' takes %s, not %s",
                             f->name, wanted, node_kind_name(n->kind));
    double v;
    if (n->kind == NODE_WORD && str_is(n->text, "null"))
        diag_hint(x->diags, g,
                  "to unset a field, leave it out of the file, or say "
                  "--edit-config-json '{\"PATH\": null}'");
    else if (f->type == FIELD_STR && n->kind != NODE_LIST && n->kind != NODE_MAP)
        diag_hint(x->diags, g, "put it in quotes: %s: \"%.*s\"", f->name, (int)s.n, s.p);
    else if (quoted && f->type != FIELD_STR && str_to_f64(n->text, &v))
        diag_hint(x->diags, g, "leave the quotes away: %s: %.*s", f->name, (int)s.n, s.p);
    return NULL;
}

static struct node *scalar_bool(struct normaliser *x, const struct msg *m,
                                const struct field_def *f, struct node *n)
{
    static const char *const yes[] = {"true", "True", "t"}, *const no[] = {"false",
                                                                           "False", "f"};
    static const char *const yaml_yes[] = {"yes", "on", "true", "y"}, *const yaml_no[] = {
                                                                          "no", "off",
                                                                          "false", "n"};
    if (n->kind == NODE_BOOL)
        return n;
    if (n->kind == NODE_INT && n->num.mag <= 1 && !n->num.neg &&
        x->dialect != SCHEMA_JSON)
        return node_bool(x->arena, n->num.mag == 1, n->at);
    if (n->kind == NODE_WORD)
        for (size_t i = 0; i < ARRAY_LEN(yes); i++)
            if (str_is(n->text, yes[i]) || str_is(n->text, no[i]))
                return node_bool(x->arena, str_is(n->text, yes[i]), n->at);
    if (n->kind == NODE_STR && is_yaml(x))
        for (size_t i = 0; i < ARRAY_LEN(yaml_yes); i++) {
            if (strcasecmp(n->text.p, yaml_yes[i]) == 0)
                return node_bool(x->arena, true, n->at);
            if (strcasecmp(n->text.p, yaml_no[i]) == 0)
                return node_bool(x->arena, false, n->at);
        }
    return wrong_type(x, m, f, n, "true or false");
}

static struct node *out_of_range(struct normaliser *x, const struct msg *m,
                                 const struct field_def *f, const struct node *n)
{
    struct str s = normalise_scalar_shown(n);
    char low[32], high[32];
    str_from_f64(f->min, low);
    str_from_f64(f->max, high);
    if (!(f->min < f->max))
        normalise_report(x, m, DIAG_ERROR, E0203, n->at,
                         "'%s': %.*s does not fit in a %s", f->name, (int)s.n, s.p,
                         schema_type_name(f));
    else if (isinf(f->max))
        normalise_report(x, m, DIAG_ERROR, E0203, n->at, "'%s': %.*s is below %s",
                         f->name, (int)s.n, s.p, low);
    else
        normalise_report(x, m, DIAG_ERROR, E0203, n->at, "'%s': %.*s is outside [%s, %s]",
                         f->name, (int)s.n, s.p, low, high);
    return NULL;
}

static bool fits_type(const struct field_def *f, const struct node *n)
{
    int64_t i;
    uint64_t u;
    switch (f->type) {
    case FIELD_I32:
        return node_i64(n, &i) && i >= INT32_MIN && i <= INT32_MAX;
    case FIELD_I64:
        return node_i64(n, &i);
    case FIELD_U32:
        return node_u64(n, &u) && u <= UINT32_MAX;
    default:
        return node_u64(n, &u);
    }
}

static bool within_limits(const struct field_def *f, const struct node *n)
{
    double v;
    if (!(f->min < f->max) || !node_number(n, &v))
        return true;
    return v >= f->min && v <= f->max;
}

/* 3.0 where an integer is wanted; in protobuf JSON also "3". */
static struct node *as_integer(struct normaliser *x, struct node *n)
{
    int64_t i;
    uint64_t u;
    if (n->kind == NODE_REAL && x->dialect != SCHEMA_PROTO && n->real == floor(n->real) &&
        fabs(n->real) < 9007199254740992.0)
        return node_int(x->arena, (int64_t)n->real, n->at);
    if (n->kind == NODE_STR && x->dialect == SCHEMA_JSON && str_to_u64(n->text, &u))
        return node_uint(x->arena, u, n->at);
    if (n->kind == NODE_STR && x->dialect == SCHEMA_JSON && str_to_i64(n->text, &i))
        return node_int(x->arena, i, n->at);
    return n;
}

static struct node *scalar_int(struct normaliser *x, const struct msg *m,
                               const struct field_def *f, struct node *n)
{
    n = as_integer(x, n);
    if (n->kind != NODE_INT)
        return wrong_type(x, m, f, n, "an integer");
    if (!fits_type(f, n)) {
        struct field_def typed = *f;
        typed.min = typed.max = 0;
        return out_of_range(x, m, &typed, n);
    }
    return within_limits(f, n) ? n : out_of_range(x, m, f, n);
}

static bool special_word(struct str s, double *v)
{
    bool neg = s.n && s.p[0] == '-';
    if (neg)
        s = str_of(s.p + 1, s.n - 1);
    if ((s.n == 3 && strncasecmp(s.p, "inf", 3) == 0) ||
        (s.n == 8 && strncasecmp(s.p, "infinity", 8) == 0))
        *v = neg ? -(double)INFINITY : (double)INFINITY;
    else if (s.n == 3 && strncasecmp(s.p, "nan", 3) == 0)
        *v = (double)NAN;
    else
        return false;
    return true;
}

static struct node *scalar_real(struct normaliser *x, const struct msg *m,
                                const struct field_def *f, struct node *n)
{
    double v;
    bool json_text = n->kind == NODE_STR && x->dialect == SCHEMA_JSON;
    if (node_number(n, &v))
        ;
    else if ((n->kind == NODE_WORD || json_text) && special_word(n->text, &v))
        n = node_real(x->arena, v, n->at);
    else if (json_text && str_to_f64(n->text, &v))
        n = node_real(x->arena, v, n->at);
    else
        return wrong_type(x, m, f, n, "a number");
    if (f->type == FIELD_FLOAT && isfinite(v) && fabs(v) > (double)FLT_MAX) {
        struct field_def typed = *f;
        typed.min = typed.max = 0;
        return out_of_range(x, m, &typed, n);
    }
    return within_limits(f, n) ? n : out_of_range(x, m, f, n);
}

/* The words of "a|b|c" as a list for a message: 'a', 'b' or 'c'. */
static const char *listed(struct normaliser *x, const char *words)
{
    struct buf b;
    struct str rest = str_c(words), word;
    buf_init(&b, 4096);
    while (str_split(&rest, '|', &word))
        buf_printf(&b, "%s'%.*s'",
                   b.n == 0 ? ""
                   : rest.p ? ", "
                            : " or ",
                   (int)word.n, word.p);
    const char *text = arena_strdup(&x->diags->arena, buf_str(&b));
    buf_release(&b);
    return text;
}

static void hint_nearest(struct normaliser *x, struct diag *g, struct str s,
                         const char *words)
{
    const char *names[64];
    size_t n = 0;
    struct str rest = str_c(words), word;
    while (n < ARRAY_LEN(names) && str_split(&rest, '|', &word))
        names[n++] = arena_strndup(&x->diags->arena, word.p, word.n);
    const char *near = str_nearest(s, names, n);
    if (near)
        diag_hint(x->diags, g, "did you mean '%s'?", near);
}

static bool among(struct str s, const struct field_def *f)
{
    struct str rest = str_c(f->words), word;
    while (str_split(&rest, '|', &word)) {
        if (str_eq(s, word))
            return true;
        if ((f->flags & FIELD_FOLD) && s.n == word.n &&
            strncasecmp(s.p, word.p, s.n) == 0)
            return true;
    }
    return false;
}

static struct node *scalar_str(struct normaliser *x, const struct msg *m,
                               const struct field_def *f, struct node *n)
{
    if (!node_is_scalar(n) || n->kind == NODE_NULL ||
        (n->kind != NODE_STR && !is_yaml(x)))
        return wrong_type(x, m, f, n, "a string");
    if (n->kind != NODE_STR)
        n = node_str(x->arena, n->text.p, n->text.n, n->at);
    if (memchr(n->text.p, '\0', n->text.n)) {
        normalise_report(x, m, DIAG_ERROR, E0211, n->at, "'%s': a NUL byte in a string",
                         f->name);
        return NULL;
    }
    if (f->words && !among(n->text, f)) {
        struct diag *g = normalise_report(x, m, DIAG_ERROR, E0204, n->at,
                                          "'%s' takes %s, not \"%.*s\"", f->name,
                                          listed(x, f->words), (int)n->text.n, n->text.p);
        hint_nearest(x, g, n->text, f->words);
        return NULL;
    }
    const char *bad = f->check ? f->check(n->text) : NULL;
    if (bad) {
        char *shown = arena_strndup(x->arena, n->text.p, n->text.n);
        for (char *c = shown; *c; c++) /* a message is one line */
            *c = *c == '\n' || *c == '\r' ? '?' : *c;
        normalise_report(x, m, DIAG_ERROR, E0211, n->at, "'%s': \"%s\": %s", f->name,
                         shown, bad);
        return NULL;
    }
    return n;
}

static const char *enum_words(struct normaliser *x, const struct enum_def *e)
{
    struct buf b;
    buf_init(&b, 16384);
    for (const struct enum_value *v = e->values; v->name; v++)
        buf_printf(&b, "%s%s", b.n ? "|" : "", v->name);
    const char *words = arena_strdup(&x->diags->arena, buf_str(&b));
    buf_release(&b);
    return words;
}

static struct node *scalar_enum(struct normaliser *x, const struct msg *m,
                                const struct field_def *f, struct node *n)
{
    const struct enum_value *v = NULL;
    int64_t number;
    bool word =
        n->kind == NODE_WORD || (n->kind == NODE_STR && x->dialect != SCHEMA_PROTO);
    if (word)
        v = schema_enum_word(f->enums, n->text);
    else if (node_i64(n, &number))
        v = schema_enum_number(f->enums, number);
    if (!v) {
        struct str s = normalise_scalar_shown(n);
        const char *words = enum_words(x, f->enums);
        struct diag *g =
            normalise_report(x, m, DIAG_ERROR, E0204, n->at, "'%s': '%.*s' is no %s",
                             f->name, (int)s.n, s.p, f->enums->name);
        if (n->kind == NODE_STR && schema_enum_word(f->enums, n->text))
            diag_hint(x->diags, g, "leave the quotes away: %s: %.*s", f->name, (int)s.n,
                      s.p);
        else
            diag_hint(x->diags, g, "it is %s", listed(x, words));
        return NULL;
    }
    struct node *out = node_str(x->arena, v->name, strlen(v->name), n->at);
    out->kind = x->dialect == SCHEMA_PROTO ? NODE_WORD : NODE_STR;
    return out;
}

/* A list of one stands for its element: some published files write scalars so. */
static struct node *only_item(struct normaliser *x, const struct msg *m,
                              const struct field_def *f, struct node *n)
{
    if (n->kind != NODE_LIST || n->list.n != 1)
        return n;
    normalise_report(x, m, DIAG_WARNING, E0202, n->at,
                     "'%s' takes one value; the list of one is read as that value",
                     f->name);
    return n->list.at[0];
}

struct node *normalise_scalar(struct normaliser *x, const struct msg *m,
                              const struct field_def *f, struct node *n)
{
    if (f->label == LABEL_OPT || f->label == LABEL_REQ)
        n = only_item(x, m, f, n);
    switch (f->type) {
    case FIELD_BOOL:
        return scalar_bool(x, m, f, n);
    case FIELD_I32:
    case FIELD_I64:
    case FIELD_U32:
    case FIELD_U64:
        return scalar_int(x, m, f, n);
    case FIELD_FLOAT:
    case FIELD_DOUBLE:
        return scalar_real(x, m, f, n);
    case FIELD_STR:
        return scalar_str(x, m, f, n);
    case FIELD_ENUM:
        return scalar_enum(x, m, f, n);
    case FIELD_MSG:
    case FIELD_ANY:
    case FIELD_UNION:
        break;
    }
    return NULL;
}
