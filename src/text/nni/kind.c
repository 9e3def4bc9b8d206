/* SPDX-License-Identifier: Apache-2.0 */
/* The experiment's file: found by its keys, made uniform, checked.
 *
 * Before the schema sees the tree, forms that its types cannot tell apart are rewritten:
 * a bare number of seconds becomes "90s" (while the string "90" stays, and is refused, as
 * NNI does), a number of megabytes "8mb", GPU indices in one string a list.
 */
#include <string.h>
#include <strings.h>

#include "text/nni/algo.h"
#include "text/nni/load.h"
#include "text/nni/nni_private.h"
#include "text/nni/registered.h"

static int nni_probe(const char *path, enum syntax syntax, const struct node *root)
{
    static const char *const keys[] = {"trainingService",
                                       "trialCommand",
                                       "trialConcurrency",
                                       "searchSpaceFile",
                                       "maxTrialNumber",
                                       "searchSpace",
                                       "trialCodeDirectory",
                                       "tuner",
                                       "assessor",
                                       "advisor",
                                       "experimentWorkingDirectory",
                                       "trialGpuNumber"};
    int found = 0;
    if (syntax == SYNTAX_PROTOTEXT || root->kind != NODE_MAP)
        return 0;
    if (nni_find(root, "trainingServicePlatform"))
        return 100;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        found += nni_find(root, keys[i]) != NULL;
    return found >= 3 ? 95 : found * 30;
}

static enum schema_dialect nni_dialect(enum syntax syntax)
{
    return SCHEMA_FOLDED;
}

static bool is_user_data(struct str key)
{
    return nni_key_is(key, "searchSpace") || nni_key_is(key, "classArgs") ||
           nni_key_is(key, "openpaiConfig");
}

/* `{your_ip}` without quotes is a mapping to YAML. */
static bool is_braced_word(const struct node *n)
{
    return n->kind == NODE_MAP && n->map.n == 1 && n->at.src &&
           n->at.off < n->at.src->n && n->at.src->text[n->at.off] == '{' &&
           n->map.at[0].value->kind == NODE_NULL;
}

/* The key in the user's spelling, also when it was converted. */
static struct str as_written(const struct node_entry *e)
{
    const struct span *s = &e->key_at;
    if (!s->src || s->off > s->src->n || s->len > s->src->n - s->off)
        return e->key;
    return str_of(s->src->text + s->off, s->len);
}

static struct node *fill_in(struct conf *c, struct diags *d, const struct node_entry *e)
{
    struct node *n = e->value;
    if (is_braced_word(n)) {
        const char *text = arena_printf(&c->doc.arena, "{%s}", n->map.at[0].key.p);
        n = node_str(&c->doc.arena, text, strlen(text), n->at);
    }
    if (n->kind == NODE_STR && nni_is_placeholder(n->text)) {
        struct str key = as_written(e);
        struct diag *g =
            diag_add(d, DIAG_WARNING, E0425, n->at, "'%.*s' is still to be filled in: %s",
                     (int)key.n, key.p, n->text.p);
        diag_hint(d, g, "the file seems to be an example");
    }
    return n;
}

static struct node *with_unit(struct arena *a, struct node *n, const char *unit)
{
    if (n->kind != NODE_INT && n->kind != NODE_REAL)
        return n;
    const char *text = arena_printf(a, "%.*s%s", (int)n->text.n, n->text.p, unit);
    return node_str(a, text, strlen(text), n->at);
}

/* "0,1" as [0, 1]; a text that is no such list stays, for the schema to refuse. */
static struct node *split_indices(struct arena *a, struct node *n)
{
    if (n->kind != NODE_STR)
        return n;
    struct node *list = node_create(a, NODE_LIST, n->at);
    struct str rest = n->text, part;
    while (str_split(&rest, ',', &part)) {
        int64_t v;
        if (!str_to_i64(str_trim(part), &v))
            return n;
        node_push(a, list, node_int(a, v, n->at));
    }
    return list;
}

static void tidy(struct conf *c, struct diags *d, struct node *n)
{
    struct arena *a = &c->doc.arena;
    if (n->kind == NODE_LIST)
        for (size_t i = 0; i < n->list.n; i++)
            tidy(c, d, n->list.at[i]);
    if (n->kind != NODE_MAP)
        return;
    for (size_t i = 0; i < n->map.n; i++) {
        struct node_entry *e = &n->map.at[i];
        if (is_user_data(e->key))
            continue;
        e->value = fill_in(c, d, e);
        if (nni_key_is(e->key, "maxExperimentDuration") ||
            nni_key_is(e->key, "maxTrialDuration"))
            e->value = with_unit(a, e->value, "s");
        else if (nni_key_is(e->key, "memorySize") ||
                 nni_key_is(e->key, "trialMemorySize"))
            e->value = with_unit(a, e->value, "mb");
        else if (nni_key_is(e->key, "gpuIndices") ||
                 nni_key_is(e->key, "tunerGpuIndices"))
            e->value = split_indices(a, e->value);
        tidy(c, d, e->value);
    }
}

