/* SPDX-License-Identifier: Apache-2.0 */
/* Users against items. Items have rows of their own: those of the users first (row i
 * belongs to user i), then some that stand against all users, then hard ones, of which
 * each row of the batch has some. A user's scores lie side by side on an axis of their own,
 * all users with the same number: the own item, those for all, the hard ones; or, when the
 * items of the batch stand against each other, one per row of the batch. A row of the batch
 * is one user, or several, when it has several own items.
 *
 * The scores against all are a matrix product in which the items are the weights: they
 * are packed anew for each batch. Packing needs memory that grows with the number of
 * items; where there is none, plain loops do the same.
 */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/match.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define NO_SCORE (-1e32f) /* of a hard item that a user does not have */
#define USER_GRAIN 64

struct scores_state {
    struct gemm_weight *packed; /* of n items, or NULL */
    int64_t n, width;
    bool training;
};

/* How the rows of the batch at hand are laid out. */
struct layout {
    int64_t users, width; /* width: scores per user */
    const int64_t *at;    /* [rows of the batch + 1]: users of a row; NULL: one each */
    int64_t first, n;     /* items that stand against all */
    int64_t col;          /* where their scores begin */
    const int64_t *hard;  /* [rows of the batch + 1], or NULL */
    int64_t first_hard, hard_col;
};

static struct layout layout_of(const struct op_run *r)
{
    const struct op_scores_conf *c = r->conf;
    const struct nn_batch_rows *rows = &r->env->rows;
    int axis = r->in_axis[IN_USER];
    struct layout l = {.users = rows->n[axis],
                       .at = axis == AXIS_BATCH ? NULL : rows->offsets[axis]};
    int64_t items = r->in[IN_ITEM].rows;
    l.width = l.users ? rows->n[c->axis] / l.users : 0;
    if (c->in_batch) {
        l.n = l.users;
        return l;
    }
    int64_t n_hard = c->hard_axis >= 0 ? rows->n[c->hard_axis] : 0;
    l.first = l.users;
    l.n = items - l.users - n_hard;
    l.col = 1;
    l.hard = n_hard ? rows->offsets[c->hard_axis] : NULL;
    l.first_hard = l.users + l.n;
    l.hard_col = 1 + l.n;
    return l;
}

/* The first user of row b of the batch. */
static int64_t user_at(const struct layout *l, int64_t b)
{
    return l->at ? l->at[b] : b;
}

static enum rc scores_setup(const void *conf, const struct nn_shape *in,
                            const struct nn_shape *out, bool training, void **state,
                            struct err *err)
{
    struct scores_state *s = mem_calloc(1, sizeof(*s));
    s->width = nn_shape_width(&in[IN_ITEM]);
    s->training = training;
    *state = s;
    return RC_OK;
}

static void scores_teardown(void *state)
{
    struct scores_state *s = state;
    if (s)
        gemm_weight_destroy(s->packed);
    mem_free(s);
}

static void scores_sync_forward(const struct op_run *r)
{
    const struct op_scores_conf *c = r->conf;
    struct scores_state *s = r->state;
    struct layout l = layout_of(r);
    if (s->n != l.n) {
        gemm_weight_destroy(s->packed);
        s->packed = NULL;
        s->n = l.n;
        if (l.n > 0 && r->in[IN_ITEM].ld == s->width &&
            gemm_weight_create(l.n, s->width, c->precision, s->training, &s->packed,
                               NULL))
            s->packed = NULL;
    }
    if (s->packed)
        gemm_pack(s->packed, view_row(&r->in[IN_ITEM], l.first));
}

/* Users [begin, end) against the items for all: columns of their scores. */
static struct view common_part(const struct view *scores, const struct layout *l,
                               int64_t begin, int64_t end)
{
    return (struct view){.data = scores->data + begin * l->width + l->col,
                         .rows = end - begin,
                         .width = l->n,
                         .ld = l->width};
}

