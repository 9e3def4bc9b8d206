/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a job that escaped every parent are known by their environment, which they
 * inherited. Only after a shim was killed is this needed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/shim.h"
#include "base/mem.h"
#include "base/str.h"

#define ROUNDS 500
#define START_ROUNDS 15 /* for old processes that show no environment */
#define YOUNG_S 20      /* those younger than this are being executed */
#define ENVIRON_MAX (1 << 20)

/* Whose processes are meant. */
struct target {
    const char *job;
    int64_t attempt; /* and those before it */
    int64_t worker;  /* -1: all of them */
};

/* The number behind NAME= if the variable is that one. */
static void take_number(const char *variable, const char *name, int64_t *out)
{
    if (str_starts(variable, name) && !str_to_i64(str_c(variable + strlen(name)), out))
        *out = -1;
}

static bool belongs(const char *env, size_t n, const struct target *t)
{
    static const char id[] = "TRAINYARD_JOB_ID=";
    bool ours = false;
    int64_t which = -1, worker = -1;
    for (size_t at = 0; at < n;) {
        const char *e = env + at;
        size_t length = strnlen(e, n - at);
        if (str_starts(e, id))
            ours = strcmp(e + sizeof(id) - 1, t->job) == 0;
        take_number(e, "TRAINYARD_ATTEMPT=", &which);
        take_number(e, "TRAINYARD_WORKER=", &worker);
        at += length + 1;
    }
    return ours && which >= 0 && which <= t->attempt &&
           (t->worker < 0 || worker == t->worker);
}

enum doubt { DOUBT_NONE, DOUBT_ENDING, DOUBT_YOUNG, DOUBT_OLD };

/* Why a process shows no environment. One that is ending has none any more, but may still
 * hold its files and locks (as a zombie it does not); one that is just being executed has
 * none yet, for as long as a busy machine keeps it waiting; kernel threads and a few
 * daemons never have one.
 */
static enum doubt doubt_of(const char *pid)
{
    enum { ENDING = 0x4, KERNEL = 0x200000 }; /* PF_EXITING, PF_KTHREAD of the kernel */
    char path[300], text[1024], state = 'X';
    unsigned flags = 0;
    unsigned long long start = 0; /* ticks since the machine started */
    struct timespec now = {0};
    snprintf(path, sizeof(path), "/proc/%.200s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return DOUBT_NONE;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    if (!name_end ||
        sscanf(
            name_end + 1,
            " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
            "%llu",
            &state, &flags, &start) != 3 ||
        state == 'Z' || state == 'X' || (flags & KERNEL))
        return DOUBT_NONE;
    if (flags & ENDING)
        return DOUBT_ENDING;
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t born_s = (uint64_t)start / (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)now.tv_sec < born_s + YOUNG_S ? DOUBT_YOUNG : DOUBT_OLD;
}

/* What a pass over all processes found. */
struct pass {
    int killed, ending, young, old;
};

static bool kill_if_ours(const char *pid, const struct target *t, char *block,
                         struct pass *p)
{
    char path[300];
    size_t n = 0;
    snprintf(path, sizeof(path), "/proc/%.200s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (ssize_t got;
         n < ENVIRON_MAX && (got = read(fd, block + n, ENVIRON_MAX - n)) > 0;)
        n += (size_t)got;
    close(fd);
    block[n] = '\0';
    int64_t number;
    enum doubt doubt = n ? DOUBT_NONE : doubt_of(pid);
    p->ending += doubt == DOUBT_ENDING;
    p->young += doubt == DOUBT_YOUNG;
    p->old += doubt == DOUBT_OLD;
    if (!n || !belongs(block, n, t) || !str_to_i64(str_c(pid), &number))
        return false;
    return kill((pid_t)number, SIGKILL) == 0;
}

static struct pass one_pass(const struct target *t, char *block)
{
    struct pass p = {0};
    DIR *d = opendir("/proc");
    if (!d)
        return p;
    for (const struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            p.killed += kill_if_ours(e->d_name, t, block, &p);
    closedir(d);
    return p;
}

int backend_shim_sweep(const char *job, int64_t attempt, int64_t worker)
{
    struct target t = {.job = job, .attempt = attempt, .worker = worker};
    char *block = mem_alloc(ENVIRON_MAX + 1);
    struct pass p = one_pass(&t, block);
    int first = p.killed;
    for (int i = 0; i < ROUNDS; i++) {
        if (p.killed + p.ending + p.young == 0 && (p.old == 0 || i >= START_ROUNDS))
            break;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        p = one_pass(&t, block);
    }
    mem_free(block);
    return first;
}
