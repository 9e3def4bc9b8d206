/* SPDX-License-Identifier: Apache-2.0 */
/* MaskNet (Wang et al. 2021): blocks that multiply features with masks made from the
 * features of the same row.
 */
#include "model/parts.h"

/* relu(norm(linear(x * mask))), the mask from the raw features. */
static struct nn_val *block(struct model *m, const char *name,
                            const struct pc_MaskBlock *c, struct nn_val *x,
                            struct nn_val *raw)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    int64_t in = nn_shape_width(nn_val_shape(x));
    int64_t agg = c->reduction_ratio > 0 ? (int64_t)((double)in * c->reduction_ratio)
                                         : (int64_t)c->aggregation_dim;
    if (agg < 1 || c->hidden_dim < 1)
        return graph_fail(g,
                          "%s: aggregation to %jd, hidden_dim %u: both must be above 0",
                          name, (intmax_t)agg, c->hidden_dim);
    graph_push(g, name);
    struct nn_val *mask = nn_linear(g, "mask_generator.0", raw, agg, true, ACT_RELU);
    mask = nn_linear(g, "mask_generator.2", mask, in, true, ACT_NONE);
    struct nn_val *y =
        nn_linear(g, "ffn.0", nn_mul(g, x, mask), c->hidden_dim, true, ACT_NONE);
    y = nn_act(g, nn_layer_norm(g, "ffn.1", y), ACT_RELU, 0);
    graph_pop(g);
    return y;
}

/* Blocks side by side on the normalised features, or one behind the other. */
static struct nn_val *blocks(struct model *m, const struct pc_MaskNetModule *c,
                             struct nn_val *raw)
{
    struct graph *g = m->graph;
    struct nn_val *parts[OP_INPUTS_MAX], *first = nn_layer_norm(g, "ln_emb", raw),
                                         *x = first;
    if (!c->mask_block || c->n_mask_blocks < 1 || c->n_mask_blocks > OP_INPUTS_MAX)
        return graph_fail(g, "mask_net_module: %u blocks, 1 to %d are possible",
                          c->n_mask_blocks, OP_INPUTS_MAX);
    for (uint32_t i = 0; i < c->n_mask_blocks; i++) {
        const char *name = arena_printf(&m->arena, "mask_blocks.%u", i);
        parts[i] = block(m, name, c->mask_block, c->use_parallel ? first : x, raw);
        x = parts[i];
    }
    return c->use_parallel ? nn_concat(g, parts, (int)c->n_mask_blocks) : x;
}

struct nn_val *part_mask_net(struct model *m, const char *name,
                             const struct pc_MaskNetModule *c, struct nn_val *x)
{
    graph_push(m->graph, name);
    struct nn_val *h = part_mlp(m, "top_mlp", c->top_mlp, blocks(m, c, x));
    graph_pop(m->graph);
    return h;
}

static void mask_net_build(struct model *m)
{
    const struct pc_MaskNet *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group all;
    if (!c->mask_net_module) {
        graph_fail(g, "there is no mask_net_module");
        return;
    }
    if (!part_first_group(m, &all))
        return;
    struct nn_val *h = part_mask_net(m, "mask_net_layer", c->mask_net_module, all.deep);
    head_single(m, nn_linear(g, "output_linear", h, m->conf->model_config->num_class,
                             false, ACT_NONE));
}

const struct model_ops model_mask_net = {.name = "mask_net", .build = mask_net_build};
