/* SPDX-License-Identifier: Apache-2.0 */
/* The first two layers of an attention's net over pairs of a query and a key, as one op.
 *
 * The first layer (pairs.c) is by far the widest value of such a model: 256 floats for
 * each of 50 positions of a row. So it never leaves the second cache: a block of
 * positions goes through both layers, and backward makes the first one again, which costs
 * less than writing it to memory and reading it twice. Gradients of weights are added up
 * in PAIR_PIECES pieces of the batch.
 */
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/pairs.h"
#include "nn/op/pair_net.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define HIDDEN_FLOATS 69632 /* of the first layer of a block */
#define SKEW 16 /* floats between rows, so that they fall into different sets */

struct net_state {
    struct nn_cpu_pair_state first;
    struct gemm_weight *second;
    float *grads; /* [pieces][out][first.out + 1]: weights, then those of the bias */
};

static int64_t second_floats(const struct op_net_conf *c)
{
    return c->out * (c->first.out + 1);
}

static void net_teardown(void *state)
{
    struct net_state *s = state;
    if (!s)
        return;
    nn_cpu_pair_release(&s->first);
    gemm_weight_destroy(s->second);
    mem_free(s->grads);
    mem_free(s);
}

static enum rc net_setup(const void *conf, const struct nn_shape *in,
                         const struct nn_shape *out, bool training, void **state,
                         struct err *err)
{
    const struct op_net_conf *c = conf;
    struct net_state *s = mem_calloc(1, sizeof(*s));
    size_t n = (size_t)(PAIR_PIECES * second_floats(c));
    enum rc rc = nn_cpu_pair_init(&s->first, &c->first, training, err);
    if (!rc)
        rc = gemm_weight_create(c->out, c->first.out, c->first.precision, training,
                                &s->second, err);
    s->grads = !rc && training ? mem_try_aligned(64, n, sizeof(float)) : NULL;
    if (!rc && training && !s->grads)
        rc = err_set(err, RC_NOMEM, "no memory for the gradient of %zu weights", n);
    if (rc)
        net_teardown(s);
    else
        *state = s;
    return rc;
}

static void net_begin(const struct op_run *r)
{
    const struct op_net_conf *c = r->conf;
    const struct net_state *s = r->state;
    nn_cpu_pair_pack(r, &c->first, &s->first);
    gemm_pack(s->second, r->params[PARAM_SECOND]->value);
}

/* From `begin` on: whole rows of the batch as far as they fit, or a part of a long one.
 * at->to == at->from at the end.
 */
static void next_block(const struct op_run *r, int64_t end, struct nn_cpu_pair_span *at)
{
    const struct op_net_conf *c = r->conf;
    const int64_t *offsets = r->env->rows.offsets[r->in_axis[IN_KEY]];
    int64_t most = HIDDEN_FLOATS / (c->first.out + SKEW), row = at->row;
    at->from = at->to;
    while (row < end && offsets[row + 1] <= at->from)
        row++;
    at->row = row;
    while (row < end && offsets[row + 1] - at->from <= most)
        at->to = offsets[++row];
    if (at->to == at->from && row < end)
        at->to = offsets[row + 1] < at->from + most ? offsets[row + 1] : at->from + most;
}

static struct nn_cpu_pair_span no_block(const struct op_run *r, int64_t begin)
{
    int64_t at = r->env->rows.offsets[r->in_axis[IN_KEY]][begin];
    return (struct nn_cpu_pair_span){at, at, begin};
}

static struct view hidden_view(const struct op_net_conf *c, struct nn_cpu_pair_span at,
                               float *room)
{
    return (struct view){.data = room,
                         .rows = at.to - at.from,
                         .width = c->first.out,
                         .ld = c->first.out + SKEW};
}

static void net_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_net_conf *c = r->conf;
    const struct net_state *s = r->state;
    _Alignas(64) float room[HIDDEN_FLOATS];
    struct nn_cpu_pair_span at = no_block(r, begin);
    for (next_block(r, end, &at); at.from < at.to; next_block(r, end, &at)) {
        struct view h = hidden_view(c, at, room);
        nn_cpu_pair_forward(r, &c->first, &s->first, at, h);
        gemm_forward(s->second, h, c->bias ? r->params[PARAM_BIAS]->value : NULL, c->act,
                     view_rows(&r->out[0], at.from, at.to));
    }
}

/* A block of positions backward through both layers. */
static void net_block(const struct op_run *r, struct nn_cpu_pair_span at, float *first,
                      float *second)
{
    const struct op_net_conf *c = r->conf;
    const struct net_state *s = r->state;
    _Alignas(64) float room[HIDDEN_FLOATS], d_room[HIDDEN_FLOATS];
    struct view h = hidden_view(c, at, room), dh = hidden_view(c, at, d_room);
    struct view dy = view_rows(&r->d_out[0], at.from, at.to);
    nn_cpu_pair_forward(r, &c->first, &s->first, at, h);
    nn_cpu_pair_through_act(c->act, view_rows(&r->out[0], at.from, at.to), dy);
    gemm_gradient(s->second, dy, h, second, second + c->out * c->first.out, NULL);
    gemm_backward(s->second, dy, false, dh);
    nn_cpu_pair_through_act(c->first.act, h, dh);
    nn_cpu_pair_backward(r, &c->first, &s->first, at, dh, first);
}

static void net_piece(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_net_conf *c = r->conf;
    const struct net_state *s = r->state;
    int64_t n = c->first.out * s->first.in;
    float *first = s->first.grads + chunk * n;
    float *second = s->grads + chunk * second_floats(c);
    nn_cpu_pair_clear(r, begin, end);
    memset(first, 0, (size_t)n * sizeof(float));
    memset(second, 0, (size_t)second_floats(c) * sizeof(float));
    struct nn_cpu_pair_span at = no_block(r, begin);
    for (next_block(r, end, &at); at.from < at.to; next_block(r, end, &at))
        net_block(r, at, first, second);
}

static void net_sync_backward(const struct op_run *r)
{
    pool_for(r->env->pool, r->env->rows.n[AXIS_BATCH], nn_cpu_pair_piece_rows(r),
             net_piece, (void *)r);
}

static void add_units(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_net_conf *c = r->conf;
    const struct net_state *s = r->state;
    int64_t pieces = nn_cpu_pair_pieces(r), in = c->first.out;
    float *bias = c->bias ? r->params[PARAM_BIAS]->grad : NULL;
    for (int64_t p = 0; p < pieces; p++) {
        const float *g = s->grads + p * second_floats(c);
        kernels()->add(r->params[PARAM_SECOND]->grad + begin * in, g + begin * in,
                       (end - begin) * in);
        if (bias)
            kernels()->add(bias + begin, g + c->out * in + begin, end - begin);
    }
}

static void net_grads(const struct op_run *r)
{
    enum { UNITS = 16 };
    const struct op_net_conf *c = r->conf;
    const struct net_state *s = r->state;
    nn_cpu_pair_merge(r, &c->first, &s->first);
    if (r->params[PARAM_SECOND]->grad)
        pool_for(r->env->pool, c->out, UNITS, add_units, (void *)r);
}

const struct nn_cpu_op nn_cpu_pair_net = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .setup = net_setup,
    .teardown = net_teardown,
    .begin = net_begin,
    .forward = net_forward,
    .sync_backward = net_sync_backward,
    .grads = net_grads,
};
