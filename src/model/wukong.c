/* SPDX-License-Identifier: Apache-2.0 */
/* WuKong (Zhang et al. 2024): layers of a factorisation machine block beside a linear
 * compression of fields. Groups as for DLRM.
 */
#include <math.h>

#include "model/parts.h"

/* x [n, d] -> [out, d]: fields mixed by a parameter [n, out]. */
static struct nn_val *mix_fields(struct model *m, const char *name, struct nn_val *x,
                                 int64_t out)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    double bound = sqrt(6.0 / (double)out);
    graph_push(g, name);
    struct param *w =
        nn_param(g, "weight", (const int64_t[]){nn_val_shape(x)->dims[0], out}, 2,
                 (struct nn_init){INIT_UNIFORM, -bound, bound}, true);
    graph_pop(g);
    return nn_mix_fields(g, w, x);
}

/* x (x^T y), normalised, through a net, as fields again. */
static struct nn_val *machine(struct model *m, const struct pc_WuKongLayer *c,
                              struct nn_val *x)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    int64_t n = nn_val_shape(x)->dims[0], d = nn_val_shape(x)->dims[1];
    int64_t k = c->compressed_feature_num;
    double bound = sqrt(6.0 / (double)k);
    graph_push(g, "fmb");
    struct param *y = nn_param(g, "weight", (const int64_t[]){n, k}, 2,
                               (struct nn_init){INIT_UNIFORM, -bound, bound}, true);
    struct nn_val *p = nn_product(g, x, nn_transpose(g, nn_mix_fields(g, y, x)));
    p = nn_layer_norm(g, "norm", nn_reshape(g, p, (const int64_t[]){n * k}, 1));
    p = part_mlp(m, "mlp", c->feature_num_mlp, p);
    p = nn_linear(g, "feature_out_liner", p, c->fmb_feature_num * d, true, ACT_NONE);
    graph_pop(g);
    return p;
}

static struct nn_val *layer(struct model *m, const struct pc_WuKongLayer *c,
                            struct nn_val *x)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    int64_t n = nn_val_shape(x)->dims[0], d = nn_val_shape(x)->dims[1];
    int64_t out = (int64_t)c->lcb_feature_num + c->fmb_feature_num;
    if (c->lcb_feature_num < 1 || c->fmb_feature_num < 1 || c->compressed_feature_num < 1)
        return graph_fail(g, "a layer needs lcb_feature_num, fmb_feature_num and "
                             "compressed_feature_num above 0");
    struct nn_val *linear = mix_fields(m, "lcb", x, c->lcb_feature_num);
    struct nn_val *parts[] = {
        machine(m, c, x),
        nn_reshape(g, linear, (const int64_t[]){c->lcb_feature_num * d}, 1)};
    struct nn_val *both =
        nn_reshape(g, nn_concat(g, parts, 2), (const int64_t[]){out, d}, 2);
    struct nn_val *rest = n == out ? x : mix_fields(m, "residual_projection", x, out);
    return nn_layer_norm(g, "norm", nn_add(g, both, rest));
}

static void wukong_build(struct model *m)
{
    const struct pc_WuKong *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group sparse, dense;
    bool single = m->conf->model_config->n_feature_groups == 1;
    struct nn_val *z = NULL;
    if (!group_of(m, single ? group_first(m) : "sparse", 0, NULL, &sparse))
        return;
    if (!single && group_exists(m, "dense")) {
        if (!group_of(m, "dense", 0, NULL, &dense))
            return;
        z = part_mlp(m, "dense_mlp", c->dense_mlp, dense.deep);
    }
    struct nn_val *x = part_fields(m, &sparse, z);
    for (int64_t i = 0; i < c->n_wukong_layers; i++) {
        graph_push(g, arena_printf(&m->arena, "_wukong_layers.%jd", (intmax_t)i));
        x = layer(m, c->wukong_layers[i], x);
        graph_pop(g);
    }
    if (!x)
        return;
    x = nn_reshape(g, x, (const int64_t[]){nn_shape_width(nn_val_shape(x))}, 1);
    struct nn_val *h = part_mlp(m, "final_mlp", c->final, x);
    head_single(m, nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true,
                             ACT_NONE));
}

const struct model_ops model_wukong = {.name = "wukong", .build = wukong_build};
