/* SPDX-License-Identifier: Apache-2.0 */
/* The checker and the flat form are made in one walk: a parameter that has an error is
 * reported and left out, its siblings go on. The sentences are those of NNI's own checker
 * where it has one, because users know them; NNI only logs the first and goes on.
 */
#include "text/nni/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/vec.h"

#define PARAMS_MAX 100000

static const struct type_info {
    const char *name;
    int n_values; /* 0: any number */
    bool log, normal, stepped;
} types[NNI_TYPES] = {
    [NNI_CHOICE] = {"choice", 0, false, false, false},
    [NNI_RANDINT] = {"randint", 2, false, false, false},
    [NNI_UNIFORM] = {"uniform", 2, false, false, false},
    [NNI_QUNIFORM] = {"quniform", 3, false, false, true},
    [NNI_LOGUNIFORM] = {"loguniform", 2, true, false, false},
    [NNI_QLOGUNIFORM] = {"qloguniform", 3, true, false, true},
    [NNI_NORMAL] = {"normal", 2, false, true, false},
    [NNI_QNORMAL] = {"qnormal", 3, false, true, true},
    [NNI_LOGNORMAL] = {"lognormal", 2, true, true, false},
    [NNI_QLOGNORMAL] = {"qlognormal", 3, true, true, true},
};

const char *nni_type_name(enum nni_type type)
{
    return types[type].name;
}

struct walk {
    struct arena *a;
    struct diags *d;
    VEC(struct nni_param) list;
    bool whole_sets; /* the space of a Batch tuner: options are whole parameter sets */
    bool full;
};

static const char *kind_word(const struct node *n)
{
    switch (n->kind) {
    case NODE_NULL:
        return "null";
    case NODE_BOOL:
        return "bool";
    case NODE_INT:
        return "int";
    case NODE_REAL:
        return "float";
    case NODE_LIST:
        return "list";
    case NODE_MAP:
        return "dict";
    default:
        return "str";
    }
}

static bool type_of(struct str word, enum nni_type *out)
{
    for (int i = 0; i < NNI_TYPES; i++)
        if (str_is(word, types[i].name)) {
            *out = (enum nni_type)i;
            return true;
        }
    return false;
}

static const char *nearest_type(struct str word)
{
    const char *names[NNI_TYPES];
    for (int i = 0; i < NNI_TYPES; i++)
        names[i] = types[i].name;
    return str_nearest(word, names, NNI_TYPES);
}

static void bad_type(struct walk *w, const char *path, const struct node *type)
{
    if (type->kind != NODE_STR) {
        diag_add(w->d, DIAG_ERROR, E0432, type->at,
                 "search space \"%s\" has a \"_type\" that is not a string", path);
        return;
    }
    struct diag *g =
        diag_add(w->d, DIAG_ERROR, E0432, type->at,
                 "search space \"%s\" has unsupported type \"%s\"", path, type->text.p);
    const char *near = nearest_type(type->text);
    if (near)
        diag_hint(w->d, g, "did you mean '%s'?", near);
}

/* _value[i] as a finite number. */
static bool number_at(struct walk *w, const struct nni_param *p, const struct node *item,
                      double *out)
{
    if (node_number(item, out) && isfinite(*out))
        return true;
    struct diag *g =
        diag_add(w->d, DIAG_ERROR, E0434, item->at,
                 "search space \"%s\" (%s) must have %s values, not %s", p->path,
                 nni_type_name(p->type), p->type == NNI_RANDINT ? "int" : "float",
                 item->kind == NODE_REAL ? "one that is not finite" : kind_word(item));
    double ignored;
    if (item->kind == NODE_STR && str_to_f64(item->text, &ignored))
        diag_hint(w->d, g, "write the number without quotes");
    return false;
}

