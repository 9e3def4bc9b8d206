/* SPDX-License-Identifier: Apache-2.0 */
/* What the models of retrieval have in common: towers, and a head that compares the user
 * of each row with its own item and with others, by softmax cross entropy.
 */
#include <string.h>

#include "base/mem.h"
#include "model/parts.h"
#include "text/pipeline/feature.h"

#define NORM_EPS 1e-12f

bool part_tower_group(struct model *m, const char *tower, const char *group, bool own,
                      struct group *out)
{
    if (own)
        graph_push(m->graph, tower);
    bool ok = group && group_of(m, group, 0, NULL, out);
    if (own)
        graph_pop(m->graph);
    if (ok && !out->deep)
        graph_fail(m->graph, "%s: group '%s' is a sequence", tower, group);
    return ok && out->deep;
}

struct nn_val *part_tower(struct model *m, const struct match_conf *c,
                          const struct pc_MLP *mlp, struct nn_val *x)
{
    x = part_mlp(m, "mlp", mlp, x);
    if (c->output_dim > 0)
        x = nn_linear(m->graph, "output", x, c->output_dim, true, ACT_NONE);
    if (c->similarity == pc_Similarity_COSINE)
        x = nn_l2_normalise(m->graph, x, c->eps > 0 ? c->eps : NORM_EPS);
    return x;
}

struct nn_val *part_items(struct model *m, const char *name, const char *group, bool own,
                          bool bias)
{
    struct group g, narrow;
    if (!part_tower_group(m, name, group, own, &g))
        return NULL;
    if (!bias)
        return g.deep;
    graph_push(m->graph, name);
    bool ok = group_of(m, group, 1, "nn.init.zeros_", &narrow);
    graph_pop(m->graph);
    struct nn_val *parts[] = {g.deep, ok ? nn_row_sum(m->graph, narrow.deep) : NULL};
    return ok ? nn_concat(m->graph, parts, 2) : NULL;
}

struct nn_val *part_meet(struct model *m, struct nn_val *user, struct nn_val *item,
                         bool bias)
{
    struct graph *g = m->graph;
    if (!user || !item)
        return NULL;
    int64_t width = nn_shape_width(nn_val_shape(item)) - (bias ? 1 : 0);
    if (nn_shape_width(nn_val_shape(user)) != width)
        user = nn_linear(g, "output", user, width, false, ACT_NONE);
    if (!bias)
        return user;
    struct nn_val *one = nn_scale(g, nn_slice(g, user, 0, 1), 0, 1);
    return nn_concat(g, (struct nn_val *[]){user, one}, 2);
}

static bool has_hard(const struct model *m)
{
    struct pc_sampler s = pc_sampler_of(m->conf->data_config);
    return s.msg && s.kind->hard;
}

/* One task, without labels: which item belongs to a row is known. */
static struct model_task match_task(const struct model *m)
{
    struct model_task t = head_only(m);
    t.suffix = "";
    t.num_class = 1;
    return t;
}

void head_match(struct model *m, const struct match_conf *c, struct nn_val *user,
                struct nn_val *item)
{
    struct graph *g = m->graph;
    struct model_task t = match_task(m);
    if (!user || !item)
        return;
    nn_output(g, "user_tower_emb", user);
    nn_output(g, "item_tower_emb", item);
    if (m->options.alone)
        return;
    if (c->temperature <= 0) {
        graph_fail(g, "temperature: %g is not above 0", c->temperature);
        return;
    }
    const char *loss = c->logistic ? "binary_cross_entropy" : "softmax_cross_entropy";
    if (t.n_losses != 1 || (c->logistic ? !t.losses[0]->binary_cross_entropy
                                        : !t.losses[0]->softmax_cross_entropy)) {
        graph_fail(g, "a match model has one loss, %s", loss);
        return;
    }
    if (t.weighted)
        t.weights = nn_input(
            g,
            "weight:", &(struct nn_shape){.axis = AXIS_BATCH, .n_dims = 1, .dims = {1}},
            false);
    if (c->lists && t.weighted) {
        graph_fail(g, "sample weights are per row; with several items per row each item "
                      "is a row of the loss");
        return;
    }
    m->match.in_batch = t.diagonal = c->in_batch;
    if (c->lists) {
        m->match.own = t.axis = graph_axis(g, "own items");
        user = nn_expand(g, user, m->match.own);
    }
    m->match.scores = graph_axis(g, "candidates");
    if (!c->in_batch && has_hard(m))
        m->match.hard = graph_axis(g, "hard items");
    t.scores = nn_match_scores(g, user, item, m->match.scores, m->match.hard, c->in_batch,
                               (float)(1.0 / c->temperature));
    nn_loss(g, loss,
            c->logistic ? nn_match_logistic(g, t.scores, t.weights, t.diagonal)
                        : nn_match_loss(g, t.scores, t.weights, t.diagonal,
                                        c->lists ? m->match.own : AXIS_BATCH));
    nn_output(g, "similarity", t.scores);
    VEC_PUSH(&m->tasks, t);
}

static enum rc match_room(struct model_match *x, int64_t rows, struct err *err)
{
    if (rows <= x->room)
        return RC_OK;
    mem_free(x->item_at);
    mem_free(x->score_at);
    mem_free(x->hard_at);
    mem_free(x->own_at);
    x->item_at = mem_try_alloc((size_t)rows, sizeof(*x->item_at));
    x->score_at = mem_try_alloc((size_t)rows, sizeof(*x->score_at));
    x->hard_at = mem_try_calloc((size_t)rows, sizeof(*x->hard_at));
    x->own_at = mem_try_alloc((size_t)rows, sizeof(*x->own_at));
    x->room = x->item_at && x->score_at && x->hard_at && x->own_at ? rows : 0;
    return x->room ? RC_OK
                   : err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)rows);
}

enum rc model_match_rows(struct model *m, const struct model_match_batch *batch,
                         struct nn_batch_rows *rows, struct err *err)
{
    const int64_t *hard_at = batch->hard_at, *own_at = batch->own_at;
    struct model_match *x = &m->match;
    int64_t n = rows->n[AXIS_BATCH], most = 0;
    if (x->items < 0 && x->scores < 0)
        return RC_OK;
    enum rc rc = match_room(x, n + 1, err);
    if (rc)
        return rc;
    for (int64_t b = 0; hard_at && b < n; b++)
        if (hard_at[b + 1] - hard_at[b] > most)
            most = hard_at[b + 1] - hard_at[b];
    int64_t width = x->in_batch ? n : 1 + batch->n_common + most;
    for (int64_t b = 0; b <= n; b++) {
        x->item_at[b] = n ? b * batch->items / n : 0;
        x->score_at[b] = (own_at ? own_at[b] : b) * width;
        x->hard_at[b] = hard_at ? hard_at[b] : 0;
        x->own_at[b] = b;
    }
    if (x->items >= 0) {
        rows->n[x->items] = batch->items;
        rows->offsets[x->items] = x->item_at;
    }
    if (x->scores >= 0) {
        rows->n[x->scores] = x->score_at[n];
        rows->offsets[x->scores] = x->score_at;
    }
    if (x->hard >= 0) {
        rows->n[x->hard] = x->hard_at[n];
        rows->offsets[x->hard] = x->hard_at;
    }
    if (x->own >= 0) {
        rows->n[x->own] = own_at ? own_at[n] : n;
        rows->offsets[x->own] = own_at ? own_at : x->own_at;
    }
    return RC_OK;
}
