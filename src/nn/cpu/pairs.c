/* SPDX-License-Identifier: Apache-2.0 */
/* The first layer of an attention over a sequence, which reads a query q beside each key
 * k as [q, k, q - k, q * k] (or without the difference). Nothing of that is laid out:
 *
 *     W [q, k, q - k, q * k] = (Wq + Wd) q + (Wk - Wd) k + Wp (q * k)
 *
 * The first term is one product per row of the batch (op `query part`), and its result
 * the bias with which the positions of that row are multiplied (op `key part`): k and
 * q * k, laid out a few positions at a time, by [Wk - Wd, Wp]; or in floats k alone, by a
 * matrix of the row, Wk - Wd + Wp diag(q), which is half of that again. Exact but for
 * rounding.
 *
 * The gradient of the weights is added up in PIECES of the batch whose sizes follow from
 * the batch alone, one after the other in the end: threads do not change it.
 */
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/pairs.h"
#include "tensor/gemm.h"
#include "tensor/gemm_mix.h"
#include "tensor/kernel.h"

#define MIX_PARTS 64                     /* rows of the batch at a time */
#define ROOM_FLOATS (8 * PAIR_WIDTH_MAX) /* of the operands of a block of positions */
#define ROOM_ROWS 256

void nn_cpu_pair_release(struct nn_cpu_pair_state *s)
{
    gemm_weight_destroy(s->w);
    gemm_mix_destroy(s->mix);
    mem_free(s->joined);
    mem_free(s->grads);
    *s = (struct nn_cpu_pair_state){0};
}

static enum rc init_state(struct nn_cpu_pair_state *s, const struct op_pair_conf *c,
                          int64_t in, int64_t pieces, bool training, struct err *err)
{
    size_t n = (size_t)(c->out * in);
    *s = (struct nn_cpu_pair_state){.in = in};
    s->joined = mem_try_calloc(n, sizeof(float));
    s->grads = training ? mem_try_aligned(64, (size_t)pieces * n, sizeof(float)) : NULL;
    enum rc rc =
        s->joined && (s->grads || !training)
            ? RC_OK
            : err_set(err, RC_NOMEM, "no memory for the gradient of %zu weights", n);
    if (!rc && c->mixed && c->precision == GEMM_F32)
        rc = gemm_mix_create(c->out, c->d, training, &s->mix, err);
    if (!rc && !s->mix)
        rc = gemm_weight_create(c->out, in, c->precision, training, &s->w, err);
    if (rc)
        nn_cpu_pair_release(s);
    return rc;
}

enum rc nn_cpu_pair_init(struct nn_cpu_pair_state *s, const struct op_pair_conf *c,
                         bool training, struct err *err)
{
    return init_state(s, c, 2 * c->d, PAIR_PIECES, training, err);
}

static void pair_teardown(void *state)
{
    if (state)
        nn_cpu_pair_release(state);
    mem_free(state);
}

static enum rc new_state(enum rc rc, struct nn_cpu_pair_state *s, void **state)
{
    if (rc)
        mem_free(s);
    else
        *state = s;
    return rc;
}

static const float *weight_row(const struct op_run *r, int64_t unit)
{
    return r->params[0]->value + unit * r->params[0]->dims[1];
}

static float *grad_row(const struct op_run *r, int64_t unit)
{
    return r->params[0]->grad + unit * r->params[0]->dims[1];
}

static enum rc query_setup(const void *conf, const struct nn_shape *in,
                           const struct nn_shape *out, bool training, void **state,
                           struct err *err)
{
    const struct op_pair_conf *c = conf;
    struct nn_cpu_pair_state *s = mem_calloc(1, sizeof(*s));
    return new_state(init_state(s, c, c->d, 1, training, err), s, state);
}

static void query_begin(const struct op_run *r)
{
    const struct op_pair_conf *c = r->conf;
    const struct nn_cpu_pair_state *s = r->state;
    for (int64_t u = 0; u < c->out; u++) {
        const float *w = weight_row(r, u);
        memcpy(s->joined + u * c->d, w + c->query, (size_t)c->d * sizeof(float));
        if (c->diff >= 0)
            kernels()->add(s->joined + u * c->d, w + c->diff, c->d);
    }
    gemm_pack(s->w, s->joined);
}

static void query_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_pair_conf *c = r->conf;
    const struct nn_cpu_pair_state *s = r->state;
    gemm_forward(s->w, view_rows(&r->in[0], begin, end),
                 c->bias ? r->params[1]->value : NULL, GEMM_ACT_NONE,
                 view_rows(&r->out[0], begin, end));
}

