/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/cuda_private.h - what the files of the CUDA plug-in share. */
#ifndef CUDA_CUDA_PRIVATE_H
#define CUDA_CUDA_PRIVATE_H

#include <pthread.h>

#include "cuda/blas.h"
#include "cuda/kernel/kernels.h"
#include "nn/graph_private.h"

/* device.state: one card, and the stream that everything is queued on. */
struct cuda {
    char name[256]; /* of the card */
    cuda_stream stream;
    struct blas blas;
    pthread_mutex_t lock; /* who queues; guards what follows */
    float *scratch;       /* the card's; for what one op needs while it runs */
    int64_t scratch_floats;
    double *totals;   /* the card's: [CUDA_TOTAL_PARTS], then results */
    int64_t n_totals; /* results there is room for */
    int failed;       /* the first cudaError_t; 0: none */
    bool records;     /* passes over graphs that train are recorded (record.c) */
    int recorders;    /* such graphs: nobody may wait for the stream while one records */
};

/* scratch.c: room on the card for `n`; NULL (and `failed` is set) when there is none. */
float *cuda_scratch(struct cuda *c, int64_t n);
double *cuda_totals(struct cuda *c, int64_t n);
/* Results [0, n) of cuda_totals(), on the host; waits for them. */
void cuda_read_totals(struct cuda *c, double *to, int64_t n);
void cuda_note(struct cuda *c, int code); /* of a call; the first failure is kept */

struct cuda_room;

/* One op while it runs. */
struct cuda_run {
    const struct op_run *op;
    struct cuda *cuda;
    const int64_t *const *offsets; /* by axis, the card's */
    bool tf32;                     /* of products in f32 */
    struct cuda_room *kept; /* the op's own, from the forward to the backward pass */
};

struct cuda_op {
    /* Optional: whether this implementation does for an op with such settings. */
    bool (*fits)(const void *conf, const struct nn_shape *in, int n_in);
    /* Optional: whether what it queues follows from more than the shape of the batch, such as
     * the number of the step; it is not recorded then (record.c).
     */
    bool (*varies)(const struct cuda_run *r);
    void (*forward)(const struct cuda_run *r);
    /* Writes gradients of inputs that are fresh, adds to others, adds to parameters'. */
    void (*backward)(const struct cuda_run *r); /* NULL: nothing to do */
};
const struct cuda_op *cuda_op_find(const char *name); /* NULL: it runs on the CPU */

/* host_op.c: an op that the card has no kernels for runs on the CPU, behind copies. */
struct host_op;
const struct op *host_op_named(const char *name); /* NULL: there is none */
enum rc host_op_create(const struct graph *g, struct op_node *n, struct host_op **out,
                       struct err *err) MUST_CHECK;
void host_op_destroy(struct host_op *h);
void host_op_forward(struct host_op *h, struct graph *g, struct op_node *n);
void host_op_backward(struct host_op *h, struct graph *g, struct op_node *n);

/* Memory that grows: on the card, or of the host where copies to the card are quick. */
struct cuda_room {
    void *at;
    size_t bytes;
};
/* Room for `bytes`; contents are lost when it grows. False: there is none. */
bool cuda_room_card(struct cuda_room *r, size_t bytes);
bool cuda_room_host(struct cuda_room *r, size_t bytes);
void cuda_room_release(struct cuda_room *r, bool host);

/* record.c: what is queued for a graph, kept and started again. */
struct cuda_recorder;
typedef void cuda_queue_fn(void *arg); /* queues on cuda.stream alone */
/* NULL: nothing is recorded for this graph. */
struct cuda_recorder *cuda_recorder_create(struct cuda *c, bool training);
void cuda_recorder_destroy(struct cuda *c, struct cuda_recorder *r);
/* Queues what queue(arg) queues, which must be the same whenever `key` is. */
void cuda_play(struct cuda_recorder *r, struct cuda *c, uint64_t key,
               cuda_queue_fn *queue, void *arg);
uint64_t cuda_recorder_replays(const struct cuda_recorder *r);

/* op_node.state of a linear layer (linear_plan.c). */
struct cuda_linear {
    bool own_stride;  /* its input has columns up to cuda_padded() to itself */
    bool bf16;        /* its factors are rounded to bf16 in memory (op/linear_bf16.c) */
    bool in16, out16; /* its input, its output are bf16, and their gradients */
    struct cuda_room x, w;          /* the factors as bf16; w: then the bias */
    const struct cuda_linear *same; /* a layer before it with the same input; or NULL */
};
void cuda_linear_plan(struct graph *g);
void cuda_linear_release(struct graph *g);

/* A digest of `into` and a value, of which keys of recordings are made. */
static inline uint64_t cuda_digest(uint64_t into, uint64_t value)
{
    uint64_t x = (into ^ value) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}
/* Where the memory of linear layers lies. */
uint64_t cuda_linear_mix(const struct graph *g, uint64_t into);

/* The next multiple of 16 bytes, in floats. */
static inline int64_t cuda_padded(int64_t floats)
{
    return (floats + 3) / 4 * 4;
}

extern const struct executor_ops cuda_executor;
extern const struct lookup_ops cuda_lookup_ops;
extern const struct param_ops cuda_params;

static inline struct cuda *cuda_of(const struct device *d)
{
    return d->state;
}

static inline struct cuda_rows cuda_view(const struct view *v)
{
    return (struct cuda_rows){v->data, v->rows, v->width, v->ld};
}

static inline struct cuda_rows cuda_in(const struct cuda_run *r, int i)
{
    return cuda_view(&r->op->in[i]);
}

static inline struct cuda_rows cuda_out(const struct cuda_run *r)
{
    return cuda_view(&r->op->out[0]);
}

static inline struct cuda_rows cuda_d_in(const struct cuda_run *r, int i)
{
    return cuda_view(&r->op->d_in[i]);
}

static inline struct cuda_rows cuda_d_out(const struct cuda_run *r)
{
    return cuda_view(&r->op->d_out[0]);
}

/* Whether the gradient of input i is wanted, and whether there is one to add to. */
static inline bool cuda_wants(const struct cuda_run *r, int i)
{
    return r->op->d_in[i].data != NULL;
}

static inline bool cuda_adds(const struct cuda_run *r, int i)
{
    return !r->op->d_in_fresh[i];
}

/* Columns [from, from + width). */
static inline struct cuda_rows cuda_cols(struct cuda_rows v, int64_t from, int64_t width)
{
    return (struct cuda_rows){v.at + from, v.rows, width, v.ld};
}

#endif
