/* SPDX-License-Identifier: Apache-2.0 */
/* model_config: which feature groups each model takes, and whether they fit. A model
 * finds groups through settings that name them, by fixed names, or takes the first; each
 * way has a function. What groups hold is checked in check_group.c, widths in
 * check_width.c.
 */
#include <string.h>

#include "text/pipeline/pipeline_private.h"

enum wants { WANTS_VECTOR, WANTS_SEQUENCE, WANTS_JAGGED };

/* The type of group that a place in the model takes. */
static void check_type(struct pc_check *x, const struct msg *m, const char *field,
                       const struct pc_FeatureGroupConfig *g, enum wants wants)
{
    static const char *const names[] = {[WANTS_VECTOR] = "DEEP",
                                        [WANTS_SEQUENCE] = "SEQUENCE",
                                        [WANTS_JAGGED] = "JAGGED_SEQUENCE"};
    if (!g)
        return;
    bool fits = wants == WANTS_VECTOR ? !check_is_sequence_group(g)
                : wants == WANTS_SEQUENCE
                    ? g->group_type == pc_FeatureGroupType_SEQUENCE
                    : g->group_type == pc_FeatureGroupType_JAGGED_SEQUENCE;
    if (!fits)
        schema_report(x->diags, DIAG_ERROR, E0373, m, field,
                      "group '%s' is %s; a %s group is needed here", g->group_name,
                      schema_enum_number(&pc_FeatureGroupType_def, g->group_type)->name,
                      names[wants]);
}

static void check_tower_input(struct pc_check *x, const struct msg *tower,
                              const char *field, const char *name, enum wants wants)
{
    check_type(x, tower, field, check_group_of(x, tower, field, name), wants);
}

/* A group that the model finds by a name of its own. */
static void need_group(struct pc_check *x, const char *name, enum wants wants)
{
    const struct pc_FeatureGroupConfig *g = check_group_find(x, name);
    if (g) {
        check_type(x, &g->base, "group_type", g, wants);
        return;
    }
    struct diag *d =
        schema_report(x->diags, DIAG_ERROR, E0372, x->model, NULL,
                      "%s needs a feature group '%s'", x->model_field->name, name);
    check_nearest(x, d, name, &x->groups);
}

void check_need_group(struct pc_check *x, const char *name, enum pc_FeatureGroupType type)
{
    const struct pc_FeatureGroupConfig *g = check_group_find(x, name);
    bool sequence = type == pc_FeatureGroupType_SEQUENCE;
    need_group(x, name, sequence ? WANTS_SEQUENCE : WANTS_VECTOR);
    if (g && type == pc_FeatureGroupType_WIDE &&
        g->group_type == pc_FeatureGroupType_DEEP)
        schema_report(x->diags, DIAG_ERROR, E0373, &g->base, "group_type",
                      "group '%s' is DEEP; a WIDE group is needed here", name);
}

/* Models that read the first group only. */
static void need_first(struct pc_check *x)
{
    if (x->model_config->n_feature_groups > 0) {
        const struct pc_FeatureGroupConfig *g = x->model_config->feature_groups[0];
        check_type(x, &g->base, "group_type", g, WANTS_VECTOR);
    }
}

/* Towers are keyed by their group. */
static void check_towers(struct pc_check *x, const struct pc_Tower *const *towers,
                         int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const struct pc_Tower *t = towers[i];
        check_tower_input(x, &t->base, "input", t->input, WANTS_VECTOR);
        if (!t->mlp)
            schema_report(x->diags, DIAG_ERROR, E0399, &t->base, NULL,
                          "tower '%s' has no mlp", t->input);
        for (int64_t k = 0; k < i; k++)
            if (*t->input && strcmp(towers[k]->input, t->input) == 0) {
                schema_report(x->diags, DIAG_ERROR, E0374, &t->base, "input",
                              "there is already a tower on group '%s'", t->input);
                break;
            }
    }
}

static void check_multi_tower_din(struct pc_check *x, const struct pc_MultiTowerDIN *m)
{
    check_towers(x, m->towers, m->n_towers);
    for (int64_t i = 0; i < m->n_din_towers; i++)
        check_tower_input(x, &m->din_towers[i]->base, "input", m->din_towers[i]->input,
                          WANTS_SEQUENCE);
    if (m->n_towers + m->n_din_towers == 0)
        schema_report(x->diags, DIAG_ERROR, E0375, x->model, NULL,
                      "multi_tower_din has no towers");
}