static bool set_randint(struct walk *w, struct nni_param *p, const struct node *value,
                        const double *v)
{
    for (int i = 0; i < 2; i++)
        if (v[i] != floor(v[i]) || fabs(v[i]) > 0x1p53) {
            bool whole = v[i] == floor(v[i]);
            diag_add(w->d, DIAG_ERROR, E0434, value->list.at[i]->at,
                     "search space \"%s\" (randint) must have int values%s", p->path,
                     whole ? " within 2^53 (9007199254740992)" : "");
            return false;
        }
    if (v[1] <= v[0]) {
        struct diag *g =
            diag_add(w->d, DIAG_ERROR, E0435, value->at,
                     "search space \"%s\" (randint) must have high > low", p->path);
        diag_hint(w->d, g, "the upper bound itself is never drawn");
        return false;
    }
    p->categorical = true;
    p->lower = (int64_t)v[0];
    p->size = (int64_t)(v[1] - v[0]);
    return true;
}

static bool set_uniform(struct walk *w, struct nni_param *p, const struct node *value,
                        const double *v)
{
    const char *type = nni_type_name(p->type);
    bool ok = true;
    if (v[1] < v[0]) {
        diag_add(w->d, DIAG_ERROR, E0435, value->at,
                 "search space \"%s\" (%s) must have high > low", p->path, type);
        ok = false;
    }
    if (!isfinite(v[1] - v[0])) {
        diag_add(w->d, DIAG_ERROR, E0434, value->at,
                 "search space \"%s\" (%s): high - low is more than a float holds",
                 p->path, type);
        ok = false;
    }
    if (p->log && v[0] <= 0) {
        diag_add(w->d, DIAG_ERROR, E0436, value->list.at[0]->at,
                 "search space \"%s\" (%s) must have low > 0", p->path, type);
        ok = false;
    }
    if (!ok)
        return false;
    p->low = p->log ? log(v[0]) : v[0];
    p->high = p->log ? log(v[1]) : v[1];
    p->clip = true; /* also without a step: exp(log(high)) may be above high */
    p->clip_low = v[0];
    p->clip_high = v[1];
    return true;
}

static bool set_normal(struct walk *w, struct nni_param *p, const struct node *value,
                       const double *v)
{
    if (v[1] <= 0) {
        diag_add(w->d, DIAG_ERROR, E0437, value->list.at[1]->at,
                 "search space \"%s\" (%s) must have sigma > 0", p->path,
                 nni_type_name(p->type));
        return false;
    }
    p->mu = v[0];
    p->sigma = v[1];
    return true;
}

static bool set_numbers(struct walk *w, struct nni_param *p, const struct node *value)
{
    const struct type_info *t = &types[p->type];
    double v[3] = {0};
    bool ok = true;
    if (value->list.n != (size_t)t->n_values) {
        diag_add(w->d, DIAG_ERROR, E0433, value->at,
                 "search space \"%s\" (%s) must have %d values, not %zu", p->path,
                 t->name, t->n_values, value->list.n);
        return false;
    }
    for (int i = 0; i < t->n_values; i++)
        ok &= number_at(w, p, value->list.at[i], &v[i]);
    if (!ok)
        return false;
    if (p->type == NNI_RANDINT)
        return set_randint(w, p, value, v);
    p->log = t->log;
    if (t->stepped) {
        p->q = v[2];
        if (v[2] <= 0) {
            diag_add(w->d, DIAG_ERROR, E0438, value->list.at[2]->at,
                     "search space \"%s\" (%s) must have q > 0", p->path, t->name);
            ok = false;
        }
    }
    return (t->normal ? set_normal(w, p, value, v) : set_uniform(w, p, value, v)) && ok;
}

static void check_params(struct walk *w, const struct node *map, const char *prefix,
                         int64_t parent, int64_t option);

/* How many options are objects with a _name. */
static size_t count_named(const struct node *value)
{
    size_t named = 0;
    for (size_t i = 0; i < value->list.n; i++)
        named += node_find(value->list.at[i], "_name") != NULL;
    return named;
}