static void hard_scores(const struct op_run *r, const struct layout *l, int64_t row,
                        int64_t user, float *scores)
{
    int64_t d = r->in[IN_USER].width, k = 0;
    int64_t n = l->hard ? l->hard[row + 1] - l->hard[row] : 0;
    for (; k < n; k++)
        scores[l->hard_col + k] = kernels()->dot(
            view_row(&r->in[IN_USER], user),
            view_row(&r->in[IN_ITEM], l->first_hard + l->hard[row] + k), d);
    for (; l->hard_col + k < l->width; k++)
        scores[l->hard_col + k] = NO_SCORE;
}

/* All scores of a user of that row, but those of the packed product. */
static void user_scores(const struct op_run *r, const struct layout *l, int64_t row,
                        int64_t u)
{
    const struct op_scores_conf *c = r->conf;
    const struct scores_state *s = r->state;
    float *scores = r->out[0].data + u * l->width;
    const float *user = view_row(&r->in[IN_USER], u);
    int64_t d = r->in[IN_USER].width;
    for (int64_t k = 0; !s->packed && k < l->n; k++)
        scores[l->col + k] =
            kernels()->dot(user, view_row(&r->in[IN_ITEM], l->first + k), d);
    if (!c->in_batch) {
        scores[0] = kernels()->dot(user, view_row(&r->in[IN_ITEM], u), d);
        hard_scores(r, l, row, u, scores);
    }
    if (c->scale != 1.0f)
        kernels()->scale(scores, c->scale, l->width);
}

static void scores_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct scores_state *s = r->state;
    struct layout l = layout_of(r);
    int64_t from = user_at(&l, begin), to = user_at(&l, end);
    if (s->packed && to > from)
        gemm_forward(s->packed, view_rows(&r->in[IN_USER], from, to), NULL, GEMM_ACT_NONE,
                     common_part(&r->out[0], &l, from, to));
    for (int64_t b = begin; b < end; b++)
        for (int64_t u = user_at(&l, b); u < user_at(&l, b + 1); u++)
            user_scores(r, &l, b, u);
}

/* Slopes of the products: those of the scaled scores, scaled in place. */
static void scale_slopes(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_scores_conf *c = r->conf;
    struct layout l = layout_of(r);
    kernels()->scale(r->d_out[0].data + begin * l.width, c->scale,
                     (end - begin) * l.width);
}

/* Items that belong to one row of the batch. */
static void own_items(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    struct layout l = layout_of(r);
    int64_t d = r->in[IN_USER].width;
    for (int64_t b = begin; b < end; b++)
        for (int64_t u = user_at(&l, b); u < user_at(&l, b + 1); u++) {
            const float *slopes = r->d_out[0].data + u * l.width;
            const float *user = view_row(&r->in[IN_USER], u);
            kernels()->axpy(view_row(&r->d_in[IN_ITEM], u), slopes[0], user, d);
            for (int64_t k = 0; l.hard && k < l.hard[b + 1] - l.hard[b]; k++)
                kernels()->axpy(view_row(&r->d_in[IN_ITEM], l.first_hard + l.hard[b] + k),
                                slopes[l.hard_col + k], user, d);
        }
}

/* Items for all, without a packed product: each over all users. */
static void common_items(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    struct layout l = layout_of(r);
    for (int64_t k = begin; k < end; k++)
        for (int64_t b = 0; b < l.users; b++)
            kernels()->axpy(view_row(&r->d_in[IN_ITEM], l.first + k),
                            r->d_out[0].data[b * l.width + l.col + k],
                            view_row(&r->in[IN_USER], b), r->in[IN_USER].width);
}

static void zero_view(const struct view *v)
{
    for (int64_t k = 0; k < v->rows; k++)
        memset(view_row(v, k), 0, (size_t)v->width * sizeof(float));
}

