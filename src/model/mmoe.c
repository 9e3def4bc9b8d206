/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-gate Mixture-of-Experts (Ma et al. 2018): tasks share experts, each mixes them
 * its own way.
 */
#include "model/parts.h"

static void mmoe_build(struct model *m)
{
    const struct pc_MMoE *c = (const void *)m->message;
    struct experts_conf conf = {
        .expert = c->expert_mlp, .gate = c->gate_mlp, .n = c->num_expert};
    struct nn_val **mixed = part_vals(m, c->n_task_towers);
    struct group in;
    if (part_first_group(m, &in) &&
        part_experts(m, "mmoe", &conf, in.deep, c->n_task_towers, mixed))
        head_towers(m, c->task_towers, c->n_task_towers, mixed);
}

const struct model_ops model_mmoe = {.name = "mmoe", .build = mmoe_build};
