/* SPDX-License-Identifier: Apache-2.0 */
/* model_config.feature_groups: members that exist and may stand there, sequences,
 * encoders. A group of rows that a sampler adds and one of other rows do not mix.
 * Features that are used are noted on the way; check_unused() reports the rest.
 */
#include <string.h>

#include "text/pipeline/pipeline_private.h"

static bool is_wide(const struct pc_FeatureGroupConfig *g)
{
    return g->group_type == pc_FeatureGroupType_WIDE;
}

/* Names of groups; nested sequence groups have a name space of their own. */
static void check_names(struct pc_check *x)
{
    struct map inner = {0};
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++) {
        const struct pc_FeatureGroupConfig *g = x->model_config->feature_groups[i];
        if (!*g->group_name)
            schema_report(x->diags, DIAG_ERROR, E0360, &g->base, NULL,
                          "feature_groups[%jd] has no group_name", (intmax_t)i);
        else if (check_group_find(x, g->group_name) != g)
            schema_report(x->diags, DIAG_ERROR, E0359, &g->base, "group_name",
                          "there is already a feature group '%s'", g->group_name);
        for (int64_t k = 0; k < g->n_sequence_groups; k++) {
            const struct pc_SeqGroupConfig *s = g->sequence_groups[k];
            const char *name = s->has_group_name ? s->group_name : g->group_name;
            struct map_entry *e = map_put(&inner, str_c(name));
            if (e->value && g->n_sequence_groups > 0 &&
                (s->has_group_name || g->n_sequence_groups == 1))
                schema_report(x->diags, DIAG_ERROR, E0359, &s->base, "group_name",
                              "there is already a sequence group '%s'", name);
            e->value = x;
        }
    }
    map_release(&inner);
}

/* The feature a group lists, an error when there is none. */
static const struct pc_feature *member(struct pc_check *x, const struct msg *m,
                                       const char *const *names, int64_t i)
{
    const struct pc_feature *f = pc_features_find(&x->features, str_c(names[i]));
    if (check_listed(names[i], names, i))
        check_item(x, DIAG_WARNING, E0362, m, "feature_names", i, "'%s' is listed twice",
                   names[i]);
    if (f) {
        map_put(&x->used, str_c(f->name));
        return f;
    }
    struct diag *g = check_item(x, DIAG_ERROR, E0361, m, "feature_names", i,
                                "there is no feature '%s'", names[i]);
    check_nearest(x, g, names[i], &x->features.by_name);
    return NULL;
}

/* What may stand directly in a group of each type. */
static void check_member(struct pc_check *x, const struct pc_FeatureGroupConfig *g,
                         const struct pc_feature *f, int64_t i)
{
    if (f->sequence && !check_is_sequence_group(g)) {
        struct diag *d = check_item(x, DIAG_ERROR, E0363, &g->base, "feature_names", i,
                                    "sequence feature '%s' in group '%s', which is %s",
                                    f->name, g->group_name, is_wide(g) ? "WIDE" : "DEEP");
        if (!is_wide(g))
            diag_hint(x->diags, d,
                      "put it into sequence_groups with a sequence_encoder, or make the "
                      "group SEQUENCE");
    } else if (is_wide(g) && !pc_feature_is_sparse(f)) {
        check_item(x, DIAG_ERROR, E0367, &g->base, "feature_names", i,
                   "feature '%s' is a number, and group '%s' is WIDE", f->name,
                   g->group_name);
    }
    if (f->stub_type)
        check_item(x, DIAG_ERROR, E0361, &g->base, "feature_names", i,
                   "feature '%s' is a stub: it has no column that a group could use",
                   f->name);
}

/* One data group per feature group. */
struct mix {
    const struct pc_feature *first;
    enum pc_data_group group;
    bool told;
};

static void check_mix(struct pc_check *x, struct mix *mix, const struct msg *m,
                      const struct pc_feature *f, int64_t i)
{
    static const char *const names[] = {[PC_BASE] = "not sampled",
                                        [PC_NEG] = "sampled",
                                        [PC_CROSS_NEG] = "crossed with a sampled column"};
    enum pc_data_group group = pc_feature_data_group(f, x->data, &x->arena);
    if (!mix->first) {
        mix->first = f;
        mix->group = group;
    } else if (group != mix->group && !mix->told) {
        struct diag *d =
            check_item(x, DIAG_ERROR, E0368, m, "feature_names", i,
                       "feature '%s' is %s, and '%s' in the same group is %s", f->name,
                       names[group], mix->first->name, names[mix->group]);
        diag_hint(x->diags, d,
                  "split the group, or set data_config.force_base_data_group");
        mix->told = true;
    }
}

/* A sequence group needs a sequence, and its other features form the query. */
static void check_has_sequence(struct pc_check *x, const struct msg *m, const char *name,
                               bool any, bool complete)
{
    if (!any && complete)
        schema_report(x->diags, DIAG_ERROR, E0364, m, "feature_names",
                      "group '%s' has no sequence feature", name);
}

static void check_sequence_group(struct pc_check *x, struct mix *mix,
                                 const struct pc_FeatureGroupConfig *g,
                                 const struct pc_SeqGroupConfig *s)
{
    bool any = false, complete = true;
    for (int64_t i = 0; i < s->n_feature_names; i++) {
        const struct pc_feature *f = member(x, &s->base, s->feature_names, i);
        if (f)
            check_mix(x, mix, &s->base, f, i);
        any = any || (f && f->sequence);
        complete = complete && f;
    }
    check_has_sequence(x, &s->base, s->has_group_name ? s->group_name : g->group_name,
                       any, complete);
}

