/* SPDX-License-Identifier: Apache-2.0 */
/* config.yaml. PaddleRec stops at the first mistake and finds many only after the data is
 * read; here all are reported together. Its own sentences are kept.
 */
#include <ctype.h>
#include <string.h>

#include "base/map.h"
#include "text/paddlerec/paddlerec_private.h"
#include "text/paddlerec/slots.h"

struct paddlerec_check {
    struct conf *c;
    const struct prec_Config *f;
    struct diags *d;
    struct map runners, phases, datasets; /* name to message */
};

struct span prec_part(const struct node *n, size_t off, size_t len)
{
    struct span s = n->at;
    if (!s.src || s.off > s.src->n || s.len > s.src->n - s.off)
        return s;
    uint32_t skip = s.len == n->text.n + 2 ? 1 : 0;
    if (s.len != n->text.n + 2 * skip || off + len > n->text.n ||
        memcmp(s.src->text + s.off + skip, n->text.p, n->text.n) != 0)
        return s;
    return (struct span){
        .src = s.src, .off = s.off + skip + (uint32_t)off, .len = (uint32_t)len};
}

static int paddlerec_probe(const char *path, enum syntax syntax, const struct node *root)
{
    const struct node *runner = node_find(root, "runner"),
                      *phase = node_find(root, "phase");
    if (syntax == SYNTAX_PROTOTEXT || root->kind != NODE_MAP)
        return 0;
    int score = 0;
    if (runner && runner->kind == NODE_LIST)
        score += 50;
    if (phase && phase->kind == NODE_LIST)
        score += 40;
    if (score && (node_find(root, "workspace") || node_find(root, "mode")))
        score += 10;
    return score;
}

static enum schema_dialect paddlerec_dialect(enum syntax syntax)
{
    return SCHEMA_YAML;
}

/* The spelling `asycn` comes from PaddleRec's own manual. */
static void correct_strategy(struct conf *c, struct diags *d)
{
    const struct node *runners = node_find(c->doc.root, "runner");
    for (size_t i = 0; runners && runners->kind == NODE_LIST && i < runners->list.n;
         i++) {
        struct node_entry *e =
            node_entry_find(runners->list.at[i], "distribute_strategy");
        if (!e || e->value->kind != NODE_STR || !str_is(e->value->text, "asycn"))
            continue;
        struct diag *g = diag_add(d, DIAG_WARNING, E0508, e->value->at,
                                  "distribute_strategy 'asycn' is read as 'async'");
        diag_hint(d, g, "did you mean 'async'?");
        e->value = node_str(&c->doc.arena, "async", 5, e->value->at);
    }
}

/* PaddleRec turns the text of a learning rate into a number, quoted or not. */
static void read_learning_rate(struct conf *c, struct diags *d)
{
    struct node *optimizer =
        node_find(node_find(c->doc.root, "hyper_parameters"), "optimizer");
    struct node_entry *e = node_entry_find(optimizer, "learning_rate");
    double rate;
    if (!e || e->value->kind != NODE_STR)
        return;
    if (str_to_f64(e->value->text, &rate)) {
        e->value = node_real(&c->doc.arena, rate, e->value->at);
        return;
    }
    diag_add(
        d, DIAG_ERROR, E0521, e->value->at,
        "In your config yaml, 'learning_rate': %s must be written as a floating piont "
        "number,such as 0.001 or 1e-3",
        e->value->text.p);
    node_remove(optimizer, "learning_rate");
}

static void paddlerec_prepare(struct conf *c, struct diags *diags)
{
    static const char *const needs[] = {"workspace", "mode", "runner", "phase"};
    if (!c->doc.root || c->doc.root->kind != NODE_MAP)
        return;
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        const struct node *n = node_find(c->doc.root, needs[i]);
        struct span at = c->doc.root->at;
        at.len = at.len > 1 ? 1 : at.len;
        if (!n || n->kind == NODE_NULL)
            diag_add(diags, DIAG_ERROR, E0501, at,
                     "can not find %s in yaml, which is required", needs[i]);
    }
    correct_strategy(c, diags);
    read_learning_rate(c, diags);
}

