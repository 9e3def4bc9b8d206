/* SPDX-License-Identifier: Apache-2.0 */
/* Starts mpirun and waits for it. Its stderr goes through mpirun_words.c: lines of ranks
 * are handed on, mpirun's announcements become one message in our words, with the step
 * that rank 0 has left in a file, and with what the kernel says about memory.
 *
 * The first SIGTERM or Ctrl-C becomes SIGUSR1, which mpirun hands on to the ranks at once,
 * so that they save a checkpoint (of SIGTERM it leaves them a second); the next one ends
 * them.
 */
#include "cmd/launch_ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cmd/launch_guard.h"
#include "cmd/launch_hub.h"
#include "cmd/mpirun_words.h"

#define TERM_NS (5 * CLOCK_SECOND) /* for mpirun to end by itself once it has failed */
#define KILL_NS (8 * CLOCK_SECOND)

void words_add(word_vec *v, const char *word)
{
    VEC_PUSH(v, mem_strdup(word));
}

void words_release(word_vec *v)
{
    for (size_t i = 0; i < v->n; i++)
        mem_free(v->at[i]);
    VEC_RELEASE(v);
}

static void write_all(int fd, const char *p, size_t n)
{
    while (fd >= 0 && n > 0) {
        ssize_t did = write(fd, p, n);
        if (did < 0 && errno != EINTR)
            return;
        p += did > 0 ? did : 0;
        n -= did > 0 ? (size_t)did : 0;
    }
}

/* Processes that the kernel ended for want of memory, since it was started. */
static int64_t count_oom_kills(void)
{
    char *text = NULL;
    size_t n;
    int64_t kills = 0;
    if (fs_read("/proc/vmstat", 1 << 20, &text, &n, NULL) != RC_OK)
        return 0;
    const char *at = strstr(text, "\noom_kill ");
    struct str rest = at ? str_c(at + strlen("\noom_kill ")) : str_c(""), word;
    if (!str_split(&rest, '\n', &word) || !str_to_i64(word, &kills))
        kills = 0;
    mem_free(text);
    return kills;
}

/* "step 12"; rank 0 keeps it there, plus one. */
static void put_step(const char *state, struct buf *out)
{
    char *data = NULL;
    size_t n = 0;
    int64_t step = 0;
    if (state && fs_read(state, sizeof(step), &data, &n, NULL) == RC_OK &&
        n == sizeof(step))
        memcpy(&step, data, sizeof(step));
    mem_free(data);
    if (step > 0)
        buf_printf(out, "step %jd", (intmax_t)step - 1);
    else
        buf_puts(out, "before the first step");
}

struct run {
    const struct launch_start *s;
    struct proc *p;
    struct mpirun_words words;
    int log; /* of rank 0; -1: none */
    int asked;
    int64_t oom_kills;
    int64_t failed_ns; /* when a rank said so or a host was lost; 0: not yet */
    int urged;         /* signals to mpirun that make it end */
};

static void hand_on(struct run *r)
{
    write_all(STDERR_FILENO, r->words.pass.p, r->words.pass.n);
    write_all(r->log, r->words.pass.p, r->words.pass.n);
    buf_clear(&r->words.pass);
}

/* False at its end. */
static bool read_words(struct run *r, int fd)
{
    char some[1 << 16];
    ssize_t n = read(fd, some, sizeof(some));
    if (n <= 0)
        return n < 0 && (errno == EINTR || errno == EAGAIN);
    mpirun_words_feed(&r->words, some, (size_t)n);
    hand_on(r);
    return true;
}

