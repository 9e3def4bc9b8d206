/* SPDX-License-Identifier: Apache-2.0 */
/* A program beside a worker ends with who asked for it, and with all that it started. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/exec_guard.h"
#include "tap.h"

static const char mark[] = EXEC_MARK "=jb-guard";

/* A shell that leads a session and has the mark; it writes to `ready` when it is set up. */
static pid_t start_shell(const char *script, int ready[2])
{
    CHECK(pipe2(ready, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *const env[] = {(char *)(uintptr_t)mark, "PATH=/usr/bin:/bin", NULL};
        char *const argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
        setsid();
        dup2(ready[1], 1);
        execve("/bin/sh", argv, env);
        _exit(127);
    }
    char byte;
    close(ready[1]);
    CHECK(read(ready[0], &byte, 1) == 1);
    return pid;
}

struct watched {
    int ready[2], life[2];
    struct backend_exec_guard g;
};

static pid_t begin(struct watched *w, const char *script)
{
    CHECK(pipe2(w->life, O_CLOEXEC) == 0);
    w->g = (struct backend_exec_guard){
        .shim = -1,
        .life = w->life[0],
        .proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
        .mark = mark};
    return start_shell(script, w->ready);
}

/* The pipe is closed at its other end when nothing of the program is left. */
static void check_none_left(struct watched *w)
{
    struct pollfd fd = {.fd = w->ready[0], .events = POLLIN};
    char rest[256];
    ssize_t n = 1;
    while (n > 0 && poll(&fd, 1, 5000) > 0)
        n = read(fd.fd, rest, sizeof(rest));
    CHECK_INT(n, 0);
    close(w->ready[0]);
    close(w->life[0]);
    close(w->g.proc);
}

static void a_program_that_ends_by_itself_gives_its_status(void)
{
    struct watched w;
    pid_t pid = begin(&w, "echo; exit 7");
    int status = backend_exec_guard_wait(&w.g, pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 7);
    close(w.life[1]);
    check_none_left(&w);
}

static void who_asked_is_gone_and_all_of_the_program_ends(void)
{
    struct watched w;
    pid_t pid = begin(
        &w, "sleep 1000 & setsid sleep 1000 & trap 'exit 5' HUP; echo; while :; do sleep "
            "0.1; done");
    close(w.life[1]);
    int status = backend_exec_guard_wait(&w.g, pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 5);
    check_none_left(&w);
}

static void a_program_that_is_stopped_is_woken_to_end(void)
{
    struct watched w;
    pid_t pid = begin(&w, "echo; kill -STOP $$; exit 3");
    close(w.life[1]);
    int status = backend_exec_guard_wait(&w.g, pid);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGHUP);
    check_none_left(&w);
}

static void with_its_worker_a_program_is_killed(void)
{
    struct watched w;
    int worker[2];
    pid_t pid = begin(&w, "trap '' HUP; echo; sleep 1000; true");
    CHECK(pipe2(worker, O_CLOEXEC) == 0);
    close(worker[1]);
    w.g.shim = worker[0];
    int status = backend_exec_guard_wait(&w.g, pid);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGKILL);
    close(worker[0]);
    close(w.life[1]);
    check_none_left(&w);
}

/* As with a container: what is waited for is not the program, and ends after it. */
static void of_another_program_only_what_is_marked_is_signalled(void)
{
    struct watched w;
    pid_t pid =
        begin(&w, "env -u " EXEC_MARK " sh -c 'echo; sleep 1000; true' & wait $!");
    w.g.marked_only = true;
    close(w.life[1]);
    int status = backend_exec_guard_wait(&w.g, pid);
    CHECK(WIFSIGNALED(status));
    struct pollfd fd = {.fd = w.ready[0], .events = POLLIN};
    char rest[256];
    while (poll(&fd, 1, 200) > 0 && read(fd.fd, rest, sizeof(rest)) > 0)
        ;
    CHECK_INT(fd.revents & POLLHUP, 0); /* the unmarked one runs on */
    kill(-pid, SIGKILL);
    check_none_left(&w);
}

static const struct tap_case cases[] = {
    TAP(a_program_that_ends_by_itself_gives_its_status),
    TAP(who_asked_is_gone_and_all_of_the_program_ends),
    TAP(a_program_that_is_stopped_is_woken_to_end),
    TAP(with_its_worker_a_program_is_killed),
    TAP(of_another_program_only_what_is_marked_is_signalled),
};
TAP_MAIN(cases)
