/* SPDX-License-Identifier: Apache-2.0 */
/* Which environment a launcher gives its processes: Open MPI's mpirun, and srun with
 * PMIx. A rank that fails tells the others why and stays a moment, so that rank 0 has
 * printed the reason before the launcher sees a process end and kills the rest.
 */
#include "cmd/ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/str.h"
#include "comm/comm.h"

#define STAY_S \
    30 /* at most, for rank 0 to print: it does when it next needs the others */

static uint64_t number_of(const char *name, uint64_t none)
{
    const char *text = getenv(name);
    uint64_t n;
    return text && str_to_u64(str_c(text), &n) ? n : none;
}

/* Processes that were started together, as far as the environment tells. */
static void look_around(struct cmd_ranks *r)
{
    *r = (struct cmd_ranks){.world = 1, .here = 1, .said = -1};
    if (getenv("OMPI_COMM_WORLD_SIZE")) {
        r->world = (int)number_of("OMPI_COMM_WORLD_SIZE", 1);
        r->rank = (int)number_of("OMPI_COMM_WORLD_RANK", 0);
        r->here = (int)number_of("OMPI_COMM_WORLD_LOCAL_SIZE", 1);
    } else if (getenv("PMIX_RANK") && getenv("SLURM_NTASKS")) {
        r->world = (int)number_of("SLURM_NTASKS", 1);
        r->rank = (int)number_of("PMIX_RANK", 0);
        r->here = (int)number_of("SLURM_NTASKS_PER_NODE", 1);
    }
}

/* Threads of MPI inherit it: a signal that asks for a stop must not end one of them. */
static void hold_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    sigprocmask(how, &set, NULL);
}

static void fall_silent(struct cmd_ranks *r)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    r->said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    fflush(NULL);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* For rank 0 to print; whoever started the ranks then ends this one. */
static void stay(struct cmd_ranks *r)
{
    hold_signals(SIG_UNBLOCK);
    for (int i = 0; i < STAY_S; i++)
        sleep(1);
    if (r->said >= 0)
        dup2(r->said, STDERR_FILENO);
}

enum rc cmd_ranks_open(struct cmd_ranks *r, struct err *err)
{
    uint64_t seconds = number_of("PROCESS_GROUP_TIMEOUT_SECONDS", 0);
    look_around(r);
    if (r->world <= 1)
        return RC_OK;
    hold_signals(SIG_BLOCK);
    if (r->rank > 0)
        fall_silent(r);
    struct comm_conf conf = {.timeout_ms = (int64_t)seconds * 1000};
    enum rc rc = comm_open("mpi", &conf, &r->comm, err);
    if (rc && r->rank > 0)
        stay(r);
    return rc ? err_wrap(err, rc, "%d processes were started as one run", r->world) : rc;
}

bool cmd_ranks_idle(void)
{
    struct cmd_ranks r;
    look_around(&r);
    return r.rank > 0;
}

int cmd_ranks_threads(const struct cmd_ranks *r, int64_t asked)
{
    int share = cpu_count() / (r->here > 0 ? r->here : 1);
    if (asked > 0 || r->world <= 1)
        return (int)asked;
    return share > 0 ? share : 1;
}

/* "rank 1 of 4 on host h: ..."; messages from other ranks say so already. */
static void name_rank(const struct cmd_ranks *r, enum rc rc, struct err *err)
{
    char host[256] = "";
    if (gethostname(host, sizeof(host) - 1) != 0)
        snprintf(host, sizeof(host), "?");
    if (r->rank > 0)
        err_wrap(err, rc, "host %s", host); /* the comm names the rank */
    else
        err_wrap(err, rc, "rank 0 of %d: host %s", r->world, host);
}

enum rc cmd_ranks_close(struct cmd_ranks *r, enum rc rc, struct err *err)
{
    bool heard = err->code == E2501 || err->code == E2502 || err->code == E2503;
    if (!r->comm)
        return rc;
    if (rc && !heard && err->msg[0])
        name_rank(r, rc, err);
    if (rc) /* also where all know it: nobody waits for the others' end then */
        comm_abort(r->comm, err);
    if (rc && r->rank > 0)
        stay(r);
    if (r->rank > 0 && heard)
        err->msg[0] = '\0'; /* rank 0 has it, too */
    comm_close(r->comm);
    r->comm = NULL;
    return rc;
}
