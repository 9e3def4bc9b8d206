/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are taken in the order of the batch; whether a row is kept follows from the seed and from
 * how many were seen before it.
 */
#include <string.h>

#include "base/rng.h"
#include "nn/cpu/cpu.h"
#include "nn/op/reservoir.h"

static void reservoir_sync_forward(const struct op_run *r)
{
    struct param *rows = r->params[RESERVOIR_ROWS];
    float *seen = r->params[RESERVOIR_SEEN]->value;
    int64_t most = rows->dims[0], n = rows->dims[1];
    for (int64_t k = 0; r->env->training && k < r->in[0].rows; k++) {
        int64_t t = op_reservoir_seen(seen), at = t;
        if (t >= most) {
            struct rng rng;
            rng_init(&rng, r->env->seed, r->id + 1, 0, (uint64_t)t);
            at = (int64_t)rng_below(&rng, (uint64_t)t + 1);
        }
        if (at < most)
            memcpy(rows->value + at * n, view_row(&r->in[0], k),
                   (size_t)n * sizeof(float));
        t++;
        seen[0] = (float)(t % (int64_t)RESERVOIR_UNIT);
        seen[1] = (float)(t / (int64_t)RESERVOIR_UNIT);
    }
}

static void reservoir_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t k = from; k < to; k++)
        *view_row(&r->out[0], k) = 0.0f;
}

const struct nn_cpu_op nn_cpu_reservoir = {
    .sync_forward = reservoir_sync_forward,
    .forward = reservoir_forward,
};
