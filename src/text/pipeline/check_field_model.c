/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of the models of field_model.def: they find them by fixed names. */
#include <string.h>

#include "text/pipeline/pipeline_private.h"

enum {
    DEEP = 1,    /* needs a group `deep` */
    FIELDS = 2,  /* whose features have one width */
    WIDE = 4,    /* needs a group `wide`; others may have one */
    AWARE = 8,   /* fields hold a vector for each field */
    GROUPS = 16, /* all groups but `wide` and `dense`, two or more, hold fields */
    SEQ = 32,    /* needs a group `seq` */
};

static const struct {
    const char *model;
    unsigned wants;
} models[] = {
    {"afm", DEEP | FIELDS},        {"autoint", DEEP | FIELDS},
    {"deep_crossing", DEEP},       {"ffm", DEEP | FIELDS | AWARE},
    {"fibinet", DEEP | FIELDS},    {"flen", GROUPS},
    {"fm", DEEP | FIELDS},         {"fnn", DEEP | WIDE},
    {"fwfm", DEEP | FIELDS},       {"gatenet", DEEP | FIELDS},
    {"logistic_regression", WIDE}, {"nfm", DEEP | FIELDS},
    {"pnn", DEEP | FIELDS},
};

static unsigned wants_of(const struct check *x)
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

static void check_several(struct check *x)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++)
        n += holds_fields(x->model_config->feature_groups[i]);
    if (n < 2)
        schema_report(x->diags, DIAG_ERROR, E0372, x->model, NULL,
                      "%s needs two or more groups of fields beside 'wide' and 'dense'",
                      x->model_field->name);
}

bool check_field_model(struct check *x)
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
    if (dense)
        check_need_group(x, "dense", pc_FeatureGroupType_DEEP);
    if (wants & GROUPS)
        check_several(x);
    return true;
}

/* Every field i has a part for each field j. */
static void check_aware(struct check *x, const struct pc_FeatureGroupConfig *g,
                        uint32_t width)
{
    if (width && g->n_feature_names > 0 && width % (uint64_t)g->n_feature_names)
        schema_report(x->diags, DIAG_ERROR, E0391, &g->base, "feature_names",
                      "%s needs an embedding_dim that is a multiple of the %jd features "
                      "of group '%s', not %u",
                      x->model_field->name, (intmax_t)g->n_feature_names, g->group_name,
                      width);
}

void check_field_widths(struct check *x)
{
    unsigned wants = wants_of(x);
    for (int64_t i = 0; i < x->model_config->n_feature_groups; i++) {
        const struct pc_FeatureGroupConfig *g = x->model_config->feature_groups[i];
        bool fields = wants & GROUPS   ? holds_fields(g)
                      : wants & FIELDS ? strcmp(g->group_name, "deep") == 0
                                       : false;
        if (!fields || check_is_sequence_group(g))
            continue;
        uint32_t width = check_equal_width(x, g);
        if (wants & AWARE)
            check_aware(x, g, width);
    }
}
