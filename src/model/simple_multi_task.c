/* SPDX-License-Identifier: Apache-2.0 */
/* SimpleMultiTask: tasks that share nothing but the vectors of their features. */
#include "model/parts.h"

static void simple_multi_task_build(struct model *m)
{
    const struct pc_SimpleMultiTask *c = (const void *)m->message;
    struct nn_val **x = part_vals(m, c->n_task_towers);
    struct group in;
    if (!part_first_group(m, &in))
        return;
    for (int64_t t = 0; t < c->n_task_towers; t++)
        x[t] = in.deep;
    head_towers(m, c->task_towers, c->n_task_towers, x);
}

const struct model_ops model_simple_multi_task = {.name = "simple_multi_task",
                                                  .build = simple_multi_task_build};
