/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for peers that may never come. Every call of MPI here returns at once; between
 * two looks at the requests a rank reads what others say outside of collectives: that the
 * comm is broken and why, or that a rank has left. It spins first, because most waits of a
 * training step last microseconds, then gives its core away: ranks often share cores.
 */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "mpi/mpi_private.h"

#define SPINS 400            /* looks before the core is given away */
#define LOOKS_PER_NEWS 32    /* looks at requests for one at messages of others */
#define YIELD_NS 2000000     /* then naps */
#define CROWDED_NS 500000    /* that giving the core away took: somebody else had it */
#define CROWDED_CALLS 64     /* waits with naps alone, then it is tried again */
#define NAP_NS 50000         /* short against any network's round trip that matters */
#define NAP_SHARE 64         /* naps grow to this share of the wait so far ... */
#define NAP_MAX_NS 1000000   /* ... up to this */
#define PATIENT_SPINS 16     /* looks before naps, when nobody waits for the result */
#define ABSENT_MAX (1 << 16) /* bytes of a list of ranks */

static void tell_all(struct mpi_comm *c)
{
    for (int r = 0; r < c->comm.world; r++) {
        MPI_Request sent = MPI_REQUEST_NULL;
        if (r == c->comm.rank)
            continue;
        /* small enough to be on its way at once; `news` lives as long as the comm */
        if (MPI_Isend(&c->news, (int)sizeof(c->news), MPI_BYTE, r, TAG_BROKEN, c->mpi,
                      &sent) == MPI_SUCCESS)
            MPI_Request_free(&sent);
    }
}

enum rc mpi_break(struct mpi_comm *c, enum rc rc, const struct err *why, bool tell)
{
    pthread_mutex_lock(&c->lock);
    bool first = !c->broken;
    if (first) {
        c->news = (struct mpi_broken){
            .rc = rc, .speaker = atomic_load(&c->comm.speaker), .why = *why};
        c->broken = true;
    }
    pthread_mutex_unlock(&c->lock);
    if (first && tell)
        tell_all(c);
    return rc;
}

static enum rc break_with(struct mpi_comm *c, enum rc rc, const struct err *why,
                          struct err *err)
{
    if (err)
        *err = *why;
    return mpi_break(c, rc, why, true);
}

enum rc mpi_check(struct mpi_comm *c, int code, const char *doing, struct err *err)
{
    char text[MPI_MAX_ERROR_STRING];
    struct err why = {0};
    int n = 0;
    if (code == MPI_SUCCESS)
        return RC_OK;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
        snprintf(text, sizeof(text), "error %d", code);
    enum rc rc = err_coded(&why, RC_IO, E2501, "rank %d of %d: MPI failed to %s: %s",
                           c->comm.rank, c->comm.world, doing, text);
    return break_with(c, rc, &why, err);
}

/* Takes a message of `tag`, if there is one; *from: who sent it. */
static bool receive_news(struct mpi_comm *c, int tag, void *to, size_t size, int *from)
{
    MPI_Status status;
    int there = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, tag, c->mpi, &there, &status) != MPI_SUCCESS || !there)
        return false;
    *from = status.MPI_SOURCE;
    return MPI_Recv(to, (int)size, MPI_BYTE, *from, tag, c->mpi, MPI_STATUS_IGNORE) ==
           MPI_SUCCESS;
}

static bool look_for_news(struct mpi_comm *c)
{
    struct mpi_broken news = {0};
    int from = 0;
    if (!receive_news(c, TAG_BROKEN, &news, sizeof(news), &from))
        return false;
    news.why.msg[sizeof(news.why.msg) - 1] = '\0';
    if (news.speaker > 0 && news.speaker < c->comm.world)
        atomic_store(&c->comm.speaker, news.speaker);
    mpi_break(c, (enum rc)news.rc, &news.why, false);
    return true;
}

