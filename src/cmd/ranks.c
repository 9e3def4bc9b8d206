/* SPDX-License-Identifier: Apache-2.0 */
/* Which environment a launcher gives its processes: Open MPI's mpirun, srun with PMIx or PMI2,
 * and mpirun of MPICH, whose ranks do not reach each other here and are told so. A rank that fails tells the others why and stays a moment, so that rank 0 has
 * printed the reason before the launcher sees a process end and kills the rest.
 */
#include "cmd/ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/cpu_share.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "comm/comm.h"

#define STAY_S \
    30 /* at most, for rank 0 to print: it does when it next needs the others */
#define SILENCE_S 8 /* of a rank that is not heard of */

static uint64_t number_of(const char *name, uint64_t none)
{
    const char *text = getenv(name);
    uint64_t n;
    return text && str_to_u64(str_c(text), &n) ? n : none;
}

/* Processes that were started together, as far as the environment tells. */
static void look_around(struct cmd_ranks *r)
{
    *r = (struct cmd_ranks){.world = 1, .here = 1, .place = -1, .said = -1};
    if (getenv("OMPI_COMM_WORLD_SIZE")) {
        r->world = (int)number_of("OMPI_COMM_WORLD_SIZE", 1);
        r->rank = (int)number_of("OMPI_COMM_WORLD_RANK", 0);
        r->here = (int)number_of("OMPI_COMM_WORLD_LOCAL_SIZE", 1);
        r->place = (int)number_of("OMPI_COMM_WORLD_LOCAL_RANK", UINT64_MAX);
    } else if (getenv("PMIX_RANK") && getenv("SLURM_NTASKS")) {
        r->world = (int)number_of("SLURM_NTASKS", 1);
        r->rank = (int)number_of("PMIX_RANK", 0);
        r->here = (int)number_of("SLURM_NTASKS_PER_NODE", 1);
    } else if (getenv("PMI_RANK") && getenv("PMI_SIZE")) {
        r->world = (int)number_of("PMI_SIZE", 1);
        r->rank = (int)number_of("PMI_RANK", 0);
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

/* Where a rank but 0 prints: its log, or nowhere. */
static int open_output(struct cmd_ranks *r)
{
    const char *dir = getenv("TRAINYARD_LOG_DIR");
    int fd = -1;
    if (dir && dir[0] && fs_mkdirs(dir, 0755, NULL) == RC_OK) {
        char *path = mem_printf("%s/rank-%d.log", dir, r->rank);
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        mem_free(path);
    }
    r->logs = fd >= 0;
    return fd >= 0 ? fd : open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static void fall_silent(struct cmd_ranks *r)
{
    int nowhere = open_output(r);
    if (nowhere < 0)
        return;
    r->said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    fflush(NULL);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* `launch` reads the step of rank 0 in a file, also when all ranks are gone. */
static void map_step(struct cmd_ranks *r)
{
    const char *path = getenv("TRAINYARD_LAUNCH_STATE");
    r->launched = path != NULL;
    int fd = path && r->rank == 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *at = mmap(NULL, sizeof(*r->step), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at != MAP_FAILED)
        r->step = at;
}

static void unmap_step(struct cmd_ranks *r)
{
    if (r->step)
        munmap((void *)(uintptr_t)r->step, sizeof(*r->step));
    r->step = NULL;
}

/* The user's terminal, instead of rank 0's. */
static void speak(struct cmd_ranks *r)
{
    if (r->said >= 0)
        dup2(r->said, STDERR_FILENO);
}

/* For rank 0 to print; whoever started the ranks then ends this one. */
static void stay(struct cmd_ranks *r)
{
    hold_signals(SIG_UNBLOCK);
    for (int i = 0; i < STAY_S; i++)
        sleep(1);
    speak(r);
}

/* Before threads start. Where `launch` was not asked, whoever started the ranks binds them. */
static void take_share(struct cmd_ranks *r)
{
    const char *bind = getenv("TRAINYARD_BIND");
    int share = cpu_count() / (r->here > 0 ? r->here : 1);
    r->share = share > 0 ? share : 1;
    if (r->launched && r->place >= 0 && r->place < r->here &&
        !(bind && strcmp(bind, "none") == 0))
        (void)!cpu_share_take(r->place, r->here);
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
    map_step(r);
    take_share(r);
    r->shards = (int)number_of("TRAINYARD_SHARDS", 0);
    struct comm_conf conf = {
        .rank = r->rank, /* a comm that says otherwise was started by somebody else */
        .world = r->world,
        .timeout_ms = (int64_t)seconds * 1000,
        .silence_ms = (int64_t)number_of("TRAINYARD_HEARTBEAT_SECONDS", SILENCE_S) * 1000,
        .step = r->step};
    const char *name, *wanted = getenv("TRAINYARD_COMM");
    enum rc rc = comm_of_processes(wanted && wanted[0] ? wanted : NULL, &name, err);
    if (rc)
        return err_wrap(err, rc, "TRAINYARD_COMM");
    rc = comm_open(name, &conf, &r->comm, err);
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
    return asked > 0 || r->world <= 1 ? (int)asked : r->share;
}

/* "rank 1 of 4 gave up: host h, step 3: ..."; messages from other ranks say so already. */
static void name_rank(const struct cmd_ranks *r, enum rc rc, struct err *err)
{
    char host[256] = "", step[32] = "before the first step";
    if (gethostname(host, sizeof(host) - 1) != 0)
        snprintf(host, sizeof(host), "?");
    if (str_starts(err->msg, "step "))
        step[0] = '\0';
    else if (comm_step(r->comm) >= 0)
        snprintf(step, sizeof(step), "step %jd", (intmax_t)comm_step(r->comm));
    const char *comma = step[0] ? ", " : "";
    if (r->rank > 0) /* the comm names the rank */
        err_wrap(err, rc, "host %s%s%s", host, comma, step);
    else
        err_wrap(err, rc, "rank 0 of %d: host %s%s%s", r->world, host, comma, step);
}

static bool was_heard(const struct err *err)
{
    return err->code == E2501 || err->code == E2502 || err->code == E2503;
}

void cmd_ranks_fail(struct cmd_ranks *r, enum rc rc, struct err *err)
{
    if (!r->comm || r->told)
        return;
    r->told = true;
    if (!was_heard(err) && err->msg[0])
        name_rank(r, rc, err);
    comm_abort(r->comm,
               err); /* also where all know it: nobody waits for their end then */
}

enum rc cmd_ranks_close(struct cmd_ranks *r, enum rc rc, struct err *err)
{
    bool heard = was_heard(err);
    if (!r->comm)
        return rc;
    if (rc)
        cmd_ranks_fail(r, rc, err);
    int speaker = comm_speaker(r->comm);
    if (rc && r->rank > 0 && r->rank != speaker)
        stay(r);
    if (rc && r->rank > 0 && r->rank == speaker)
        speak(r);
    else if (r->rank != speaker && heard) { /* the speaker has it, too */
        err->exit = cmd_exit_status(rc, err);
        err->msg[0] = '\0';
    }
    comm_close(r->comm);
    r->comm = NULL;
    unmap_step(r);
    return rc;
}
