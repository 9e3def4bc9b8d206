/* SPDX-License-Identifier: Apache-2.0 */
/* One job at a time. Its state is a ticket: the job's number above, the next chunk below.
 * A thread claims a chunk by exchanging the ticket for one with the next chunk; since the
 * number is part of it, a thread that comes late cannot claim from a job that it has not
 * read. So the caller waits for the chunks alone and never for a thread that still
 * sleeps: with a barrier per job a descheduled thread would hold up every small loop.
 *
 * Before the fields of a job change, the ticket is closed under a new number. Fields are
 * written with release and read with acquire: whoever sees a new field also sees the
 * closed ticket, and its exchange fails.
 *
 * Idle threads spin for some microseconds, which spans the gap between the loops of a
 * training step, then sleep on a futex; a condition variable would cost a lock on both
 * sides.
 */
#include "base/pool.h"

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"

#define SPINS 2000
#define CLOSED UINT32_MAX             /* a chunk number that no job has */
#define CHUNKS_MAX ((int64_t)1 << 31) /* of one job; longer loops are several jobs */

struct pool {
    _Alignas(64) _Atomic(uint64_t) ticket; /* job number << 32 | next chunk */
    _Alignas(64) atomic_uint left;         /* chunks not finished; the caller's futex */
    _Alignas(64) atomic_uint wake;         /* counts jobs; the threads' futex */
    atomic_uint sleepers;
    atomic_bool waiting; /* the caller sleeps on `left` */
    atomic_bool stop;
    atomic_flag busy; /* somebody runs a job */

    _Atomic(pool_fn *) fn;
    _Atomic(void *) arg;
    _Atomic(int64_t) n, grain, first; /* `first`: number of the job's first chunk */
    _Atomic(uint32_t) n_chunks;

    int n_workers;
    pthread_t workers[];
};

