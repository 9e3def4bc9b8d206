/* SPDX-License-Identifier: Apache-2.0 */
/* FwFM (Pan et al. 2018): dot products of all pairs of fields, a weight for each pair. */
#include "model/parts.h"

static void fwfm_build(struct model *m)
{
    const struct pc_FwFM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    struct nn_val *dots = nn_pair_dots(g, part_deep_fields(m, &deep));
    struct nn_val *o =
        nn_linear(g, "pairs", dots, m->conf->model_config->num_class, true, ACT_NONE);
    head_first_order(m, c->wide_init_fn, true, o);
}

const struct model_ops model_fwfm = {.name = "fwfm", .build = fwfm_build};
