/* SPDX-License-Identifier: Apache-2.0 */
/* The embedding tables that the feature groups ask for, and who shares them. Every use
 * of a feature in a group is put under the name of its table; sharers must agree about
 * width, rows, type and the way to ids, and the first difference is reported with both
 * features.
 */
#include <string.h>
#include <strings.h>

#include "text/pipeline/pipeline_private.h"

/* One feature in one group. */
struct use {
    const struct pc_feature *feature;
    const char *suffix, *scope;
    bool wide, sequence;
};

/* The settings of `m` that say how ids are made: "a, b or c". */
static const char *ways_of(struct pc_check *x, const struct msg_def *m)
{
    static const char *const all[] = {"hash_bucket_size", "num_buckets", "vocab_list",
                                      "vocab_dict",       "vocab_file",  "zch",
                                      "dynamicemb"};
    const char *text = "", *last = NULL;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!schema_field(m, all[i]))
            continue;
        if (last)
            text = arena_printf(&x->arena, "%s%s%s", text, *text ? ", " : "", last);
        last = all[i];
    }
    return *text ? arena_printf(&x->arena, "%s or %s", text, last) : last;
}

/* The ids of a feature in a group come from somewhere. */
static void check_source(struct pc_check *x, const struct pc_feature *f)
{
    bool has = f->zch || f->dynamicemb || f->has_hash_bucket_size || f->has_num_buckets ||
               f->n_vocab_list || f->n_vocab_dict || f->has_vocab_file;
    if (has || !pc_feature_is_sparse(f) || f->n_boundaries)
        return;
    struct diag *g = schema_report(x->diags, DIAG_ERROR, E0334, f->msg, "feature_name",
                                   "feature '%s' has no way to make ids", f->name);
    diag_hint(x->diags, g, "set %s", ways_of(x, f->kind->msg));
}

/* embedding_dim */
static void check_width(struct pc_check *x, const struct pc_feature *f)
{
    if (!pc_feature_has_vector(f) || f->embedding_dim > 0)
        return;
    if (f->has_embedding_dim)
        schema_report(x->diags, DIAG_ERROR, E0337, f->msg, "embedding_dim",
                      "feature '%s': embedding_dim must be above 0", f->name);
    else
        schema_report(x->diags, DIAG_ERROR, E0337, f->msg, "feature_name",
                      "feature '%s' needs embedding_dim", f->name);
}

/* The name under which tables are shared */
static const char *key_of(struct pc_check *x, const struct use *u)
{
    const struct pc_feature *f = u->feature;
    bool named = *f->embedding_name;
    return arena_printf(&x->arena, "%s%s%s%s%s|%s|%d|%d|%u",
                        named ? f->embedding_name : f->name, named ? "" : "_emb",
                        u->wide ? "_wide" : "", *u->suffix ? "_" : "", u->suffix,
                        u->scope, pc_feature_data_group(f, x->data, &x->arena),
                        u->sequence, u->sequence ? f->embedding_dim : 0);
}

/* How rows come to ids. */
static const char *keys_of(const struct pc_feature *f)
{
    return f->zch ? "zch" : f->dynamicemb ? "dynamicemb" : "numbered rows";
}

static bool zch_differs(const struct pc_feature *a, const struct pc_feature *b)
{
    return a->zch && b->zch && a->zch->eviction_interval != b->zch->eviction_interval;
}

/* Sharers must agree; NULL when they do. *field is where the difference shows. */
static const char *difference(struct pc_check *x, const struct use *a,
                              const struct use *b, const char **field)
{
    const struct pc_feature *p = a->feature, *q = b->feature;
    uint64_t m = pc_feature_rows(p), n = pc_feature_rows(q);
    *field = "embedding_name";
    if (strcmp(a->suffix, b->suffix) != 0)
        return arena_printf(&x->arena, "embedding_name_suffix '%s' and '%s'", a->suffix,
                            b->suffix);
    if (m && n && m != n)
        return arena_printf(&x->arena, "%ju and %ju rows", (uintmax_t)m, (uintmax_t)n);
    if (!a->wide && p->embedding_dim != q->embedding_dim) {
        *field = "embedding_dim";
        return arena_printf(&x->arena, "embedding_dim %u and %u", p->embedding_dim,
                            q->embedding_dim);
    }
    if (!a->sequence && strcasecmp(p->pooling, q->pooling) != 0) {
        *field = "pooling";
        return arena_printf(&x->arena, "pooling %s and %s", p->pooling, q->pooling);
    }
    if (!a->wide && strcmp(p->init_fn, q->init_fn) != 0) {
        *field = "init_fn";
        return "different init_fn";
    }
    if (strcmp(keys_of(p), keys_of(q)) != 0)
        return arena_printf(&x->arena, "%s and %s", keys_of(p), keys_of(q));
    *field = "zch";
    return zch_differs(p, q) ? "different eviction_interval" : NULL;
}

