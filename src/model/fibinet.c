/* SPDX-License-Identifier: Apache-2.0 */
/* FiBiNET (Huang et al. 2019): bilinear products of all pairs of fields, of the fields as
 * they are and of the fields times gates that follow from their means.
 */
#include <string.h>

#include "model/parts.h"

/* Squeeze and excitation: each field times a number made from the means of all. */
static struct nn_val *gated(struct model *m, const struct pc_FiBiNET *c, struct nn_val *x)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    int64_t n = nn_val_shape(x)->dims[0], units = n / c->reduction_ratio;
    struct nn_val *z =
        nn_scale(g, nn_sum_within(g, x), 1.0f / (float)nn_val_shape(x)->dims[1], 0.0f);
    graph_push(g, "senet");
    z = nn_linear(g, "0", z, units > 0 ? units : 1, true, ACT_RELU);
    z = nn_linear(g, "1", z, n, true, ACT_RELU);
    graph_pop(g);
    return nn_gate_fields(g, z, x);
}

/* (W v_i + b) * v_j for all pairs, side by side. */
static struct nn_val *bilinear(struct model *m, const char *name,
                               const struct pc_FiBiNET *c, struct nn_val *x)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    int64_t d = nn_val_shape(x)->dims[1];
    bool pairs = strcmp(c->bilinear_type, "interaction") == 0;
    graph_push(g, name);
    struct nn_val *left = strcmp(c->bilinear_type, "all") == 0
                              ? nn_linear(g, "all", x, d, true, ACT_NONE)
                              : nn_field_linear(g, c->bilinear_type, x, pairs, d, "bias");
    graph_pop(g);
    return nn_pair_products_flat(g, left, pairs, x);
}

static void fibinet_build(struct model *m)
{
    const struct pc_FiBiNET *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    struct nn_val *x = part_deep_fields(m, &deep);
    struct nn_val *both[] = {bilinear(m, "gated", c, gated(m, c, x)),
                             bilinear(m, "raw", c, x)};
    struct nn_val *h = part_with_dense(m, nn_concat(g, both, 2));
    h = part_mlp(m, "deep_mlp", c->deep, h);
    head_first_order(
        m, c->wide_init_fn, false,
        nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_fibinet = {.name = "fibinet", .build = fibinet_build};
