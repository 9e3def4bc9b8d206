/* SPDX-License-Identifier: Apache-2.0 */
/* AFM (Xiao et al. 2017): products of all pairs of fields, mixed by attention over the
 * pairs.
 */
#include "model/parts.h"

static void afm_build(struct model *m)
{
    const struct pc_AFM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    struct nn_val *x = part_deep_fields(m, &deep);
    struct nn_val *pairs = nn_pair_products(g, x, false, x);
    struct nn_val *a =
        nn_linear(g, "attention", pairs, c->attention_units, true, ACT_RELU);
    a = nn_linear(g, "projection", a, 1, false, ACT_NONE);
    if (!a)
        return;
    a = nn_softmax(
        g, nn_reshape(g, a, (const int64_t[]){nn_shape_width(nn_val_shape(a))}, 1));
    struct nn_val *o = nn_linear(g, "output_mlp", nn_mix(g, a, pairs),
                                 m->conf->model_config->num_class, true, ACT_NONE);
    head_first_order(m, c->wide_init_fn, true, o);
}

const struct model_ops model_afm = {.name = "afm", .build = afm_build};
