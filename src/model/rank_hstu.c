/* SPDX-License-Identifier: Apache-2.0 */
/* What dlrm_hstu and ultra_hstu have in common: candidates of a user, each ranked by the
 * product of what the sequence models and a net on its own features say of it, with tasks
 * whose labels are lists, one per candidate.
 */
#include "model/parts.h"

static struct nn_val *turned(struct model *m, const struct part_rank_hstu_conf *c,
                             struct nn_val *x)
{
    return x && !c->ascending ? nn_seq_reverse(m->graph, x) : x;
}

/* Candidates and their times, in the order of time. */
static bool candidates(struct model *m, const struct part_rank_hstu_conf *c,
                       struct part_hstu_conf *out)
{
    struct group g;
    if (!group_of(m, "candidate", 0, NULL, &g) || !g.sequence)
        return false;
    out->targets = turned(m, c, g.sequence);
    if (group_exists(m, "candidate_timestamp"))
        out->target_times = turned(m, c, group_along(m, "candidate_timestamp", g.axis));
    if (out->target_times && nn_shape_width(nn_val_shape(out->target_times)) != 1)
        graph_fail(m->graph,
                   "group 'candidate_timestamp' has %jd values per candidate, "
                   "not one",
                   (intmax_t)nn_shape_width(nn_val_shape(out->target_times)));
    return true;
}

/* What all channels say of the candidates, side by side. */
static struct nn_val *channels(struct model *m, const struct part_rank_hstu_conf *c,
                               struct part_hstu_conf *one)
{
    struct graph *g = m->graph;
    struct nn_val *parts[OP_INPUTS_MAX];
    if (c->n < 1 || c->n > OP_INPUTS_MAX)
        return graph_fail(g, "there are %jd hstu; 1 to %d fit", (intmax_t)c->n,
                          OP_INPUTS_MAX);
    for (int64_t i = 0; i < c->n; i++) {
        const char *name = c->hstu[i]->name;
        one->hstu = c->hstu[i];
        one->history = name && name[0] ? name : "uih";
        one->name = c->n == 1
                        ? "_hstu_transducer"
                        : arena_printf(&m->arena, "_hstu_transducer._transducers.%jd",
                                       (intmax_t)i);
        parts[i] = part_hstu(m, one);
        if (!parts[i])
            return NULL;
    }
    return c->n == 1 ? parts[0] : nn_concat(g, parts, (int)c->n);
}

static void add_heads(struct model *m, const struct part_rank_hstu_conf *c,
                      struct nn_val *x)
{
    struct graph *g = m->graph;
    const struct pc_FusionMTLTower *t = c->tower;
    int64_t outputs = 0, at = 0;
    for (int64_t i = 0; i < t->n_task_configs; i++)
        outputs += t->task_configs[i]->num_class;
    if (t->n_task_configs == 0 || outputs == 0) {
        graph_fail(g, "fusion_mtl_tower has no task_configs");
        return;
    }
    size_t from = part_count_params(m);
    graph_push(g, "_multitask_module");
    x = part_mlp(m, "tower_mlp", t->mlp, x);
    x = turned(m, c, nn_linear(g, "linear", x, outputs, true, ACT_NONE));
    graph_pop(g);
    part_xavier(m, from);
    for (int64_t i = 0; x && i < t->n_task_configs; i++) {
        struct model_task task =
            head_of_fusion(t->task_configs[i], nn_val_shape(x)->axis);
        head_add(m, &task,
                 t->n_task_configs == 1 ? x : nn_slice(g, x, at, task.num_class));
        at += task.num_class;
    }
}

void part_rank_hstu(struct model *m, const struct part_rank_hstu_conf *c)
{
    struct graph *g = m->graph;
    struct part_hstu_conf one = {.max_seq_len = c->max_seq_len,
                                 .newest_first = !c->ascending};
    if (!c->tower) {
        graph_fail(g, "there is no fusion_mtl_tower");
        return;
    }
    m->jagged = true;
    if (c->global_average)
        m->one_shard = "enable_global_average_loss (true unless set: with false each "
                       "shard's mean counts by its rows)";
    if (!part_hstu_context(m, c->one_context_token, &one) || !candidates(m, c, &one))
        return;
    struct nn_val *user = channels(m, c, &one);
    if (!user)
        return;
    struct nn_val *item =
        part_swish_net(m, "_item_embedding_mlp", one.targets, c->item_hidden,
                       nn_shape_width(nn_val_shape(user)));
    add_heads(m, c, nn_mul(g, user, item));
}
