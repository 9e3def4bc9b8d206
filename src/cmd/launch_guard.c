/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/launch_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_MS 10000 /* for mpirun to end its ranks */

static void tell(int pidfd, int signal)
{
    syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

/* Until nobody has the other end of the pipe any more. */
static void wait_for_end(int pipe)
{
    char c;
    while (read(pipe, &c, 1) < 0 && errno == EINTR)
        ;
}

/* In the child: nothing of the launcher stays open, and no terminal reaches it. */
static _Noreturn void guard(int pipe, int pidfd)
{
    struct pollfd ended = {.fd = 1, .events = POLLIN};
    setsid();
    if (dup2(pipe, 0) < 0 || dup2(pidfd, 1) < 0)
        _exit(1);
    for (int fd = 2; fd < (int)sysconf(_SC_OPEN_MAX) && fd < 1024; fd++)
        close(fd);
    wait_for_end(0);
    if (poll(&ended, 1, 0) > 0)
        _exit(0); /* as it should be: mpirun had ended before */
    tell(1, SIGTERM);
    if (poll(&ended, 1, GRACE_MS) == 0)
        tell(1, SIGKILL);
    _exit(0);
}

void launch_guard_start(struct launch_guard *g, int pidfd)
{
    int ends[2];
    *g = (struct launch_guard){.pipe = -1, .pid = -1};
    if (pidfd < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return;
    g->pid = fork();
    if (g->pid == 0) {
        close(ends[1]);
        guard(ends[0], pidfd);
    }
    close(ends[0]);
    g->pipe = ends[1];
    if (g->pid < 0)
        launch_guard_end(g);
}

void launch_guard_end(struct launch_guard *g)
{
    if (g->pipe >= 0)
        close(g->pipe);
    while (g->pid > 0 && waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *g = (struct launch_guard){.pipe = -1, .pid = -1};
}
