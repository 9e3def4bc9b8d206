/* SPDX-License-Identifier: Apache-2.0 */
/* The tuners and assessors of NNI: their arguments are checked against tables
 * (algos.def), in NNI's own words where it has some, and spaces against what each
 * algorithm can search. Arguments that are right one by one and wrong together are found
 * last.
 */
#include "text/nni/algo.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "text/nni/nni.h"

static const struct nni_algo algos[] = {
#define ALGO(role_, symbol_, file_, name_, alias_, args_, types_, flags_) \
    {NNI_##role_, name_, alias_, args_, types_, flags_},
#define ALGO_ELSEWHERE(role_, name_, alias_) \
    {NNI_##role_, name_, alias_, NULL, 0, NNI_ELSEWHERE},
#include "text/nni/algos.def"
#undef ALGO
#undef ALGO_ELSEWHERE
};

const struct nni_algo *nni_algos(size_t *n)
{
    *n = ARRAY_LEN(algos);
    return algos;
}

const struct nni_algo *nni_algo_find(enum nni_role role, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(algos); i++)
        if (algos[i].role == role &&
            (strcasecmp(algos[i].name, name) == 0 ||
             (algos[i].alias && strcasecmp(algos[i].alias, name) == 0)))
            return &algos[i];
    return NULL;
}

const char *nni_algo_nearest(enum nni_role role, const char *name)
{
    const char *names[ARRAY_LEN(algos) * 2];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(algos); i++) {
        if (algos[i].role != role)
            continue;
        names[n++] = algos[i].name;
        if (algos[i].alias)
            names[n++] = algos[i].alias;
    }
    return str_nearest(str_c(name), names, n);
}

/* Python's name of a field's type, as NNI's messages have it. */
static const char *type_word(const struct field_def *f)
{
    switch (f->type) {
    case FIELD_BOOL:
        return "bool";
    case FIELD_I64:
        return "int";
    case FIELD_DOUBLE:
        return "float";
    case FIELD_MSG:
        return "dict";
    default:
        return "str";
    }
}

static bool right_type(const struct field_def *f, const struct node *n)
{
    switch (f->type) {
    case FIELD_BOOL:
        return n->kind == NODE_BOOL;
    case FIELD_I64:
        return n->kind == NODE_INT || (n->kind == NODE_REAL && n->real == floor(n->real));
    case FIELD_DOUBLE:
        return n->kind == NODE_INT || n->kind == NODE_REAL;
    case FIELD_MSG:
        return n->kind == NODE_MAP;
    default:
        return f->check ? node_is_scalar(n) : n->kind == NODE_STR;
    }
}

static bool is_word(const char *words, struct str s)
{
    struct str rest = str_c(words), word;
    while (str_split(&rest, '|', &word))
        if (str_eq(word, s))
            return true;
    return false;
}

static void bad_word(const struct field_def *f, const struct node *n, struct diags *d)
{
    struct buf list;
    struct str rest = str_c(f->words), word;
    buf_init(&list, 1024);
    while (str_split(&rest, '|', &word))
        buf_printf(&list, "%s%.*s", list.n ? ", " : "", (int)word.n, word.p);
    diag_add(d, DIAG_ERROR, E0411, n->at, "%s should be in [%s]!", f->name,
             buf_str(&list));
    buf_release(&list);
}

static void check_args(const char *owner, const struct msg_def *def,
                       const struct node *map, struct diags *d);

static void check_arg(const char *owner, const struct field_def *f, const struct node *n,
                      struct diags *d)
{
    double v;
    const char *wrong;
    if (!right_type(f, n)) {
        struct diag *g = diag_add(d, DIAG_ERROR, E0411, n->at, "%s should be %s type!",
                                  f->name, type_word(f));
        if (n->kind == NODE_STR && str_to_f64(n->text, &v) && f->type != FIELD_STR)
            diag_hint(d, g, "write the value without quotes");
    } else if (f->type == FIELD_MSG) {
        check_args(f->name, f->msg, n, d);
    } else if (f->words && !is_word(f->words, n->text)) {
        bad_word(f, n, d);
    } else if (f->check && (wrong = f->check(n->text)) != NULL) {
        diag_add(d, DIAG_ERROR, E0411, n->at, "%s %s", f->name, wrong);
    } else if (f->min < f->max && node_number(n, &v) && !(v >= f->min && v <= f->max)) {
        char low[32], high[32];
        str_from_f64(f->min, low);
        str_from_f64(f->max, high);
        diag_add(d, DIAG_ERROR, E0411, n->at, "%s should be in range of (%s, %s)!",
                 f->name, low, high);
    }
}

static void unknown_arg(const char *owner, const struct msg_def *def,
                        const struct node_entry *e, struct diags *d)
{
    const char *names[32];
    size_t n = 0;
    for (const struct field_def *f = def->fields(); f->name && n < ARRAY_LEN(names); f++)
        names[n++] = f->name;
    struct diag *g = diag_add(d, DIAG_ERROR, E0410, e->key_at,
                              "%s takes no argument '%s'", owner, e->key.p);
    const char *near = str_nearest(e->key, names, n);
    if (near)
        diag_hint(d, g, "did you mean '%s'?", near);
}

