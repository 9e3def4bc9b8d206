/* SPDX-License-Identifier: Apache-2.0 */
/* RALM (Liu et al. 2019): the seeds of an audience as one vector, by how a user sees them
 * and by how they see each other, and its cosine with the user's.
 */
#include <math.h>

#include "model/parts.h"

#define NORM_EPS 1e-12f

/* Seeds weighted by softmax(tanh(s W . t)). */
static struct nn_val *local_part(struct graph *g, struct nn_val *s, struct nn_val *t,
                                 int axis)
{
    int64_t w = s ? nn_shape_width(nn_val_shape(s)) : 1;
    struct nn_val *x = nn_linear(g, "local", s, w, false, ACT_NONE);
    x = nn_act(g, nn_row_sum(g, nn_mul(g, x, nn_expand(g, t, axis))), ACT_TANH, 0);
    return nn_seq_sum(g, nn_seq_softmax(g, x), s);
}

/* Each seed mixed of all by softmax(tanh(s W) . s), added up. */
static struct nn_val *global_part(struct graph *g, struct nn_val *s)
{
    int64_t w = s ? nn_shape_width(nn_val_shape(s)) : 1;
    struct nn_val *x =
        nn_act(g, nn_linear(g, "global", s, w, false, ACT_NONE), ACT_TANH, 0);
    x = nn_scale(g, x, sqrtf((float)w), 0); /* which attention divides by */
    return nn_seq_sum(g, NULL, nn_seq_attention(g, x, s, s, 1, 0));
}

static void look_alike_build(struct model *m)
{
    const struct pc_LookAlike *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct group seeds, user;
    m->one_table = true;
    if (!group_of(m, c->seeds_input, 0, NULL, &seeds) ||
        !group_of(m, c->user_input, 0, NULL, &user))
        return;
    if (!seeds.sequence || !user.deep) {
        graph_fail(g, "seeds are a sequence, and the user is none");
        return;
    }
    struct nn_val *s = nn_linear(g, "seeds", seeds.sequence, c->units, false, ACT_NONE);
    struct nn_val *t = nn_linear(g, "user", user.deep, c->units, false, ACT_NONE);
    struct nn_val *all = nn_add(g, local_part(g, s, t, seeds.axis), global_part(g, s));
    head_single(m, nn_row_sum(g, nn_mul(g, nn_l2_normalise(g, all, NORM_EPS),
                                        nn_l2_normalise(g, t, NORM_EPS))));
}

const struct model_ops model_look_alike = {.name = "look_alike",
                                           .build = look_alike_build};
