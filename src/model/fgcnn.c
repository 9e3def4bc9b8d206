/* SPDX-License-Identifier: Apache-2.0 */
/* FGCNN (Liu et al. 2019): layers of convolution along the fields make new fields; a net
 * reads old and new ones and the products of all their pairs.
 */
#include "model/parts.h"

static const uint32_t usual_filters[] = {38, 40, 42, 44};

/* The fields [n, d] that the convolutions read: their own tables when there are such. */
static struct nn_val *source_of(struct model *m, struct nn_val *fields)
{
    struct group own;
    if (!fields || !group_exists(m, "generate"))
        return fields;
    if (!group_of(m, "generate", 0, NULL, &own))
        return NULL;
    struct nn_val *x = group_fields(m, &own);
    if (x && nn_val_shape(x)->dims[1] != nn_val_shape(fields)->dims[1])
        return graph_fail(m->graph,
                          "fields of group 'generate' have width %jd, of group "
                          "'deep' %jd",
                          (intmax_t)nn_val_shape(x)->dims[1],
                          (intmax_t)nn_val_shape(fields)->dims[1]);
    return x;
}

/* x [d, n, maps] -> [d, n / pooling_height, filters]. The tanh follows the maximum, which
 * it does not change: there are fewer of them so.
 */
static struct nn_val *convolve(struct model *m, const struct pc_FGCNN *c,
                               struct nn_val *x, int64_t filters)
{
    struct graph *g = m->graph;
    x = nn_field_conv(g, "conv", x, filters, c->conv_height, !c->use_bn);
    if (c->use_bn)
        x = nn_batch_norm(g, "bn", x, true);
    return nn_act(g, nn_field_max(g, x, c->pooling_height), ACT_TANH, 0.0f);
}

/* What a layer left, [d, n, maps], all of it together as new fields side by side. */
static struct nn_val *recombine(struct model *m, const struct pc_FGCNN *c,
                                struct nn_val *x)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    const int64_t *dims = nn_val_shape(x)->dims;
    int64_t out = dims[0] * dims[1] * c->new_maps;
    x = nn_reshape(g, x, (const int64_t[]){nn_shape_width(nn_val_shape(x))}, 1);
    return nn_linear(g, "recombination", x, out, true, ACT_TANH);
}

/* The fields [n, d] and all new ones side by side, of width d each. */
static struct nn_val *generate(struct model *m, const struct pc_FGCNN *c,
                               struct nn_val *fields, struct nn_val *source)
{
    struct graph *g = m->graph;
    struct nn_val *parts[OP_INPUTS_MAX];
    if (!fields || !source)
        return NULL;
    const uint32_t *filters = c->n_conv_filters ? c->conv_filters : usual_filters;
    int64_t layers =
        c->n_conv_filters ? c->n_conv_filters : (int64_t)ARRAY_LEN(usual_filters);
    int64_t n = nn_val_shape(source)->dims[0], d = nn_val_shape(source)->dims[1];
    struct nn_val *x =
        nn_reshape(g, nn_transpose(g, source), (const int64_t[]){d, n, 1}, 3);
    parts[0] =
        nn_reshape(g, fields, (const int64_t[]){nn_shape_width(nn_val_shape(fields))}, 1);
    for (int64_t i = 0; i < layers; i++) {
        if (n < c->pooling_height || i + 1 == OP_INPUTS_MAX)
            return graph_fail(g, "no field is left for layer %jd of conv_filters",
                              (intmax_t)i + 1);
        n /= c->pooling_height;
        graph_push(g, arena_printf(&m->arena, "generation.%jd", (intmax_t)i));
        x = convolve(m, c, x, filters[i]);
        parts[i + 1] = recombine(m, c, x);
        graph_pop(g);
    }
    return nn_concat(g, parts, (int)layers + 1);
}

static void fgcnn_build(struct model *m)
{
    const struct pc_FGCNN *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    struct nn_val *fields = part_deep_fields(m, &deep);
    struct nn_val *all = generate(m, c, fields, source_of(m, fields));
    if (!all)
        return;
    int64_t d = nn_val_shape(fields)->dims[1], n = nn_shape_width(nn_val_shape(all)) / d;
    struct nn_val *parts[] = {
        all, nn_pair_dots(g, nn_reshape(g, all, (const int64_t[]){n, d}, 2))};
    struct nn_val *h = part_with_dense(m, nn_concat(g, parts, 2));
    h = part_mlp(m, "deep_mlp", c->deep, h);
    head_first_order(
        m, c->wide_init_fn, false,
        nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_fgcnn = {.name = "fgcnn", .build = fgcnn_build};
