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
#define ENVIRON_MAX (1 << 20)

/* Does the environment hold the job, and an attempt up to `attempt`? */
static bool belongs(const char *env, size_t n, const char *job, int64_t attempt)
{
    static const char id[] = "TRAINYARD_JOB_ID=", number[] = "TRAINYARD_ATTEMPT=";
    bool ours = false;
    int64_t which = -1;
    for (size_t at = 0; at < n;) {
        const char *e = env + at;
        size_t length = strnlen(e, n - at);
        if (str_starts(e, id))
            ours = strcmp(e + sizeof(id) - 1, job) == 0;
        else if (str_starts(e, number) &&
                 !str_to_i64(str_c(e + sizeof(number) - 1), &which))
            which = -1;
        at += length + 1;
    }
    return ours && which >= 0 && which <= attempt;
}

static bool kill_if_ours(const char *pid, const char *job, int64_t attempt, char *block)
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
    if (!n || !belongs(block, n, job, attempt) || !str_to_i64(str_c(pid), &number))
        return false;
    return kill((pid_t)number, SIGKILL) == 0;
}

static int one_pass(const char *job, int64_t attempt, char *block)
{
    DIR *d = opendir("/proc");
    int killed = 0;
    if (!d)
        return 0;
    for (const struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            killed += kill_if_ours(e->d_name, job, attempt, block);
    closedir(d);
    return killed;
}

int shim_sweep(const char *job, int64_t attempt)
{
    char *block = mem_alloc(ENVIRON_MAX + 1);
    int first = one_pass(job, attempt, block), left = first;
    for (int i = 0; left && i < ROUNDS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        left = one_pass(job, attempt, block);
    }
    mem_free(block);
    return first;
}
