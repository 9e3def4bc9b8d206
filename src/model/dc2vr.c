/* SPDX-License-Identifier: Apache-2.0 */
/* DC2VR: conversion rates freed of what decides about clicks. A task is shifted, in a few
 * directions that stay orthonormal, by how it differs there from earlier tasks; those do
 * not move by it.
 */
#include <string.h>

#include "model/parts.h"

static int64_t earlier(const struct pc_DC2VR *c, const char *name, int64_t before)
{
    for (int64_t i = 0; i < before; i++)
        if (strcmp(c->task_towers[i]->tower_name, name) == 0)
            return i;
    return -1;
}

/* The values of the tasks that shift task t, side by side. */
static struct nn_val *sources(struct model *m, const struct pc_DC2VR *c, int64_t t,
                              struct nn_val *const *shifted)
{
    const struct pc_InterventionTaskTower *tower = c->task_towers[t];
    struct nn_val *parts[OP_INPUTS_MAX];
    int n = 0;
    for (int64_t i = 0; i < tower->n_intervention_tower_names && n < OP_INPUTS_MAX; i++) {
        int64_t k = earlier(c, tower->intervention_tower_names[i], t);
        if (k < 0)
            return graph_fail(m->graph, "task '%s': there is no task '%s' before it",
                              tower->tower_name, tower->intervention_tower_names[i]);
        parts[n++] = shifted[k];
    }
    if (n == 0)
        return graph_fail(m->graph,
                          "task '%s': low_rank_dim without "
                          "intervention_tower_names",
                          tower->tower_name);
    return nn_concat(m->graph, parts, n);
}

/* dropout((own R_b - source R_s) R_b' + own). */
static struct nn_val *intervene(struct model *m, const struct pc_DC2VR *c, int64_t t,
                                struct nn_val *own, struct nn_val *const *shifted)
{
    const struct pc_InterventionTaskTower *tower = c->task_towers[t];
    struct graph *g = m->graph;
    if (!tower->has_low_rank_dim)
        return own;
    struct nn_val *source = sources(m, c, t, shifted);
    if (!source || !own)
        return NULL;
    graph_push(g, "intervention");
    graph_push(g, tower->tower_name);
    struct nn_rotation base = nn_rotation(
        g, "base_rotate_layer", nn_shape_width(nn_val_shape(own)), tower->low_rank_dim);
    struct nn_rotation from =
        nn_rotation(g, "source_rotate_layer", nn_shape_width(nn_val_shape(source)),
                    tower->low_rank_dim);
    graph_pop(g);
    graph_pop(g);
    struct nn_val *gap = nn_sub(g, nn_rotate(g, base, own, false),
                                nn_rotate(g, from, nn_stop_gradient(g, source), false));
    struct nn_val *y = nn_add(g, nn_rotate(g, base, gap, true), own);
    return nn_dropout(g, y, tower->dropout_ratio);
}

static void dc2vr_build(struct model *m)
{
    const struct pc_DC2VR *c = (const void *)m->message;
    struct experts_conf experts = {
        .expert = c->expert_mlp, .gate = c->gate_mlp, .n = c->num_expert};
    int64_t n = c->n_task_towers;
    struct nn_val **x = part_vals(m, n), **shifted = part_vals(m, n);
    struct group in;
    if (!part_first_group(m, &in) ||
        !part_task_inputs(m, c->bottom_mlp, &experts, in.deep, n, x))
        return;
    for (int64_t t = 0; t < n; t++) {
        const struct pc_InterventionTaskTower *tower = c->task_towers[t];
        graph_push(m->graph, "task_mlps");
        struct nn_val *own = part_mlp(m, tower->tower_name, tower->mlp, x[t]);
        graph_pop(m->graph);
        shifted[t] = intervene(m, c, t, own, shifted);
    }
    for (int64_t t = 0; t < n; t++) {
        struct model_task task = head_of_intervention(m, c->task_towers[t], t);
        head_add(m, &task,
                 nn_linear(m->graph,
                           arena_printf(&m->arena, "task_outputs.%jd", (intmax_t)t),
                           shifted[t], c->task_towers[t]->num_class, true, ACT_NONE));
    }
}

const struct model_ops model_dc2vr = {.name = "dc2vr", .build = dc2vr_build};