static void nni_prepare(struct conf *c, struct diags *diags)
{
    if (!c->doc.root || c->doc.root->kind != NODE_MAP)
        return;
    if (nni_find(c->doc.root, "trainingServicePlatform"))
        nni_convert_v1(c, diags);
    tidy(c, diags, c->doc.root);
}

static void check_limit(struct nni_checker *x, const char *name, const char *text)
{
    int64_t seconds;
    if (nni_get(&x->e->base, name) && nni_duration(str_c(text), &seconds) && seconds <= 0)
        schema_report(x->d, DIAG_ERROR, E0412, &x->e->base, name,
                      "ExperimentConfig: %s must be positive, not %s",
                      nni_snake(name, &x->c->arena), text);
}

static void check_header(struct nni_checker *x)
{
    static const char *const needs[] = {"trialConcurrency", NULL};
    const struct nni_ExperimentConfig *e = x->e;
    if (strcmp(e->experimentType, "hpo") != 0)
        schema_report(x->d, DIAG_ERROR, E0415, &e->base, "experimentType",
                      "experimentType '%s' does not run here; hpo does",
                      e->experimentType);
    if (e->useAnnotation)
        schema_report(x->d, DIAG_ERROR, E0414, &e->base, "useAnnotation",
                      "You are using annotation to specify search space. This is not "
                      "supported since NNI v3.0.");
    nni_need(x, &e->base, needs);
    nni_at_least(x, &e->base, "trialConcurrency", 1);
    nni_at_least(x, &e->base, "maxTrialNumber", 1);
    nni_at_least(x, &e->base, "trialGpuNumber", 0);
    check_limit(x, "maxExperimentDuration", e->maxExperimentDuration);
    check_limit(x, "maxTrialDuration", e->maxTrialDuration);
    nni_need_dir(x, &e->base, "trialCodeDirectory");
}

static void unknown_name(struct nni_checker *x, const struct nni_Algorithm *a,
                         enum nni_role role)
{
    enum nni_role other = role == NNI_TUNER ? NNI_ASSESSOR : NNI_TUNER;
    struct buf lower;
    buf_init(&lower, 256);
    for (const char *p = a->name; *p; p++)
        buf_putc(&lower, (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p));
    struct diag *g = schema_report(x->d, DIAG_ERROR, E0408, &a->base, "name",
                                   "Builtin name is not found: %s", buf_str(&lower));
    const char *near = nni_algo_nearest(role, a->name);
    if (nni_algo_find(other, a->name))
        diag_hint(x->d, g, "%s is %s", a->name,
                  other == NNI_TUNER ? "a tuner" : "an assessor");
    else if (near)
        diag_hint(x->d, g, "did you mean '%s'?", near);
    buf_release(&lower);
}

static void check_class(struct nni_checker *x, const struct nni_Algorithm *a)
{
    if (!a->has_className)
        schema_report(x->d, DIAG_ERROR, E0409, &a->base, NULL,
                      "%s needs a name, or className and codeDirectory", a->base.field);
    else if (!strchr(a->className, '.'))
        schema_report(x->d, DIAG_ERROR, E0409, &a->base, "className",
                      "className takes module.Class, not '%s'", a->className);
    const struct node *dir = nni_get(&a->base, "codeDirectory");
    if (dir && !nni_is_placeholder(dir->text) && !nni_dir_exists(x->c, a->codeDirectory))
        schema_report(x->d, DIAG_ERROR, E0418, &a->base, "codeDirectory",
                      "CustomAlgorithmConfig: code_directory \"%s\" is not a directory",
                      a->codeDirectory);
}

/* NULL: custom, or unknown (and reported). */
static const struct nni_algo *
check_algorithm(struct nni_checker *x, const struct nni_Algorithm *a, enum nni_role role)
{
    if (!a->has_name) {
        check_class(x, a);
        return NULL;
    }
    if (a->has_className || a->has_codeDirectory)
        schema_report(x->d, DIAG_ERROR, E0409, &a->base,
                      a->has_className ? "className" : "codeDirectory",
                      "%s: a built-in name and a custom class cannot both be set",
                      a->base.field);
    const struct nni_algo *algo = nni_algo_find(role, a->name);
    struct nni_registered own;
    if (!algo) {
        if (!nni_registered_get(role, a->name, &x->d->arena, &own))
            unknown_name(x, a, role);
        return NULL;
    }
    if (algo->flags & NNI_ELSEWHERE)
        schema_report(x->d, DIAG_ERROR, E4001, &a->base, "name",
                      "%s searches network architectures, which is not supported",
                      algo->name);
    size_t before = x->d->list.n;
    nni_args_check(algo, a->classArgs, x->d);
    for (size_t i = before; i < x->d->list.n; i++)
        x->d->list.at[i].where = schema_where(&a->base, &x->d->arena);
    return algo;
}

