/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/exec_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define GRACE_MS 5000
#define KILL_MS 2000 /* for what was killed to be gone */
#define LOOK_MS 50
#define ENVIRON_MAX (1 << 20)

static size_t read_of(int proc, const char *pid, const char *name, char *to, size_t size)
{
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof(path), "%.20s/%s", pid, name);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got;
         fd >= 0 && n < size - 1 && (got = read(fd, to + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    if (fd >= 0)
        close(fd);
    to[n] = '\0';
    return n;
}

/* The session of a process that has not ended; 0 of one that has. */
static pid_t session_of(int proc, const char *pid)
{
    char text[512], state = 'Z';
    int parent, group, session = 0;
    read_of(proc, pid, "stat", text, sizeof(text));
    const char *behind = strrchr(text, ')'); /* the name may hold anything */
    if (!behind ||
        sscanf(behind + 1, " %c %d %d %d", &state, &parent, &group, &session) != 4)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : session;
}

static bool is_marked(int proc, const char *pid, const char *mark, char *text)
{
    size_t n = read_of(proc, pid, "environ", text, ENVIRON_MAX);
    for (size_t i = 0; i < n; i += strlen(text + i) + 1)
        if (strcmp(text + i, mark) == 0)
            return true;
    return false;
}

/* Signals all that is left of the program; says how many there were. */
static size_t signal_all(const struct backend_exec_guard *g, pid_t leader, int sig)
{
    size_t n = 0;
    char *text = mem_alloc(ENVIRON_MAX);
    int fd = openat(g->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
        pid_t session = pid > 1 && pid != getpid() ? session_of(g->proc, d->d_name) : 0;
        bool ours = session && ((session == leader && !g->marked_only) ||
                                is_marked(g->proc, d->d_name, g->mark, text));
        if (ours && kill(pid, sig) == 0)
            n++;
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    explicit_bzero(text, ENVIRON_MAX); /* it may have held secrets */
    mem_free(text);
    return n;
}

/* True: nothing is left. */
static bool wait_all(const struct backend_exec_guard *g, pid_t leader, int sig, int ms)
{
    for (; ms > 0; ms -= LOOK_MS) {
        if (!signal_all(g, leader, sig))
            return true;
        poll(NULL, 0, LOOK_MS);
    }
    return false;
}

static void end_all(const struct backend_exec_guard *g, pid_t leader, bool at_once)
{
    if (!at_once) {
        signal_all(g, leader, SIGHUP);
        signal_all(g, leader, SIGCONT); /* one that is stopped takes no other */
    }
    if (at_once || !wait_all(g, leader, 0, GRACE_MS))
        wait_all(g, leader, SIGKILL, KILL_MS);
}

/* A client of a program that has ended ends by itself, unless its engine hangs. */
static int reap(pid_t pid, int pidfd)
{
    struct pollfd fd = {.fd = pidfd, .events = POLLIN};
    int status = 0;
    if (poll(&fd, 1, KILL_MS) <= 0)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return status;
}

int backend_exec_guard_wait(const struct backend_exec_guard *g, pid_t pid)
{
    int over = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd fds[3] = {{.fd = over, .events = POLLIN},
                            {.fd = g->shim, .events = POLLIN},
                            {.fd = g->life, .events = POLLIN}};
    while (poll(fds, 3, -1) < 0 && errno == EINTR)
        ;
    if (!fds[0].revents)
        end_all(g, pid, fds[1].revents != 0);
    int status = reap(pid, over);
    if (over >= 0)
        close(over);
    return status;
}
