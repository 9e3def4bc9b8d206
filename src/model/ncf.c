/* SPDX-License-Identifier: Apache-2.0 */
/* NCF (He et al. 2017): the product of a user's and an item's vector, element by element,
 * beside a net on other vectors of theirs, and a linear layer on both. Either part may be
 * left out.
 */
#include "model/parts.h"

static bool pair_of(struct model *m, const char *part, const char *user, const char *item,
                    struct group *u, struct group *i)
{
    return part_tower_group(m, part, user, true, u) &&
           part_tower_group(m, part, item, true, i);
}

static void ncf_build(struct model *m)
{
    const struct pc_NCF *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group u, i;
    struct nn_val *parts[2];
    int n = 0;
    if (c->user_mf[0]) {
        if (!pair_of(m, "mf", c->user_mf, c->item_mf, &u, &i))
            return;
        parts[n++] = nn_mul(g, u.deep, i.deep);
    }
    if (c->user_mlp[0]) {
        if (!pair_of(m, "mlp", c->user_mlp, c->item_mlp, &u, &i))
            return;
        struct nn_val *both = nn_concat(g, (struct nn_val *[]){u.deep, i.deep}, 2);
        parts[n++] = part_mlp(m, "mlp", c->mlp, both);
    }
    if (n == 0) {
        graph_fail(g, "there is neither a product nor a net");
        return;
    }
    head_single(m, nn_linear(g, "output", n == 1 ? parts[0] : nn_concat(g, parts, n),
                             m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_ncf = {.name = "ncf", .build = ncf_build};