static void scores_sync_backward(const struct op_run *r)
{
    const struct op_scores_conf *c = r->conf;
    const struct scores_state *s = r->state;
    const struct view *d_item = &r->d_in[IN_ITEM];
    struct layout l = layout_of(r);
    if (c->scale != 1.0f)
        pool_for(r->env->pool, l.users, USER_GRAIN, scale_slopes, (void *)(uintptr_t)r);
    if (!d_item->data)
        return;
    if (r->d_in_fresh[IN_ITEM])
        zero_view(d_item);
    if (s->packed && d_item->ld == d_item->width)
        gemm_gradient(s->packed, common_part(&r->d_out[0], &l, 0, l.users),
                      r->in[IN_USER], view_row(d_item, l.first), NULL, r->env->pool);
    else
        pool_for(r->env->pool, l.n, USER_GRAIN, common_items, (void *)(uintptr_t)r);
    if (!c->in_batch)
        pool_for(r->env->pool, r->env->rows.n[AXIS_BATCH], USER_GRAIN, own_items,
                 (void *)(uintptr_t)r);
}

static void user_slopes(const struct op_run *r, const struct layout *l, int64_t row,
                        int64_t u)
{
    const struct op_scores_conf *c = r->conf;
    const struct scores_state *s = r->state;
    const float *slopes = r->d_out[0].data + u * l->width;
    float *to = view_row(&r->d_in[IN_USER], u);
    int64_t d = r->in[IN_USER].width;
    for (int64_t k = 0; !s->packed && k < l->n; k++)
        kernels()->axpy(to, slopes[l->col + k], view_row(&r->in[IN_ITEM], l->first + k),
                        d);
    if (c->in_batch)
        return;
    kernels()->axpy(to, slopes[0], view_row(&r->in[IN_ITEM], u), d);
    for (int64_t k = 0; l->hard && k < l->hard[row + 1] - l->hard[row]; k++)
        kernels()->axpy(to, slopes[l->hard_col + k],
                        view_row(&r->in[IN_ITEM], l->first_hard + l->hard[row] + k), d);
}

static void scores_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct scores_state *s = r->state;
    struct layout l = layout_of(r);
    int64_t from = user_at(&l, begin), to = user_at(&l, end);
    struct view d_user = view_rows(&r->d_in[IN_USER], from, to);
    bool fresh = r->d_in_fresh[IN_USER];
    if (!r->d_in[IN_USER].data || to == from)
        return;
    if (s->packed)
        gemm_backward(s->packed, common_part(&r->d_out[0], &l, from, to), !fresh, d_user);
    else if (fresh)
        zero_view(&d_user);
    for (int64_t b = begin; b < end; b++)
        for (int64_t u = user_at(&l, b); u < user_at(&l, b + 1); u++)
            user_slopes(r, &l, b, u);
}

const struct nn_cpu_op nn_cpu_match_scores = {
    .flags = CPU_WRITES,
    .setup = scores_setup,
    .teardown = scores_teardown,
    .sync_forward = scores_sync_forward,
    .forward = scores_forward,
    .sync_backward = scores_sync_backward,
    .backward = scores_backward,
};

#define CHUNK 256

static double loss_weight(const struct op_run *r, int64_t row)
{
    return r->n_in == 2 ? (double)*view_row(&r->in[1], row) : 1.0 / (double)op_total(r);
}

static int64_t target_of(const struct op_run *r, int64_t row)
{
    const struct op_match_loss_conf *c = r->conf;
    return c->diagonal ? row : 0;
}

/* y = x - by */
CLONED static void less(float *y, const float *x, float by, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] - by;
}

/* Log of the sum of e^x. */
static double log_sum(const float *x, int64_t n)
{
    float part[CHUNK], max = kernels()->max(x, n);
    double sum = 0;
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t k = n - at < CHUNK ? n - at : CHUNK;
        less(part, x + at, max, k);
        kernels()->exp(part, part, k);
        sum += (double)kernels()->sum(part, k);
    }
    return (double)max + log(sum);
}

/* Where the scores of a user begin: all have as many. */
static int64_t scores_at(const struct op_run *r, int64_t user)
{
    const struct nn_batch_rows *rows = &r->env->rows;
    if (r->out_axis[0] == AXIS_BATCH)
        return rows->offsets[r->in_axis[0]][user];
    int64_t n = rows->n[r->out_axis[0]];
    return n ? rows->n[r->in_axis[0]] / n * user : 0;
}