static void pass_signals(struct run *r)
{
    struct signalfd_siginfo info;
    while (read(r->s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        kill(proc_pid(r->p), r->asked++ ? SIGTERM : SIGUSR1);
}

/* mpirun may wait for a host that is gone. */
static void urge(struct run *r)
{
    int64_t now = clock_mono_ns();
    char host[MPIRUN_HOST_SIZE];
    if (!r->failed_ns && r->s->hub && launch_hub_lost(r->s->hub, host, sizeof(host))) {
        r->words.lost = true;
        snprintf(r->words.host, sizeof(r->words.host), "%s", host);
        r->failed_ns = now;
    }
    if (!r->failed_ns && r->words.said)
        r->failed_ns = now;
    int64_t after = r->failed_ns ? now - r->failed_ns : 0;
    if (after > TERM_NS && r->urged < 1) {
        kill(proc_pid(r->p), SIGTERM);
        r->urged = 1;
    }
    if (after > KILL_NS && r->urged < 2) {
        proc_signal(r->p, SIGKILL);
        r->urged = 2;
    }
}

static struct proc_exit wait_for(struct run *r)
{
    struct pollfd fds[] = {{.fd = proc_pidfd(r->p), .events = POLLIN},
                           {.fd = r->s->signals, .events = POLLIN},
                           {.fd = proc_pipe(r->p, 2), .events = POLLIN}};
    struct proc_exit exit = {0};
    while (!proc_poll(r->p, &exit)) {
        poll(fds, ARRAY_LEN(fds), 500);
        pass_signals(r);
        urge(r);
        if (fds[2].revents && !read_words(r, fds[2].fd))
            fds[2].fd = -1;
    }
    fds[2].events = POLLIN; /* what is left; who else holds the pipe is not waited for */
    while (fds[2].fd >= 0 && poll(&fds[2], 1, 0) > 0 && read_words(r, fds[2].fd))
        ;
    mpirun_words_end(&r->words);
    hand_on(r);
    return exit;
}

/* Which rank ended it, where, at which step and why. */
static enum rc tell_why(struct run *r, struct proc_exit exit, struct err *err)
{
    const struct mpirun_words *w = &r->words;
    struct buf b;
    char how[PROC_WORDS_SIZE];
    int signal = w->signal ? w->signal : exit.signal;
    buf_init(&b, ERR_MSG_SIZE);
    if (w->rank >= 0 && !w->lost)
        buf_printf(&b, "rank %d of %d: ", w->rank, r->s->ranks);
    if (w->host[0])
        buf_printf(&b, "host %s, ", w->host);
    put_step(r->s->state, &b);
    struct proc_exit of = {.code = signal    ? -1
                                   : w->code ? w->code
                                             : exit.code,
                           .signal = signal};
    proc_exit_words(of, how);
    if (w->lost)
        buf_puts(&b, ": the host is gone, or its launcher was ended");
    else
        buf_printf(&b, ": %s", how);
    if (signal == SIGKILL && count_oom_kills() > r->oom_kills)
        buf_puts(&b, ": the machine ran out of memory, and the kernel ended it; see "
                     "--memory and more ranks");
    if (w->other.n && !w->lost)
        buf_printf(&b, ": mpirun says:\n%s", buf_str(&w->other));
    enum rc rc = err_coded(err, RC_IO, E2501, "%s", buf_str(&b));
    buf_release(&b);
    return rc;
}

static int open_log(const char *dir)
{
    if (!dir)
        return -1;
    char *path = fs_join(dir, "rank-0.log");
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    mem_free(path);
    return fd;
}

static enum rc end_of(struct run *r, struct proc_exit exit, struct launch_end *out,
                      struct err *err)
{
    *out = (struct launch_end){.asked = r->asked > 0, .lost = r->words.lost};
    if (exit.code == 0)
        return RC_OK;
    err->exit = exit.code > 0 && !r->words.signal && !r->words.lost ? exit.code : 1;
    /* without mpirun in between the process speaks for itself, unless it was killed */
    if (r->words.said || (!r->s->mpirun && !exit.signal) || r->asked > 1)
        err->msg[0] = '\0';
    else
        return tell_why(r, exit, err);
    return RC_IO;
}

enum rc launch_ranks(const struct launch_start *s, struct launch_end *out,
                     struct err *err)
{
    static const char *const as_root[] = {"OMPI_ALLOW_RUN_AS_ROOT=1",
                                          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", NULL};
    struct run r = {.s = s, .log = -1, .oom_kills = count_oom_kills()};
    struct launch_guard guard;
    word_vec argv = {0};
    for (size_t i = 0; i < s->command->n; i++)
        VEC_PUSH(&argv, s->command->at[i]); /* borrowed */
    VEC_PUSH(&argv, NULL);
    struct proc_spec spec = {.argv = (const char *const *)argv.at,
                             .env_add = geteuid() == 0 ? as_root : NULL};
    if (s->mpirun)
        spec.err.kind = PROC_PIPE;
    *out = (struct launch_end){0};
    mpirun_words_init(&r.words);
    enum rc rc = proc_start(&spec, &r.p, err);
    if (!rc) {
        r.log = s->mpirun ? open_log(s->log_dir) : -1;
        launch_guard_start(&guard, proc_pidfd(r.p));
        struct proc_exit exit = wait_for(&r);
        launch_guard_end(&guard);
        rc = end_of(&r, exit, out, err);
    }
    proc_destroy(r.p);
    if (r.log >= 0)
        close(r.log);
    mpirun_words_release(&r.words);
    VEC_RELEASE(&argv);
    return rc;
}
