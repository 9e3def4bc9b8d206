/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of a pass that are recorded and then started whole. Queuing a kernel costs the host
 * several microseconds, which small batches take longer for than the card for its work. What an
 * op queues follows from the shape of the batch and from where its memory lies; both are in the
 * key of a recording. A stretch is queued op by op when its key is new, so that all memory is
 * there, recorded when it comes again, and from then on replayed. Batches of ever new shapes
 * (sequences) never come again and cost nothing. Only graphs that train record: one thread runs
 * them, and no other may wait for the card meanwhile.
 */
#include <cuda_runtime_api.h>
#include <string.h>

#include "base/mem.h"
#include "cuda/cuda_private.h"

#define RECORDINGS 128
#define FAILURES_MAX 3

struct recording {
    uint64_t key;
    struct CUgraphExec_st *exec; /* NULL: seen, not recorded */
    uint64_t last;               /* when it was used */
};

struct cuda_recorder {
    struct recording at[RECORDINGS];
    uint64_t uses, replays;
    int failures;
};

struct cuda_recorder *cuda_recorder_create(struct cuda *c, bool training)
{
    if (!c->records || !training)
        return NULL;
    pthread_mutex_lock(&c->lock);
    c->recorders++;
    pthread_mutex_unlock(&c->lock);
    return mem_calloc(1, sizeof(struct cuda_recorder));
}

static void forget(struct recording *r)
{
    if (r->exec)
        cudaGraphExecDestroy(r->exec);
    *r = (struct recording){0};
}

void cuda_recorder_destroy(struct cuda *c, struct cuda_recorder *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&c->lock);
    c->recorders--;
    for (int i = 0; i < RECORDINGS; i++)
        forget(&r->at[i]);
    pthread_mutex_unlock(&c->lock);
    mem_free(r);
}

uint64_t cuda_recorder_replays(const struct cuda_recorder *r)
{
    return r ? r->replays : 0;
}

static struct recording *find(struct cuda_recorder *r, uint64_t key)
{
    for (int i = 0; i < RECORDINGS; i++)
        if (r->at[i].last && r->at[i].key == key)
            return &r->at[i];
    return NULL;
}

static struct recording *oldest(struct cuda_recorder *r)
{
    struct recording *found = &r->at[0];
    for (int i = 1; i < RECORDINGS; i++)
        if (r->at[i].last < found->last)
            found = &r->at[i];
    return found;
}

/* What is queued meanwhile runs nowhere; false: it cannot be replayed, as when memory had to grow,
 * which waits for the stream.
 */
static bool record(struct cuda *c, struct recording *to, cuda_queue_fn *queue, void *arg)
{
    struct CUgraph_st *graph = NULL;
    int failed = c->failed;
    if (cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal) !=
        cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    queue(arg);
    bool good = cudaStreamEndCapture(c->stream, &graph) == cudaSuccess && graph &&
                c->failed == failed &&
                cudaGraphInstantiate(&to->exec, graph, 0) == cudaSuccess;
    if (graph)
        cudaGraphDestroy(graph);
    if (!good) {
        cudaGetLastError();
        c->failed = failed;
        to->exec = NULL;
    }
    return good;
}

void cuda_play(struct cuda_recorder *r, struct cuda *c, uint64_t key,
               cuda_queue_fn *queue, void *arg)
{
    struct recording *known = find(r, key);
    if (!known) {
        known = oldest(r);
        forget(known);
        known->key = key;
    } else if (!known->exec && r->failures < FAILURES_MAX &&
               !record(c, known, queue, arg)) {
        r->failures++;
    }
    known->last = ++r->uses;
    if (!known->exec) {
        queue(arg);
        return;
    }
    r->replays++;
    cuda_note(c, (int)cudaGraphLaunch(known->exec, c->stream));
}
