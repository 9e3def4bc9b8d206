/* SPDX-License-Identifier: Apache-2.0 */
/* What models of several tasks have in common: experts and the gates that mix them. */
#include "model/parts.h"

struct nn_val **part_vals(struct model *m, int64_t n)
{
    return arena_alloc(&m->arena, (size_t)(n + 1) * sizeof(struct nn_val *));
}

bool part_first_group(struct model *m, struct group *out)
{
    if (!group_first(m))
        return graph_fail(m->graph, "there is no feature group") != NULL;
    if (!group_of(m, group_first(m), 0, NULL, out))
        return false;
    if (!out->deep)
        return graph_fail(m->graph, "group '%s' is a sequence", group_first(m)) != NULL;
    return true;
}

bool part_can_mix(struct model *m, int64_t n)
{
    return (n >= 1 && n <= EXPERTS_MAX) ||
           graph_fail(m->graph, "%jd experts: 1 to %d are possible", (intmax_t)n,
                      EXPERTS_MAX) != NULL;
}

/* [n, width]. */
static struct nn_val *beside(struct model *m, struct nn_val *const *experts, int64_t n)
{
    if (!part_can_mix(m, n))
        return NULL;
    int64_t width = experts[0] ? nn_shape_width(nn_val_shape(experts[0])) : 0;
    for (int64_t i = 0; i < n; i++) {
        if (!experts[i])
            return NULL;
        if (nn_shape_width(nn_val_shape(experts[i])) != width)
            return graph_fail(m->graph, "experts end in %jd and in %jd units",
                              (intmax_t)width,
                              (intmax_t)nn_shape_width(nn_val_shape(experts[i])));
    }
    return nn_reshape(m->graph, nn_concat(m->graph, experts, (int)n),
                      (const int64_t[]){n, width}, 2);
}

struct nn_val *part_mix(struct model *m, struct nn_val *gate,
                        struct nn_val *const *experts, int64_t n)
{
    return nn_mix(m->graph, nn_softmax(m->graph, gate), beside(m, experts, n));
}

bool part_experts(struct model *m, const char *name, const struct experts_conf *c,
                  struct nn_val *x, int64_t n_tasks, struct nn_val **out)
{
    struct graph *g = m->graph;
    if (!c->expert)
        return graph_fail(g, "there is no expert_mlp") != NULL;
    if (!part_can_mix(m, c->n))
        return false;
    struct nn_val **experts = part_vals(m, c->n);
    graph_push(g, name);
    for (int64_t i = 0; i < c->n; i++)
        experts[i] = part_mlp(m, arena_printf(&m->arena, "expert_mlps.%jd", (intmax_t)i),
                              c->expert, x);
    struct nn_val *all = beside(m, experts, c->n);
    for (int64_t t = 0; all && t < n_tasks; t++) {
        struct nn_val *gate = part_mlp(
            m, arena_printf(&m->arena, "gate_mlps.%jd", (intmax_t)t), c->gate, x);
        gate = nn_linear(g, arena_printf(&m->arena, "gate_finals.%jd", (intmax_t)t), gate,
                         c->n, true, ACT_NONE);
        out[t] = nn_mix(g, nn_softmax(g, gate), all);
    }
    graph_pop(g);
    return all && (n_tasks == 0 || out[n_tasks - 1]);
}

bool part_task_inputs(struct model *m, const struct pc_MLP *bottom,
                      const struct experts_conf *conf, struct nn_val *x, int64_t n_tasks,
                      struct nn_val **out)
{
    x = part_mlp(m, "bottom_mlp", bottom, x);
    if (conf->expert)
        return part_experts(m, "mmoe", conf, x, n_tasks, out);
    for (int64_t t = 0; t < n_tasks; t++)
        out[t] = x;
    return x != NULL;
}
