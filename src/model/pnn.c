/* SPDX-License-Identifier: Apache-2.0 */
/* PNN (Qu et al. 2016): linear signals of all fields beside signals of their products. */
#include <math.h>

#include "model/parts.h"

/* Per signal the squared length of a weighted sum of fields: all inner products, with
 * weights of rank one.
 */
static struct nn_val *inner(struct model *m, struct nn_val *x, int64_t units)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    double bound = 1.0 / sqrt((double)nn_val_shape(x)->dims[0]);
    struct param *w =
        nn_param(g, "inner.weight", (const int64_t[]){nn_val_shape(x)->dims[0], units}, 2,
                 (struct nn_init){INIT_UNIFORM, -bound, bound}, true);
    struct nn_val *sums = nn_mix_fields(g, w, x); /* [units, width] */
    return nn_sum_within(g, nn_mul(g, sums, sums));
}

/* Per signal a weighted sum of the products of the added up fields with themselves. */
static struct nn_val *outer(struct model *m, struct nn_val *x, int64_t units)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    int64_t d = nn_val_shape(x)->dims[1];
    struct nn_val *s = nn_reshape(g, nn_sum_fields(g, x), (const int64_t[]){1, d}, 2);
    struct nn_val *p = nn_reshape(g, nn_outer(g, s, s), (const int64_t[]){d * d}, 1);
    return nn_linear(g, "outer", p, units, false, ACT_NONE);
}

static void pnn_build(struct model *m)
{
    const struct pc_PNN *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    struct nn_val *x = part_deep_fields(m, &deep);
    if (!x)
        return;
    struct nn_val *linear =
        nn_linear(g, "linear", deep.deep, c->product_units, true, ACT_NONE);
    struct nn_val *products = c->use_inner_product ? inner(m, x, c->product_units)
                                                   : outer(m, x, c->product_units);
    struct nn_val *h = nn_add_relu(g, linear, products);
    h = part_mlp(m, "deep_mlp", c->deep, h);
    head_first_order(
        m, c->wide_init_fn, true,
        nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_pnn = {.name = "pnn", .build = pnn_build};
