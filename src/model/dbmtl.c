/* SPDX-License-Identifier: Apache-2.0 */
/* Deep Bayesian multi-target learning (Wang et al. 2019): tasks stand in an order, and a
 * later one reads what earlier ones it depends on have made of the row.
 */
#include <string.h>

#include "model/parts.h"

static int64_t earlier(const struct pc_DBMTL *c, const char *name, int64_t before)
{
    for (int64_t i = 0; i < before; i++)
        if (strcmp(c->task_towers[i]->tower_name, name) == 0)
            return i;
    return -1;
}

/* The task's own value beside those of the tasks that it depends on, through its net. */
static struct nn_val *relate(struct model *m, const struct pc_DBMTL *c, int64_t t,
                             struct nn_val *own, struct nn_val *const *relations)
{
    const struct pc_BayesTaskTower *tower = c->task_towers[t];
    struct nn_val *parts[OP_INPUTS_MAX] = {own};
    int n = 1;
    if (!tower->relation_mlp)
        return own;
    for (int64_t i = 0; i < tower->n_relation_tower_names; i++) {
        int64_t k = earlier(c, tower->relation_tower_names[i], t);
        if (k < 0)
            return graph_fail(m->graph, "task '%s': there is no task '%s' before it",
                              tower->tower_name, tower->relation_tower_names[i]);
        if (n == OP_INPUTS_MAX)
            return graph_fail(m->graph, "task '%s': too many relations",
                              tower->tower_name);
        parts[n++] = relations[k];
    }
    graph_push(m->graph, "relation_mlps");
    struct nn_val *r = part_mlp(m, tower->tower_name, tower->relation_mlp,
                                nn_concat(m->graph, parts, n));
    graph_pop(m->graph);
    return r;
}

static void dbmtl_build(struct model *m)
{
    const struct pc_DBMTL *c = (const void *)m->message;
    struct experts_conf experts = {
        .expert = c->expert_mlp, .gate = c->gate_mlp, .n = c->num_expert};
    int64_t n = c->n_task_towers;
    struct nn_val **x = part_vals(m, n), **relations = part_vals(m, n);
    struct group in;
    if (!part_first_group(m, &in))
        return;
    struct nn_val *masked =
        c->mask_net ? part_mask_net(m, "mask_net", c->mask_net, in.deep) : in.deep;
    if (!part_task_inputs(m, c->bottom_mlp, &experts, masked, n, x))
        return;
    for (int64_t t = 0; t < n; t++) {
        const struct pc_BayesTaskTower *tower = c->task_towers[t];
        graph_push(m->graph, "task_mlps");
        struct nn_val *own = part_mlp(m, tower->tower_name, tower->mlp, x[t]);
        graph_pop(m->graph);
        relations[t] = relate(m, c, t, own, relations);
    }
    for (int64_t t = 0; t < n; t++) {
        struct model_task task = head_of_bayes(m, c->task_towers[t], t);
        head_add(m, &task,
                 nn_linear(m->graph,
                           arena_printf(&m->arena, "task_outputs.%jd", (intmax_t)t),
                           relations[t], c->task_towers[t]->num_class, true, ACT_NONE));
    }
}

const struct model_ops model_dbmtl = {.name = "dbmtl", .build = dbmtl_build};