/* One pair may meet in many groups. */
static bool is_new(struct pc_check *x, struct map *told, const struct use *a,
                   const struct use *b, const char *what)
{
    struct map_entry *e =
        map_put(told, str_c(arena_printf(&x->arena, "%s|%s|%s", a->feature->name,
                                         b->feature->name, what)));
    bool is_first = !e->value;
    e->value = x;
    return is_first;
}

static void add_use(struct pc_check *x, struct map *tables, struct map *told,
                    const struct use *use)
{
    struct use *u = arena_alloc(&x->arena, sizeof(*u));
    const char *field;
    *u = *use;
    if (!pc_feature_is_sparse(u->feature) || u->feature->embedding_dim == 0)
        return;
    struct map_entry *e = map_put(tables, str_c(key_of(x, u)));
    const struct use *first = e->value;
    if (!first) {
        e->value = u;
        return;
    }
    const char *what = difference(x, first, u, &field);
    if (first->feature != u->feature && what && is_new(x, told, first, u, what))
        schema_report(x->diags, DIAG_ERROR, E0356, u->feature->msg, field,
                      "features '%s' and '%s' share a table but have %s",
                      first->feature->name, u->feature->name, what);
}

static void add_names(struct pc_check *x, struct map *tables, struct map *told,
                      struct use u, const char *const *names, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        u.feature = pc_features_find(&x->features, str_c(names[i]));
        if (u.feature)
            add_use(x, tables, told, &u);
    }
}

/* Towers of these models never share tables with each other. */
static bool towers_apart(const struct pc_ModelConfig *m)
{
    return m->dssm || m->dat || m->mind || m->youtube_dnn || m->ncf || m->word2vec ||
           (m->gru4rec && !m->gru4rec->share_tables);
}

static void check_sharing(struct pc_check *x)
{
    struct map tables = {0}, told = {0};
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++) {
        const struct pc_FeatureGroupConfig *g = x->model_config->feature_groups[i];
        struct use u = {.suffix = g->embedding_name_suffix,
                        .scope = towers_apart(x->model_config) ? g->group_name : "",
                        .wide = g->group_type == pc_FeatureGroupType_WIDE,
                        .sequence = check_is_sequence_group(g)};
        add_names(x, &tables, &told, u, g->feature_names, g->n_feature_names);
        for (int64_t k = 0; k < g->n_sequence_groups; k++) {
            const struct pc_SeqGroupConfig *s = g->sequence_groups[k];
            struct use inner = u;
            inner.sequence = true;
            if (*s->embedding_name_suffix)
                inner.suffix = s->embedding_name_suffix;
            add_names(x, &tables, &told, inner, s->feature_names, s->n_feature_names);
        }
    }
    map_release(&tables);
    map_release(&told);
}

void check_tables(struct pc_check *x)
{
    struct map seen = {0};
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++) {
        const struct pc_FeatureGroupConfig *g = x->model_config->feature_groups[i];
        for (int64_t k = 0; k < g->n_feature_names; k++)
            map_put(&seen, str_c(g->feature_names[k]));
        for (int64_t s = 0; s < g->n_sequence_groups; s++)
            for (int64_t k = 0; k < g->sequence_groups[s]->n_feature_names; k++)
                map_put(&seen, str_c(g->sequence_groups[s]->feature_names[k]));
    }
    for (size_t i = 0; i < seen.n; i++) {
        const struct pc_feature *f =
            pc_features_find(&x->features, str_of(seen.at[i].key, seen.at[i].key_len));
        if (!f)
            continue;
        check_source(x, f);
        check_width(x, f);
    }
    map_release(&seen);
    check_sharing(x);
}
