/* SPDX-License-Identifier: Apache-2.0 */
/* FLEN (Chen et al. 2019): features come in groups (of the user, of the item, of the
 * context); products of the groups' sums, and products within each group.
 */
#include <string.h>

#include "model/parts.h"

#define GROUPS_MAX (OP_INPUTS_MAX - 2)

/* Weighted sum over the rows of x [n, d]: [d]. */
static struct nn_val *mixed(struct graph *g, const char *name, struct nn_val *x,
                            int64_t d)
{
    struct nn_val *y = nn_linear(g, name, nn_transpose(g, x), 1, false, ACT_NONE);
    return nn_reshape(g, y, (const int64_t[]){d}, 1);
}

/* All groups but `wide` and `dense`, all of one width; how many, 0 when it failed. */
static int collect(struct model *m, struct nn_val **deep, struct nn_val **fields,
                   int64_t *d)
{
    const struct pc_ModelConfig *mc = m->conf->model_config;
    int n = 0;
    *d = 0;
    for (int64_t i = 0; i < mc->n_feature_groups; i++) {
        const char *name = mc->feature_groups[i]->group_name;
        struct group one;
        if (strcmp(name, "wide") == 0 || strcmp(name, "dense") == 0)
            continue;
        if (n == GROUPS_MAX) {
            graph_fail(m->graph, "more than %d groups", GROUPS_MAX);
            return 0;
        }
        if (!group_of(m, name, 0, NULL, &one))
            return 0;
        fields[n] = group_fields(m, &one);
        deep[n++] = one.deep;
        if (*d && one.field_width != *d)
            graph_fail(m->graph, "group '%s' has vectors of %jd, others of %jd", name,
                       (intmax_t)one.field_width, (intmax_t)*d);
        *d = one.field_width;
    }
    if (n < 2)
        graph_fail(m->graph, "%d group%s of fields: two or more are needed", n,
                   n == 1 ? "" : "s");
    return n < 2 ? 0 : n;
}

static void flen_build(struct model *m)
{
    const struct pc_FLEN *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct nn_val *deep[GROUPS_MAX], *fields[GROUPS_MAX], *sums[GROUPS_MAX];
    struct nn_val *within[GROUPS_MAX];
    int64_t d;
    int n = collect(m, deep, fields, &d);
    if (n == 0)
        return;
    for (int i = 0; i < n; i++) {
        sums[i] = nn_sum_fields(g, fields[i]);
        within[i] = nn_fm(g, fields[i]);
    }
    struct nn_val *s = nn_reshape(g, nn_concat(g, sums, n), (const int64_t[]){n, d}, 2);
    struct nn_val *w = nn_reshape(g, nn_concat(g, within, n), (const int64_t[]){n, d}, 2);
    struct nn_val *products =
        nn_add(g, mixed(g, "between", nn_pair_products(g, s, false, s), d),
               mixed(g, "within", w, d));
    struct nn_val *parts[] = {
        part_mlp(m, "interaction", c->interaction, products),
        part_mlp(m, "deep_mlp", c->deep, part_with_dense(m, nn_concat(g, deep, n)))};
    head_first_order(m, c->wide_init_fn, false,
                     nn_linear(g, "output_mlp", nn_concat(g, parts, 2),
                               m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_flen = {.name = "flen", .build = flen_build};