/* `m` into the map of its list, by name. */
static void register_name(struct paddlerec_check *x, struct map *names,
                          const struct msg *m, const char *name, const char *list)
{
    if (!*name) {
        schema_report(x->d, DIAG_ERROR, E0502, m, "name", "name must be in %s list",
                      list);
        return;
    }
    struct map_entry *e = map_put(names, str_c(name));
    if (e->value)
        schema_report(x->d, DIAG_ERROR, E0503, m, "name",
                      "%s has two elements named '%s'", list, name);
    else
        e->value = (void *)m;
}

static void register_names(struct paddlerec_check *x)
{
    const struct prec_Config *f = x->f;
    for (int64_t i = 0; i < f->n_dataset; i++)
        register_name(x, &x->datasets, &f->dataset[i]->base, f->dataset[i]->name,
                      "dataset");
    for (int64_t i = 0; i < f->n_runner; i++)
        register_name(x, &x->runners, &f->runner[i]->base, f->runner[i]->name, "runner");
    for (int64_t i = 0; i < f->n_phase; i++)
        register_name(x, &x->phases, &f->phase[i]->base, f->phase[i]->name, "phase");
}

static void hint_name(struct paddlerec_check *x, struct diag *g, const struct map *names,
                      const char *name)
{
    const char *list[64];
    size_t n = 0;
    for (; n < names->n && n < ARRAY_LEN(list); n++)
        list[n] = names->at[n].key;
    const char *near = str_nearest(str_c(name), list, n);
    if (near)
        diag_hint(x->d, g, "did you mean '%s'?", near);
}

static struct span item_span(const struct msg *m, const char *field, int64_t i)
{
    const struct node *list = node_find(m->node, field);
    return list && list->kind == NODE_LIST && (size_t)i < list->list.n
               ? list->list.at[i]->at
               : schema_span(m, field);
}

static void check_mode(struct paddlerec_check *x)
{
    const struct prec_Config *f = x->f;
    if (f->n_mode == 0)
        schema_report(x->d, DIAG_ERROR, E0504, &f->base, "mode",
                      "yaml mast have config: mode");
    for (int64_t i = 0; i < f->n_mode; i++) {
        if (map_get(&x->runners, f->mode[i]))
            continue;
        struct diag *g = diag_add(x->d, DIAG_ERROR, E0504, item_span(&f->base, "mode", i),
                                  "mode names no runner: '%s'", f->mode[i]);
        hint_name(x, g, &x->runners, f->mode[i]);
    }
}

/* The text of a path: {workspace} is all that may be in braces. */
static void check_braces(struct paddlerec_check *x, const struct msg *m,
                         const char *field)
{
    const struct node *n = node_find(m->node, field);
    const char *open = n ? memchr(n->text.p, '{', n->text.n) : NULL;
    if (!open || strncmp(open, "{workspace}", 11) == 0)
        return;
    size_t off = (size_t)(open - n->text.p);
    const char *close = memchr(open, '}', n->text.n - off);
    size_t len = close ? (size_t)(close - open) + 1 : n->text.n - off;
    struct diag *g =
        diag_add(x->d, DIAG_WARNING, E0523, prec_part(n, off, len),
                 "%s: '%.*s' is not replaced by anything", field, (int)len, open);
    diag_hint(x->d, g, "did you mean '{workspace}'?");
}

