/* SPDX-License-Identifier: Apache-2.0 */
/* DeepFM (Guo et al. 2017): linear part, factorisation machine and deep net. */
#include "model/parts.h"

/* Over the group `fm`, or over `deep` where there is none. Vectors that stand in `deep`
 * too are looked up once.
 */
static struct nn_val *machine(struct model *m, const struct group *deep)
{
    struct group fm = *deep;
    int64_t n, width;
    if (group_leads(m, "fm", "deep", &n, &width))
        return nn_fm_first(m->graph, deep->deep, n, width);
    if (group_exists(m, "fm") && !group_of(m, "fm", 0, NULL, &fm))
        return NULL;
    return nn_fm(m->graph, group_fields(m, &fm));
}

static void deepfm_build(struct model *m)
{
    const struct pc_DeepFM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group wide, deep;
    int64_t n_class = m->conf->model_config->num_class;
    int64_t dim = c->wide_embedding_dim ? c->wide_embedding_dim : 4;
    if (!group_of(m, "wide", dim, c->wide_init_fn, &wide) ||
        !group_of(m, "deep", 0, NULL, &deep))
        return;
    struct nn_val *y_wide = nn_row_sum(g, wide.deep);
    struct nn_val *y_fm = machine(m, &deep);
    struct nn_val *y_deep = part_mlp(m, "deep_mlp", c->deep, deep.deep);
    if (c->final) {
        struct nn_val *h = nn_concat(g, (struct nn_val *[]){y_wide, y_fm, y_deep}, 3);
        h = part_mlp(m, "final_mlp", c->final, h);
        head_single(m, nn_linear(g, "output_mlp", h, n_class, true, ACT_NONE));
        return;
    }
    struct nn_val *o = nn_linear(g, "output_mlp", y_deep, n_class, true, ACT_NONE);
    struct nn_val *rest = nn_add(g, y_wide, nn_row_sum(g, y_fm));
    head_single(m, nn_add(g, part_each_class(m, rest), o));
}

const struct model_ops model_deepfm = {.name = "deepfm", .build = deepfm_build};
