/* SPDX-License-Identifier: Apache-2.0 */
/* Which features a model can do without: reads the dropout that each feature of a group
 * has learnt (variational dropout) from a checkpoint, puts the features in order of it,
 * and leaves out the worst of a config.
 */
#include "train/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int by_drop(const void *a, const void *b)
{
    const struct train_select_feature *x = a, *y = b;
    int order = (x->drop > y->drop) - (x->drop < y->drop);
    return order ? order : strcmp(x->name, y->name);
}

/* The learnt values of a group; towers of retrieval models have a prefix of their own. */
static const struct ckpt_st_tensor *find_group(const struct ckpt *c, const char *group)
{
    char *end = mem_printf("group_variational_dropouts.%s.feature_p", group);
    const struct ckpt_st_tensor *found = NULL;
    for (size_t i = 0; i < ckpt_count(c) && !found; i++)
        if (ckpt_part_at(c, i) == CKPT_MODEL && str_ends(ckpt_at(c, i)->name, end))
            found = ckpt_at(c, i);
    mem_free(end);
    return found;
}

static enum rc read_group(const struct pc_FeatureGroupConfig *g, const struct ckpt *c,
                          const struct ckpt_st_tensor *t, struct train_selection *s,
                          struct err *err)
{
    int64_t plain = g->n_feature_names, n = plain + g->n_sequence_encoders;
    struct train_select_group out = {.name = g->group_name, .n = (size_t)n};
    if (t->n_dims != 1 || t->dims[0] != n)
        return err_coded(
            err, RC_INVAL, E1510,
            "checkpoint '%s': '%s' is about %jd features, and group '%s' has "
            "%jd",
            ckpt_path(c), t->name, (intmax_t)(t->n_dims ? t->dims[0] : 0), g->group_name,
            (intmax_t)n);
    out.at = arena_alloc(&s->arena, out.n * sizeof(*out.at));
    for (int64_t i = 0; i < n; i++) {
        float p = 0;
        enum rc rc = ckpt_st_read_f32(t, i, 1, &p, 1, err);
        if (rc)
            return rc;
        out.at[i].name = i < plain ? g->feature_names[i]
                                   : arena_printf(&s->arena, "%s_seq_encoder_%jd",
                                                  g->group_name, (intmax_t)(i - plain));
        out.at[i].drop = 1.0 / (1.0 + exp(-(double)p));
    }
    qsort(out.at, out.n, sizeof(*out.at), by_drop);
    VEC_PUSH(&s->groups, out);
    return RC_OK;
}

enum rc train_select_read(const struct pc_EasyRecConfig *conf, const struct ckpt *ckpt,
                          struct train_selection *out, struct err *err)
{
    const struct pc_ModelConfig *m = conf->model_config;
    struct train_selection s = {0};
    enum rc rc = RC_OK;
    for (int64_t i = 0; m && i < m->n_feature_groups && !rc; i++) {
        const struct ckpt_st_tensor *t =
            find_group(ckpt, m->feature_groups[i]->group_name);
        if (t)
            rc = read_group(m->feature_groups[i], ckpt, t, &s, err);
    }
    if (!rc && s.groups.n == 0)
        rc = err_coded(err, RC_INVAL, E1510,
                       "checkpoint '%s' has learnt nothing about leaving features out: "
                       "train with variational_dropout {} in model_config",
                       ckpt_path(ckpt));
    if (rc)
        train_select_release(&s);
    else
        *out = s;
    return rc;
}

void train_select_release(struct train_selection *s)
{
    VEC_RELEASE(&s->groups);
    arena_release(&s->arena);
    *s = (struct train_selection){0};
}

static const struct train_select_group *group_of(const struct train_selection *s,
                                                 const char *name)
{
    for (size_t i = 0; i < s->groups.n; i++)
        if (strcmp(s->groups.at[i].name, name) == 0)
            return &s->groups.at[i];
    return NULL;
}