enum rc mpi_sound(struct mpi_comm *c, struct err *err)
{
    look_for_news(c);
    pthread_mutex_lock(&c->lock);
    enum rc rc = c->broken ? (enum rc)c->news.rc : RC_OK;
    if (rc && err)
        *err = c->news.why;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* A rank that closed its comm sends nothing more. One that left behind its part of this
 * call is no reason to give up: others may still be on their way.
 */
static enum rc look_for_left(struct mpi_comm *c, MPI_Request *from, struct err *err)
{
    struct err why = {0};
    char none;
    int who = 0;
    while (receive_news(c, TAG_LEFT, &none, 0, &who))
        c->left[who] = true;
    for (int r = 0; r < c->comm.world; r++) {
        int done = 1;
        if (c->left[r] && from[r] != MPI_REQUEST_NULL)
            MPI_Test(&from[r], &done, MPI_STATUS_IGNORE);
        if (done)
            continue;
        enum rc rc =
            err_coded(&why, RC_IO, E2501, "rank %d of %d has left", r, c->comm.world);
        return break_with(c, rc, &why, err);
    }
    return RC_OK;
}

static void name_absent(struct mpi_comm *c, MPI_Request *from, struct buf *out)
{
    for (int r = 0; r < c->comm.world; r++) {
        int done = 1;
        if (from[r] != MPI_REQUEST_NULL)
            MPI_Test(&from[r], &done, MPI_STATUS_IGNORE);
        const char *host = mpi_beat_host(c, r);
        if (!done)
            buf_printf(out, "%s%d%s%s", out->n ? ", " : "", r, host[0] ? " on host " : "",
                       host);
    }
}

static enum rc time_out(struct mpi_comm *c, MPI_Request *requests, bool from,
                        struct err *err)
{
    struct err why = {0};
    struct buf absent;
    double seconds = (double)c->timeout_ms * 1e-3;
    buf_init(&absent, ABSENT_MAX);
    if (from)
        name_absent(c, requests, &absent);
    enum rc rc = from ? err_coded(&why, RC_IO, E2502,
                                  "%s: after %.3g s these of %d ranks have not come: %s",
                                  comm_call_name(c->kind), seconds, c->comm.world,
                                  buf_str(&absent))
                      : err_coded(&why, RC_IO, E2502,
                                  "%s: after %.3g s the data of other ranks is not there",
                                  comm_call_name(c->kind), seconds);
    buf_release(&absent);
    return break_with(c, rc, &why, err);
}

/* Where others want the core, too, giving it away costs a turn of each of them; who wakes
 * from a nap comes first.
 */
static void pause_between_looks(struct mpi_comm *c, int64_t looks, int64_t waited_ns)
{
    bool patient = atomic_load(&c->comm.patient);
    if (looks < (patient ? PATIENT_SPINS : SPINS))
        return;
    if (waited_ns < YIELD_NS && c->crowded <= 0 && !patient) {
        int64_t start = clock_mono_ns();
        sched_yield();
        if (clock_mono_ns() - start > CROWDED_NS)
            c->crowded = CROWDED_CALLS;
    } else {
        int64_t nap = NAP_NS + waited_ns / NAP_SHARE;
        nanosleep(&(struct timespec){.tv_nsec = nap < NAP_MAX_NS ? nap : NAP_MAX_NS},
                  NULL);
    }
}

/* What is still awaited is given up, as far as MPI can. */
static void cancel(MPI_Request *requests, int n)
{
    for (int i = 0; i < n; i++)
        if (requests[i] != MPI_REQUEST_NULL && MPI_Cancel(&requests[i]) == MPI_SUCCESS)
            MPI_Request_free(&requests[i]);
}

enum rc mpi_wait(struct mpi_comm *c, MPI_Request *requests, int n, bool from,
                 struct err *err)
{
    int64_t start = clock_mono_ns(), waited = 0;
    enum rc rc = RC_OK;
    for (int64_t looks = 1; !rc; looks++) {
        int done = 0;
        rc = mpi_check(c, MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE),
                       comm_call_name(c->kind), err);
        if (rc || done)
            break;
        if (looks % LOOKS_PER_NEWS == 0) {
            waited = clock_mono_ns() - start;
            rc = mpi_sound(c, err);
            if (!rc && from)
                rc = look_for_left(c, requests, err);
            if (!rc && waited > c->timeout_ms * 1000000)
                rc = time_out(c, requests, from, err);
        }
        pause_between_looks(c, looks, waited);
    }
    c->crowded -= c->crowded > 0;
    if (rc && from)
        cancel(requests, n);
    return rc;
}
