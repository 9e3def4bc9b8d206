/* SPDX-License-Identifier: Apache-2.0 */
/* DMR (Lyu et al. 2020): two numbers of closeness beside the features. From the user to
 * the item: a vector of the user, made from the history, times a vector of the item; a
 * loss of its own lets it tell what the user did last. From item to item: the scores of
 * an attention of the item to the history, added up.
 */
#include "model/parts.h"

struct dmr {
    struct group seq, match;
    struct nn_val *history, *context; /* per position */
    int64_t d;                        /* of the item and of a position */
};

/* Scores of positions: the net on [q, k, q - k, q * k], where q is made per position from
 * what stands in `from`.
 */
static struct nn_val *scores(struct model *m, const struct dmr *x, const char *name,
                             const struct pc_MLP *attn_mlp, struct nn_val *from)
{
    struct graph *g = m->graph;
    graph_push(g, name);
    struct nn_val *q = nn_linear(g, "align", from, x->d, true, ACT_NONE);
    q = nn_prelu(g, "prelu", q, 0.25f);
    struct nn_val *parts[] = {q, x->history, nn_sub(g, q, x->history),
                              nn_mul(g, q, x->history)};
    struct nn_val *h = part_mlp(m, "attention", attn_mlp, nn_concat(g, parts, 4));
    struct nn_val *y = nn_linear(g, "linear", h, 1, true, ACT_NONE);
    graph_pop(g);
    return y;
}

/* The user as the history says, each position by its weight. */
static struct nn_val *user_vector(struct model *m, const struct dmr *x,
                                  struct nn_val *weights)
{
    struct graph *g = m->graph;
    if (!x->match.query)
        return NULL;
    struct nn_val *u = nn_seq_sum(g, weights, x->history);
    u = nn_linear(g, "user", u, nn_shape_width(nn_val_shape(x->match.query)), true,
                  ACT_NONE);
    return nn_prelu(g, "user_prelu", u, 0.25f);
}

/* What the user did last, told from the rest of the history. */
static void last_loss(struct model *m, const struct pc_DMR *c, const struct dmr *x,
                      struct nn_val *a)
{
    struct graph *g = m->graph;
    int64_t e = nn_shape_width(nn_val_shape(x->match.query));
    struct nn_val *last = nn_seq_last(g, x->match.sequence);
    int64_t width = last ? nn_shape_width(nn_val_shape(last)) : 0;
    if (width <= e || !m->options.graph.training)
        return;
    struct nn_val *before = nn_seq_softmax_before(g, a);
    graph_reuse(g, true);
    struct nn_val *u = user_vector(m, x, before);
    graph_reuse(g, false);
    struct nn_val *loss =
        nn_tell_loss(g, u, nn_slice(g, last, 0, e), nn_slice(g, last, e, width - e),
                     nn_seq_sum(g, NULL, before));
    nn_loss_training(g, "aux_loss", nn_scale(g, loss, (float)c->aux_loss_weight, 0.0f));
}

static bool collect(struct model *m, struct dmr *x)
{
    struct graph *g = m->graph;
    if (!group_of(m, "seq", 0, NULL, &x->seq) ||
        !group_of(m, "match", 0, NULL, &x->match))
        return false;
    x->d = x->seq.query ? nn_shape_width(nn_val_shape(x->seq.query)) : 0;
    int64_t width = nn_shape_width(nn_val_shape(x->seq.sequence));
    int64_t e = x->match.query ? nn_shape_width(nn_val_shape(x->match.query)) : 0;
    if (x->d == 0 || width <= x->d)
        return graph_fail(g,
                          "group 'seq': the history has %jd values, the item %jd; it "
                          "takes more, the rest is what a position says of itself",
                          (intmax_t)width, (intmax_t)x->d) != NULL;
    width = nn_shape_width(nn_val_shape(x->match.sequence));
    if (e == 0 || width % e)
        return graph_fail(g,
                          "group 'match': the history has %jd values, the item %jd; it "
                          "takes as many, or a multiple with what did not happen behind",
                          (intmax_t)width, (intmax_t)e) != NULL;
    width = nn_shape_width(nn_val_shape(x->seq.sequence));
    x->history = nn_slice(g, x->seq.sequence, 0, x->d);
    x->context = nn_slice(g, x->seq.sequence, x->d, width - x->d);
    return true;
}

static void dmr_build(struct model *m)
{
    const struct pc_DMR *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct dmr x;
    if (!collect(m, &x))
        return;
    struct nn_val *a = scores(m, &x, "user_to_item", c->attn_mlp, x.context);
    struct nn_val *u = user_vector(m, &x, nn_seq_softmax(g, a));
    struct nn_val *to_user = nn_row_sum(g, nn_mul(g, u, x.match.query));
    last_loss(m, c, &x, a);
    struct nn_val *both[] = {nn_expand(g, x.seq.query, x.seq.axis), x.context};
    a = scores(m, &x, "item_to_item", c->attn_mlp, nn_concat(g, both, 2));
    struct nn_val *sum = nn_seq_sum(g, NULL, x.history);
    struct nn_val *parts[] = {x.seq.query,
                              sum,
                              nn_mul(g, x.seq.query, sum),
                              nn_seq_sum(g, nn_seq_softmax(g, a), x.history),
                              to_user,
                              nn_seq_sum(g, NULL, a)};
    struct nn_val *h = part_with_rest(m, nn_concat(g, parts, 6));
    h = part_mlp(m, "deep_mlp", c->deep, h);
    head_first_order(
        m, c->wide_init_fn, false,
        nn_linear(g, "output_mlp", h, m->conf->model_config->num_class, true, ACT_NONE));
}

const struct model_ops model_dmr = {.name = "dmr", .build = dmr_build};