static void futex_wait(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

#define GET(x) atomic_load_explicit(&(x), memory_order_acquire)
#define PUT(x, v) atomic_store_explicit(&(x), (v), memory_order_release)

static void finish_chunk(struct pool *p)
{
    if (atomic_fetch_sub(&p->left, 1) == 1 && atomic_load(&p->waiting))
        futex_wake(&p->left, 1);
}

/* Runs one chunk of the current job; false when there is none to claim. */
static bool run_chunk(struct pool *p)
{
    uint64_t ticket = GET(p->ticket);
    for (;;) {
        uint32_t chunk = (uint32_t)ticket;
        pool_fn *fn = GET(p->fn);
        void *arg = GET(p->arg);
        int64_t n = GET(p->n), grain = GET(p->grain), number = GET(p->first) + chunk;
        if (chunk == CLOSED || chunk >= GET(p->n_chunks))
            return false;
        if (!atomic_compare_exchange_weak(&p->ticket, &ticket, ticket + 1))
            continue;
        int64_t begin = number * grain;
        fn(arg, begin, n - begin > grain ? begin + grain : n, number);
        finish_chunk(p);
        return true;
    }
}

static void *pool_work(void *arg)
{
    struct pool *p = arg;
    unsigned seen = GET(p->wake);
    for (;;) {
        while (run_chunk(p))
            ;
        if (GET(p->stop))
            return NULL;
        for (int i = 0; i < SPINS && GET(p->wake) == seen; i++)
            SPIN_PAUSE();
        if (GET(p->wake) == seen) {
            atomic_fetch_add(&p->sleepers, 1);
            futex_wait(&p->wake, seen);
            atomic_fetch_sub(&p->sleepers, 1);
        }
        seen = GET(p->wake);
    }
}

static void call_threads(struct pool *p, int n)
{
    atomic_fetch_add(&p->wake, 1);
    if (n > 0 && atomic_load(&p->sleepers) > 0)
        futex_wake(&p->wake, n);
}

static void wait_for_chunks(struct pool *p)
{
    for (int i = 0; i < SPINS; i++) {
        if (GET(p->left) == 0)
            return;
        SPIN_PAUSE();
    }
    unsigned left;
    atomic_store(&p->waiting, true);
    while ((left = atomic_load(&p->left)) != 0)
        futex_wait(&p->left, left);
    atomic_store(&p->waiting, false);
}

static void run_job(struct pool *p, int64_t n, int64_t grain, int64_t first,
                    uint32_t n_chunks, pool_fn *fn, void *arg)
{
    uint64_t number = (GET(p->ticket) >> 32) + 1;
    atomic_store(&p->ticket, number << 32 | CLOSED);
    PUT(p->fn, fn);
    PUT(p->arg, arg);
    PUT(p->n, n);
    PUT(p->grain, grain);
    PUT(p->first, first);
    PUT(p->n_chunks, n_chunks);
    PUT(p->left, n_chunks);
    atomic_store(&p->ticket, (number + 1) << 32);
    uint32_t helpers = n_chunks - 1;
    call_threads(p, helpers < (uint32_t)p->n_workers ? (int)helpers : p->n_workers);
    while (run_chunk(p))
        ;
    wait_for_chunks(p);
}

static void run_inline(int64_t n, int64_t grain, pool_fn *fn, void *arg)
{
    int64_t chunk = 0;
    for (int64_t begin = 0; begin < n; chunk++) {
        int64_t end = n - begin > grain ? begin + grain : n;
        fn(arg, begin, end, chunk);
        begin = end;
    }
}

int64_t pool_chunks(int64_t n, int64_t grain)
{
    return n <= 0 ? 0 : (n - 1) / grain + 1;
}

void pool_for(struct pool *p, int64_t n, int64_t grain, pool_fn *fn, void *arg)
{
    assert(grain > 0);
    int64_t chunks = pool_chunks(n, grain);
    if (!p || p->n_workers == 0 || chunks < 2 || atomic_flag_test_and_set(&p->busy)) {
        run_inline(n, grain, fn, arg);
        return;
    }
    for (int64_t first = 0; first < chunks; first += CHUNKS_MAX) {
        int64_t part = chunks - first < CHUNKS_MAX ? chunks - first : CHUNKS_MAX;
        run_job(p, n, grain, first, (uint32_t)part, fn, arg);
    }
    atomic_flag_clear(&p->busy);
}

struct reduction {
    pool_part_fn *fn;
    void *arg;
    char *parts;
    size_t size;
};

static void reduce_chunk(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct reduction *r = arg;
    r->fn(r->arg, begin, end, r->parts + (size_t)chunk * r->size);
}

void pool_reduce(struct pool *p, int64_t n, int64_t grain, pool_part_fn *fn,
                 pool_join_fn *join, void *arg, void *parts, size_t size)
{
    struct reduction r = {.fn = fn, .arg = arg, .parts = parts, .size = size};
    pool_for(p, n, grain, reduce_chunk, &r);
    int64_t chunks = pool_chunks(n, grain);
    for (int64_t i = 0; i < chunks; i++)
        join(arg, r.parts + (size_t)i * size);
}

struct summing {
    pool_sum_fn *fn;
    void *arg;
    double *parts;
};

static void sum_chunk(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct summing *s = arg;
    s->parts[chunk] = s->fn(s->arg, begin, end);
}

double pool_sum(struct pool *p, int64_t n, int64_t grain, pool_sum_fn *fn, void *arg,
                double *parts)
{
    struct summing s = {.fn = fn, .arg = arg, .parts = parts};
    pool_for(p, n, grain, sum_chunk, &s);
    double sum = 0;
    int64_t chunks = pool_chunks(n, grain);
    for (int64_t i = 0; i < chunks; i++)
        sum += parts[i];
    return sum;
}

/* Signals are for the loop's thread; ours take none. */
static int start_worker(struct pool *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&p->workers[p->n_workers], NULL, pool_work, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        pthread_setname_np(p->workers[p->n_workers++], "ty-pool");
    return rc;
}

enum rc pool_create(int n_threads, struct pool **out, struct err *err)
{
    if (n_threads < 1 || n_threads > POOL_THREADS_MAX)
        return err_set(err, RC_INVAL, "threads: %d is outside [1, %d]", n_threads,
                       POOL_THREADS_MAX);
    size_t size = sizeof(struct pool) + (size_t)n_threads * sizeof(pthread_t);
    struct pool *p = mem_try_aligned(64, 1, size);
    if (!p)
        return err_set(err, RC_NOMEM, "out of memory for a pool of %d threads",
                       n_threads);
    memset(p, 0, size);
    atomic_init(&p->ticket, CLOSED);
    atomic_flag_clear(&p->busy);
    for (int i = 1; i < n_threads; i++) {
        int rc = start_worker(p);
        if (rc) {
            pool_destroy(p);
            return err_sys(err, rc, "cannot start thread %d of %d", i + 1, n_threads);
        }
    }
    *out = p;
    return RC_OK;
}

void pool_destroy(struct pool *p)
{
    if (!p)
        return;
    PUT(p->stop, true);
    call_threads(p, p->n_workers);
    for (int i = 0; i < p->n_workers; i++)
        pthread_join(p->workers[i], NULL);
    mem_free(p);
}

int pool_threads(const struct pool *p)
{
    return p ? p->n_workers + 1 : 1;
}