/* Groups with fixed names */
static void check_wide_models(struct pc_check *x)
{
    const struct pc_FeatureGroupConfig *wide = check_group_find(x, "wide");
    need_group(x, "wide", WANTS_VECTOR);
    need_group(x, "deep", WANTS_VECTOR);
    if (wide && wide->group_type != pc_FeatureGroupType_WIDE &&
        !check_is_sequence_group(wide))
        schema_report(x->diags, DIAG_WARNING, E0373, &wide->base, "group_type",
                      "group 'wide' is not WIDE: it uses full-width vectors");
}

static void check_match_towers(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    const struct pc_Tower *user = m->dssm      ? m->dssm->user_tower
                                  : m->dssm_v2 ? m->dssm_v2->user_tower
                                               : NULL;
    const struct pc_Tower *item = m->dssm      ? m->dssm->item_tower
                                  : m->dssm_v2 ? m->dssm_v2->item_tower
                                  : m->mind    ? m->mind->item_tower
                                               : NULL;
    const struct pc_Tower *towers[] = {user, item};
    for (size_t i = 0; i < ARRAY_LEN(towers); i++) {
        const struct pc_Tower *t = towers[i];
        if (!t)
            continue;
        check_tower_input(x, &t->base, "input", t->input, WANTS_VECTOR);
        if (!t->mlp)
            schema_report(x->diags, DIAG_ERROR, E0399, &t->base, NULL, "%s has no mlp",
                          t->base.field);
    }
    if (user && item && *user->input && strcmp(user->input, item->input) == 0)
        schema_report(x->diags, DIAG_ERROR, E0374, &item->base, "input",
                      "user_tower and item_tower use the same group '%s'", item->input);
}

static void check_dat(struct pc_check *x, const struct pc_DAT *m)
{
    const struct pc_DATTower *towers[] = {m->user_tower, m->item_tower};
    for (size_t i = 0; i < ARRAY_LEN(towers); i++) {
        const struct pc_DATTower *t = towers[i];
        if (!t)
            continue;
        check_tower_input(x, &t->base, "input", t->input, WANTS_VECTOR);
        check_tower_input(x, &t->base, "augment_input", t->augment_input, WANTS_VECTOR);
    }
}

/* MIND */
static void check_mind(struct pc_check *x, const struct pc_MIND *m)
{
    const struct pc_MINDUserTower *t = m->user_tower;
    if (!t)
        return;
    check_tower_input(x, &t->base, "input", t->input, WANTS_VECTOR);
    check_tower_input(x, &t->base, "history_input", t->history_input, WANTS_SEQUENCE);
}

/* A vector, or a sequence that is encoded. */
static void check_text_input(struct pc_check *x, const struct msg *m, const char *field,
                             const char *name)
{
    const struct pc_FeatureGroupConfig *g = check_group_of(x, m, field, name);
    if (g && check_is_sequence_group(g))
        check_type(x, m, field, g, WANTS_SEQUENCE);
}