static bool check_words(struct paddlerec_check *x, const struct prec_Runner *r)
{
    static const char *const classes[] = {"train", "infer", "local_cluster_train",
                                          "cluster_train"};
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        known |= prec_is(r->class, classes[i]);
    if (!known) {
        struct diag *g = schema_report(x->d, DIAG_ERROR, E0505, &r->base, "class",
                                       "runner.%s.class can only be chosen in ['TRAIN', "
                                       "'INFER', 'LOCAL_CLUSTER_TRAIN', 'CLUSTER_TRAIN']",
                                       r->name);
        const char *near = str_nearest(str_c(r->class), classes, ARRAY_LEN(classes));
        if (near)
            diag_hint(x->d, g, "did you mean '%s'?", near);
    }
    if (!prec_is(r->device, "cpu") && !prec_is(r->device, "gpu")) {
        schema_report(x->d, DIAG_ERROR, E0506, &r->base, "device",
                      "Not Support device %s", r->device);
        known = false;
    }
    if (!prec_is(r->fleet_mode, "ps") && !prec_is(r->fleet_mode, "collective") &&
        !prec_is(r->fleet_mode, "pslib")) {
        schema_report(x->d, DIAG_ERROR, E0507, &r->base, "fleet_mode",
                      "Not Support Fleet Mode %s", r->fleet_mode);
        known = false;
    }
    return known;
}

static void check_strategy(struct paddlerec_check *x, const struct prec_Runner *r)
{
    static const char *const words[] = {"async", "sync", "half_async", "geo"};
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        known |= prec_is(r->distribute_strategy, words[i]);
    if (!known) {
        struct diag *g =
            schema_report(x->d, DIAG_ERROR, E0508, &r->base, "distribute_strategy",
                          "distribute_strategy takes async, sync, half_async or geo, not "
                          "'%s'",
                          r->distribute_strategy);
        const char *near =
            str_nearest(str_c(r->distribute_strategy), words, ARRAY_LEN(words));
        if (near)
            diag_hint(x->d, g, "did you mean '%s'?", near);
    }
    if (known && r->has_distribute_strategy && prec_is(r->fleet_mode, "collective"))
        schema_report(x->d, DIAG_WARNING, E0508, &r->base, "distribute_strategy",
                      "distribute_strategy has no effect: fleet_mode is collective");
    if (r->has_geo_step && !prec_is(r->distribute_strategy, "geo"))
        schema_report(x->d, DIAG_WARNING, E0520, &r->base, "geo_step",
                      "geo_step has no effect: distribute_strategy is %s",
                      r->distribute_strategy);
}

static void check_gpus(struct paddlerec_check *x, const struct prec_Runner *r)
{
    struct str rest = str_c(r->selected_gpus), part;
    int64_t seen[256], card;
    size_t n = 0;
    const char *wrong = NULL;
    if (!r->has_selected_gpus)
        return;
    while (!wrong && str_split(&rest, ',', &part)) {
        if (!str_to_i64(str_trim(part), &card) || card < 0 || n == ARRAY_LEN(seen)) {
            wrong = "takes numbers of cards separated by commas";
            break;
        }
        for (size_t i = 0; i < n; i++)
            if (seen[i] == card)
                wrong = "names a card twice";
        seen[n++] = card;
    }
    if (wrong) {
        schema_report(x->d, DIAG_ERROR, E0517, &r->base, "selected_gpus",
                      "selected_gpus %s, not '%s'", wrong, r->selected_gpus);
        return;
    }
    if (prec_is(r->device, "cpu"))
        schema_report(x->d, DIAG_WARNING, E0517, &r->base, "selected_gpus",
                      "selected_gpus has no effect: device is cpu");
    else if (n > 1 && prec_is(r->class, "infer"))
        schema_report(x->d, DIAG_WARNING, E0517, &r->base, "selected_gpus",
                      "Not Support Distributed Infer: card %jd alone is used",
                      (intmax_t)seen[0]);
}

