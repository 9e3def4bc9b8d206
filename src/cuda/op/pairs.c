/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over pairs of a query q and a key k, as nn/cpu/pairs.c has it:
 *
 *     W [q, k, q - k, q * k] = (Wq + Wd) q + (Wk - Wd) k + Wp (q * k)
 *
 * The first term is one product per row of the batch (`query part`). For the others k and
 * q * k of all positions are laid out and multiplied by [Wk - Wd, Wp]. `pair net` has a second
 * layer behind it; its hidden values are made again by the backward pass rather than kept.
 * Positions are taken a stretch of batch rows at a time, so that what is laid out stays bounded.
 */
#include "nn/op/pair_net.h"

#include "cuda/op/linear.h"
#include "cuda/op/op.h"
#include "cuda/op/pairs.h"

#define POSITIONS_MAX ((int64_t)1 << 19) /* laid out at a time, unless one row has more */

/* One of the two ops over positions. */
struct pair_op {
    const struct cuda_run *r;
    const struct op_pair_conf *first;
    const struct op_net_conf *second; /* NULL: there is one layer only */
    struct cuda_rows joined;          /* [out][2 d]: Wk - Wd, Wp */
    struct cuda_rows d_joined;
    float *room; /* the rest of the scratch */
};

/* Batch rows [begin, end), whose positions are [from, to). */
struct stretch {
    int64_t begin, end, from, to;
    const int64_t *at;        /* offsets of those rows, the card's */
    struct cuda_rows operand; /* [positions][2 d] */
    struct cuda_rows hidden, d_hidden;
};

static enum blas_precision precision_of(const struct cuda_run *r, enum gemm_precision p)
{
    return p == GEMM_BF16 ? BLAS_BF16 : r->tf32 ? BLAS_TF32 : BLAS_F32;
}

static struct blas_matrix plain(struct cuda_rows v)
{
    return (struct blas_matrix){v.at, v.ld, false, false};
}

static struct blas_matrix turned(struct cuda_rows v)
{
    return (struct blas_matrix){v.at, v.ld, true, false};
}

static void multiply(const struct cuda_run *r, enum gemm_precision p,
                     struct blas_matrix a, struct blas_matrix b, int64_t k, bool add,
                     struct cuda_rows out)
{
    struct blas_out to = {out.at, out.rows, out.width, out.ld, false};
    cuda_note(r->cuda,
              blas_product(&r->cuda->blas, precision_of(r, p), a, b, k, add, to));
}

static struct cuda_rows matrix(float *at, int64_t rows, int64_t width)
{
    return (struct cuda_rows){at, rows, width, width};
}

static struct cuda_rows weight_of(const struct param *p, float *at)
{
    return matrix(at, p->dims[0], p->dims[1]);
}

static struct cuda_rows part(struct cuda_rows v, int64_t begin, int64_t end)
{
    return (struct cuda_rows){v.at + begin * v.ld, end - begin, v.width, v.ld};
}

/* out (+)= v's row sums by column */
static void add_columns(const struct cuda_run *r, struct cuda_rows v, float *scratch,
                        float *out)
{
    cuda_column_sums(r->cuda->stream, v, (struct cuda_rows){0}, scratch, out);
}

/* --- query part --- */

/* Wq + Wd into `to`. */
static void join_query(const struct cuda_run *r, struct cuda_rows to)
{
    const struct op_pair_conf *c = r->op->conf;
    const struct param *p = r->op->params[0];
    struct cuda_rows w = weight_of(p, p->value);
    cuda_put(r->cuda->stream, cuda_cols(w, c->query, c->d), to, false);
    if (c->diff >= 0)
        cuda_put(r->cuda->stream, cuda_cols(w, c->diff, c->d), to, true);
}

static void query_forward(const struct cuda_run *r)
{
    const struct op_pair_conf *c = r->op->conf;
    struct cuda_rows y = cuda_out(r);
    float *scratch = cuda_scratch(r->cuda, c->out * c->d);
    if (!scratch)
        return;
    struct cuda_rows w = matrix(scratch, c->out, c->d);
    join_query(r, w);
    multiply(r, c->precision, plain(cuda_in(r, 0)), turned(w), c->d, false, y);
    cuda_bias_act(r->cuda->stream, c->bias ? r->op->params[1]->value : NULL,
                  CUDA_ACT_NONE, y);
}

