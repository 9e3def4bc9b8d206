/* SPDX-License-Identifier: Apache-2.0 */
/* DLRM (Naumov et al. 2019): dot products of all pairs of field vectors. */
#include "model/parts.h"

/* The sparse group as fields, with the dense part in front when there is one. */
static struct val *all_fields(struct model *m, const struct group *sparse,
                              struct val *dense)
{
    struct graph *g = m->graph;
    struct val *fields = group_fields(m, sparse);
    if (!dense || !fields)
        return fields;
    if (shape_width(val_shape(dense)) != sparse->field_width)
        return graph_fail(g, "dense_mlp ends in %jd units, the sparse vectors have %jd",
                          (intmax_t)shape_width(val_shape(dense)),
                          (intmax_t)sparse->field_width);
    struct val *both = nn_concat(g, (struct val *[]){dense, sparse->deep}, 2);
    return nn_reshape(g, both,
                      (const int64_t[]){sparse->n_fields + 1, sparse->field_width}, 2);
}

static void build(struct model *m)
{
    const struct pc_DLRM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group sparse, dense = {0};
    bool single = m->conf->model_config->n_feature_groups == 1;
    struct val *z = NULL, *parts[3];
    int n = 0;
    if (!group_of(m, single ? group_first(m) : "sparse", 0, NULL, &sparse))
        return;
    if (!single && group_exists(m, "dense")) {
        if (!group_of(m, "dense", 0, NULL, &dense))
            return;
        z = part_mlp(m, "dense_mlp", c->dense_mlp, dense.deep);
    }
    parts[n++] = nn_pair_dots(g, all_fields(m, &sparse, z));
    if (z)
        parts[n++] = z;
    if (c->arch_with_sparse)
        parts[n++] = sparse.deep;
    struct val *h = part_mlp(m, "final_mlp", c->final, nn_concat(g, parts, n));
    head_single(m, nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true,
                             ACT_NONE));
}

const struct model_ops model_dlrm = {.name = "dlrm", .build = build};
