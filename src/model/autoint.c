/* SPDX-License-Identifier: Apache-2.0 */
/* AutoInt (Song et al. 2019): fields attend to each other, several heads, with a
 * residual; a deep net may stand beside.
 */
#include <math.h>

#include "model/parts.h"

/* relu(heads of attention + W x). */
static struct nn_val *layer(struct model *m, const struct pc_AutoInt *c, struct nn_val *x)
{
    struct graph *g = m->graph;
    int64_t n = (int64_t)c->num_heads * c->head_dim;
    struct nn_val *q = nn_linear(g, "query", x, n, false, ACT_NONE);
    struct nn_val *k = nn_linear(g, "key", x, n, false, ACT_NONE);
    struct nn_val *v = nn_linear(g, "value", x, n, false, ACT_NONE);
    struct nn_val *y =
        nn_field_attention(g, q, k, v, c->num_heads, (float)(1.0 / sqrt((double)n)));
    return nn_add_relu(g, y, nn_linear(g, "residual", x, n, false, ACT_NONE));
}

static void autoint_build(struct model *m)
{
    const struct pc_AutoInt *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    struct nn_val *parts[2], *x = part_deep_fields(m, &deep);
    int n = 0;
    if (!c->deep && group_exists(m, "dense")) {
        graph_fail(g, "a group 'dense' needs a net 'deep'");
        return;
    }
    for (uint32_t i = 0; i < c->num_layers; i++) {
        graph_push(g, arena_printf(&m->arena, "attention.%u", i));
        x = layer(m, c, x);
        graph_pop(g);
    }
    if (!x)
        return;
    parts[n++] = nn_reshape(g, x, (const int64_t[]){nn_shape_width(nn_val_shape(x))}, 1);
    if (c->deep)
        parts[n++] = part_mlp(m, "deep_mlp", c->deep, part_with_dense(m, deep.deep));
    head_first_order(m, c->wide_init_fn, false,
                     nn_linear(g, "output_mlp", nn_concat(g, parts, n),
                               m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_autoint = {.name = "autoint", .build = autoint_build};