static void query_backward(const struct cuda_run *r)
{
    const struct op_pair_conf *c = r->op->conf;
    const struct param *p = r->op->params[0], *bias = c->bias ? r->op->params[1] : NULL;
    struct cuda_rows dy = cuda_d_out(r);
    int64_t n = c->out * c->d;
    float *scratch = cuda_scratch(r->cuda, n + cuda_column_scratch(c->out));
    if (!scratch)
        return;
    struct cuda_rows w = matrix(scratch, c->out, c->d);
    join_query(r, w);
    if (cuda_wants(r, 0))
        multiply(r, c->precision, plain(dy), plain(w), c->out, cuda_adds(r, 0),
                 cuda_d_in(r, 0));
    if (p->grad) {
        struct cuda_rows dw = weight_of(p, p->grad);
        multiply(r, c->precision, turned(dy), plain(cuda_in(r, 0)), dy.rows, false, w);
        cuda_put(r->cuda->stream, w, cuda_cols(dw, c->query, c->d), true);
        if (c->diff >= 0)
            cuda_put(r->cuda->stream, w, cuda_cols(dw, c->diff, c->d), true);
    }
    if (bias && bias->grad)
        add_columns(r, dy, scratch + n, bias->grad);
}

const struct cuda_op cuda_op_pair_query = {.forward = query_forward,
                                           .backward = query_backward};

/* --- positions --- */

static const int64_t *host_offsets(const struct cuda_run *r)
{
    return r->op->env->rows.offsets[r->op->in_axis[IN_KEY]];
}

/* The next batch rows whose positions are laid out together; false at the end. */
static bool next_stretch(const struct cuda_run *r, struct stretch *s)
{
    const int64_t *at = host_offsets(r);
    int64_t rows = r->op->env->rows.n[AXIS_BATCH];
    do {
        s->begin = s->end;
        if (s->begin >= rows)
            return false;
        s->end++;
        while (s->end < rows && at[s->end + 1] - at[s->begin] <= POSITIONS_MAX)
            s->end++;
        s->from = at[s->begin];
        s->to = at[s->end];
    } while (s->from == s->to);
    s->at = r->offsets[r->op->in_axis[IN_KEY]] + s->begin;
    return true;
}

/* Where several are needed, their bounds follow from the lengths. */
static bool pairs_vary(const struct cuda_run *r)
{
    return r->op->in[IN_KEY].rows > POSITIONS_MAX;
}

static int64_t most_positions(const struct cuda_run *r)
{
    struct stretch s = {0};
    int64_t most = 0;
    while (next_stretch(r, &s))
        most = s.to - s.from > most ? s.to - s.from : most;
    return most;
}

/* Scratch of a pass: joined weights and their gradient, then what positions need. */
static bool reserve(struct pair_op *p, bool backward)
{
    const struct op_pair_conf *c = p->first;
    int64_t n = c->out * 2 * c->d, positions = most_positions(p->r);
    int64_t widest = p->second && p->second->out > c->out ? p->second->out : c->out;
    float *at = cuda_scratch(p->r->cuda, 2 * n + cuda_column_scratch(widest) +
                                             positions * (4 * c->d + 2 * c->out));
    if (!at)
        return false;
    p->joined = matrix(at, c->out, 2 * c->d);
    p->d_joined = matrix(at + n, c->out, 2 * c->d);
    p->room = at + 2 * n + cuda_column_scratch(widest);
    return true;
}

static float *column_scratch(const struct pair_op *p)
{
    return p->d_joined.at + p->first->out * 2 * p->first->d;
}

void cuda_pair_join(const struct cuda_run *r, const struct op_pair_conf *c,
                    struct cuda_rows to)
{
    const struct param *w = r->op->params[PARAM_FIRST];
    struct cuda_rows from = weight_of(w, w->value), keys = cuda_cols(to, 0, c->d);
    cuda_stream s = r->cuda->stream;
    cuda_put(s, cuda_cols(from, c->key, c->d), keys, false);
    if (c->diff >= 0)
        cuda_scale(s, -1, 0, cuda_cols(from, c->diff, c->d), keys, true);
    cuda_put(s, cuda_cols(from, c->product, c->d), cuda_cols(to, c->d, c->d), false);
}