static void query_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct nn_cpu_pair_state *s = r->state;
    if (r->d_in[0].data)
        gemm_backward(s->w, view_rows(&r->d_out[0], begin, end), !r->d_in_fresh[0],
                      view_rows(&r->d_in[0], begin, end));
}

static void query_grads(const struct op_run *r)
{
    const struct op_pair_conf *c = r->conf;
    const struct nn_cpu_pair_state *s = r->state;
    if (!r->params[0]->grad)
        return;
    memset(s->grads, 0, (size_t)(c->out * c->d) * sizeof(float));
    gemm_gradient(s->w, r->d_out[0], r->in[0], s->grads,
                  c->bias ? r->params[1]->grad : NULL, r->env->pool);
    for (int64_t u = 0; u < c->out; u++) {
        kernels()->add(grad_row(r, u) + c->query, s->grads + u * c->d, c->d);
        if (c->diff >= 0)
            kernels()->add(grad_row(r, u) + c->diff, s->grads + u * c->d, c->d);
    }
}

const struct nn_cpu_op nn_cpu_pair_query = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .setup = query_setup,
    .teardown = pair_teardown,
    .begin = query_begin,
    .forward = query_forward,
    .backward = query_backward,
    .grads = query_grads,
};

static enum rc key_setup(const void *conf, const struct nn_shape *in,
                         const struct nn_shape *out, bool training, void **state,
                         struct err *err)
{
    struct nn_cpu_pair_state *s = mem_calloc(1, sizeof(*s));
    return new_state(nn_cpu_pair_init(s, conf, training, err), s, state);
}

void nn_cpu_pair_pack(const struct op_run *r, const struct op_pair_conf *c,
                      const struct nn_cpu_pair_state *s)
{
    for (int64_t u = 0; u < c->out; u++) {
        const float *w = weight_row(r, u);
        float *to = s->joined + u * s->in;
        memcpy(to, w + c->key, (size_t)c->d * sizeof(float));
        memcpy(to + c->d, w + c->product, (size_t)c->d * sizeof(float));
        if (c->diff >= 0)
            kernels()->axpy(to, -1.0f, w + c->diff, c->d);
    }
    if (s->mix)
        gemm_mix_pack(s->mix, s->joined);
    else
        gemm_pack(s->w, s->joined);
}

static void key_begin(const struct op_run *r)
{
    nn_cpu_pair_pack(r, r->conf, r->state);
}

static int64_t block_rows(const struct op_pair_conf *c)
{
    int64_t rows = ROOM_FLOATS / (2 * c->d);
    return rows < ROOM_ROWS ? rows : ROOM_ROWS;
}

/* k and q * k of positions [from, to), which belong to the batch row that `row` walks. */
static struct view pair_block(const struct op_run *r, const struct op_pair_conf *c,
                              struct nn_cpu_pair_span p, float *room)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    struct view v = {
        .data = room, .rows = p.to - p.from, .width = 2 * c->d, .ld = 2 * c->d};
    for (int64_t k = p.from; k < p.to; k++) {
        float *x = view_row(&v, k - p.from);
        while (at[p.row + 1] <= k)
            p.row++;
        memcpy(x, view_row(&r->in[IN_KEY], k), (size_t)c->d * sizeof(float));
        kernels()->mul(x + c->d, view_row(&r->in[IN_QUERY], p.row), x, c->d);
    }
    return v;
}

/* From *at on: positions of one batch row, `most` of them at most. */
static struct nn_cpu_pair_span next_span(const struct op_run *r,
                                         struct nn_cpu_pair_span *at, int64_t most)
{
    const int64_t *offsets = r->env->rows.offsets[r->in_axis[IN_KEY]];
    while (offsets[at->row + 1] <= at->from)
        at->row++;
    int64_t end = offsets[at->row + 1] < at->to ? offsets[at->row + 1] : at->to;
    struct nn_cpu_pair_span p = {at->from, end < at->from + most ? end : at->from + most,
                                 at->row};
    at->from = p.to;
    return p;
}

/* From at->from on: positions of up to MIX_PARTS rows of the batch, as rows of a view
 * that begins at position `first`.
 */
static int64_t next_parts(const struct op_run *r, struct nn_cpu_pair_span *at,
                          int64_t first, struct gemm_mix_part parts[MIX_PARTS])
{
    const struct view *dq = &r->d_in[IN_QUERY];
    int64_t n = 0;
    for (; n < MIX_PARTS && at->from < at->to; n++) {
        struct nn_cpu_pair_span p = next_span(r, at, at->to);
        parts[n] = (struct gemm_mix_part){.from = p.from - first,
                                          .to = p.to - first,
                                          .q = view_row(&r->in[IN_QUERY], p.row),
                                          .bias = view_row(&r->in[IN_START], p.row),
                                          .dq = dq->data ? view_row(dq, p.row) : NULL};
    }
    return n;
}

