/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers with another shape: a weight that lies the other way round, and one of whose input
 * only the first columns learn.
 */
#include "nn/op/times.h"

#include "cuda/op/linear.h"
#include "cuda/op/op.h"
#include "cuda/op/product.h"
#include "nn/op/linear_front.h"

static struct cuda_rows matrix(const struct op_times_conf *c, float *at)
{
    return (struct cuda_rows){at, c->in, c->out, c->out};
}

static void times_forward(const struct cuda_run *r)
{
    const struct op_times_conf *c = r->op->conf;
    cuda_multiply(r, c->precision, cuda_plain(cuda_flat(cuda_in(r, 0), c->in)),
                  cuda_plain(matrix(c, r->op->params[0]->value)), c->in, false,
                  cuda_flat(cuda_out(r), c->out));
}

static void times_backward(const struct cuda_run *r)
{
    const struct op_times_conf *c = r->op->conf;
    const struct param *w = r->op->params[0];
    struct cuda_rows x = cuda_flat(cuda_in(r, 0), c->in);
    struct cuda_rows dy = cuda_flat(cuda_d_out(r), c->out);
    if (cuda_wants(r, 0))
        cuda_multiply(r, c->precision, cuda_plain(dy), cuda_turned(matrix(c, w->value)),
                      c->out, cuda_adds(r, 0), cuda_flat(cuda_d_in(r, 0), c->in));
    if (w->grad)
        cuda_multiply(r, c->precision, cuda_turned(x), cuda_plain(dy), x.rows, true,
                      matrix(c, w->grad));
}

const struct cuda_op cuda_op_times = {.forward = times_forward,
                                      .backward = times_backward};

/* The first columns of the weight, or all. */
static struct cuda_rows weight(const struct cuda_run *r, float *at, int64_t columns)
{
    const struct op_front_conf *c = r->op->conf;
    return (struct cuda_rows){at, c->out, columns, r->op->params[0]->dims[1]};
}

static void front_forward(const struct cuda_run *r)
{
    const struct op_front_conf *c = r->op->conf;
    struct cuda_rows x = cuda_in(r, IN_ALL), y = cuda_out(r);
    cuda_multiply(r, c->precision, cuda_plain(x),
                  cuda_turned(weight(r, r->op->params[0]->value, x.width)), x.width,
                  false, y);
    cuda_bias_act(r->cuda->stream, r->op->params[1]->value, cuda_act_of(c->act), y);
}

/* d_out becomes the gradient before the activation, in place: nobody else reads it. */
static void front_backward(const struct cuda_run *r)
{
    const struct op_front_conf *c = r->op->conf;
    const struct param *w = r->op->params[0];
    struct cuda_rows x = cuda_in(r, IN_ALL), dy = cuda_d_out(r);
    struct cuda_rows dx = cuda_d_in(r, IN_FRONT);
    float *scratch = cuda_scratch(r->cuda, cuda_back_scratch(c->out));
    if (!scratch)
        return;
    cuda_act_back_sums(r->cuda->stream, cuda_act_of(c->act), cuda_out(r), dy, dy, scratch,
                       r->op->params[1]->grad);
    if (cuda_wants(r, IN_FRONT))
        cuda_multiply(r, c->precision, cuda_plain(dy),
                      cuda_plain(weight(r, w->value, dx.width)), c->out,
                      cuda_adds(r, IN_FRONT), dx);
    if (w->grad)
        cuda_multiply(r, c->precision, cuda_turned(dy), cuda_plain(x), x.rows, true,
                      weight(r, w->grad, x.width));
}

const struct cuda_op cuda_op_linear_front = {.forward = front_forward,
                                             .backward = front_backward};
