/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of the models of field_model.def. These models find their groups by fixed names
 * and compare features with each other, so their groups must be there, be of the right
 * type, and hold vectors of one width. Which model needs what is a table.
 */
#include <string.h>

#include "text/pipeline/pipeline_private.h"

enum {
    DEEP = 1,    /* needs a group `deep` */
    FIELDS = 2,  /* whose features have one width */
    WIDE = 4,    /* needs a group `wide`; others may have one */
    AWARE = 8,   /* fields hold a vector for each field */
    GROUPS = 16, /* all groups but `wide` and `dense`, two or more, hold fields */
    SEQ = 32,    /* needs a group `seq` */
    MATCH = 64,  /* needs a group `match` */
    OTHER = 128, /* may have a group `generate`, whose fields are as wide */
};

static const struct {
    const char *model;
    unsigned wants;
} models[] = {
    {"afm", DEEP | FIELDS},
    {"autoint", DEEP | FIELDS},
    {"bst", SEQ},
    {"deep_crossing", DEEP},
    {"dien", SEQ},
    {"dmr", SEQ | MATCH},
    {"ffm", DEEP | FIELDS | AWARE},
    {"fgcnn", DEEP | FIELDS | OTHER},
    {"fibinet", DEEP | FIELDS},
    {"flen", GROUPS},
    {"fm", DEEP | FIELDS},
    {"fnn", DEEP | WIDE},
    {"fwfm", DEEP | FIELDS},
    {"gatenet", DEEP | FIELDS},
    {"logistic_regression", WIDE},
    {"nfm", DEEP | FIELDS},
    {"pnn", DEEP | FIELDS},
};

static unsigned wants_of(const struct pc_check *x)
{
    for (size_t i = 0; x->model_field && i < ARRAY_LEN(models); i++)
        if (strcmp(models[i].model, x->model_field->name) == 0)
            return models[i].wants;
    return 0;
}

static bool holds_fields(const struct pc_FeatureGroupConfig *g)
{
    return strcmp(g->group_name, "wide") != 0 && strcmp(g->group_name, "dense") != 0;
}

static void check_several(struct pc_check *x)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++)
        n += holds_fields(x->model_config->feature_groups[i]);
    if (n < 2)
        schema_report(x->diags, DIAG_ERROR, E0372, x->model, NULL,
                      "%s needs two or more groups of fields beside 'wide' and 'dense'",
                      x->model_field->name);
}

bool check_field_model(struct pc_check *x)
{
    unsigned wants = wants_of(x);
    const struct pc_FeatureGroupConfig *dense = check_group_find(x, "dense");
    const struct pc_FeatureGroupConfig *wide = check_group_find(x, "wide");
    if (!wants)
        return false;
    if (wants & DEEP)
        check_need_group(x, "deep", pc_FeatureGroupType_DEEP);
    if ((wants & WIDE) || wide)
        check_need_group(x, "wide", pc_FeatureGroupType_WIDE);
    if (wants & SEQ)
        check_need_group(x, "seq", pc_FeatureGroupType_SEQUENCE);
    if (wants & MATCH)
        check_need_group(x, "match", pc_FeatureGroupType_SEQUENCE);
    if (dense)
        check_need_group(x, "dense", pc_FeatureGroupType_DEEP);
    if ((wants & OTHER) && check_group_find(x, "generate"))
        check_need_group(x, "generate", pc_FeatureGroupType_DEEP);
    if (wants & GROUPS)
        check_several(x);
    return true;
}

/* Every field i has a part for each field j. */
static void check_aware(struct pc_check *x, const struct pc_FeatureGroupConfig *g,
                        uint32_t width)
{
    if (width && g->n_feature_names > 0 && width % (uint64_t)g->n_feature_names)
        schema_report(x->diags, DIAG_ERROR, E0391, &g->base, "feature_names",
                      "%s needs an embedding_dim that is a multiple of the %jd features "
                      "of group '%s', not %u",
                      x->model_field->name, (intmax_t)g->n_feature_names, g->group_name,
                      width);
}

/* Floats of the item (features that are no sequence) and of a position of the history;
 * false: not known.
 */
