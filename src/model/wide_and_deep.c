/* SPDX-License-Identifier: Apache-2.0 */
/* Wide & Deep (Cheng et al. 2016): all wide embedding values added up, beside a deep net.
 */
#include "model/parts.h"

static void wide_and_deep_build(struct model *m)
{
    const struct pc_WideAndDeep *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group wide, deep;
    int64_t n_class = m->conf->model_config->num_class;
    int64_t dim = c->wide_embedding_dim ? c->wide_embedding_dim : 4;
    if (!group_of(m, "wide", dim, c->wide_init_fn, &wide) ||
        !group_of(m, "deep", 0, NULL, &deep))
        return;
    struct nn_val *y_wide = nn_row_sum(g, wide.deep);
    struct nn_val *y_deep = part_mlp(m, "deep_mlp", c->deep, deep.deep);
    if (c->final) {
        struct nn_val *h = nn_concat(g, (struct nn_val *[]){y_wide, y_deep}, 2);
        h = part_mlp(m, "final_mlp", c->final, h);
        head_single(m, nn_linear(g, "output_mlp", h, n_class, true, ACT_NONE));
        return;
    }
    struct nn_val *o = nn_linear(g, "output_mlp", y_deep, n_class, true, ACT_NONE);
    head_single(m, nn_add(g, part_each_class(m, y_wide), o));
}

const struct model_ops model_wide_and_deep = {.name = "wide_and_deep",
                                              .build = wide_and_deep_build};