static void check_save(struct paddlerec_check *x, const struct prec_Runner *r)
{
    static const char *const intervals[] = {
        "save_checkpoint_interval", "save_step_interval", "save_inference_interval"};
    static const char *const paths[] = {"save_checkpoint_path", "save_step_path",
                                        "save_inference_path"};
    for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
        const struct node *n = node_find(r->base.node, intervals[i]);
        const struct node *path = node_find(r->base.node, paths[i]);
        int64_t v;
        if (!n || !node_i64(n, &v))
            continue;
        if (v == 0 || v < -1)
            schema_report(x->d, DIAG_ERROR, E0513, &r->base, intervals[i],
                          "%s must be at least 1, not %jd", intervals[i], (intmax_t)v);
        else if (v > 0 && (!path || path->text.n == 0))
            schema_report(x->d, DIAG_WARNING, E0520, &r->base, intervals[i],
                          "%s has no effect: %s is not set", intervals[i], paths[i]);
    }
    bool feed = r->n_save_inference_feed_varnames > 0;
    bool fetch = r->n_save_inference_fetch_varnames > 0;
    if (feed != fetch)
        schema_report(
            x->d, DIAG_WARNING, E0520, &r->base,
            feed ? "save_inference_feed_varnames" : "save_inference_fetch_varnames",
            "nothing is exported: %s is not set",
            feed ? "save_inference_fetch_varnames" : "save_inference_feed_varnames");
    if (r->n_finetuning_aspect_varnames > 1)
        schema_report(x->d, DIAG_ERROR, E0522, &r->base, "finetuning_aspect_varnames",
                      "fine tuning mode can only accept one varname now");
}

static void check_infer(struct paddlerec_check *x, const struct prec_Runner *r)
{
    if (!prec_is(r->class, "infer"))
        return;
    if (r->epochs > 1)
        schema_report(x->d, DIAG_WARNING, E0518, &r->base, "epochs",
                      "It makes no sense to predict the same model for multiple epochs");
    if (!*r->init_model_path && !*r->init_pretraining_model_path)
        schema_report(x->d, DIAG_WARNING, E0518, &r->base, "init_model_path",
                      "runner.%s evaluates a model that was never trained: "
                      "init_model_path is not set",
                      r->name);
}

static const struct prec_Dataset *dataset_of(const struct paddlerec_check *x,
                                             const struct prec_Phase *p)
{
    return map_get(&x->datasets, p->dataset_name);
}

static void check_cluster_data(struct paddlerec_check *x, const struct prec_Runner *r,
                               const struct prec_Dataset *set)
{
    if (!set || !set->has_data_path)
        return;
    if (!strstr(set->data_path, "train_data") && !strstr(set->data_path, "test_data") &&
        !strstr(set->data_path, "thirdparty") && !strstr(set->data_path, "afs"))
        schema_report(
            x->d, DIAG_WARNING, E0519, &set->base, "data_path",
            "runner.%s is cluster_train: nodes find data below train_data/ (mpi) "
            "or afs/ (k8s)",
            r->name);
}

static void check_cluster(struct paddlerec_check *x, const struct prec_Runner *r)
{
    const char *w = x->f->workspace;
    if (!prec_is(r->class, "cluster_train"))
        return;
    if (prec_is(r->fleet_mode, "collective") && !prec_is(r->device, "gpu"))
        schema_report(x->d, DIAG_ERROR, E0507, &r->base, "fleet_mode",
                      "COLLECTIVE can not be used without GPU");
    if (strcmp(w, "./") != 0 && strcmp(w, ".") != 0) {
        struct diag *g =
            schema_report(x->d, DIAG_WARNING, E0519, &x->f->base, "workspace",
                          "runner.%s is cluster_train: files lie in the "
                          "working directory of a node",
                          r->name);
        diag_hint(x->d, g, "write workspace: \"./\"");
    }
    if (r->n_phases > 1)
        schema_report(x->d, DIAG_WARNING, E0519, &r->base, "phases",
                      "Cluster Train Only Support One Phase.");
    if (*r->save_inference_path && r->n_save_inference_feed_varnames)
        schema_report(
            x->d, DIAG_WARNING, E0519, &r->base, "save_inference_path",
            "Save inference model in cluster training is not recommended! Using "
            "save checkpoint instead.");
}