/* The first layer over a stretch into `hidden`. */
static void first_layer(const struct pair_op *p, struct stretch *s,
                        struct cuda_rows hidden)
{
    const struct cuda_run *r = p->r;
    const struct op_pair_conf *c = p->first;
    s->operand = matrix(p->room, s->to - s->from, 2 * c->d);
    s->hidden = hidden;
    cuda_pair_operand(r->cuda->stream, s->at, s->from,
                      part(cuda_in(r, IN_QUERY), s->begin, s->end),
                      part(cuda_in(r, IN_KEY), s->from, s->to), s->operand);
    multiply(r, c->precision, plain(s->operand), turned(p->joined), 2 * c->d, false,
             hidden);
    cuda_pair_act(r->cuda->stream, s->at, s->from,
                  part(cuda_in(r, IN_START), s->begin, s->end), cuda_act_of(c->act),
                  hidden);
}

static struct cuda_rows hidden_room(const struct pair_op *p, const struct stretch *s,
                                    int which)
{
    int64_t n = s->to - s->from, out = p->first->out;
    return matrix(p->room + n * 4 * p->first->d + which * n * out, n, out);
}

/* dh: the gradient behind the activation of the first layer. */
static void first_back(const struct pair_op *p, const struct stretch *s,
                       struct cuda_rows dh)
{
    const struct cuda_run *r = p->r;
    const struct op_pair_conf *c = p->first;
    cuda_stream stream = r->cuda->stream;
    struct cuda_rows d_operand =
        matrix(p->room + s->operand.rows * 2 * c->d, s->operand.rows, 2 * c->d);
    cuda_act_from_out(stream, cuda_act_of(c->act), s->hidden, dh);
    if (cuda_wants(r, IN_START))
        cuda_pair_sum(stream, s->at, s->from, dh,
                      part(cuda_d_in(r, IN_START), s->begin, s->end),
                      cuda_adds(r, IN_START));
    if (r->op->params[PARAM_FIRST]->grad)
        multiply(r, c->precision, turned(dh), plain(s->operand), dh.rows, true,
                 p->d_joined);
    multiply(r, c->precision, plain(dh), plain(p->joined), c->out, false, d_operand);
    if (cuda_wants(r, IN_KEY))
        cuda_pair_back_key(
            stream, s->at, s->from, part(cuda_in(r, IN_QUERY), s->begin, s->end),
            d_operand, part(cuda_d_in(r, IN_KEY), s->from, s->to), cuda_adds(r, IN_KEY));
    if (cuda_wants(r, IN_QUERY))
        cuda_pair_back_query(
            stream, s->at, s->from, part(cuda_in(r, IN_KEY), s->from, s->to), d_operand,
            part(cuda_d_in(r, IN_QUERY), s->begin, s->end), cuda_adds(r, IN_QUERY));
}

void cuda_pair_split(const struct cuda_run *r, const struct op_pair_conf *c,
                     struct cuda_rows d_joined)
{
    const struct param *w = r->op->params[PARAM_FIRST];
    cuda_stream s = r->cuda->stream;
    if (!w->grad)
        return;
    struct cuda_rows to = weight_of(w, w->grad), keys = cuda_cols(d_joined, 0, c->d);
    cuda_put(s, keys, cuda_cols(to, c->key, c->d), true);
    if (c->diff >= 0)
        cuda_scale(s, -1, 0, keys, cuda_cols(to, c->diff, c->d), true);
    cuda_put(s, cuda_cols(d_joined, c->d, c->d), cuda_cols(to, c->product, c->d), true);
}

/* Rows without positions have no stretch, or none of their own to write. */
static void clear_fresh(const struct cuda_run *r, int input)
{
    if (cuda_wants(r, input) && !cuda_adds(r, input))
        cuda_fill(r->cuda->stream, cuda_d_in(r, input), 0);
}

/* --- key part --- */

