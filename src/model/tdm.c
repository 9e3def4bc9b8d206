/* SPDX-License-Identifier: Apache-2.0 */
/* TDM (Zhu et al. 2018): scores the nodes of an item tree by attention over windows of
 * the history, beside the other groups.
 */
#include "model/parts.h"

static bool is_sequence(const struct pc_FeatureGroupConfig *c)
{
    return c->group_type == pc_FeatureGroupType_SEQUENCE ||
           c->group_type == pc_FeatureGroupType_JAGGED_SEQUENCE;
}

/* Attention on the one sequence group first, then the others in the config's order. */
static bool add_parts(struct model *m, const struct pc_MultiWindowDINTower *c,
                      struct nn_val **parts, int *n)
{
    const struct pc_ModelConfig *mc = m->conf->model_config;
    for (int64_t i = 0; i < mc->n_feature_groups && *n < OP_INPUTS_MAX; i++) {
        struct group g;
        bool sequence = is_sequence(mc->feature_groups[i]);
        if (sequence && parts[0])
            return graph_fail(m->graph, "there are two sequence groups") != NULL;
        if (!group_of(m, mc->feature_groups[i]->group_name, 0, NULL, &g))
            return false;
        if (sequence && m->options.alone && g.query) /* what a node is, for its tree */
            nn_output(m->graph, "item_emb", g.query);
        if (sequence)
            parts[0] =
                part_multi_window_din(m, "multiwindow_din", c->attn_mlp, c->windows_len,
                                      c->n_windows_len, g.query, g.sequence, g.axis);
        else
            parts[(*n)++] = g.deep;
        if (sequence && !parts[0])
            return false;
    }
    return parts[0] || graph_fail(m->graph, "there is no sequence group") != NULL;
}

static void tdm_build(struct model *m)
{
    const struct pc_TDM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct nn_val *parts[OP_INPUTS_MAX] = {NULL};
    int n = 1;
    if (!c->multiwindow_din) {
        graph_fail(g, "there is no multiwindow_din");
        return;
    }
    if (!add_parts(m, c->multiwindow_din, parts, &n))
        return;
    struct nn_val *h = part_mlp(m, "deep_mlp", c->final, nn_concat(g, parts, n));
    head_single(m, nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true,
                             ACT_NONE));
}

const struct model_ops model_tdm = {.name = "tdm", .build = tdm_build};
