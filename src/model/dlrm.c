/* SPDX-License-Identifier: Apache-2.0 */
/* DLRM (Naumov et al. 2019): dot products of all pairs of field vectors. */
#include "model/parts.h"

static void dlrm_build(struct model *m)
{
    const struct pc_DLRM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group sparse, dense = {0};
    bool single = m->conf->model_config->n_feature_groups == 1;
    struct nn_val *z = NULL, *parts[3];
    int n = 0;
    if (!group_of(m, single ? group_first(m) : "sparse", 0, NULL, &sparse))
        return;
    if (!single && group_exists(m, "dense")) {
        if (!group_of(m, "dense", 0, NULL, &dense))
            return;
        z = part_mlp(m, "dense_mlp", c->dense_mlp, dense.deep);
    }
    parts[n++] = nn_pair_dots(g, part_fields(m, &sparse, z));
    if (z)
        parts[n++] = z;
    if (c->arch_with_sparse)
        parts[n++] = sparse.deep;
    struct nn_val *h = part_mlp(m, "final_mlp", c->final, nn_concat(g, parts, n));
    head_single(m, nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true,
                             ACT_NONE));
}

const struct model_ops model_dlrm = {.name = "dlrm", .build = dlrm_build};
