/* SPDX-License-Identifier: Apache-2.0 */
/* DSSM (Huang et al. 2013): a tower for the user, one for the item, each with its own
 * tables; the user's vector is nearer to its item than to others.
 */
#include "model/parts.h"

static struct nn_val *tower(struct model *m, const char *name, const struct pc_Tower *c,
                            const struct match_conf *conf)
{
    struct group g;
    if (!c)
        return graph_fail(m->graph, "there is no %s", name);
    if (!part_tower_group(m, name, c->input, true, &g))
        return NULL;
    graph_push(m->graph, name);
    struct nn_val *y = part_tower(m, conf, c->mlp, g.deep);
    graph_pop(m->graph);
    return y;
}

static void dssm_build(struct model *m)
{
    const struct pc_DSSM *c = (const void *)m->message;
    struct match_conf conf = {.output_dim = c->output_dim,
                              .similarity = (enum pc_Similarity)c->similarity,
                              .temperature = c->temperature,
                              .in_batch = c->in_batch_negative};
    struct nn_val *user = tower(m, "user_tower", c->user_tower, &conf);
    struct nn_val *item = tower(m, "item_tower", c->item_tower, &conf);
    head_match(m, &conf, user, item);
}

const struct model_ops model_dssm = {.name = "dssm", .build = dssm_build};
