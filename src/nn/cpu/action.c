/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/op/action.h"

#include <string.h>

#include "nn/cpu/cpu.h"
#include "tensor/kernel.h"

#define COLUMNS 64 /* of a row that one thread adds to */

/* The bits of row k: what the data say, and what follows from the watch time. */
static uint64_t bits_of(const struct op_run *r, int64_t k)
{
    const struct op_action_conf *c = r->conf;
    uint64_t bits = (uint64_t)(int64_t)*view_row(&r->in[0], k);
    int64_t first = c->c.types - c->c.thresholds;
    for (int64_t i = 0; i < c->c.thresholds; i++)
        if (*view_row(&r->in[1], k) >= (float)c->c.threshold[i])
            bits |= c->c.bits[first + i];
    return bits;
}

static void action_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_action_conf *c = r->conf;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++) {
        float *y = view_row(&r->out[0], k);
        uint64_t bits = bits_of(r, k);
        for (int64_t i = 0; i < c->c.types; i++, y += c->width) {
            size_t bytes = (size_t)c->width * sizeof(float);
            if (bits & c->c.bits[i])
                memcpy(y, r->params[0]->value + i * c->width, bytes);
            else
                memset(y, 0, bytes);
        }
    }
}

static void add_types(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_action_conf *c = r->conf;
    for (int64_t k = 0; k < r->out[0].rows; k++) {
        uint64_t bits = bits_of(r, k);
        for (int64_t i = begin; i < end; i++)
            if (bits & c->c.bits[i])
                kernels()->add(r->params[0]->grad + i * c->width,
                               view_row(&r->d_out[0], k) + i * c->width, c->width);
    }
}

static void action_grads(const struct op_run *r)
{
    const struct op_action_conf *c = r->conf;
    struct op_run copy = *r;
    if (r->params[0]->grad)
        pool_for(r->env->pool, c->c.types, 1, add_types, &copy);
}

const struct nn_cpu_op nn_cpu_action_embed = {
    .flags = CPU_STRIDED,
    .forward = action_forward,
    .grads = action_grads,
};

static void learned_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        memcpy(view_row(&r->out[0], k), r->params[0]->value,
               (size_t)r->out[0].width * sizeof(float));
}

static void add_columns(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    kernels()->add_rows(r->params[0]->grad + begin, r->d_out[0].data + begin,
                        r->d_out[0].ld, r->d_out[0].rows, NULL, 0, end - begin);
}

static void learned_grads(const struct op_run *r)
{
    struct op_run copy = *r;
    if (r->params[0]->grad && r->d_out[0].rows)
        pool_for(r->env->pool, r->out[0].width, COLUMNS, add_columns, &copy);
}

const struct nn_cpu_op nn_cpu_learned_row = {
    .flags = CPU_STRIDED,
    .forward = learned_forward,
    .grads = learned_grads,
};