static void check_population(struct nni_checker *x, const struct nni_Algorithm *a)
{
    const struct node *size = node_find(a->classArgs, "population_size");
    int64_t v;
    if (strcasecmp(a->name, "Evolution") == 0 && size && node_i64(size, &v) && v > 0 &&
        v < x->e->trialConcurrency)
        diag_add(x->d, DIAG_WARNING, E0411, size->at,
                 "population_size %jd is below trialConcurrency %jd, so some slots stay "
                 "idle",
                 (intmax_t)v, (intmax_t)x->e->trialConcurrency);
}

static const struct nni_algo *check_algorithms(struct nni_checker *x)
{
    const struct nni_ExperimentConfig *e = x->e;
    const struct nni_Algorithm *tuner = e->tuner ? e->tuner : e->advisor;
    const struct nni_algo *algo = NULL;
    if (e->tuner && e->advisor)
        schema_report(x->d, DIAG_ERROR, E0407, &e->base, "advisor",
                      "\"advisor\" is deprecated. You should only set \"tuner\".");
    if (tuner) {
        algo = check_algorithm(x, tuner, NNI_TUNER);
        check_population(x, tuner);
    } else {
        schema_report(x->d, DIAG_ERROR, E0407, &e->base, NULL,
                      "ExperimentConfig: tuner must be set");
    }
    if (e->assessor)
        check_algorithm(x, e->assessor, NNI_ASSESSOR);
    if (e->assessor && algo && (algo->flags & NNI_STOPS_TRIALS))
        schema_report(x->d, DIAG_WARNING, E0424, &e->base, "assessor",
                      "%s stops trials itself; the assessor is ignored", algo->name);
    return algo;
}

/* A custom tuner, or one that searches architectures, gives the space its own meaning. */
static bool space_is_ours(const struct nni_checker *x, const struct nni_algo *algo)
{
    const struct nni_Algorithm *tuner = x->e->tuner ? x->e->tuner : x->e->advisor;
    if (tuner && !tuner->has_name)
        return false;
    return !algo || !(algo->flags & NNI_ELSEWHERE);
}

static void check_space(struct nni_checker *x, const struct nni_algo *algo)
{
    struct nni_space space;
    const struct node *root = nni_space_tree(x->c, x->d);
    if (!root || !space_is_ours(x, algo))
        return;
    const char *name = x->e->has_searchSpaceFile ? "searchSpaceFile" : "searchSpace";
    if (nni_space_build(root, &x->c->arena, x->d, &space) == RC_OK && algo)
        nni_algo_check_space(algo, &space, schema_span(&x->e->base, name), x->d);
}

static void check_objectives(struct nni_checker *x)
{
    const struct nni_ExperimentConfig *e = x->e;
    if (e->n_objectives > NNI_OBJECTIVES_MAX)
        schema_report(x->d, DIAG_ERROR, E0412, &e->base, "objectives",
                      "%jd objectives; there may be %d", (intmax_t)e->n_objectives,
                      NNI_OBJECTIVES_MAX);
    if (e->n_constraints > NNI_CONSTRAINTS_MAX)
        schema_report(x->d, DIAG_ERROR, E0412, &e->base, "constraints",
                      "%jd constraints; there may be %d", (intmax_t)e->n_constraints,
                      NNI_CONSTRAINTS_MAX);
    for (int64_t i = 0; i < e->n_constraints; i++) {
        const struct nni_Constraint *k = e->constraints[i];
        if (!k->has_atLeast && !k->has_atMost)
            schema_report(x->d, DIAG_ERROR, E0409, &k->base, NULL,
                          "the constraint of '%s' needs atLeast or atMost", k->metric);
        if (k->has_atLeast && k->has_atMost && k->atLeast > k->atMost)
            schema_report(x->d, DIAG_ERROR, E0412, &k->base, "atLeast",
                          "atLeast %g is above atMost %g, so nothing can be right",
                          k->atLeast, k->atMost);
    }
}

static void nni_check(struct conf *c, struct diags *diags)
{
    struct nni_checker x = {.c = c, .e = c->data, .d = diags};
    check_header(&x);
    check_objectives(&x);
    check_space(&x, check_algorithms(&x));
    nni_check_services(&x);
}

static void nni_describe(const struct conf *c, struct buf *out)
{
    const struct nni_ExperimentConfig *e = c->data;
    const struct nni_Algorithm *t = e->tuner ? e->tuner : e->advisor;
    const char *name = t && t->name        ? t->name
                       : t && t->className ? t->className
                                           : "unset";
    buf_printf(out, "tuner %s", name);
    if (e->has_maxTrialNumber)
        buf_printf(out, ", at most %jd trials", (intmax_t)e->maxTrialNumber);
    if (e->has_trialConcurrency)
        buf_printf(out, ", %jd at a time", (intmax_t)e->trialConcurrency);
}

const struct conf_kind conf_kind_nni_experiment = {
    .name = "nni-experiment",
    .title = "NNI experiment",
    .example = "config.yml",
    .family = &schema_family_nni,
    .root = &nni_ExperimentConfig_def,
    .usual = SYNTAX_YAML,
    .probe = nni_probe,
    .dialect = nni_dialect,
    .prepare = nni_prepare,
    .check = nni_check,
    .describe = nni_describe,
};