/* What depends on the runner and the data of one of its phases. */
static void check_pair(struct paddlerec_check *x, const struct prec_Runner *r,
                       const struct prec_Phase *p)
{
    const struct prec_Dataset *set = dataset_of(x, p);
    bool queue = set && strcmp(set->type, "QueueDataset") == 0;
    if (queue && (r->has_save_step_interval || r->has_save_step_path))
        schema_report(x->d, DIAG_WARNING, E0520, &r->base,
                      r->has_save_step_interval ? "save_step_interval" : "save_step_path",
                      "QueueDataset can not support save by step, please not config "
                      "save_step_interval and save_step_path in your yaml");
    if (queue && prec_is(r->fleet_mode, "collective") && prec_is(r->device, "gpu"))
        schema_report(x->d, DIAG_ERROR, E0507, &set->base, "type",
                      "runner.%s is collective, which reads a DataLoader only", r->name);
    if (prec_is(r->class, "cluster_train"))
        check_cluster_data(x, r, set);
}

static void check_phases(struct paddlerec_check *x, const struct prec_Runner *r)
{
    if (r->n_phases == 0 && x->f->n_phase > 1)
        schema_report(x->d, DIAG_NOTE, E0524, &r->base, NULL,
                      "runner.%s names no phases and runs all %jd", r->name,
                      (intmax_t)x->f->n_phase);
    for (int64_t i = 0; i < r->n_phases; i++) {
        const struct prec_Phase *p = map_get(&x->phases, r->phases[i]);
        if (p) {
            check_pair(x, r, p);
            continue;
        }
        struct diag *g =
            diag_add(x->d, DIAG_ERROR, E0509, item_span(&r->base, "phases", i),
                     "runner.%s.phases names no phase: '%s'", r->name, r->phases[i]);
        hint_name(x, g, &x->phases, r->phases[i]);
    }
    for (int64_t i = 0; r->n_phases == 0 && i < x->f->n_phase; i++)
        check_pair(x, r, x->f->phase[i]);
}

static void check_runner(struct paddlerec_check *x, const struct prec_Runner *r)
{
    check_save(x, r);
    check_gpus(x, r);
    check_braces(x, &r->base, "init_model_path");
    if (!check_words(x, r))
        return;
    check_strategy(x, r);
    check_infer(x, r);
    check_cluster(x, r);
    check_phases(x, r);
    if (!prec_is(r->class, "local_cluster_train") &&
        (r->has_worker_num || r->has_server_num))
        schema_report(x->d, DIAG_WARNING, E0520, &r->base,
                      r->has_worker_num ? "worker_num" : "server_num",
                      "%s has no effect: class is %s, not local_cluster_train",
                      r->has_worker_num ? "worker_num" : "server_num", r->class);
}

static void check_phase(struct paddlerec_check *x, const struct prec_Phase *p)
{
    if (!p->has_model)
        schema_report(x->d, DIAG_ERROR, E0510, &p->base, NULL, "phase '%s' has no model",
                      p->name);
    if (!p->has_dataset_name) {
        schema_report(x->d, DIAG_ERROR, E0510, &p->base, NULL,
                      "phase '%s' has no dataset_name", p->name);
    } else if (!dataset_of(x, p)) {
        struct diag *g =
            schema_report(x->d, DIAG_ERROR, E0511, &p->base, "dataset_name",
                          "dataset_name names no dataset: '%s'", p->dataset_name);
        hint_name(x, g, &x->datasets, p->dataset_name);
    }
    if (p->gradient_scale_strategy < 0 || p->gradient_scale_strategy > 2)
        schema_report(x->d, DIAG_ERROR, E0512, &p->base, "gradient_scale_strategy",
                      "Unsupported config. gradient_scale_strategy must be one of [0, 1, "
                      "2].");
    check_braces(x, &p->base, "model");
}