/* A YAML word that NNI's reader takes for a boolean. In quotes it is a string to both. */
static void warn_old_boolean(struct walk *w, const struct nni_param *p,
                             const struct node *item)
{
    static const char *const words[] = {"yes", "no", "on", "off"};
    if (item->kind != NODE_STR || item->at.len != item->text.n)
        return;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcasecmp(item->text.p, words[i]) != 0)
            continue;
        struct diag *g =
            diag_add(w->d, DIAG_WARNING, E0440, item->at,
                     "search space \"%s\" (choice): '%s' is a string here and "
                     "a boolean in NNI",
                     p->path, item->text.p);
        diag_hint(w->d, g, "write %s, or put it in quotes", i % 2 ? "false" : "true");
    }
}

static void warn_options(struct walk *w, const struct nni_param *p,
                         const struct node *value, size_t named)
{
    if (named) {
        struct diag *g = diag_add(w->d, DIAG_WARNING, E0440, value->at,
                                  "search space \"%s\" (choice): %zu of %zu options have "
                                  "\"_name\", so none is taken apart",
                                  p->path, named, value->list.n);
        diag_hint(w->d, g, "give each option a \"_name\" to nest parameters below it");
        return;
    }
    for (size_t i = 0; i < value->list.n; i++) {
        const struct node *item = value->list.at[i];
        warn_old_boolean(w, p, item);
        if (w->whole_sets)
            continue;
        if (item->kind == NODE_MAP || item->kind == NODE_LIST ||
            item->kind == NODE_NULL) {
            diag_add(w->d, DIAG_WARNING, E0440, item->at,
                     "search space \"%s\" (choice) should only contain numbers or "
                     "strings",
                     p->path);
            return;
        }
    }
}

static bool name_options(struct walk *w, struct nni_param *p, const struct node *value)
{
    const char **names = arena_alloc(w->a, value->list.n * sizeof(*names));
    struct map seen = {0};
    bool ok = true;
    for (size_t i = 0; i < value->list.n; i++) {
        const struct node *name = node_find(value->list.at[i], "_name");
        if (!node_is_scalar(name)) {
            diag_add(w->d, DIAG_ERROR, E0441, name->at,
                     "search space \"%s\" (choice): \"_name\" must be a string", p->path);
            ok = false;
            continue;
        }
        names[i] = name->text.p;
        struct map_entry *e = map_put(&seen, name->text);
        if (e->value) {
            diag_add(w->d, DIAG_ERROR, E0441, name->at,
                     "search space \"%s\" (choice): two options have the \"_name\" "
                     "\"%s\"",
                     p->path, name->text.p);
            ok = false;
        }
        e->value = p;
    }
    map_release(&seen);
    p->option_names = names;
    return ok;
}

static bool set_choice(struct walk *w, struct nni_param *p, const struct node *value)
{
    if (value->list.n == 0) {
        diag_add(w->d, DIAG_ERROR, E0439, value->at,
                 "search space \"%s\" (choice) has no options", p->path);
        return false;
    }
    size_t named = count_named(value);
    p->categorical = true;
    p->size = (int64_t)value->list.n;
    p->options = (const struct node *const *)value->list.at;
    p->nested = named == value->list.n;
    if (p->nested)
        return name_options(w, p, value);
    warn_options(w, p, value, named);
    return true;
}

static void descend(struct walk *w, int64_t self, const struct node *value)
{
    for (size_t i = 0; i < value->list.n; i++) {
        const struct nni_param *p = &w->list.at[self];
        const char *prefix = arena_printf(w->a, "%s/%s/", p->path, p->option_names[i]);
        check_params(w, value->list.at[i], prefix, self, (int64_t)i);
    }
}

static void warn_extra(struct walk *w, const char *path, const struct node *spec)
{
    static const char *const known[] = {"_type", "_value"};
    for (size_t i = 0; i < spec->map.n; i++) {
        const struct node_entry *e = &spec->map.at[i];
        if (str_is(e->key, "_type") || str_is(e->key, "_value"))
            continue;
        struct diag *g =
            diag_add(w->d, DIAG_WARNING, E0443, e->key_at,
                     "search space \"%s\": \"%s\" has no meaning here", path, e->key.p);
        const char *near = str_nearest(e->key, known, 2);
        if (near)
            diag_hint(w->d, g, "did you mean '%s'?", near);
    }
}

