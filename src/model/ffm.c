/* SPDX-License-Identifier: Apache-2.0 */
/* FFM (Juan et al. 2016): an id has a vector for each field that it may meet. */
#include "model/parts.h"

static void ffm_build(struct model *m)
{
    const struct pc_FFM *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group deep;
    struct nn_val *pairs =
        nn_row_sum(g, nn_aware_pairs(g, part_deep_fields(m, &deep), true));
    head_first_order(m, c->wide_init_fn, true, nn_bias(g, "bias", pairs));
}

const struct model_ops model_ffm = {.name = "ffm", .build = ffm_build};
