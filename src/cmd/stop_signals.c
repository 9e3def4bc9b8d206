/* SPDX-License-Identifier: Apache-2.0 */
/* The signals are blocked and read from a signalfd between two steps. A blocked signal is
 * queued even when it is ignored, so SIGHUP is left alone where nohup ignores it. SIGPIPE
 * may also come from a connection to a store; it counts only when one of our own outputs
 * is closed.
 */
#include "cmd/stop_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static bool is_ignored(int signal)
{
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int stop_signals_watch(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGUSR1); /* of `launch` */
    if (!is_ignored(SIGHUP))
        sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void stop_signals_launched(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Nobody reads it: a pipe without a reader, a terminal that was closed. */
static bool is_closed(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP));
}

/* The next one must not be waited for, so that the user need not wait either. */
static void let_through(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

bool stop_signals_came(int fd)
{
    struct signalfd_siginfo info;
    while (fd >= 0 && read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGPIPE && !is_closed(STDOUT_FILENO) &&
            !is_closed(STDERR_FILENO))
            continue;
        let_through();
        return true;
    }
    return false;
}
