/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the checks of a pipeline.config, and what they share. First what the
 * others stand on is worked out once: features, groups, tasks, the model and its family.
 * Then each part of the file is checked by a file of its own; none stops the others.
 * Helpers aim a diagnostic at an element of a list or at a part of a text, and find the
 * nearest name.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/pipeline/pipeline_private.h"

struct diag *check_item(struct pc_check *x, enum severity severity, enum code code,
                        const struct msg *m, const char *field, int64_t index,
                        const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    struct diag *g = schema_report(x->diags, severity, code, m, field, "%s", text);
    const struct node *list = node_find(m->node, field);
    if (list && list->kind == NODE_LIST && index >= 0 && (size_t)index < list->list.n)
        g->at = list->list.at[index]->at;
    return g;
}

void check_aim(struct diag *g, const struct msg *m, const char *field, int64_t index,
               const char *text, struct str part)
{
    const struct node *n = node_find(m->node, field);
    if (n && n->kind == NODE_LIST)
        n = index >= 0 && (size_t)index < n->list.n ? n->list.at[index] : NULL;
    if (!n || !n->at.src || part.n == 0 || n->at.len != n->text.n + 2)
        return;
    g->at.off = n->at.off + 1 + (uint32_t)(part.p - text);
    g->at.len = (uint32_t)part.n;
}

void check_nearest_in(struct pc_check *x, struct diag *g, const char *word,
                      const char *const *names, int64_t n)
{
    const char *near = str_nearest(str_c(word), names, (size_t)n);
    if (near)
        diag_hint(x->diags, g, "did you mean '%s'?", near);
}

void check_nearest(struct pc_check *x, struct diag *g, const char *word,
                   const struct map *names)
{
    const char **list = arena_alloc(&x->arena, names->n * sizeof(*list) + 1);
    for (size_t i = 0; i < names->n; i++)
        list[i] = names->at[i].key;
    check_nearest_in(x, g, word, list, (int64_t)names->n);
}

bool check_listed(const char *word, const char *const *names, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0)
            return true;
    return false;
}

static void walk_field(struct pc_check *x, const struct msg *m, const struct field_def *f,
                       void (*visit)(struct pc_check *, const struct msg *))
{
    const char *at = (const char *)m + f->at;
    if (f->label != LABEL_REP) {
        const struct msg *sub = *(const struct msg *const *)at;
        if (sub)
            check_walk(x, sub, visit);
        return;
    }
    const struct msg *const *items = *(const struct msg *const *const *)at;
    int64_t n = *(const int64_t *)((const char *)m + f->count);
    for (int64_t i = 0; i < n; i++)
        check_walk(x, items[i], visit);
}

void check_walk(struct pc_check *x, const struct msg *m,
                void (*visit)(struct pc_check *x, const struct msg *m))
{
    visit(x, m);
    for (const struct field_def *f = m->def->fields(); f->name; f++)
        if (f->type == FIELD_MSG)
            walk_field(x, m, f, visit);
}

const struct pc_FeatureGroupConfig *check_group_find(const struct pc_check *x,
                                                     const char *name)
{
    return map_get(&x->groups, name);
}

const struct pc_FeatureGroupConfig *check_group_of(struct pc_check *x,
                                                   const struct msg *m, const char *field,
                                                   const char *name)
{
    const struct pc_FeatureGroupConfig *g = check_group_find(x, name);
    if (g)
        return g;
    struct diag *d;
    if (*name)
        d = schema_report(x->diags, DIAG_ERROR, E0371, m, field,
                          "'%s': there is no feature group '%s'", field, name);
    else
        d = schema_report(x->diags, DIAG_ERROR, E0371, m, field,
                          "'%s' is not set: no feature group is named", field);
    if (*name)
        check_nearest(x, d, name, &x->groups);
    return NULL;
}

bool check_is_sequence_group(const struct pc_FeatureGroupConfig *g)
{
    return g->group_type == pc_FeatureGroupType_SEQUENCE ||
           g->group_type == pc_FeatureGroupType_JAGGED_SEQUENCE;
}