static void key_forward(const struct cuda_run *r)
{
    struct pair_op p = {.r = r, .first = r->op->conf};
    struct stretch s = {0};
    if (!reserve(&p, false))
        return;
    cuda_pair_join(r, p.first, p.joined);
    while (next_stretch(r, &s))
        first_layer(&p, &s, part(cuda_out(r), s.from, s.to));
}

static void key_backward(const struct cuda_run *r)
{
    struct pair_op p = {.r = r, .first = r->op->conf};
    struct stretch s = {0};
    clear_fresh(r, IN_START);
    clear_fresh(r, IN_QUERY);
    if (!reserve(&p, true))
        return;
    cuda_pair_join(r, p.first, p.joined);
    cuda_fill(r->cuda->stream, p.d_joined, 0);
    while (next_stretch(r, &s)) {
        s.operand = matrix(p.room, s.to - s.from, 2 * p.first->d);
        s.hidden = part(cuda_out(r), s.from, s.to);
        cuda_pair_operand(r->cuda->stream, s.at, s.from,
                          part(cuda_in(r, IN_QUERY), s.begin, s.end),
                          part(cuda_in(r, IN_KEY), s.from, s.to), s.operand);
        first_back(&p, &s, part(cuda_d_out(r), s.from, s.to));
    }
    cuda_pair_split(r, p.first, p.d_joined);
}

const struct cuda_op cuda_op_pair_keys = {
    .varies = pairs_vary, .forward = key_forward, .backward = key_backward};

/* --- pair net --- */

static void net_forward(const struct cuda_run *r)
{
    const struct op_net_conf *c = r->op->conf;
    struct pair_op p = {.r = r, .first = &c->first, .second = c};
    const struct param *w = r->op->params[PARAM_SECOND];
    struct stretch s = {0};
    if (cuda_pair_net_bf16_forward(r) || !reserve(&p, false))
        return;
    cuda_pair_join(r, p.first, p.joined);
    while (next_stretch(r, &s)) {
        struct cuda_rows y = part(cuda_out(r), s.from, s.to);
        first_layer(&p, &s, hidden_room(&p, &s, 0));
        multiply(r, c->first.precision, plain(s.hidden), turned(weight_of(w, w->value)),
                 c->first.out, false, y);
        cuda_bias_act(r->cuda->stream, c->bias ? r->op->params[PARAM_BIAS]->value : NULL,
                      cuda_act_of(c->act), y);
    }
}

static void second_back(const struct pair_op *p, const struct stretch *s,
                        struct cuda_rows dh)
{
    const struct cuda_run *r = p->r;
    const struct op_net_conf *c = p->second;
    const struct param *w = r->op->params[PARAM_SECOND];
    const struct param *bias = c->bias ? r->op->params[PARAM_BIAS] : NULL;
    struct cuda_rows dy = part(cuda_d_out(r), s->from, s->to);
    cuda_act_from_out(r->cuda->stream, cuda_act_of(c->act),
                      part(cuda_out(r), s->from, s->to), dy);
    if (w->grad)
        multiply(r, c->first.precision, turned(dy), plain(s->hidden), dy.rows, true,
                 weight_of(w, w->grad));
    if (bias && bias->grad)
        add_columns(r, dy, column_scratch(p), bias->grad);
    multiply(r, c->first.precision, plain(dy), plain(weight_of(w, w->value)), c->out,
             false, dh);
}

static void net_backward(const struct cuda_run *r)
{
    const struct op_net_conf *c = r->op->conf;
    struct pair_op p = {.r = r, .first = &c->first, .second = c};
    struct stretch s = {0};
    clear_fresh(r, IN_START);
    clear_fresh(r, IN_QUERY);
    if (cuda_pair_net_bf16_backward(r) || !reserve(&p, true))
        return;
    cuda_pair_join(r, p.first, p.joined);
    cuda_fill(r->cuda->stream, p.d_joined, 0);
    while (next_stretch(r, &s)) {
        struct cuda_rows dh = hidden_room(&p, &s, 1);
        first_layer(&p, &s, hidden_room(&p, &s, 0));
        second_back(&p, &s, dh);
        first_back(&p, &s, dh);
    }
    cuda_pair_split(r, p.first, p.d_joined);
}

const struct cuda_op cuda_op_pair_net = {
    .varies = pairs_vary, .forward = net_forward, .backward = net_backward};
