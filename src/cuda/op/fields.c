/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a row: sums, gates, a bias for each value, products of small matrices, mixtures and
 * pairs.
 */
#include "nn/op/fields.h"

#include "cuda/op/op.h"
#include "nn/op/field_conv.h"
#include "nn/op/field_gate.h"
#include "nn/op/field_mix.h"
#include "nn/op/field_pairs.h"

static void sum_forward(const struct cuda_run *r)
{
    const struct op_gate_conf *c = r->op->conf;
    cuda_field_sum(r->cuda->stream, c->n, c->d, c->over_fields, cuda_in(r, 0),
                   cuda_out(r));
}

static void sum_backward(const struct cuda_run *r)
{
    const struct op_gate_conf *c = r->op->conf;
    if (cuda_wants(r, 0))
        cuda_field_sum_back(r->cuda->stream, c->d, c->over_fields, cuda_d_out(r),
                            cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_field_sum = {.forward = sum_forward,
                                          .backward = sum_backward};

static void gate_forward(const struct cuda_run *r)
{
    const struct op_gate_conf *c = r->op->conf;
    cuda_field_gate(r->cuda->stream, c->d, cuda_in(r, 0), cuda_in(r, 1), cuda_out(r),
                    false);
}

static void gate_backward(const struct cuda_run *r)
{
    const struct op_gate_conf *c = r->op->conf;
    if (cuda_wants(r, 0))
        cuda_field_dots(r->cuda->stream, c->d, cuda_d_out(r), cuda_in(r, 1),
                        cuda_d_in(r, 0), cuda_adds(r, 0));
    if (cuda_wants(r, 1))
        cuda_field_gate(r->cuda->stream, c->d, cuda_in(r, 0), cuda_d_out(r),
                        cuda_d_in(r, 1), cuda_adds(r, 1));
}

const struct cuda_op cuda_op_field_gate = {.forward = gate_forward,
                                           .backward = gate_backward};

static void bias_forward(const struct cuda_run *r)
{
    cuda_put(r->cuda->stream, cuda_in(r, 0), cuda_out(r), false);
    cuda_bias_act(r->cuda->stream, r->op->params[0]->value, CUDA_ACT_NONE, cuda_out(r));
}

static void bias_backward(const struct cuda_run *r)
{
    struct cuda_rows dy = cuda_d_out(r);
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(dy.width));
    if (cuda_wants(r, 0))
        cuda_put(r->cuda->stream, dy, cuda_d_in(r, 0), cuda_adds(r, 0));
    if (r->op->params[0]->grad && scratch)
        cuda_column_sums(r->cuda->stream, dy, (struct cuda_rows){0}, scratch,
                         r->op->params[0]->grad);
}

const struct cuda_op cuda_op_bias = {.forward = bias_forward, .backward = bias_backward};

static void turn_forward(const struct cuda_run *r)
{
    const struct op_sides *c = r->op->conf;
    cuda_turn(r->cuda->stream, c->n, c->d, cuda_in(r, 0), cuda_out(r), false);
}

static void turn_backward(const struct cuda_run *r)
{
    const struct op_sides *c = r->op->conf;
    if (cuda_wants(r, 0))
        cuda_turn(r->cuda->stream, c->d, c->n, cuda_d_out(r), cuda_d_in(r, 0),
                  cuda_adds(r, 0));
}

const struct cuda_op cuda_op_transpose = {.forward = turn_forward,
                                          .backward = turn_backward};

/* y [n][k] = a [n][d] b [d][k] */
static void product_forward(const struct cuda_run *r)
{
    const struct op_sides *c = r->op->conf;
    cuda_row_product(
        r->cuda->stream,
        (struct cuda_factor){.rows = cuda_in(r, 0), .step = c->d, .inner = 1},
        (struct cuda_factor){
            .rows = cuda_in(r, 1), .step = 1, .inner = c->k, .outer = c->k},
        c->d, 1, cuda_out(r), false);
}

/* da = dy b^T, db = a^T dy */
static void product_backward(const struct cuda_run *r)
{
    const struct op_sides *c = r->op->conf;
    struct cuda_rows dy = cuda_d_out(r);
    if (cuda_wants(r, 0))
        cuda_row_product(
            r->cuda->stream, (struct cuda_factor){.rows = dy, .step = c->k, .inner = 1},
            (struct cuda_factor){
                .rows = cuda_in(r, 1), .step = c->k, .inner = 1, .outer = c->d},
            c->k, 1, cuda_d_in(r, 0), cuda_adds(r, 0));
    if (cuda_wants(r, 1))
        cuda_row_product(
            r->cuda->stream,
            (struct cuda_factor){.rows = cuda_in(r, 0), .step = 1, .inner = c->d},
            (struct cuda_factor){.rows = dy, .step = 1, .inner = c->k, .outer = c->k},
            c->n, 1, cuda_d_in(r, 1), cuda_adds(r, 1));
}

const struct cuda_op cuda_op_row_product = {.forward = product_forward,
                                            .backward = product_backward};

/* y [d][n][k] = a [d][n] times b [d][k] */
static void outer_forward(const struct cuda_run *r)
{
    const struct op_sides *c = r->op->conf;
    cuda_row_product(
        r->cuda->stream,
        (struct cuda_factor){.rows = cuda_in(r, 0), .block = c->n, .step = 1},
        (struct cuda_factor){
            .rows = cuda_in(r, 1), .block = c->k, .step = 1, .outer = c->k},
        1, c->d, cuda_out(r), false);
}

static void outer_backward(const struct cuda_run *r)
{
    const struct op_sides *c = r->op->conf;
    struct cuda_factor dy = {.rows = cuda_d_out(r), .block = c->n * c->k};
    struct cuda_factor a = {.rows = cuda_in(r, 0), .block = c->n, .inner = 1, .outer = 1};
    struct cuda_factor b = {.rows = cuda_in(r, 1), .block = c->k, .inner = 1, .outer = 1};
    dy.step = c->k;
    dy.inner = 1;
    if (cuda_wants(r, 0))
        cuda_row_product(r->cuda->stream, dy, b, c->k, c->d, cuda_d_in(r, 0),
                         cuda_adds(r, 0));
    dy.step = 1;
    dy.inner = c->k;
    if (cuda_wants(r, 1))
        cuda_row_product(r->cuda->stream, dy, a, c->n, c->d, cuda_d_in(r, 1),
                         cuda_adds(r, 1));
}

const struct cuda_op cuda_op_outer = {.forward = outer_forward,
                                      .backward = outer_backward};

/* y [out][d] = w^T x, with w [n][out] and x [n][d] */
static void mix_forward(const struct cuda_run *r)
{
    const struct op_mix_conf *c = r->op->conf;
    cuda_field_mix(r->cuda->stream, c->n, c->d, r->op->params[0]->value, 1, c->out,
                   cuda_in(r, 0), cuda_out(r), false);
}

static void mix_backward(const struct cuda_run *r)
{
    const struct op_mix_conf *c = r->op->conf;
    const struct param *w = r->op->params[0];
    float *scratch = cuda_scratch(r->cuda, cuda_column_scratch(c->n * c->out));
    if (cuda_wants(r, 0))
        cuda_field_mix(r->cuda->stream, c->out, c->d, w->value, c->out, 1, cuda_d_out(r),
                       cuda_d_in(r, 0), cuda_adds(r, 0));
    if (w->grad && scratch)
        cuda_field_mix_grad(r->cuda->stream, c->d, c->out, cuda_in(r, 0), cuda_d_out(r),
                            scratch, w->grad, c->n);
}

const struct cuda_op cuda_op_field_mix = {.forward = mix_forward,
                                          .backward = mix_backward};

static struct cuda_pairs pairs_of(const struct cuda_run *r)
{
    static const enum cuda_pair_left lefts[] = {[LEFT_FIELD] = CUDA_LEFT_FIELD,
                                                [LEFT_PAIR] = CUDA_LEFT_PAIR,
                                                [LEFT_AWARE] = CUDA_LEFT_AWARE};
    const struct op_pairs_conf *c = r->op->conf;
    return (struct cuda_pairs){lefts[c->left], c->n, c->d,
                               c->dots && c->left == LEFT_AWARE};
}

static void pairs_forward(const struct cuda_run *r)
{
    cuda_field_pairs(r->cuda->stream, pairs_of(r), cuda_in(r, 0),
                     cuda_in(r, r->op->n_in - 1), cuda_out(r));
}

static void pairs_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_field_pairs_back_left(r->cuda->stream, pairs_of(r),
                                   cuda_in(r, r->op->n_in - 1), cuda_d_out(r),
                                   cuda_d_in(r, 0), cuda_adds(r, 0));
    if (r->op->n_in > 1 && cuda_wants(r, 1))
        cuda_field_pairs_back_right(r->cuda->stream, pairs_of(r), cuda_in(r, 0),
                                    cuda_d_out(r), cuda_d_in(r, 1), cuda_adds(r, 1));
}

const struct cuda_op cuda_op_field_pairs = {.forward = pairs_forward,
                                            .backward = pairs_backward};

static struct cuda_max_fields max_of(const struct cuda_run *r)
{
    const struct op_max_conf *c = r->op->conf;
    return (struct cuda_max_fields){c->n, c->maps, c->height};
}

static void max_forward(const struct cuda_run *r)
{
    cuda_field_max(r->cuda->stream, max_of(r), cuda_in(r, 0), cuda_out(r));
}

static void max_backward(const struct cuda_run *r)
{
    if (cuda_wants(r, 0))
        cuda_field_max_back(r->cuda->stream, max_of(r), cuda_in(r, 0), cuda_out(r),
                            cuda_d_out(r), cuda_d_in(r, 0), cuda_adds(r, 0));
}

const struct cuda_op cuda_op_field_max = {.forward = max_forward,
                                          .backward = max_backward};