static void check_members(struct pc_check *x, const struct pc_FeatureGroupConfig *g)
{
    struct mix mix = {0};
    bool any = false, complete = true;
    for (int64_t i = 0; i < g->n_feature_names; i++) {
        const struct pc_feature *f = member(x, &g->base, g->feature_names, i);
        if (f) {
            check_member(x, g, f, i);
            check_mix(x, &mix, &g->base, f, i);
        }
        any = any || (f && (f->sequence || f->of_items));
        complete = complete && f;
    }
    for (int64_t i = 0; i < g->n_sequence_groups; i++)
        check_sequence_group(x, &mix, g, g->sequence_groups[i]);
    if (g->n_feature_names == 0 && g->n_sequence_groups == 0)
        schema_report(x->diags, DIAG_ERROR, E0360, &g->base, NULL,
                      "group '%s' has no features", g->group_name);
    else if (check_is_sequence_group(g) && strcmp(g->group_name, "contextual") != 0)
        check_has_sequence(x, &g->base, g->group_name, any, complete);
}

/* Sequence groups need encoders and the other way round. */
static bool check_pairing(struct pc_check *x, const struct pc_FeatureGroupConfig *g)
{
    if (g->n_sequence_groups == 0 && g->n_sequence_encoders == 0)
        return false;
    const char *field = g->n_sequence_groups ? "sequence_groups" : "sequence_encoders";
    if (g->group_type != pc_FeatureGroupType_DEEP) {
        schema_report(x->diags, DIAG_ERROR, E0365, &g->base, field,
                      "%s in group '%s', which is not DEEP", field, g->group_name);
        return false;
    }
    if (g->n_sequence_encoders == 0 || g->n_sequence_groups == 0) {
        schema_report(x->diags, DIAG_ERROR, E0365, &g->base, field,
                      "group '%s' has %s but no %s", g->group_name, field,
                      g->n_sequence_groups ? "sequence_encoders" : "sequence_groups");
        return false;
    }
    for (int64_t i = 0; i < g->n_sequence_groups && g->n_sequence_groups > 1; i++)
        if (!g->sequence_groups[i]->has_group_name) {
            schema_report(x->diags, DIAG_ERROR, E0365, &g->sequence_groups[i]->base, NULL,
                          "one of several sequence groups of '%s' has no group_name",
                          g->group_name);
            return false;
        }
    return true;
}

/* The text of field `input` of an encoder; NULL when it is not set. */
static const char *input_of(const struct msg *encoder)
{
    const struct node *n = node_find(encoder->node, "input");
    return n ? n->text.p : NULL;
}

static void check_encoder(struct pc_check *x, const struct pc_FeatureGroupConfig *g,
                          const struct pc_SeqEncoderConfig *e, const char *const *names,
                          bool *encoded)
{
    const struct msg *encoder;
    if (!schema_oneof(&e->base, "seq_module", &encoder)) {
        schema_report(x->diags, DIAG_ERROR, E0369, &e->base, NULL,
                      "an entry of sequence_encoders names no encoder");
        return;
    }
    const char *input = input_of(encoder);
    if (!input && g->n_sequence_groups == 1)
        input = names[0];
    if (!input) {
        schema_report(x->diags, DIAG_ERROR, E0366, encoder, "input",
                      "%s needs input: group '%s' has several sequence groups",
                      encoder->field, g->group_name);
        return;
    }
    for (int64_t i = 0; i < g->n_sequence_groups; i++)
        if (strcmp(names[i], input) == 0) {
            encoded[i] = true;
            return;
        }
    struct diag *d =
        schema_report(x->diags, DIAG_ERROR, E0366, encoder, "input",
                      "group '%s' has no sequence group '%s'", g->group_name, input);
    check_nearest_in(x, d, input, names, g->n_sequence_groups);
}

static void check_encoders(struct pc_check *x, const struct pc_FeatureGroupConfig *g)
{
    if (!check_pairing(x, g))
        return;
    size_t n = (size_t)g->n_sequence_groups;
    const char **names = arena_alloc(&x->arena, n * sizeof(*names));
    bool *encoded = arena_alloc(&x->arena, n);
    for (size_t i = 0; i < n; i++)
        names[i] = g->sequence_groups[i]->has_group_name
                       ? g->sequence_groups[i]->group_name
                       : g->group_name;
    size_t before = x->diags->n_errors;
    for (int64_t i = 0; i < g->n_sequence_encoders; i++)
        check_encoder(x, g, g->sequence_encoders[i], names, encoded);
    for (size_t i = 0; i < n && x->diags->n_errors == before; i++)
        if (!encoded[i])
            schema_report(x->diags, DIAG_ERROR, E0365, &g->sequence_groups[i]->base,
                          "group_name", "sequence group '%s' has no encoder", names[i]);
}

void check_groups(struct pc_check *x)
{
    check_names(x);
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++) {
        check_members(x, x->model_config->feature_groups[i]);
        check_encoders(x, x->model_config->feature_groups[i]);
    }
}

/* Features that nothing refers to. Those under FG_NONE cost a column, the others work. */
void check_unused(struct pc_check *x)
{
    if (x->model_config->n_feature_groups == 0)
        return;
    for (size_t i = 0; i < x->features.n; i++) {
        const struct pc_feature *f = &x->features.at[i];
        if (!map_find(&x->used, str_c(f->name)) && *f->feature_name)
            schema_report(x->diags, DIAG_WARNING, E0357, f->msg, "feature_name",
                          "nothing uses feature '%s'", f->name);
    }
}
