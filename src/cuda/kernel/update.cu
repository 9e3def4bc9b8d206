/* SPDX-License-Identifier: Apache-2.0 */
/* Dense optimizers: the formulas of nn/optim/rule.c, operation by operation, so that the
 * bytes are those of the CPU.
 */
#include "launch.cuh"

static __device__ void adam(const cuda_update_args &u, int64_t i, float d, bool max)
{
    float m = u.mix1 * u.state[0][i] + u.take1 * d;
    float v = u.mix2 * u.state[1][i] + u.take2 * d * d, top = v;
    u.state[0][i] = m;
    u.state[1][i] = v;
    if (max)
        u.state[2][i] = top = v <= u.state[2][i] ? u.state[2][i] : v; /* NaN is kept */
    u.w[i] -= u.lr * m / (sqrtf(top) * u.root + u.eps);
}

static __device__ void adadelta(const cuda_update_args &u, int64_t i, float d)
{
    float square = u.mix1 * u.state[0][i] + u.take1 * d * d;
    float step = sqrtf(u.state[1][i] + u.eps) / sqrtf(square + u.eps) * d;
    u.state[0][i] = square;
    u.state[1][i] = u.mix1 * u.state[1][i] + u.take1 * step * step;
    u.w[i] -= u.lr * step;
}

static __device__ void momentum(const cuda_update_args &u, int64_t i, float d)
{
    float b = u.state[0][i] = u.mix1 * u.state[0][i] + u.take1 * d;
    u.w[i] -= u.lr * (u.rule == CUDA_SGD_NESTEROV ? d + u.mix1 * b : b);
}

static __device__ void update_one(const cuda_update_args &u, int64_t i)
{
    if (u.keep != 1.0f)
        u.w[i] *= u.keep;
    float d = u.g[i] + u.weight_decay * u.w[i];
    switch (u.rule) {
    case CUDA_SGD:
        u.w[i] -= u.lr * d;
        break;
    case CUDA_SGD_MOMENTUM:
    case CUDA_SGD_NESTEROV:
        momentum(u, i, d);
        break;
    case CUDA_ADAGRAD:
        u.state[0][i] += d * d;
        u.w[i] -= u.lr * d / (sqrtf(u.state[0][i]) + u.eps);
        break;
    case CUDA_ADAM:
    case CUDA_ADAM_MAX:
        adam(u, i, d, u.rule == CUDA_ADAM_MAX);
        break;
    case CUDA_ADADELTA:
        adadelta(u, i, d);
        break;
    case CUDA_RMSPROP:
        u.state[0][i] = u.mix1 * u.state[0][i] + u.take1 * d * d;
        u.w[i] -= u.lr * d / (sqrtf(u.state[0][i]) + u.eps);
        break;
    }
}

/* Row y of the grid has parameter y. */
static __global__ void __launch_bounds__(THREADS)
    update_all(const __grid_constant__ cuda_updates all)
{
    const cuda_update_args &u = all.of[blockIdx.y];
    int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < u.n; i += step)
        update_one(u, i);
}

#define UPDATE_BLOCKS 512

void cuda_update(cuda_stream s, const struct cuda_updates *u, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        most = u->of[i].n > most ? u->of[i].n : most;
    if (most == 0)
        return;
    unsigned blocks = blocks_for(most, THREADS);
    dim3 grid(blocks > UPDATE_BLOCKS ? UPDATE_BLOCKS : blocks, (unsigned)n);
    update_all<<<grid, THREADS, 0, s>>>(*u);
}

void cuda_clamp(cuda_stream s, float *g, int64_t n, float max)
{
    for_elements(s, n, 1, [=] __device__(int64_t i, int64_t) {
        g[i] = g[i] > max ? max : g[i] < -max ? -max : g[i];
    });
}

void cuda_times(cuda_stream s, float *g, int64_t n, float by)
{
    for_elements(s, n, 1, [=] __device__(int64_t i, int64_t) { g[i] *= by; });
}

void cuda_average(cuda_stream s, float *avg, const float *w, int64_t n, float keep,
                  float take)
{
    for_elements(s, n, 1, [=] __device__(int64_t i, int64_t) {
        avg[i] = keep * avg[i] + take * w[i];
    });
}

void cuda_exchange(cuda_stream s, float *a, float *b, int64_t n)
{
    for_elements(s, n, 1, [=] __device__(int64_t i, int64_t) {
        float v = a[i];
        a[i] = b[i];
        b[i] = v;
    });
}
