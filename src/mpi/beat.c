/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the other ranks live. A thread of each rank sends a short message twice a
 * second: all others to rank 0, rank 0 to all others; so each rank is watched by one, and
 * rank 0 by all. It says at which step the rank is. Who is not heard of for the time
 * allowed is stopped, starved, or on a machine that is gone: the comm breaks, with a
 * message that names it. A rank that computes for long is none of these: its thread goes
 * on. One that closes its comm says so and is watched no more.
 *
 * The messages have an MPI communicator of their own. A rank that was stopped itself and
 * goes on, as under a debugger, does not blame the others for it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mpi/mpi_private.h"

#define EVERY_NS (CLOCK_SECOND / 2)
#define ASLEEP_NS (2 * CLOCK_SECOND) /* between two beats: we were stopped */
#define HOST_SIZE 64

enum { BYE = -2 };

struct peer {
    int64_t heard_ns, step;
    int64_t said; /* what goes to it */
    bool gone;
    char host[HOST_SIZE];
};

struct mpi_beat {
    struct mpi_comm *c;
    MPI_Comm mpi;
    int64_t silence_ns;
    struct peer *peers; /* [world] */
    pthread_t thread;
    pthread_mutex_t lock; /* guards `over` */
    pthread_cond_t changed;
    bool over;
};

static bool watches(const struct mpi_beat *b, int rank)
{
    int own = b->c->comm.rank;
    return rank != own && (own == 0 || rank == 0);
}

static void send_beats(struct mpi_beat *b, int64_t step)
{
    for (int r = 0; r < b->c->comm.world; r++) {
        MPI_Request sent = MPI_REQUEST_NULL;
        b->peers[r].said = step;
        if (watches(b, r) && !b->peers[r].gone &&
            MPI_Isend(&b->peers[r].said, 1, MPI_INT64_T, r, TAG_BEAT, b->mpi, &sent) ==
                MPI_SUCCESS)
            MPI_Request_free(&sent);
    }
}

static void hear_beats(struct mpi_beat *b, int64_t now)
{
    MPI_Status status;
    int64_t step;
    for (int there = 1; there;) {
        if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_BEAT, b->mpi, &there, &status) != MPI_SUCCESS)
            return;
        if (!there)
            return;
        struct peer *p = &b->peers[status.MPI_SOURCE];
        if (MPI_Recv(&step, 1, MPI_INT64_T, status.MPI_SOURCE, TAG_BEAT, b->mpi,
                     MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        p->heard_ns = now;
        p->gone = p->gone || step == BYE;
        p->step = step;
    }
}

static void forgive(struct mpi_beat *b, int64_t now)
{
    for (int r = 0; r < b->c->comm.world; r++)
        b->peers[r].heard_ns = now;
}

static void blame(struct mpi_beat *b, int rank, int64_t now)
{
    const struct peer *p = &b->peers[rank];
    struct err why = {0};
    char step[32] = "before the first step";
    int64_t ours =
        comm_step(&b->c->comm); /* where we wait for it; its beats come seldom */
    int64_t at = p->step > ours ? p->step : ours;
    if (at >= 0)
        snprintf(step, sizeof(step), "at step %jd", (intmax_t)at);
    enum rc rc = err_coded(&why, RC_IO, E2502,
                           "rank %d of %d: host %s: not heard of for %.0f s, %s: it is "
                           "stopped, or its machine cannot be reached",
                           rank, b->c->comm.world, p->host,
                           (double)(now - p->heard_ns) / (double)CLOCK_SECOND, step);
    if (rank == 0)
        atomic_store(&b->c->comm.speaker, 1);
    mpi_break(b->c, rc, &why, true);
}

static void look_at_peers(struct mpi_beat *b, int64_t now)
{
    for (int r = 0; r < b->c->comm.world; r++)
        if (watches(b, r) && !b->peers[r].gone &&
            now - b->peers[r].heard_ns > b->silence_ns)
            blame(b, r, now);
}

static bool wait_a_beat(struct mpi_beat *b)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += EVERY_NS;
    until.tv_sec += until.tv_nsec / CLOCK_SECOND;
    until.tv_nsec %= CLOCK_SECOND;
    pthread_mutex_lock(&b->lock);
    int waited = 0;
    while (!b->over && waited == 0)
        waited = pthread_cond_timedwait(&b->changed, &b->lock, &until);
    bool over = b->over;
    pthread_mutex_unlock(&b->lock);
    return !over;
}

static void *beat_on(void *arg)
{
    struct mpi_beat *b = arg;
    int64_t last = clock_mono_ns();
    while (wait_a_beat(b)) {
        int64_t now = clock_mono_ns();
        send_beats(b, comm_step(&b->c->comm));
        hear_beats(b, now);
        if (now - last > ASLEEP_NS)
            forgive(b, now);
        look_at_peers(b, now);
        last = now;
    }
    return NULL;
}

static enum rc meet_peers(struct mpi_beat *b, struct err *err)
{
    int world = b->c->comm.world;
    char own[HOST_SIZE] = "", *hosts = mem_calloc((size_t)world, HOST_SIZE);
    if (gethostname(own, sizeof(own) - 1) != 0)
        own[0] = '\0';
    int code = MPI_Comm_dup(b->c->mpi, &b->mpi);
    if (code == MPI_SUCCESS)
        code =
            MPI_Allgather(own, HOST_SIZE, MPI_CHAR, hosts, HOST_SIZE, MPI_CHAR, b->mpi);
    b->peers = mem_calloc((size_t)world, sizeof(*b->peers));
    for (int r = 0; r < world; r++) {
        memcpy(b->peers[r].host, hosts + (size_t)r * HOST_SIZE, HOST_SIZE - 1);
        b->peers[r].step = -1;
    }
    mem_free(hosts);
    return code == MPI_SUCCESS
               ? RC_OK
               : err_coded(err, RC_IO, E2504, "MPI cannot connect the ranks");
}

/* Signals are for the threads of the program. */
static int start_thread(struct mpi_beat *b)
{
    sigset_t all, old;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&b->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&b->lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&b->thread, NULL, beat_on, b);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed;
}

enum rc mpi_beat_start(struct mpi_comm *c, int64_t silence_ms, struct err *err)
{
    if (silence_ms <= 0 || c->comm.world == 1)
        return RC_OK;
    struct mpi_beat *b = mem_calloc(1, sizeof(*b));
    b->c = c;
    b->silence_ns = silence_ms * (CLOCK_SECOND / 1000);
    c->beat = b;
    enum rc rc = meet_peers(b, err);
    if (rc)
        return rc;
    forgive(b, clock_mono_ns());
    int failed = start_thread(b);
    if (failed)
        return err_sys(err, failed, "cannot start a thread that watches the other ranks");
    return RC_OK;
}

void mpi_beat_stop(struct mpi_comm *c)
{
    struct mpi_beat *b = c->beat;
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->over = true;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    send_beats(b, BYE); /* from `peers`, which stays: MPI may read it later */
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    mem_free(b);
    c->beat = NULL;
}

const char *mpi_beat_host(const struct mpi_comm *c, int rank)
{
    return c->beat ? c->beat->peers[rank].host : "";
}
