/* SPDX-License-Identifier: Apache-2.0 */
/* BST (Chen et al. 2019): layers of a transformer over the item and the history of the
 * user. Where a position stands in time is a feature like others.
 */
#include <math.h>

#include "model/parts.h"

static struct nn_val *norm(struct model *m, const struct pc_BST *c, const char *name,
                           struct nn_val *x)
{
    return c->use_ln ? nn_layer_norm(m->graph, name, x) : x;
}

/* Heads weigh by softmax(q . k / sqrt(width of all heads)). */
static struct nn_val *attention(struct model *m, const struct pc_BST *c, struct nn_val *x,
                                int64_t d)
{
    struct graph *g = m->graph;
    int64_t n = (int64_t)c->num_heads * c->head_dim;
    struct nn_val *q = nn_linear(g, "query", x, n, false, ACT_NONE);
    struct nn_val *k = nn_linear(g, "key", x, n, false, ACT_NONE);
    struct nn_val *v = nn_linear(g, "value", x, n, false, ACT_NONE);
    q = nn_scale(g, q, (float)(1.0 / sqrt((double)c->num_heads)), 0.0f);
    struct nn_val *y = nn_seq_attention(g, q, k, v, c->num_heads, 0.0);
    return nn_linear(g, "out", y, d, false, ACT_NONE);
}

static struct nn_val *layer(struct model *m, const struct pc_BST *c, struct nn_val *x)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    int64_t d = nn_shape_width(nn_val_shape(x));
    x = nn_add(g, x, attention(m, c, norm(m, c, "norm1", x), d));
    struct nn_val *h = norm(m, c, "norm2", x);
    h = nn_linear(g, "ffn.0", h, c->ffn_units, true, ACT_RELU);
    return nn_add(g, x, nn_linear(g, "ffn.1", h, d, true, ACT_NONE));
}

static void bst_build(struct model *m)
{
    const struct pc_BST *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group seq;
    if (!group_of(m, "seq", 0, NULL, &seq))
        return;
    if (!seq.query) {
        graph_fail(g, "group 'seq' holds no feature of the item");
        return;
    }
    struct nn_val *x = nn_seq_prepend(g, seq.query, seq.sequence);
    for (uint32_t i = 0; i < c->num_layers; i++) {
        graph_push(g, arena_printf(&m->arena, "encoder.%u", i));
        x = layer(m, c, x);
        graph_pop(g);
    }
    struct nn_val *h = nn_seq_sum(g, NULL, norm(m, c, "norm", x));
    h = part_mlp(m, "deep_mlp", c->deep, part_with_rest(m, h));
    head_first_order(
        m, c->wide_init_fn, false,
        nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_bst = {.name = "bst", .build = bst_build};