static bool side_widths(struct pc_check *x, const struct pc_FeatureGroupConfig *g,
                        uint32_t *item, uint32_t *history)
{
    *item = *history = 0;
    for (int64_t i = 0; i < g->n_feature_names; i++) {
        const struct pc_feature *f =
            pc_features_find(&x->features, str_c(g->feature_names[i]));
        if (!f || pc_feature_width(f) == 0)
            return false; /* reported elsewhere */
        *(f->sequence ? history : item) += pc_feature_width(f);
    }
    return *history > 0;
}

/* The history is as wide as the item, or wider by what the model knows how to read. */
static void check_sides(struct pc_check *x, const char *group, const char *takes,
                        bool (*fits)(uint32_t item, uint32_t history))
{
    const struct pc_FeatureGroupConfig *g = check_group_find(x, group);
    uint32_t item, history;
    if (g && check_is_sequence_group(g) && side_widths(x, g, &item, &history) &&
        (item == 0 || !fits(item, history)))
        schema_report(x->diags, DIAG_ERROR, E0391, &g->base, "feature_names",
                      "%s: in group '%s' the item has width %u, the history %u; it takes "
                      "%s",
                      x->model_field->name, group, item, history, takes);
}

static bool is_equal(uint32_t item, uint32_t history)
{
    return history == item;
}

static bool is_equal_or_double(uint32_t item, uint32_t history)
{
    return history == item || history == 2 * item;
}

static bool is_more(uint32_t item, uint32_t history)
{
    return history > item;
}

static bool is_multiple(uint32_t item, uint32_t history)
{
    return history % item == 0;
}

static void check_histories(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    if (m->bst)
        check_sides(x, "seq", "a history as wide as the item", is_equal);
    if (m->dien)
        check_sides(x, "seq", "a history as wide as the item, or twice as wide",
                    is_equal_or_double);
    if (m->dmr) {
        check_sides(x, "seq", "a history that is wider than the item", is_more);
        check_sides(x, "match", "a multiple of the item's width", is_multiple);
    }
}

/* Each layer leaves one of pooling_height fields. */
static void check_layers(struct pc_check *x, const struct pc_FeatureGroupConfig *g)
{
    const struct pc_FGCNN *c = x->model_config->fgcnn;
    int64_t n = g->n_feature_names, layers = c->n_conv_filters ? c->n_conv_filters : 4;
    if (check_is_sequence_group(g))
        return;
    for (int64_t i = 0; n > 0 && i < layers; i++) {
        n /= c->pooling_height;
        if (n == 0)
            schema_report(x->diags, DIAG_ERROR, E0398, &g->base, "feature_names",
                          "fgcnn: no field is left behind layer %jd of %jd: group '%s' "
                          "has %jd, and each layer leaves one of %u",
                          (intmax_t)i + 1, (intmax_t)layers, g->group_name,
                          (intmax_t)g->n_feature_names, c->pooling_height);
    }
}

static void check_generation(struct pc_check *x)
{
    const struct pc_FeatureGroupConfig *own = check_group_find(x, "generate");
    const struct pc_FeatureGroupConfig *g = own ? own : check_group_find(x, "deep");
    if (g)
        check_layers(x, g);
}

/* Fields of the groups `deep` and `generate` stand beside each other. */
static void check_beside(struct pc_check *x, const struct pc_FeatureGroupConfig *g,
                         uint32_t width, uint32_t *first)
{
    if (width && *first && width != *first)
        schema_report(x->diags, DIAG_ERROR, E0391, &g->base, "feature_names",
                      "%s needs equal widths in groups 'deep' and 'generate', not %u and "
                      "%u",
                      x->model_field->name, *first, width);
    *first = width;
}

static bool has_equal_widths(unsigned wants, const struct pc_FeatureGroupConfig *g)
{
    if (wants & GROUPS)
        return holds_fields(g);
    return ((wants & FIELDS) && strcmp(g->group_name, "deep") == 0) ||
           ((wants & OTHER) && strcmp(g->group_name, "generate") == 0);
}

void check_field_widths(struct pc_check *x)
{
    unsigned wants = wants_of(x);
    uint32_t first = 0;
    check_histories(x);
    if (wants & OTHER)
        check_generation(x);
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++) {
        const struct pc_FeatureGroupConfig *g = x->model_config->feature_groups[i];
        if (!has_equal_widths(wants, g) || check_is_sequence_group(g))
            continue;
        uint32_t width = check_equal_width(x, g);
        if (wants & AWARE)
            check_aware(x, g, width);
        if (wants & OTHER)
            check_beside(x, g, width, &first);
    }
}
