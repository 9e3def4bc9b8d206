/* SPDX-License-Identifier: Apache-2.0 */
/* TextCNN (Kim 2014): convolutions of several widths along a text, the largest value of
 * each over the text, and a net on them.
 */
#include "model/parts.h"

struct nn_val *part_text_conv(struct graph *g, const char *name, struct nn_val *x,
                              int64_t window, int64_t filters, const char *activation)
{
    struct nn_val *wide = nn_seq_around(g, x, -(window / 2), window);
    return part_act(g, name, activation,
                    nn_linear(g, name, wide, filters, true, ACT_NONE));
}

static void text_cnn_build(struct model *m)
{
    const struct pc_TextCNN *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct nn_val *found[OP_INPUTS_MAX];
    struct group in;
    if (!group_of(m, c->input, 0, NULL, &in))
        return;
    if (!in.sequence || c->n_windows < 1 || c->n_windows > OP_INPUTS_MAX) {
        graph_fail(g, "needs a sequence and 1 to %d windows", OP_INPUTS_MAX);
        return;
    }
    for (int64_t i = 0; i < c->n_windows; i++)
        found[i] = nn_seq_max(
            g, part_text_conv(g, arena_printf(&m->arena, "conv.%jd", (intmax_t)i),
                              in.sequence, c->windows[i], c->filters, c->activation));
    struct nn_val *h = part_mlp(m, "mlp", c->mlp, nn_concat(g, found, (int)c->n_windows));
    head_single(
        m, nn_linear(g, "output", h, m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_text_cnn = {.name = "text_cnn", .build = text_cnn_build};