static const struct node *check_shape(struct walk *w, const char *path,
                                      const struct node_entry *e, enum nni_type *type)
{
    const struct node *spec = e->value;
    if (spec->kind != NODE_MAP) {
        diag_add(w->d, DIAG_ERROR, E0430, spec->at,
                 "search space \"%s\" is a %s, expect a dict", path, kind_word(spec));
        return NULL;
    }
    const struct node *word = node_find(spec, "_type");
    const struct node *value = node_find(spec, "_value");
    warn_extra(w, path, spec);
    if (!word || !value) {
        diag_add(w->d, DIAG_ERROR, E0431, e->key_at,
                 "search space \"%s\" does not have \"_type\" or \"_value\"", path);
        return NULL;
    }
    if (word->kind != NODE_STR || !type_of(word->text, type)) {
        bad_type(w, path, word);
        return NULL;
    }
    if (value->kind != NODE_LIST) {
        diag_add(w->d, DIAG_ERROR, E0433, value->at,
                 "search space \"%s\"'s value is not a list", path);
        return NULL;
    }
    return value;
}

static void check_param(struct walk *w, const struct node_entry *e, const char *prefix,
                        int64_t parent, int64_t option)
{
    struct nni_param p = {
        .name = e->key.p, .at = e->key_at, .parent = parent, .option = option};
    p.path = *prefix ? arena_printf(w->a, "%s%s", prefix, p.name) : p.name;
    const struct node *value = check_shape(w, p.path, e, &p.type);
    if (!value || w->full)
        return;
    if (!(p.type == NNI_CHOICE ? set_choice(w, &p, value) : set_numbers(w, &p, value)))
        return;
    if (w->list.n >= PARAMS_MAX) {
        diag_add(w->d, DIAG_ERROR, E0444, e->key_at,
                 "search space has more than %d parameters", PARAMS_MAX);
        w->full = true;
        return;
    }
    VEC_PUSH(&w->list, p);
    if (p.nested)
        descend(w, (int64_t)w->list.n - 1, value);
}

static void check_params(struct walk *w, const struct node *map, const char *prefix,
                         int64_t parent, int64_t option)
{
    for (size_t i = 0; i < map->map.n; i++)
        if (parent < 0 || !str_is(map->map.at[i].key, "_name"))
            check_param(w, &map->map.at[i], prefix, parent, option);
}

/* One choice whose options are all objects: parameter sets for a Batch tuner. */
static bool is_batch(const struct node *root)
{
    const struct node *value =
        root->map.n == 1 ? node_find(root->map.at[0].value, "_value") : NULL;
    if (!value || value->kind != NODE_LIST)
        return false;
    for (size_t i = 0; i < value->list.n; i++)
        if (value->list.at[i]->kind != NODE_MAP)
            return false;
    return true;
}

enum rc nni_space_build(const struct node *root, struct arena *a, struct diags *diags,
                        struct nni_space *out)
{
    size_t before = diags->n_errors;
    if (root->kind != NODE_MAP) {
        diag_add(diags, DIAG_ERROR, E0430, root->at,
                 "search space is a %s, expect a dict", kind_word(root));
        return RC_FORMAT;
    }
    struct walk w = {.a = a, .d = diags, .whole_sets = is_batch(root)};
    check_params(&w, root, "", -1, -1);
    struct nni_param *list = arena_alloc(a, (w.list.n + 1) * sizeof(*list));
    if (w.list.n)
        memcpy(list, w.list.at, w.list.n * sizeof(*list));
    *out = (struct nni_space){.at = list, .n = (int64_t)w.list.n};
    VEC_RELEASE(&w.list);
    return diags->n_errors == before ? RC_OK : RC_FORMAT;
}
