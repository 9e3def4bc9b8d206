/* SPDX-License-Identifier: Apache-2.0 */
/* What models on fields share: their groups, and the part of first order beside them. */
#include "model/parts.h"

struct nn_val *part_deep_fields(struct model *m, struct group *out)
{
    return group_of(m, "deep", 0, NULL, out) ? group_fields(m, out) : NULL;
}

struct nn_val *part_with_dense(struct model *m, struct nn_val *x)
{
    struct group dense;
    if (!group_exists(m, "dense"))
        return x;
    if (!group_of(m, "dense", 0, NULL, &dense))
        return NULL;
    return nn_concat(m->graph, (struct nn_val *[]){x, dense.deep}, 2);
}

struct nn_val *part_with_rest(struct model *m, struct nn_val *x)
{
    struct group deep;
    if (group_exists(m, "deep")) {
        if (!group_of(m, "deep", 0, NULL, &deep))
            return NULL;
        x = nn_concat(m->graph, (struct nn_val *[]){x, deep.deep}, 2);
    }
    return part_with_dense(m, x);
}

struct nn_val *part_weights(struct model *m, const char *init_fn)
{
    struct group wide;
    return group_exists(m, "wide") && group_of(m, "wide", 1, init_fn, &wide) ? wide.deep
                                                                             : NULL;
}

void head_first_order(struct model *m, const char *init_fn, bool dense, struct nn_val *o)
{
    struct graph *g = m->graph;
    struct nn_val *weights = part_weights(m, init_fn);
    struct group numbers;
    if (weights && m->conf->model_config->num_class != 1) {
        graph_fail(g, "with a group 'wide' there is one class only");
        return;
    }
    if (weights)
        o = nn_add(g, nn_row_sum(g, weights), o);
    if (dense && group_exists(m, "dense") && group_of(m, "dense", 0, NULL, &numbers))
        o = nn_add(g, nn_linear(g, "dense_linear", numbers.deep, 1, false, ACT_NONE), o);
    head_single(m, o);
}
