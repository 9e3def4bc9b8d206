/* SPDX-License-Identifier: Apache-2.0 */
/* PEPNet (Chang et al. 2023): features are scaled by a gate that knows the domain, layers
 * of each task by gates that know the user. Gates read the features through a stop-gradient.
 * With domains every task has a head for each, and a row learns in its own.
 */
#include "model/parts.h"

/* What a gate reads: what it knows of its own, which learns, in front of the features. */
struct seen {
    struct nn_val *own, *all;
};

static struct seen beside(struct model *m, struct nn_val *own, struct nn_val *x)
{
    struct nn_val *parts[] = {nn_stop_gradient(m->graph, own),
                              nn_stop_gradient(m->graph, x)};
    return (struct seen){.own = own, .all = nn_concat(m->graph, parts, 2)};
}

/* x * gamma * sigmoid(linear(relu(linear(seen)))). */
static struct nn_val *gated(struct model *m, const char *name, struct seen by,
                            int64_t hidden, double gamma, struct nn_val *x)
{
    struct graph *g = m->graph;
    if (!x)
        return NULL;
    graph_push(g, name);
    struct nn_val *h =
        nn_linear_front(g, "dense_layers.0", by.all, by.own, hidden, ACT_RELU);
    h = nn_linear(g, "dense_layers.2", h, nn_shape_width(nn_val_shape(x)), true,
                  ACT_SIGMOID);
    graph_pop(g);
    return nn_mul_by(g, h, x, (float)gamma);
}

/* The group, or NULL when there is none (that is no failure). */
static struct nn_val *optional(struct model *m, const char *name)
{
    struct group g;
    if (!group_exists(m, name) || !group_of(m, name, 0, NULL, &g))
        return NULL;
    return g.deep ? g.deep : graph_fail(m->graph, "group '%s' is a sequence", name);
}

static struct nn_val *scaled(struct model *m, const struct pc_PEPNet *c, struct nn_val *x,
                             struct nn_val *domain)
{
    int64_t width = nn_shape_width(nn_val_shape(x));
    int64_t hidden = c->has_epnet_hidden_unit ? c->epnet_hidden_unit : width;
    return gated(m, "epnet.gate_nu", beside(m, domain, x), hidden, (double)c->epnet_gamma,
                 x);
}

/* The layers of one task; all are counted through. */
static struct nn_val *personal(struct model *m, const struct pc_PEPNet *c, int64_t task,
                               struct nn_val *x, struct seen by)
{
    struct graph *g = m->graph;
    int64_t n = c->n_ppnet_hidden_units, n_drop = c->n_ppnet_dropout_ratio;
    graph_push(g, "ppnet");
    for (int64_t i = 0; i < n; i++) {
        intmax_t k = task * n + i;
        int64_t units = c->ppnet_hidden_units[i];
        double drop = n_drop ? c->ppnet_dropout_ratio[n_drop == 1 ? 0 : i] : 0;
        x = nn_linear(g, arena_printf(&m->arena, "linears.%jd", k), x, units, true,
                      ACT_NONE);
        x = part_act(g, arena_printf(&m->arena, "activations.%jd", k),
                     c->ppnet_activation, x);
        x = gated(m, arena_printf(&m->arena, "gate_nus.%jd", k), by, units,
                  (double)c->ppnet_gamma, x);
        x = nn_dropout(g, x, drop);
    }
    graph_pop(g);
    return x;
}

static bool personal_tasks(struct model *m, const struct pc_PEPNet *c, struct nn_val *x,
                           struct nn_val **tasks)
{
    int64_t n = c->n_ppnet_hidden_units, n_drop = c->n_ppnet_dropout_ratio;
    struct nn_val *user = optional(m, "uia");
    for (int64_t t = 0; t < c->n_task_towers; t++)
        tasks[t] = x;
    if (!group_exists(m, "uia"))
        return true;
    if (n == 0 || (n_drop > 1 && n_drop != n))
        return graph_fail(m->graph, "%jd ppnet_hidden_units and %jd ppnet_dropout_ratio",
                          (intmax_t)n, (intmax_t)n_drop) != NULL;
    if (!user)
        return false;
    struct seen by = beside(m, user, x);
    for (int64_t t = 0; t < c->n_task_towers; t++)
        tasks[t] = personal(m, c, t, x, by);
    return true;
}

