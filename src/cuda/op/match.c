/* SPDX-License-Identifier: Apache-2.0 */
/* Users against items: scores against all items that stand against everybody are one product by
 * cuBLAS; the own item and the hard ones are added by kernels. How rows lie is described in
 * nn/cpu/match.c.
 */
#include "nn/op/match.h"

#include "cuda/op/op.h"
#include "cuda/op/product.h"

struct layout {
    struct cuda_match m;
    int64_t users, first, n; /* items first to first + n stand against all */
    int64_t col;             /* where their scores begin */
};

static struct layout layout_of(const struct cuda_run *r)
{
    const struct op_scores_conf *c = r->op->conf;
    const struct nn_batch_rows *rows = &r->op->env->rows;
    struct layout l = {.users = rows->n[AXIS_BATCH]};
    int64_t n_hard = c->hard_axis >= 0 ? rows->n[c->hard_axis] : 0;
    l.m.width = l.users ? rows->n[c->axis] / l.users : 0;
    l.n = l.users;
    if (c->in_batch)
        return l;
    l.first = l.users;
    l.n = r->op->in[IN_ITEM].rows - l.users - n_hard;
    l.col = 1;
    l.m.hard = n_hard ? r->offsets[c->hard_axis] : NULL;
    l.m.first_hard = l.users + l.n;
    l.m.hard_col = 1 + l.n;
    return l;
}

/* All scores, a user per row; those of the items for all. */
static struct cuda_rows by_user(const struct layout *l, struct cuda_rows scores)
{
    return (struct cuda_rows){scores.at, l->users, l->m.width, l->m.width};
}

static struct cuda_rows common(const struct layout *l, struct cuda_rows scores)
{
    return cuda_cols(by_user(l, scores), l->col, l->n);
}

static struct cuda_rows common_items(const struct layout *l, struct cuda_rows items)
{
    return (struct cuda_rows){items.at + l->first * items.ld, l->n, items.width,
                              items.ld};
}

static void scores_forward(const struct cuda_run *r)
{
    const struct op_scores_conf *c = r->op->conf;
    struct layout l = layout_of(r);
    struct cuda_rows user = cuda_in(r, IN_USER), item = cuda_in(r, IN_ITEM);
    struct cuda_rows all = by_user(&l, cuda_out(r));
    cuda_multiply(r, c->precision, cuda_plain(user), cuda_turned(common_items(&l, item)),
                  user.width, false, common(&l, cuda_out(r)));
    if (!c->in_batch)
        cuda_match_own(r->cuda->stream, l.m, user, item, all.at);
    if (c->scale != 1.0f)
        cuda_scale(r->cuda->stream, c->scale, 0, all, all, false);
}

static void item_slopes(const struct cuda_run *r, const struct layout *l)
{
    const struct op_scores_conf *c = r->op->conf;
    struct cuda_rows user = cuda_in(r, IN_USER), to = cuda_d_in(r, IN_ITEM);
    if (!cuda_adds(r, IN_ITEM))
        cuda_fill(r->cuda->stream, to, 0);
    cuda_multiply(r, c->precision, cuda_turned(common(l, cuda_d_out(r))),
                  cuda_plain(user), l->users, true, common_items(l, to));
    if (!c->in_batch)
        cuda_match_own_back_item(r->cuda->stream, l->m, cuda_d_out(r).at, user, to);
}

static void user_slopes(const struct cuda_run *r, const struct layout *l)
{
    const struct op_scores_conf *c = r->op->conf;
    struct cuda_rows item = cuda_in(r, IN_ITEM), to = cuda_d_in(r, IN_USER);
    if (l->n > 0)
        cuda_multiply(r, c->precision, cuda_plain(common(l, cuda_d_out(r))),
                      cuda_plain(common_items(l, item)), l->n, cuda_adds(r, IN_USER), to);
    else if (!cuda_adds(r, IN_USER))
        cuda_fill(r->cuda->stream, to, 0);
    if (!c->in_batch)
        cuda_match_own_back_user(r->cuda->stream, l->m, cuda_d_out(r).at, item, to);
}

/* d_out becomes the slopes of the products, in place: nobody else reads it. */
static void scores_backward(const struct cuda_run *r)
{
    const struct op_scores_conf *c = r->op->conf;
    struct layout l = layout_of(r);
    struct cuda_rows all = by_user(&l, cuda_d_out(r));
    if (c->scale != 1.0f)
        cuda_scale(r->cuda->stream, c->scale, 0, all, all, false);
    if (cuda_wants(r, IN_ITEM))
        item_slopes(r, &l);
    if (cuda_wants(r, IN_USER))
        user_slopes(r, &l);
}

const struct cuda_op cuda_op_match_scores = {.forward = scores_forward,
                                             .backward = scores_backward};

static struct cuda_match_loss loss_of(const struct cuda_run *r, bool logistic)
{
    const struct op_match_loss_conf *c = r->op->conf;
    return (struct cuda_match_loss){
        .at = r->offsets[r->op->in_axis[0]],
        .diagonal = c->diagonal,
        .logistic = logistic,
        .weight = 1.0 / (double)op_total(r->op),
        .weights = r->op->n_in == 2 ? cuda_in(r, 1) : (struct cuda_rows){0},
    };
}

static struct cuda_rows kept(const struct cuda_run *r, bool logistic)
{
    return logistic ? (struct cuda_rows){0} : cuda_view(&r->op->keep);
}

static void losses(const struct cuda_run *r, bool logistic)
{
    cuda_match_losses(r->cuda->stream, loss_of(r, logistic), cuda_in(r, 0),
                      kept(r, logistic), cuda_out(r));
}

static void slopes(const struct cuda_run *r, bool logistic)
{
    if (cuda_wants(r, 0))
        cuda_match_losses_back(r->cuda->stream, loss_of(r, logistic), cuda_in(r, 0),
                               kept(r, logistic), cuda_d_out(r), cuda_d_in(r, 0),
                               cuda_adds(r, 0));
}

static void match_loss_forward(const struct cuda_run *r)
{
    losses(r, false);
}

static void match_loss_backward(const struct cuda_run *r)
{
    slopes(r, false);
}

static void logistic_forward(const struct cuda_run *r)
{
    losses(r, true);
}

static void logistic_backward(const struct cuda_run *r)
{
    slopes(r, true);
}

const struct cuda_op cuda_op_match_loss = {.forward = match_loss_forward,
                                           .backward = match_loss_backward};
const struct cuda_op cuda_op_match_logistic = {.forward = logistic_forward,
                                               .backward = logistic_backward};

/* The rows of the batch, which come first. */
static struct cuda_rows own_rows(struct cuda_rows items, int64_t n)
{
    return (struct cuda_rows){items.at, n, items.width, items.ld};
}

static void own_forward(const struct cuda_run *r)
{
    struct cuda_rows y = cuda_out(r);
    cuda_put(r->cuda->stream, own_rows(cuda_in(r, 0), y.rows), y, false);
}

static void own_backward(const struct cuda_run *r)
{
    struct cuda_rows dy = cuda_d_out(r), dx = cuda_d_in(r, 0);
    if (!cuda_wants(r, 0))
        return;
    if (!cuda_adds(r, 0))
        cuda_fill(r->cuda->stream, dx, 0);
    cuda_put(r->cuda->stream, dy, own_rows(dx, dy.rows), true);
}

const struct cuda_op cuda_op_own_items = {.forward = own_forward,
                                          .backward = own_backward};
