/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors that a model adds or multiplies must be equally wide. */
#include <string.h>

#include "text/pipeline/pipeline_private.h"

uint32_t check_equal_width(struct pc_check *x, const struct pc_FeatureGroupConfig *g)
{
    const struct pc_feature *first = NULL;
    for (int64_t i = 0; i < g->n_feature_names; i++) {
        const struct pc_feature *f =
            pc_features_find(&x->features, str_c(g->feature_names[i]));
        if (!f || pc_feature_width(f) == 0)
            return 0; /* reported elsewhere */
        if (first && pc_feature_width(f) != pc_feature_width(first)) {
            check_item(x, DIAG_ERROR, E0391, &g->base, "feature_names", i,
                       "%s needs equal widths in group '%s': '%s' has %u, '%s' has %u",
                       x->model_field->name, g->group_name, first->name,
                       pc_feature_width(first), f->name, pc_feature_width(f));
            return 0;
        }
        if (!first)
            first = f;
    }
    return first ? pc_feature_width(first) : 0;
}

static void no_encoders(struct pc_check *x, const struct pc_FeatureGroupConfig *g)
{
    if (g->n_sequence_encoders > 0)
        schema_report(x->diags, DIAG_ERROR, E0373, &g->base, "sequence_encoders",
                      "%s takes no sequence encoders in group '%s'", x->model_field->name,
                      g->group_name);
}

/* Sparse vectors alike, and as wide as the end of dense_mlp. */
static void check_interaction(struct pc_check *x, const struct pc_MLP *dense_mlp)
{
    const struct pc_ModelConfig *m = x->model_config;
    bool several = m->n_feature_groups > 1;
    const struct pc_FeatureGroupConfig *dense =
        several ? check_group_find(x, "dense") : NULL;
    const struct pc_FeatureGroupConfig *sparse =
        several ? check_group_find(x, "sparse") : m->feature_groups[0];
    if (!sparse || check_is_sequence_group(sparse))
        return;
    no_encoders(x, sparse);
    uint32_t width = check_equal_width(x, sparse);
    if (!dense)
        return;
    no_encoders(x, dense);
    if (!dense_mlp) {
        schema_report(x->diags, DIAG_ERROR, E0399, x->model, NULL,
                      "%s has a group 'dense' but no dense_mlp", x->model_field->name);
        return;
    }
    int64_t n = dense_mlp->n_hidden_units;
    if (width && n && dense_mlp->hidden_units[n - 1] != width)
        check_item(x, DIAG_ERROR, E0391, &dense_mlp->base, "hidden_units", n - 1,
                   "dense_mlp ends with %u units, and the sparse features have width %u",
                   dense_mlp->hidden_units[n - 1], width);
}

/* The features of the factorisation machine */
static void check_fm(struct pc_check *x)
{
    const struct pc_FeatureGroupConfig *g = check_group_find(x, "fm");
    if (!g)
        g = check_group_find(x, "deep");
    if (g && g->n_sequence_encoders == 0 && !check_is_sequence_group(g))
        check_equal_width(x, g);
}

/* Context features become tokens of one width, unless they form one token. */
static void check_contextual(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    const struct pc_FeatureGroupConfig *g = check_group_find(x, "contextual");
    bool joined = (m->dlrm_hstu && m->dlrm_hstu->concat_contextual_features) ||
                  (m->ultra_hstu && m->ultra_hstu->concat_contextual_features);
    if (g && !joined && g->n_sequence_encoders == 0)
        check_equal_width(x, g);
}

void check_model_widths(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    if (m->n_feature_groups == 0)
        return;
    if (m->dlrm)
        check_interaction(x, m->dlrm->dense_mlp);
    else if (m->wukong)
        check_interaction(x, m->wukong->dense_mlp);
    else if (m->deepfm)
        check_fm(x);
    else if (m->dlrm_hstu || m->ultra_hstu || m->hstu_match)
        check_contextual(x);
    else
        check_field_widths(x);
}