/* Our own models of retrieval. */
static void check_recall(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    if (m->youtube_dnn) {
        const struct pc_YoutubeDNN *c = m->youtube_dnn;
        if (c->user_tower)
            check_tower_input(x, &c->user_tower->base, "input", c->user_tower->input,
                              WANTS_VECTOR);
        if (c->has_item_input)
            check_tower_input(x, &c->base, "item_input", c->item_input, WANTS_VECTOR);
    } else if (m->gru4rec) {
        const struct pc_GRU4Rec *c = m->gru4rec;
        check_tower_input(x, &c->base, "input", c->input, WANTS_SEQUENCE);
        if (c->has_item_input)
            check_tower_input(x, &c->base, "item_input", c->item_input, WANTS_VECTOR);
        if (c->n_hidden_units == 0)
            schema_report(x->diags, DIAG_ERROR, E0399, &c->base, NULL,
                          "gru4rec has no hidden_units");
        if (c->every_step && c->has_item_input)
            schema_report(x->diags, DIAG_ERROR, E0399, &c->base, "every_step",
                          "every_step is for items that are classes, without item_input");
    } else if (m->match_towers) {
        const struct pc_MatchTowers *c = m->match_towers;
        check_text_input(x, &c->base, "query_input", c->query_input);
        for (int64_t i = 0; i < c->n_candidate_inputs; i++)
            check_text_input(x, &c->base, "candidate_inputs", c->candidate_inputs[i]);
        if (c->n_candidate_inputs != m->num_class)
            schema_report(x->diags, DIAG_ERROR, E0399, &c->base, NULL,
                          "match_towers has %jd candidate_inputs, but num_class is %u",
                          (intmax_t)c->n_candidate_inputs, m->num_class);
    } else if (m->look_alike) {
        const struct pc_LookAlike *c = m->look_alike;
        check_tower_input(x, &c->base, "seeds_input", c->seeds_input, WANTS_SEQUENCE);
        check_tower_input(x, &c->base, "user_input", c->user_input, WANTS_VECTOR);
    } else if (m->text_cnn) {
        check_tower_input(x, &m->text_cnn->base, "input", m->text_cnn->input,
                          WANTS_SEQUENCE);
        if (m->text_cnn->n_windows == 0)
            schema_report(x->diags, DIAG_ERROR, E0399, &m->text_cnn->base, NULL,
                          "text_cnn has no windows");
    } else if (m->srgnn) {
        check_tower_input(x, &m->srgnn->base, "input", m->srgnn->input, WANTS_SEQUENCE);
        check_tower_input(x, &m->srgnn->base, "item_input", m->srgnn->item_input,
                          WANTS_VECTOR);
    } else if (m->word2vec) {
        check_tower_input(x, &m->word2vec->base, "input", m->word2vec->input,
                          WANTS_VECTOR);
        check_tower_input(x, &m->word2vec->base, "context_input",
                          m->word2vec->context_input, WANTS_VECTOR);
    }
}

static void check_ncf(struct pc_check *x, const struct pc_NCF *c)
{
    const char *fields[] = {"user_mf", "item_mf", "user_mlp", "item_mlp"};
    const char *names[] = {c->user_mf, c->item_mf, c->user_mlp, c->item_mlp};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *pair = names[i - i % 2];
        if (*pair)
            check_tower_input(x, &c->base, fields[i], names[i], WANTS_VECTOR);
        for (size_t k = 0; k < i && *pair; k++)
            if (strcmp(names[k], names[i]) == 0 && *names[k - k % 2]) {
                schema_report(x->diags, DIAG_ERROR, E0374, &c->base, fields[i],
                              "%s and %s use the same group '%s'", fields[k], fields[i],
                              names[i]);
                break;
            }
    }
    if (!*c->user_mf && !*c->user_mlp)
        schema_report(x->diags, DIAG_ERROR, E0375, &c->base, NULL,
                      "ncf has neither a product nor a net");
    if (*c->user_mlp && !c->mlp)
        schema_report(x->diags, DIAG_ERROR, E0399, &c->base, NULL, "ncf has no mlp");
}

/* HSTU models */
static void check_contextual(struct pc_check *x, bool needed)
{
    const struct pc_FeatureGroupConfig *g = check_group_find(x, "contextual");
    if (g && g->group_type != pc_FeatureGroupType_DEEP &&
        g->group_type != pc_FeatureGroupType_SEQUENCE)
        schema_report(x->diags, DIAG_ERROR, E0373, &g->base, "group_type",
                      "group 'contextual' must be DEEP or SEQUENCE");
    else if (!g && needed)
        need_group(x, "contextual", WANTS_VECTOR);
}

static void check_hstu_groups(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    check_contextual(x, !m->hstu_match);
    if (m->hstu_match) {
        const struct pc_HSTUUserTower *u = m->hstu_match->user_tower;
        const struct pc_Tower *i = m->hstu_match->item_tower;
        if (u)
            check_tower_input(x, &u->base, "input", u->input, WANTS_JAGGED);
        if (i)
            check_tower_input(x, &i->base, "input", i->input, WANTS_JAGGED);
        return;
    }
    need_group(x, "candidate", WANTS_JAGGED);
    if (m->dlrm_hstu)
        need_group(x, "uih", WANTS_JAGGED);
    for (int64_t i = 0; m->ultra_hstu && i < m->ultra_hstu->n_hstu; i++) {
        const char *name = m->ultra_hstu->hstu[i]->name;
        need_group(x, *name ? name : "uih", WANTS_JAGGED);
    }
}