static enum pc_family family_of(const char *model)
{
    static const struct {
        const char *model;
        enum pc_family family;
    } rows[] = {
        {"simple_multi_task", FAMILY_TASKS},
        {"share_bottom", FAMILY_TASKS},
        {"esmm", FAMILY_TASKS},
        {"mmoe", FAMILY_TASKS},
        {"dbmtl", FAMILY_TASKS},
        {"ple", FAMILY_TASKS},
        {"dc2vr", FAMILY_TASKS},
        {"dlrm_hstu", FAMILY_TASKS},
        {"pepnet", FAMILY_TASKS},
        {"ultra_hstu", FAMILY_TASKS},
        {"dssm", FAMILY_MATCH},
        {"dssm_v2", FAMILY_MATCH},
        {"dat", FAMILY_MATCH},
        {"hstu_match", FAMILY_MATCH},
        {"mind", FAMILY_MATCH},
        {"srgnn", FAMILY_MATCH},
        {"word2vec", FAMILY_MATCH},
        {"sid_rqvae", FAMILY_SID},
        {"sid_rqkmeans", FAMILY_SID},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].model, model) == 0)
            return rows[i].family;
    return FAMILY_RANK;
}

/* Models that compare with items when there is a group of them, and else tell classes
 * apart.
 */
static bool has_items(const struct pc_ModelConfig *m)
{
    return (m->youtube_dnn && m->youtube_dnn->has_item_input) ||
           (m->gru4rec && m->gru4rec->has_item_input);
}

static void check_prepare(struct pc_check *x, const struct pc_EasyRecConfig *conf,
                          struct diags *diags)
{
    *x = (struct pc_check){.conf = conf, .diags = diags};
    x->data = conf->data_config;
    x->model_config = conf->model_config;
    x->fg_mode = pc_fg_mode(x->data);
    x->generates = x->fg_mode == pc_FgMode_FG_NORMAL || x->fg_mode == pc_FgMode_FG_DAG;
    pc_features_init(&x->features, conf, &x->arena);
    if (!x->model_config)
        return;
    x->model_field = schema_oneof(&x->model_config->base, "model", &x->model);
    if (x->model_field)
        x->family =
            has_items(x->model_config) ? FAMILY_MATCH : family_of(x->model_field->name);
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++) {
        const struct pc_FeatureGroupConfig *g = x->model_config->feature_groups[i];
        struct map_entry *e = map_put(&x->groups, str_c(g->group_name));
        if (!e->value)
            e->value = (void *)(uintptr_t)g;
    }
}

/* Nothing is enforced while loading, but a run cannot do without these. */
static void check_sections(struct pc_check *x, bool data_only)
{
    const struct pc_EasyRecConfig *c = x->conf;
    const struct {
        const void *section;
        const char *name;
        bool of_data;
    } needed[] = {{c->train_config, "train_config", false},
                  {c->data_config, "data_config", true},
                  {c->model_config, "model_config", false}};
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (!needed[i].section && (needed[i].of_data || !data_only))
            schema_report(x->diags, DIAG_ERROR, E0301, &c->base, NULL, "there is no %s",
                          needed[i].name);
}

/* The command line may give them. */
static void check_paths(struct pc_check *x)
{
    const struct pc_EasyRecConfig *c = x->conf;
    if (!*c->train_input_path)
        schema_report(x->diags, DIAG_WARNING, E0302, &c->base, NULL,
                      "train_input_path is not set");
    if (!c->has_eval_input_path)
        schema_report(x->diags, DIAG_WARNING, E0302, &c->base, NULL,
                      "eval_input_path is not set: nothing is evaluated during training");
    if (!*c->model_dir)
        schema_report(x->diags, DIAG_WARNING, E0302, &c->base, NULL,
                      "model_dir is not set");
}

void pipeline_check(struct conf *c, struct diags *diags)
{
    struct pc_check x;
    check_prepare(&x, c->data, diags);
    check_sections(&x, c->data_only);
    if (!c->data_only)
        check_paths(&x);
    if (x.conf->train_config && !c->data_only)
        check_train(&x);
    if (x.data)
        check_data(&x);
    check_features(&x);
    if (x.model_config && !c->data_only) {
        check_groups(&x);
        check_model(&x);
        check_tables(&x);
        check_tasks(&x);
        check_export(&x);
        check_unused(&x);
    }
    pc_features_release(&x.features);
    map_release(&x.groups);
    map_release(&x.used);
    arena_release(&x.arena);
}
