/* SPDX-License-Identifier: Apache-2.0 */
/* A card as a device: its memory, copies, and what is said when it fails. Everything is
 * queued on one stream, so that calls take effect in the order in which they are made.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "cuda/cuda_private.h"
#include "nn/device_plugin.h"

#define CAPABILITY_MIN 8 /* sm_80 and later */

void cuda_note(struct cuda *c, int code)
{
    if (code && !c->failed)
        c->failed = code;
}

/* A stream must not be waited for while a pass is recorded on it. */
static int wait_for(struct cuda *c)
{
    bool locks = c->recorders > 0;
    if (locks)
        pthread_mutex_lock(&c->lock);
    int code = (int)cudaStreamSynchronize(c->stream);
    if (locks)
        pthread_mutex_unlock(&c->lock);
    return code;
}

static enum rc refuse(int code, struct err *err)
{
    return err_coded(err, RC_NOTFOUND, E2602, "no card can be used: %s",
                     cudaGetErrorString((cudaError_t)code));
}

/* The first card there is; which ones are visible is CUDA_VISIBLE_DEVICES' business. */
static enum rc choose_card(struct cuda *c, struct err *err)
{
    struct cudaDeviceProp about;
    int n = 0, code = (int)cudaGetDeviceCount(&n);
    if (code || n == 0)
        return refuse(code ? code : (int)cudaErrorNoDevice, err);
    code = (int)cudaSetDevice(0);
    if (!code)
        code = (int)cudaGetDeviceProperties(&about, 0);
    if (code)
        return refuse(code, err);
    snprintf(c->name, sizeof(c->name), "%s", about.name);
    if (about.major < CAPABILITY_MIN)
        return err_coded(err, RC_UNSUPPORTED, E2602,
                         "%s has compute capability %d.%d; %d.0 or later is needed",
                         about.name, about.major, about.minor, CAPABILITY_MIN);
    return RC_OK;
}

static void cuda_close(void *state)
{
    struct cuda *c = state;
    blas_close(&c->blas);
    cudaFree(c->scratch);
    cudaFree(c->totals);
    if (c->stream)
        cudaStreamDestroy(c->stream);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

static enum rc cuda_open(void **state, struct err *err)
{
    struct cuda *c = mem_calloc(1, sizeof(*c));
    const char *graphs = env_get("TRAINYARD_CUDA_GRAPHS");
    c->records = !graphs || strcmp(graphs, "off") != 0;
    pthread_mutex_init(&c->lock, NULL);
    enum rc rc = choose_card(c, err);
    int code = 0;
    if (!rc)
        code = (int)cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
    if (code)
        rc = refuse(code, err);
    if (!rc)
        rc = blas_open(&c->blas, c->stream, err);
    if (rc)
        cuda_close(c);
    else
        *state = c;
    return rc;
}

static void *cuda_alloc(const struct device *d, size_t bytes)
{
    void *at = NULL;
    if (cudaMalloc(&at, bytes) == cudaSuccess)
        return at;
    cudaGetLastError(); /* being out of memory is no failure of the card */
    return NULL;
}

static void cuda_free(const struct device *d, void *at)
{
    wait_for(cuda_of(d));
    cudaFree(at);
}

static void *cuda_host_alloc(const struct device *d, size_t bytes)
{
    void *at = NULL;
    if (cudaMallocHost(&at, bytes) == cudaSuccess)
        return at;
    cudaGetLastError();
    return NULL;
}

static void cuda_host_free(const struct device *d, void *at)
{
    if (at)
        wait_for(cuda_of(d));
    cudaFreeHost(at);
}

/* From pageable memory a copy has left it when the call returns. */
static void cuda_copy(const struct device *d, void *to, const void *from, size_t bytes,
                      enum device_way way)
{
    static const enum cudaMemcpyKind kinds[] = {
        [DEVICE_IN] = cudaMemcpyHostToDevice,
        [DEVICE_OUT] = cudaMemcpyDeviceToHost,
        [DEVICE_WITHIN] = cudaMemcpyDeviceToDevice,
    };
    struct cuda *c = cuda_of(d);
    pthread_mutex_lock(&c->lock);
    cuda_note(c, (int)cudaMemcpyAsync(to, from, bytes, kinds[way], c->stream));
    pthread_mutex_unlock(&c->lock);
    if (way == DEVICE_OUT)
        cuda_note(c, wait_for(c));
}

static void cuda_fill_bytes(const struct device *d, void *at, int byte, size_t bytes)
{
    struct cuda *c = cuda_of(d);
    pthread_mutex_lock(&c->lock);
    cuda_note(c, (int)cudaMemsetAsync(at, byte, bytes, c->stream));
    pthread_mutex_unlock(&c->lock);
}

static enum rc cuda_synchronise(const struct device *d, struct err *err)
{
    struct cuda *c = cuda_of(d);
    cuda_note(c, wait_for(c));
    cuda_note(c, (int)cudaGetLastError());
    if (!c->failed)
        return RC_OK;
    return err_coded(err, RC_IO, E2603, "%s: %s", c->name,
                     cudaGetErrorString((cudaError_t)c->failed));
}

static const char *cuda_about(const struct device *d)
{
    return cuda_of(d)->name;
}

float *cuda_scratch(struct cuda *c, int64_t n)
{
    if (n > c->scratch_floats) {
        cuda_note(c, (int)cudaStreamSynchronize(c->stream));
        cudaFree(c->scratch);
        c->scratch = NULL;
        c->scratch_floats = 0;
        int code = (int)cudaMalloc((void **)&c->scratch, (size_t)n * sizeof(float));
        cuda_note(c, code);
        c->scratch_floats = code ? 0 : n;
    }
    return c->scratch;
}

double *cuda_totals(struct cuda *c, int64_t n)
{
    if (n > c->n_totals) {
        cuda_note(c, (int)cudaStreamSynchronize(c->stream));
        cudaFree(c->totals);
        c->totals = NULL;
        c->n_totals = 0;
        int code = (int)cudaMalloc((void **)&c->totals,
                                   (size_t)(CUDA_TOTAL_PARTS + n) * sizeof(double));
        cuda_note(c, code);
        c->n_totals = code ? 0 : n;
    }
    return c->totals;
}

void cuda_read_totals(struct cuda *c, double *to, int64_t n)
{
    if (!c->totals || n == 0)
        return;
    cuda_note(c, (int)cudaMemcpyAsync(to, c->totals + CUDA_TOTAL_PARTS,
                                      (size_t)n * sizeof(double), cudaMemcpyDeviceToHost,
                                      c->stream));
    cuda_note(c, (int)cudaStreamSynchronize(c->stream));
}

static const struct device_ops device_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .copy = cuda_copy,
    .fill = cuda_fill_bytes,
    .synchronise = cuda_synchronise,
    .about = cuda_about,
    .executor = &cuda_executor,
    .lookup = &cuda_lookup_ops,
};

const struct nn_device_plugin trainyard_device_plugin = {TY_VERSION, &device_cuda};