static void check_tdm(struct pc_check *x)
{
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++)
        if (x->model_config->feature_groups[i]->group_type ==
            pc_FeatureGroupType_SEQUENCE)
            return;
    schema_report(x->diags, DIAG_ERROR, E0372, x->model, NULL,
                  "tdm needs a feature group of type SEQUENCE");
}

static void check_sparse_models(struct pc_check *x)
{
    if (x->model_config->n_feature_groups > 1)
        need_group(x, "sparse", WANTS_VECTOR);
    else
        need_first(x);
}

void check_model_groups(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    if (m->n_feature_groups == 0) {
        schema_report(x->diags, DIAG_ERROR, E0372, &m->base, NULL,
                      "model_config has no feature_groups");
        return;
    }
    if (check_field_model(x))
        return;
    if (m->multi_tower) {
        check_towers(x, m->multi_tower->towers, m->multi_tower->n_towers);
        if (m->multi_tower->n_towers == 0)
            schema_report(x->diags, DIAG_ERROR, E0375, x->model, NULL,
                          "multi_tower has no towers");
    } else if (m->multi_tower_din) {
        check_multi_tower_din(x, m->multi_tower_din);
    } else if (m->wide_and_deep || m->deepfm || m->xdeepfm) {
        check_wide_models(x);
    } else if (m->dlrm || m->wukong) {
        check_sparse_models(x);
    } else if (m->pepnet) {
        need_group(x, "all", WANTS_VECTOR);
    } else if (m->dlrm_hstu || m->ultra_hstu || m->hstu_match) {
        check_hstu_groups(x);
    } else if (m->dat) {
        check_dat(x, m->dat);
    } else if (m->tdm) {
        check_tdm(x);
    } else if (m->ncf) {
        check_ncf(x, m->ncf);
    } else if (m->youtube_dnn || m->gru4rec || m->srgnn || m->word2vec ||
               m->match_towers || m->look_alike || m->text_cnn) {
        check_recall(x);
    } else if (x->family == FAMILY_MATCH) {
        check_match_towers(x);
        if (m->mind)
            check_mind(x, m->mind);
    } else {
        need_first(x);
    }
}

/* What a match model learns from. */
static void check_negatives(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    struct pc_sampler s = pc_sampler_of(x->data);
    bool in_batch = (m->dssm && m->dssm->in_batch_negative) ||
                    (m->dssm_v2 && m->dssm_v2->in_batch_negative) ||
                    (m->dat && m->dat->in_batch_negative) ||
                    (m->mind && m->mind->in_batch_negative) ||
                    (m->youtube_dnn && m->youtube_dnn->in_batch_negative) ||
                    (m->gru4rec && m->gru4rec->in_batch_negative) ||
                    (m->srgnn && m->srgnn->in_batch_negative) ||
                    (m->word2vec && m->word2vec->in_batch_negative);
    if (s.msg || in_batch || !x->data || (x->family != FAMILY_MATCH && !m->tdm))
        return;
    struct diag *g = schema_report(x->diags, DIAG_WARNING, E0324, x->model, NULL,
                                   "%s has no negatives: data_config has no sampler",
                                   x->model_field->name);
    if (!m->hstu_match && !m->tdm)
        diag_hint(x->diags, g, "set negative_sampler, or in_batch_negative: true");
}

void check_model(struct pc_check *x)
{
    if (!x->model) {
        struct diag *g =
            schema_report(x->diags, DIAG_ERROR, E0370, &x->model_config->base, NULL,
                          "model_config names no model");
        diag_hint(x->diags, g, "for example multi_tower { ... } or dssm { ... }");
        return;
    }
    check_model_groups(x);
    check_model_widths(x);
    check_modules(x);
    check_hstu(x);
    check_sid(x);
    check_negatives(x);
}
