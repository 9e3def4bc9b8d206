/* SPDX-License-Identifier: Apache-2.0 */
/* Progressive layered extraction (Tang et al. 2020): layers of experts, some of them
 * private to a task, some shared; each task has a gate over its own and the shared ones,
 * and what is shared goes on through a gate over all.
 */
#include "model/parts.h"

/* What a layer takes and gives: a value per task, and the shared one. */
struct stage {
    struct nn_val **task;
    struct nn_val *shared;
    int64_t n_tasks;
};

static bool add_experts(struct model *m, const char *name, const struct pc_MLP *conf,
                        int64_t n, struct nn_val *x, struct nn_val **out)
{
    if (n > 0 && !conf)
        return graph_fail(m->graph, "%s: there is no net", name) != NULL;
    for (int64_t i = 0; i < n; i++)
        out[i] =
            part_mlp(m, arena_printf(&m->arena, "%s.%jd", name, (intmax_t)i), conf, x);
    return true;
}

/* all: the experts of every task in turn, then the shared ones. */
static void extract(struct model *m, const struct pc_ExtractionNetwork *c, bool last,
                    struct stage *s)
{
    struct graph *g = m->graph;
    int64_t own = c->expert_num_per_task, common = c->share_num;
    int64_t n = s->n_tasks * own + common;
    if (n > EXPERTS_MAX || own + common < 1) {
        graph_fail(g, "extraction network '%s': %jd experts, 1 to %d are possible",
                   c->network_name, (intmax_t)n, EXPERTS_MAX);
        return;
    }
    struct nn_val **all = part_vals(m, n), **next = part_vals(m, s->n_tasks);
    struct nn_val **shared = all + s->n_tasks * own, **seen = part_vals(m, own + common);
    if (!add_experts(m, "_shared_layers", c->share_expert_net, common, s->shared, shared))
        return;
    for (int64_t t = 0; t < s->n_tasks; t++) {
        const char *name = arena_printf(&m->arena, "_task_layers.%jd", (intmax_t)t);
        if (!add_experts(m, name, c->task_expert_net, own, s->task[t], all + t * own))
            return;
        for (int64_t i = 0; i < own + common; i++)
            seen[i] = i < own ? all[t * own + i] : shared[i - own];
        struct nn_val *gate =
            nn_linear(g, arena_printf(&m->arena, "_task_gates.%jd", (intmax_t)t),
                      s->task[t], own + common, true, ACT_NONE);
        next[t] = part_mix(m, gate, seen, own + common);
    }
    if (!last)
        s->shared = part_mix(
            m, nn_linear(g, "_shared_gate", s->shared, n, true, ACT_NONE), all, n);
    s->task = next;
}

static void ple_build(struct model *m)
{
    const struct pc_PLE *c = (const void *)m->message;
    int64_t n = c->n_extraction_networks;
    struct stage s = {.task = part_vals(m, c->n_task_towers),
                      .n_tasks = c->n_task_towers};
    struct group in;
    if (!part_first_group(m, &in))
        return;
    if (n == 0) {
        graph_fail(m->graph, "there are no extraction_networks");
        return;
    }
    s.shared = in.deep;
    for (int64_t t = 0; t < s.n_tasks; t++)
        s.task[t] = in.deep;
    for (int64_t i = 0; i < n; i++) {
        graph_push(m->graph,
                   arena_printf(&m->arena, "_extraction_nets.%jd", (intmax_t)i));
        extract(m, c->extraction_networks[i], i + 1 == n, &s);
        graph_pop(m->graph);
    }
    head_towers(m, c->task_towers, c->n_task_towers, s.task);
}

const struct model_ops model_ple = {.name = "ple", .build = ple_build};