static void check_args(const char *owner, const struct msg_def *def,
                       const struct node *map, struct diags *d)
{
    for (size_t i = 0; i < map->map.n; i++) {
        const struct node_entry *e = &map->map.at[i];
        const struct field_def *f = schema_field(def, e->key.p);
        if (!f) {
            unknown_arg(owner, def, e, d);
            continue;
        }
        if (f->flags & FIELD_IGNORED) {
            struct diag *g =
                diag_add(d, DIAG_WARNING, E0424, e->key_at,
                         "argument '%s' of %s has no effect", f->name, owner);
            diag_hint(d, g, "%s", f->note);
        }
        if (e->value->kind != NODE_NULL)
            check_arg(owner, f, e->value, d);
    }
}

/* Arguments that are right one by one and wrong together. */
static void check_together(const struct nni_algo *algo, const struct node *args,
                           struct diags *d)
{
    const struct node *least = node_find(args, "min_budget");
    const struct node *most = node_find(args, "max_budget");
    const struct node *mode = node_find(args, "optimize_mode");
    int64_t low, high;
    if (least && most && node_i64(least, &low) && node_i64(most, &high) && low > high)
        diag_add(d, DIAG_ERROR, E0411, least->at,
                 "min_budget should not be above max_budget, which is %jd",
                 (intmax_t)high);
    if ((algo->flags & NNI_MAXIMIZE_ONLY) && mode && mode->kind == NODE_STR &&
        str_is(mode->text, "minimize")) {
        struct diag *g =
            diag_add(d, DIAG_ERROR, E0411, mode->at,
                     "%s works only when larger results are better", algo->name);
        diag_hint(d, g, "report the negative of the metric, or use Medianstop");
    }
}

void nni_args_check(const struct nni_algo *algo, const struct node *args,
                    struct diags *diags)
{
    if (!args || args->kind == NODE_NULL || !algo->args)
        return;
    if (args->kind != NODE_MAP) {
        diag_add(diags, DIAG_ERROR, E0411, args->at, "classArgs should be dict type!");
        return;
    }
    check_args(algo->name, algo->args, args, diags);
    check_together(algo, args, diags);
}

static void say_none(const struct msg_def *def, struct node *map, struct arena *a)
{
    for (size_t i = 0; i < map->map.n; i++) {
        struct node_entry *e = &map->map.at[i];
        const struct field_def *f = schema_field(def, e->key.p);
        if (f && f->type == FIELD_MSG && e->value->kind == NODE_MAP)
            say_none(f->msg, e->value, a);
        else if (f && f->words && e->value->kind == NODE_NULL &&
                 is_word(f->words, str_c("none")))
            e->value = node_str(a, "none", 4, e->value->at);
    }
}

const void *nni_args_bind(const struct nni_algo *algo, const struct node *args,
                          struct arena *a)
{
    struct diags unheard = {0};
    struct node *map = args && args->kind == NODE_MAP
                           ? node_clone(a, args)
                           : node_create(a, NODE_MAP, (struct span){0});
    say_none(algo->args, map, a);
    /* What could be wrong was said by nni_args_check(). */
    (void)schema_normalise(algo->args, map, SCHEMA_YAML, a, &unheard);
    diags_release(&unheard);
    return schema_bind(algo->args, map, a);
}

static void check_numeric(const struct nni_algo *algo, const struct nni_param *p,
                          struct diags *d)
{
    for (int64_t i = 0; i < p->size && p->type == NNI_CHOICE; i++) {
        double v;
        if (node_number(p->options[i], &v))
            continue;
        diag_add(d, DIAG_ERROR, E0442, p->options[i]->at,
                 "search space \"%s\" (choice): %s takes numbers as options", p->path,
                 algo->name);
        return;
    }
}

static void check_accepts(const struct nni_algo *algo, const struct nni_param *p,
                          struct diags *d)
{
    struct diag *g = NULL;
    if (!(algo->types & (1u << p->type)))
        g = diag_add(d, DIAG_ERROR, E0442, p->at,
                     "search space \"%s\": %s does not take the type \"%s\"", p->path,
                     algo->name, nni_type_name(p->type));
    else if (p->nested && !(algo->flags & NNI_NESTED))
        g = diag_add(d, DIAG_ERROR, E0442, p->at,
                     "search space \"%s\": %s does not take nested choices", p->path,
                     algo->name);
    else if (algo->flags & NNI_NUMERIC)
        check_numeric(algo, p, d);
    if (g)
        diag_hint(d, g, "TPE, Random, GridSearch, Anneal and Evolution take every type");
}

void nni_algo_check_space(const struct nni_algo *algo, const struct nni_space *space,
                          struct span where, struct diags *diags)
{
    if (algo->flags & NNI_ELSEWHERE)
        return;
    if (algo->flags & NNI_ONE_CHOICE) {
        if (space->n != 1 || space->at[0].type != NNI_CHOICE)
            diag_add(diags, DIAG_ERROR, E0442, space->n ? space->at[0].at : where,
                     "%s takes a search space of exactly one choice", algo->name);
        return;
    }
    if (space->n == 0)
        diag_add(diags, algo->flags & NNI_NEEDS_SPACE ? DIAG_ERROR : DIAG_WARNING, E0445,
                 where, "Search space is empty");
    for (int64_t i = 0; i < space->n; i++)
        check_accepts(algo, &space->at[i], diags);
}
