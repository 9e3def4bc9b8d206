/* SPDX-License-Identifier: Apache-2.0 */
/* Shared bottom (Caruana 1997): one net below the nets of all tasks. */
#include "model/parts.h"

static void share_bottom_build(struct model *m)
{
    const struct pc_ShareBottom *c = (const void *)m->message;
    struct nn_val **x = part_vals(m, c->n_task_towers);
    struct group in;
    if (!part_first_group(m, &in))
        return;
    struct nn_val *h = part_mlp(m, "bottom_mlp", c->bottom_mlp, in.deep);
    for (int64_t t = 0; t < c->n_task_towers; t++)
        x[t] = h;
    head_towers(m, c->task_towers, c->n_task_towers, x);
}

const struct model_ops model_share_bottom = {.name = "share_bottom",
                                             .build = share_bottom_build};
