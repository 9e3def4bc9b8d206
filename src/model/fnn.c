/* SPDX-License-Identifier: Apache-2.0 */
/* FNN (Zhang et al. 2016): a net on vectors and weights. They have the names that `fm`
 * gives them, so its checkpoint is where to start from.
 */
#include "model/parts.h"

static void fnn_build(struct model *m)
{
    const struct pc_FNN *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    if (!group_of(m, "deep", 0, NULL, &deep))
        return;
    struct nn_val *parts[] = {deep.deep, part_weights(m, c->wide_init_fn)};
    struct nn_val *x = parts[1] ? nn_concat(g, parts, 2) : parts[0];
    struct nn_val *h = part_mlp(m, "deep_mlp", c->deep, part_with_dense(m, x));
    head_single(m, nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true,
                             ACT_NONE));
}

const struct model_ops model_fnn = {.name = "fnn", .build = fnn_build};