static bool read_slots(struct paddlerec_check *x, const struct prec_Dataset *set,
                       const char *field, struct prec_slots *out)
{
    const struct node *n = node_find(set->base.node, field);
    struct err why = {0};
    size_t off = 0, len = 0;
    *out = (struct prec_slots){0};
    if (!n || !prec_slots_parse(n->text, strcmp(field, "dense_slots") == 0, &x->c->arena,
                                out, &off, &len, &why))
        return true;
    struct diag *g = diag_add(x->d, DIAG_ERROR, E0515, prec_part(n, off, len), "%s: %s",
                              field, why.msg);
    g->where = schema_where(&set->base, &x->d->arena);
    return false;
}

static void check_slots(struct paddlerec_check *x, const struct prec_Dataset *set)
{
    struct prec_slots sparse, dense;
    struct map names = {0};
    if (!read_slots(x, set, "sparse_slots", &sparse) ||
        !read_slots(x, set, "dense_slots", &dense))
        return;
    for (size_t i = 0; i < sparse.n; i++)
        map_put(&names, str_c(sparse.at[i].name))->value = x;
    for (size_t i = 0; i < dense.n; i++) {
        const struct node *n = node_find(set->base.node, "dense_slots");
        if (map_get(&names, dense.at[i].name))
            diag_add(x->d, DIAG_ERROR, E0516,
                     prec_part(n, dense.at[i].off, dense.at[i].len),
                     "slot '%s' is sparse and dense", dense.at[i].name);
    }
    map_release(&names);
    if (sparse.n + dense.n == 0 && !*set->data_converter)
        schema_report(x->d, DIAG_ERROR, E0514, &set->base, NULL,
                      "dataset '%s' has neither slots nor a data_converter", set->name);
    else if (sparse.n + dense.n > 0 && *set->data_converter)
        schema_report(x->d, DIAG_WARNING, E0520, &set->base, "data_converter",
                      "data_converter has no effect: the dataset has slots");
}

static void check_dataset(struct paddlerec_check *x, const struct prec_Dataset *set)
{
    if (!set->has_data_path || !*set->data_path)
        schema_report(x->d, DIAG_ERROR, E0514, &set->base, "data_path",
                      "dataset '%s' has no data_path", set->name);
    check_braces(x, &set->base, "data_path");
    check_braces(x, &set->base, "data_converter");
    check_slots(x, set);
}

static void check_optimizer(struct paddlerec_check *x)
{
    const struct prec_Optimizer *o =
        x->f->hyper_parameters ? x->f->hyper_parameters->optimizer : NULL;
    if (!o || !o->has_class)
        return;
    if (!prec_is(o->class, "SGD") && !prec_is(o->class, "Adam") &&
        !prec_is(o->class, "Adagrad"))
        schema_report(x->d, DIAG_ERROR, E0521, &o->base, "class",
                      "configured optimizer can only supported SGD/Adam/Adagrad");
}

static void paddlerec_check_all(struct conf *c, struct diags *diags)
{
    struct paddlerec_check x = {.c = c, .f = c->data, .d = diags};
    register_names(&x);
    check_mode(&x);
    for (int64_t i = 0; i < x.f->n_dataset; i++)
        check_dataset(&x, x.f->dataset[i]);
    for (int64_t i = 0; i < x.f->n_phase; i++)
        check_phase(&x, x.f->phase[i]);
    for (int64_t i = 0; i < x.f->n_runner; i++)
        check_runner(&x, x.f->runner[i]);
    check_optimizer(&x);
    map_release(&x.runners);
    map_release(&x.phases);
    map_release(&x.datasets);
}

const struct conf_kind conf_kind_paddlerec_config = {
    .name = "paddlerec-config",
    .title = "PaddleRec config.yaml",
    .example = "config.yaml",
    .family = &schema_family_paddlerec,
    .root = &prec_Config_def,
    .usual = SYNTAX_YAML,
    .last_key_wins = true,
    .probe = paddlerec_probe,
    .dialect = paddlerec_dialect,
    .prepare = paddlerec_prepare,
    .check = paddlerec_check_all,
};