void nn_cpu_pair_forward(const struct op_run *r, const struct op_pair_conf *c,
                         const struct nn_cpu_pair_state *s, struct nn_cpu_pair_span at,
                         struct view h)
{
    float room[ROOM_FLOATS];
    struct gemm_mix_part parts[MIX_PARTS];
    int64_t first = at.from;
    struct view keys = view_rows(&r->in[IN_KEY], at.from, at.to);
    while (s->mix && at.from < at.to) {
        int64_t n = next_parts(r, &at, first, parts);
        gemm_mix_forward(s->mix, parts, n, keys, c->act, h);
    }
    while (at.from < at.to) {
        struct nn_cpu_pair_span p = next_span(r, &at, block_rows(c));
        gemm_forward(s->w, pair_block(r, c, p, room), view_row(&r->in[IN_START], p.row),
                     c->act, view_rows(&h, p.from - first, p.to - first));
    }
}

static struct nn_cpu_pair_span span_of(const struct op_run *r, int64_t begin, int64_t end)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    return (struct nn_cpu_pair_span){at[begin], at[end], begin};
}

static void key_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    struct nn_cpu_pair_span at = span_of(r, begin, end);
    nn_cpu_pair_forward(r, r->conf, r->state, at, view_rows(&r->out[0], at.from, at.to));
}

void nn_cpu_pair_through_act(enum gemm_act act, struct view y, struct view dy)
{
    for (int64_t i = 0; i < y.rows && act != GEMM_ACT_NONE; i++)
        kernels()->act_grad_from_out[act](view_row(&y, i), view_row(&dy, i), y.width);
}

/* Adds the gradient of one position to its key and its query. */
static void spread_position(const struct op_run *r, int64_t d, int64_t k, int64_t row,
                            const float *dx)
{
    const struct view *to = r->d_in;
    if (to[IN_QUERY].data)
        kernels()->mul_add(view_row(&to[IN_QUERY], row), dx + d,
                           view_row(&r->in[IN_KEY], k), d);
    if (!to[IN_KEY].data)
        return;
    if (r->d_in_fresh[IN_KEY])
        memcpy(view_row(&to[IN_KEY], k), dx, (size_t)d * sizeof(float));
    else
        kernels()->add(view_row(&to[IN_KEY], k), dx, d);
    kernels()->mul_add(view_row(&to[IN_KEY], k), dx + d, view_row(&r->in[IN_QUERY], row),
                       d);
}

/* Rows of the batch that nobody has written before start from nothing. */
void nn_cpu_pair_clear(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int i = IN_START; i <= IN_QUERY; i++)
        for (int64_t b = begin; r->d_in[i].data && r->d_in_fresh[i] && b < end; b++)
            memset(view_row(&r->d_in[i], b), 0, (size_t)r->d_in[i].width * sizeof(float));
}

/* Positions by the matrices of their rows of the batch. */
static void mixed_backward(const struct op_run *r, const struct nn_cpu_pair_state *s,
                           struct nn_cpu_pair_span at, struct view dy, float *grads)
{
    struct gemm_mix_part parts[MIX_PARTS];
    int64_t first = at.from;
    struct view keys = view_rows(&r->in[IN_KEY], at.from, at.to);
    struct view d_keys = r->d_in[IN_KEY];
    if (d_keys.data)
        d_keys = view_rows(&d_keys, at.from, at.to);
    while (at.from < at.to) {
        int64_t n = next_parts(r, &at, first, parts);
        gemm_mix_gradient(s->mix, parts, n, dy, keys, grads);
        if (d_keys.data)
            gemm_mix_backward(s->mix, parts, n, dy, !r->d_in_fresh[IN_KEY], d_keys);
    }
}

/* The same with k and q * k laid out, block_rows() positions at most. */
static void block_backward(const struct op_run *r, const struct op_pair_conf *c,
                           const struct nn_cpu_pair_state *s, struct nn_cpu_pair_span p,
                           struct view dy, float *grads)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    float room[ROOM_FLOATS], d_room[ROOM_FLOATS];
    struct view dx = {.data = d_room, .rows = dy.rows, .width = s->in, .ld = s->in};
    gemm_backward(s->w, dy, false, dx);
    if (r->params[0]->grad)
        gemm_gradient(s->w, dy, pair_block(r, c, p, room), grads, NULL, NULL);
    for (int64_t i = p.from, row = p.row; i < p.to; i++) {
        while (at[row + 1] <= i)
            row++;
        spread_position(r, c->d, i, row, view_row(&dx, i - p.from));
    }
}