static bool is_kept(const struct train_select_group *g, size_t most, const char *name)
{
    for (size_t i = 0; i < g->n && i < most; i++)
        if (strcmp(g->at[i].name, name) == 0)
            return true;
    return false;
}

static const char *text_of(const struct node *map, const char *key)
{
    const struct node *n = node_find(map, key);
    return n && n->kind == NODE_STR ? n->text.p : "";
}

/* Takes what is not kept out of the list of a group. */
static void prune_group(const struct train_selection *s, size_t most, struct node *group)
{
    const struct train_select_group *g = group_of(s, text_of(group, "group_name"));
    struct node *names = node_find(group, "feature_names");
    size_t kept = 0;
    if (!g || !names || names->kind != NODE_LIST)
        return;
    for (size_t i = 0; i < names->list.n; i++)
        if (is_kept(g, most, names->list.at[i]->text.p))
            names->list.at[kept++] = names->list.at[i];
    names->list.n = kept;
    if (kept == 0)
        node_remove(group, "feature_names");
}

/* Whether a text of the tree is the name, or reads the feature of that name. */
static bool mentions(const struct node *n, const char *name)
{
    if (n->kind == NODE_STR)
        return strcmp(n->text.p, name) == 0 ||
               (str_starts(n->text.p, "feature:") &&
                strcmp(n->text.p + strlen("feature:"), name) == 0);
    for (size_t i = 0; n->kind == NODE_LIST && i < n->list.n; i++)
        if (mentions(n->list.at[i], name))
            return true;
    for (size_t i = 0; n->kind == NODE_MAP && i < n->map.n; i++)
        if (mentions(n->map.at[i].value, name))
            return true;
    return false;
}

/* The name of one of feature_configs; "" for a sequence, which holds several. */
static const char *feature_name(const struct node *entry)
{
    for (size_t i = 0; entry->kind == NODE_MAP && i < entry->map.n; i++)
        if (entry->map.at[i].value->kind == NODE_MAP)
            return text_of(entry->map.at[i].value, "feature_name");
    return "";
}

static bool was_in_a_group(const struct train_selection *s, const char *name)
{
    for (size_t i = 0; i < s->groups.n; i++)
        if (is_kept(&s->groups.at[i], SIZE_MAX, name))
            return true;
    return false;
}

static bool is_unused(const struct train_selection *s, const struct node *root,
                      const struct node *features, size_t i)
{
    const char *name = feature_name(features->list.at[i]);
    const struct node *model = node_find(root, "model_config");
    if (!name[0] || !was_in_a_group(s, name) || mentions(model, name))
        return false;
    for (size_t k = 0; k < features->list.n; k++)
        if (k != i && mentions(features->list.at[k], name))
            return false;
    return true;
}

/* One that goes may have been all that another was for. */
static size_t prune_features(const struct train_selection *s, const struct node *root,
                             struct node *features)
{
    size_t gone = 0, before;
    do {
        before = gone;
        for (size_t i = 0; i < features->list.n; i++) {
            if (!is_unused(s, root, features, i))
                continue;
            size_t rest = features->list.n-- - i - 1;
            memmove(&features->list.at[i], &features->list.at[i + 1],
                    rest * sizeof(*features->list.at));
            gone++;
            i--;
        }
    } while (gone > before);
    return gone;
}

size_t train_select_prune(const struct train_selection *s, size_t most, bool clear,
                          struct conf *c)
{
    struct node *model = node_find(c->doc.root, "model_config");
    struct node *groups = node_find(model, "feature_groups");
    struct node *features = node_find(c->doc.root, "feature_configs");
    for (size_t i = 0; groups && groups->kind == NODE_LIST && i < groups->list.n; i++)
        prune_group(s, most, groups->list.at[i]);
    if (clear && model)
        node_remove(model, "variational_dropout");
    return features && features->kind == NODE_LIST
               ? prune_features(s, c->doc.root, features)
               : 0;
}
