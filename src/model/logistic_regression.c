/* SPDX-License-Identifier: Apache-2.0 */
/* Logistic regression: a weight per id, added up, and a bias. */
#include "model/parts.h"

static void logistic_regression_build(struct model *m)
{
    const struct pc_LogisticRegression *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group wide, dense;
    if (!group_of(m, "wide", 1, c->wide_init_fn, &wide))
        return;
    struct nn_val *o = nn_bias(g, "bias", nn_row_sum(g, wide.deep));
    if (group_exists(m, "dense")) {
        if (!group_of(m, "dense", 0, NULL, &dense))
            return;
        o = nn_add(g, o, nn_linear(g, "dense_linear", dense.deep, 1, false, ACT_NONE));
    }
    head_single(m, o);
}

const struct model_ops model_logistic_regression = {.name = "logistic_regression",
                                                    .build = logistic_regression_build};