static void loss_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t u = from; u < to; u++) {
        int64_t at = scores_at(r, u);
        const float *x = view_row(&r->in[0], at);
        double log = log_sum(x, scores_at(r, u + 1) - at);
        *view_row(&r->keep, u) = (float)log;
        *view_row(&r->out[0], u) =
            (float)(loss_weight(r, u) * (log - (double)x[target_of(r, u)]));
    }
}

static void loss_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    float part[CHUNK];
    int64_t first, last;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &first, &last);
    for (int64_t u = first; r->d_in[0].data && u < last; u++) {
        int64_t at = scores_at(r, u), n = scores_at(r, u + 1) - at;
        const float *x = view_row(&r->in[0], at);
        float *dx = view_row(&r->d_in[0], at), log = *view_row(&r->keep, u);
        float d = (float)((double)*view_row(&r->d_out[0], u) * loss_weight(r, u));
        for (int64_t from = 0; from < n; from += CHUNK) {
            int64_t k = n - from < CHUNK ? n - from : CHUNK;
            less(part, x + from, log, k);
            kernels()->exp(part, part, k);
            if (r->d_in_fresh[0])
                kernels()->times(dx + from, d, part, k);
            else
                kernels()->axpy(dx + from, d, part, k);
        }
        dx[target_of(r, u)] -= d;
    }
}

const struct nn_cpu_op nn_cpu_match_loss = {
    .flags = CPU_WRITES,
    .forward = loss_forward,
    .backward = loss_backward,
};

/* Each score on its own: is it the target. */
static double sum_softplus(const float *x, int64_t n)
{
    float part[CHUNK];
    double sum = 0;
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t k = n - at < CHUNK ? n - at : CHUNK;
        kernels()->act[KERNEL_SOFTPLUS].value(part, x + at, 0, k);
        sum += (double)kernels()->sum(part, k);
    }
    return sum;
}

static void logistic_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    for (int64_t b = begin; b < end; b++) {
        const float *x = view_row(&r->in[0], at[b]);
        double sum = sum_softplus(x, at[b + 1] - at[b]) - (double)x[target_of(r, b)];
        *view_row(&r->out[0], b) = (float)(loss_weight(r, b) * sum);
    }
}

static void logistic_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[0]];
    float part[CHUNK];
    for (int64_t b = begin; r->d_in[0].data && b < end; b++) {
        const float *x = view_row(&r->in[0], at[b]);
        float *dx = view_row(&r->d_in[0], at[b]);
        float d = (float)((double)*view_row(&r->d_out[0], b) * loss_weight(r, b));
        int64_t n = at[b + 1] - at[b];
        for (int64_t from = 0; from < n; from += CHUNK) {
            int64_t k = n - from < CHUNK ? n - from : CHUNK;
            kernels()->act[KERNEL_SIGMOID].value(part, x + from, 0, k);
            if (r->d_in_fresh[0])
                kernels()->times(dx + from, d, part, k);
            else
                kernels()->axpy(dx + from, d, part, k);
        }
        dx[target_of(r, b)] -= d;
    }
}

const struct nn_cpu_op nn_cpu_match_logistic = {
    .flags = CPU_WRITES,
    .forward = logistic_forward,
    .backward = logistic_backward,
};

static void own_sync(const struct op_run *r)
{
}

static void own_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++)
        memcpy(view_row(&r->out[0], b), view_row(&r->in[0], b),
               (size_t)r->in[0].width * sizeof(float));
}

static void own_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to, n = r->d_out[0].rows;
    nn_cpu_rows(r->env, r->in_axis[0], begin, end, &from, &to);
    for (int64_t k = from; r->d_in[0].data && k < to && k < n; k++)
        kernels()->add(view_row(&r->d_in[0], k), view_row(&r->d_out[0], k),
                       r->in[0].width);
}

const struct nn_cpu_op nn_cpu_own_items = {
    .sync_forward = own_sync,
    .forward = own_forward,
    .sync_backward = own_sync,
    .backward = own_backward,
};
