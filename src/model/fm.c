/* SPDX-License-Identifier: Apache-2.0 */
/* Factorisation machine (Rendle 2010): a vector per id, all pairs by their dot product.
 */
#include "model/parts.h"

static void fm_build(struct model *m)
{
    const struct pc_FM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    struct nn_val *pairs = nn_row_sum(g, nn_fm(g, part_deep_fields(m, &deep)));
    head_first_order(m, c->wide_init_fn, true, nn_bias(g, "bias", pairs));
}

const struct model_ops model_fm = {.name = "fm", .build = fm_build};