/* The gradient of the query's part is the sum over its positions. */
static void start_backward(const struct op_run *r, struct nn_cpu_pair_span p,
                           struct view dy)
{
    const int64_t *at = r->env->rows.offsets[r->in_axis[IN_KEY]];
    const struct view *to = &r->d_in[IN_START];
    for (int64_t i = p.from, end; to->data && i < p.to; i = end) {
        while (at[p.row + 1] <= i)
            p.row++;
        end = at[p.row + 1] < p.to ? at[p.row + 1] : p.to;
        kernels()->add_rows(view_row(to, p.row), view_row(&dy, i - p.from), dy.ld,
                            end - i, NULL, 0, dy.width);
    }
}

void nn_cpu_pair_backward(const struct op_run *r, const struct op_pair_conf *c,
                          const struct nn_cpu_pair_state *s, struct nn_cpu_pair_span at,
                          struct view dy, float *grads)
{
    int64_t first = at.from, rows = block_rows(c);
    start_backward(r, at, dy);
    if (s->mix)
        mixed_backward(r, s, at, dy, grads);
    for (; !s->mix && at.from < at.to; at.from += rows) {
        struct nn_cpu_pair_span p = at;
        p.to = at.from + rows < at.to ? at.from + rows : at.to;
        block_backward(r, c, s, p, view_rows(&dy, p.from - first, p.to - first), grads);
    }
}

static void key_piece(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_pair_conf *c = r->conf;
    const struct nn_cpu_pair_state *s = r->state;
    float *grads = s->grads + chunk * c->out * s->in;
    struct nn_cpu_pair_span all = span_of(r, begin, end);
    nn_cpu_pair_clear(r, begin, end);
    memset(grads, 0, (size_t)(c->out * s->in) * sizeof(float));
    for (int64_t k = all.from; k < all.to; k += ROOM_ROWS) {
        struct nn_cpu_pair_span at = {k, k + ROOM_ROWS < all.to ? k + ROOM_ROWS : all.to,
                                      begin};
        struct view dy = view_rows(&r->d_out[0], at.from, at.to);
        nn_cpu_pair_through_act(c->act, view_rows(&r->out[0], at.from, at.to), dy);
        nn_cpu_pair_backward(r, c, s, at, dy, grads);
    }
}

int64_t nn_cpu_pair_piece_rows(const struct op_run *r)
{
    int64_t n = r->env->rows.n[AXIS_BATCH];
    return n > PAIR_PIECES ? (n + PAIR_PIECES - 1) / PAIR_PIECES : 1;
}

int64_t nn_cpu_pair_pieces(const struct op_run *r)
{
    return pool_chunks(r->env->rows.n[AXIS_BATCH], nn_cpu_pair_piece_rows(r));
}

static void key_sync_backward(const struct op_run *r)
{
    pool_for(r->env->pool, r->env->rows.n[AXIS_BATCH], nn_cpu_pair_piece_rows(r),
             key_piece, (void *)r);
}

struct merge {
    const struct op_run *r;
    const struct op_pair_conf *c;
    const struct nn_cpu_pair_state *s;
};

static void add_units(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct merge *m = arg;
    const struct op_pair_conf *c = m->c;
    int64_t pieces = nn_cpu_pair_pieces(m->r);
    for (int64_t u = begin; u < end; u++)
        for (int64_t p = 0; p < pieces; p++) {
            const float *g = m->s->grads + (p * c->out + u) * m->s->in;
            float *to = grad_row(m->r, u);
            kernels()->add(to + c->key, g, c->d);
            kernels()->add(to + c->product, g + c->d, c->d);
            if (c->diff >= 0)
                kernels()->axpy(to + c->diff, -1.0f, g, c->d);
        }
}

void nn_cpu_pair_merge(const struct op_run *r, const struct op_pair_conf *c,
                       const struct nn_cpu_pair_state *s)
{
    enum { UNITS = 16 };
    struct merge m = {r, c, s};
    if (r->params[0]->grad)
        pool_for(r->env->pool, c->out, UNITS, add_units, &m);
}

static void key_grads(const struct op_run *r)
{
    nn_cpu_pair_merge(r, r->conf, r->state);
}

const struct nn_cpu_op nn_cpu_pair_keys = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .setup = key_setup,
    .teardown = pair_teardown,
    .begin = key_begin,
    .forward = key_forward,
    .sync_backward = key_sync_backward,
    .grads = key_grads,
};