/* One task with a head per domain: each is an output, the row's own is learnt. */
static void domain_task(struct model *m, const struct pc_PEPNet *c, int64_t task,
                        struct nn_val *x, struct nn_val *domain)
{
    const struct pc_TaskTower *tower = c->task_towers[task];
    struct nn_val *heads[OP_INPUTS_MAX];
    int64_t n = c->task_domain_num;
    bool value = false, chance = false;
    for (int64_t i = 0; i < tower->n_losses; i++) {
        value |= tower->losses[i]->l2_loss != NULL;
        chance |= tower->losses[i]->l2_loss == NULL;
    }
    for (int64_t d = 0; d < n; d++) {
        graph_push(m->graph,
                   arena_printf(&m->arena, "_task_tower.%jd", (intmax_t)(task * n + d)));
        struct nn_val *h = part_mlp(m, "tower_mlp", tower->mlp, x);
        heads[d] = nn_linear(m->graph, "linear", h, 1, true, ACT_NONE);
        graph_pop(m->graph);
        const char *end =
            arena_printf(&m->arena, "%s_%jd", tower->tower_name, (intmax_t)d);
        if (chance) {
            nn_output(m->graph, arena_printf(&m->arena, "logits_%s", end), heads[d]);
            nn_output(m->graph, arena_printf(&m->arena, "probs_%s", end),
                      nn_act(m->graph, heads[d], ACT_SIGMOID, 0));
        }
        if (value)
            nn_output(m->graph, arena_printf(&m->arena, "y_%s", end), heads[d]);
    }
    struct model_task t = head_of_tower(tower);
    t.inner = true;
    head_add(m, &t, nn_pick(m->graph, nn_concat(m->graph, heads, (int)n), domain));
}

static void domain_tasks(struct model *m, const struct pc_PEPNet *c,
                         struct nn_val *const *tasks)
{
    struct nn_shape one = {.axis = AXIS_BATCH, .n_dims = 1, .dims = {1}};
    int64_t n = c->task_domain_num;
    if (n < 1 || n > OP_INPUTS_MAX) {
        graph_fail(m->graph, "task_domain_num %jd: 1 to %d are possible", (intmax_t)n,
                   OP_INPUTS_MAX);
        return;
    }
    struct model_column domain = {.name = c->domain_input_name, .below = n};
    domain.val = nn_input(m->graph, "domain:", &one, false);
    VEC_PUSH(&m->columns, domain);
    for (int64_t t = 0; t < c->n_task_towers; t++) {
        if (c->task_towers[t]->num_class != 1) {
            graph_fail(m->graph, "task '%s': heads per domain have num_class 1, not %u",
                       c->task_towers[t]->tower_name, c->task_towers[t]->num_class);
            return;
        }
        domain_task(m, c, t, tasks[t], domain.val);
    }
}

static void pepnet_build(struct model *m)
{
    const struct pc_PEPNet *c = (const void *)m->message;
    struct nn_val **tasks = part_vals(m, c->n_task_towers);
    struct group all;
    if (!group_of(m, "all", 0, NULL, &all))
        return;
    if (!all.deep) {
        graph_fail(m->graph, "group 'all' is a sequence");
        return;
    }
    struct nn_val *x = all.deep, *domain = optional(m, "domain");
    if (group_exists(m, "domain")) {
        if (!domain)
            return;
        x = scaled(m, c, x, domain);
    }
    if (!personal_tasks(m, c, x, tasks))
        return;
    if (c->domain_input_name[0])
        domain_tasks(m, c, tasks);
    else
        head_towers(m, c->task_towers, c->n_task_towers, tasks);
}

const struct model_ops model_pepnet = {.name = "pepnet", .build = pepnet_build};
