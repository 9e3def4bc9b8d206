/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of three children, as a job's worker has it (jail.h): one whose children are in a
 * process namespace of their own, the first process of that, which builds the view, and the
 * program. Each waits for the next and ends as it did. What keeps the program from being
 * started comes through a pipe that its start closes.
 */
#include "backend/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/jail.h"
#include "base/fs.h"
#include "base/mem.h"

#define TOLD_MAX 8192

/* Why there is no program. */
struct fault {
    int errnum;
    bool jail; /* it could not be kept apart */
    char what[VIEW_ERROR_SIZE];
};

struct starting {
    const struct backend_sandbox *s;
    struct jail jail;
    const char *root;
    int fault, told; /* write ends */
};

static _Noreturn void give_up(const struct starting *x, struct fault *f, bool jail)
{
    f->jail = jail;
    ssize_t n = write(x->fault, f, sizeof(*f));
    _exit(n == (ssize_t)sizeof(*f) ? 126 : 125);
}

/* Ends as the child did. */
static _Noreturn void end_as(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        kill(getpid(), WTERMSIG(status)); /* the first of a namespace does not hear it */
        _exit(128 + WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

static _Noreturn void become_program(const struct starting *x)
{
    const struct backend_sandbox *s = x->s;
    struct fault f = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!s->open)
        f.errnum = jail_drop(&x->jail, f.what);
    if (f.errnum)
        give_up(x, &f, true);
    if (dup2(s->in, 0) < 0 || dup2(s->out, 1) < 0 || dup2(x->told, 2) < 0 ||
        chdir(s->cwd) < 0) {
        f.errnum = errno;
        snprintf(f.what, sizeof(f.what), "enter %.150s", s->cwd);
        give_up(x, &f, false);
    }
    execvpe(s->argv[0], (char *const *)(uintptr_t)s->argv,
            (char *const *)(uintptr_t)s->env);
    f.errnum = errno;
    snprintf(f.what, sizeof(f.what), "execute '%.150s'", s->argv[0]);
    give_up(x, &f, false);
}

static _Noreturn void become_first(const struct starting *x)
{
    struct fault f = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    f.errnum = jail_build(&x->jail, x->root, x->s->mounts, x->s->n_mounts, f.what);
    pid_t program = f.errnum ? -1 : fork();
    if (!f.errnum && program < 0)
        f.errnum = errno;
    if (f.errnum)
        give_up(x, &f, true);
    if (program == 0)
        become_program(x);
    close(x->fault);
    end_as(program);
}

static _Noreturn void become_outer(const struct starting *x)
{
    struct fault f = {0};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (x->s->open)
        become_program(x);
    f.errnum = jail_unshare(&x->jail);
    snprintf(f.what, sizeof(f.what), "make a process namespace");
    pid_t first = f.errnum ? -1 : fork();
    if (!f.errnum && first < 0)
        f.errnum = errno;
    if (f.errnum)
        give_up(x, &f, true);
    if (first == 0)
        become_first(x);
    close(x->fault);
    end_as(first);
}

/* All that comes until its end; the last bytes of it stay. */
static char *read_told(int fd)
{
    char *all = mem_alloc(2 * TOLD_MAX + 1);
    size_t n = 0;
    for (ssize_t got; (got = read(fd, all + n, 2 * TOLD_MAX - n)) != 0;) {
        if (got < 0 && errno != EINTR)
            break;
        n += got > 0 ? (size_t)got : 0;
        if (n == 2 * TOLD_MAX) {
            memmove(all, all + TOLD_MAX, TOLD_MAX);
            n = TOLD_MAX;
        }
    }
    all[n] = '\0';
    return all;
}

static enum rc fault_of(const struct fault *f, struct err *err)
{
    if (f->jail)
        return err_set(err, RC_UNSUPPORTED, "cannot %s: %s", f->what,
                       strerror(f->errnum));
    return err_sys(err, f->errnum, "cannot %s", f->what);
}

static enum rc wait_for(pid_t outer, int fault, int told, char **text,
                        struct proc_exit *exit, struct err *err)
{
    struct fault f = {0};
    int status = 0;
    ssize_t n;
    do {
        n = read(fault, &f, sizeof(f));
    } while (n < 0 && errno == EINTR);
    *text = read_told(told);
    while (waitpid(outer, &status, 0) < 0 && errno == EINTR)
        ;
    if (n == (ssize_t)sizeof(f))
        return fault_of(&f, err);
    bool killed = WIFSIGNALED(status) || WEXITSTATUS(status) > 128;
    *exit = (struct proc_exit){.code = killed ? -1 : WEXITSTATUS(status),
                               .signal = WIFSIGNALED(status) ? WTERMSIG(status)
                                         : killed            ? WEXITSTATUS(status) - 128
                                                             : 0};
    return RC_OK;
}

enum rc backend_sandbox_run(const struct backend_sandbox *s, char **told,
                            struct proc_exit *exit, struct err *err)
{
    int fault[2] = {-1, -1}, text[2] = {-1, -1};
    char *root = fs_join(s->scratch, "root"), *tmp = fs_join(s->scratch, "tmp");
    enum rc rc = fs_mkdirs(root, 0700, err);
    *told = NULL;
    if (!rc)
        rc = fs_mkdirs(tmp, 0700, err);
    if (!rc && (pipe2(fault, O_CLOEXEC) < 0 || pipe2(text, O_CLOEXEC) < 0))
        rc = err_sys(err, errno, "no pipe");
    struct starting x = {.s = s,
                         .root = root,
                         .fault = fault[1],
                         .told = text[1],
                         .jail = {.uid = geteuid(),
                                  .gid = getegid(),
                                  .own = true,
                                  .alone = true,
                                  .tmp = tmp,
                                  .network = -1}};
    pid_t outer = rc ? -1 : fork();
    if (outer == 0)
        become_outer(&x);
    if (!rc && outer < 0)
        rc = err_sys(err, errno, "cannot start a process");
    if (fault[1] >= 0)
        close(fault[1]);
    if (text[1] >= 0)
        close(text[1]);
    if (!rc)
        rc = wait_for(outer, fault[0], text[0], told, exit, err);
    if (fault[0] >= 0)
        close(fault[0]);
    if (text[0] >= 0)
        close(text[0]);
    mem_free(root);
    mem_free(tmp);
    return rc;
}
