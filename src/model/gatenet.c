/* SPDX-License-Identifier: Apache-2.0 */
/* GateNet (Huang et al. 2020): fields and hidden layers are multiplied by gates that they
 * make themselves.
 */
#include "model/parts.h"

/* sigmoid(w_i . v_i) * v_i for each field i. */
static struct nn_val *gated_fields(struct model *m, struct nn_val *x)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    int64_t n = nn_val_shape(x)->dims[0];
    struct nn_val *gates = nn_field_linear(g, "embedding_gate", x, false, 1, NULL);
    gates = nn_reshape(g, gates, (const int64_t[]){n}, 1);
    x = nn_gate_fields(g, nn_act(g, gates, ACT_SIGMOID, 0), x);
    return x ? nn_reshape(g, x, (const int64_t[]){nn_shape_width(nn_val_shape(x))}, 1)
             : NULL;
}

/* The net, each layer h followed by h * tanh(W h). */
static struct nn_val *gated_net(struct model *m, const struct pc_MLP *conf,
                                struct nn_val *h)
{
    struct graph *g = m->graph;
    for (int64_t i = 0; i < conf->n_hidden_units; i++) {
        struct pc_MLP one = *conf;
        one.hidden_units += i;
        one.n_hidden_units = 1;
        if (conf->n_dropout_ratio > 1) {
            one.dropout_ratio += i < conf->n_dropout_ratio ? i : 0;
            one.n_dropout_ratio = 1;
        }
        h = part_mlp(m, arena_printf(&m->arena, "deep_mlp.%jd", (intmax_t)i), &one, h);
        struct nn_val *gate =
            nn_linear(g, arena_printf(&m->arena, "hidden_gate.%jd", (intmax_t)i), h,
                      conf->hidden_units[i], false, ACT_TANH);
        h = nn_mul(g, h, gate);
    }
    return h;
}

static void gatenet_build(struct model *m)
{
    const struct pc_GateNet *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    if (!c->deep) {
        graph_fail(g, "there is no net 'deep'");
        return;
    }
    struct nn_val *x = part_deep_fields(m, &deep);
    if (!x)
        return;
    struct nn_val *h =
        part_with_dense(m, c->use_embedding_gate ? gated_fields(m, x) : deep.deep);
    h = c->use_hidden_gate ? gated_net(m, c->deep, h)
                           : part_mlp(m, "deep_mlp", c->deep, h);
    head_first_order(
        m, c->wide_init_fn, false,
        nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_gatenet = {.name = "gatenet", .build = gatenet_build};
