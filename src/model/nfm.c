/* SPDX-License-Identifier: Apache-2.0 */
/* NFM (He and Chua 2017): a net on the products of all pairs of fields, added up. */
#include "model/parts.h"

static void nfm_build(struct model *m)
{
    const struct pc_NFM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    struct nn_val *h = nn_fm(g, part_deep_fields(m, &deep));
    h = part_mlp(m, "deep_mlp", c->deep, h);
    head_first_order(
        m, c->wide_init_fn, true,
        nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_nfm = {.name = "nfm", .build = nfm_build};
