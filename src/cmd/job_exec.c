/* SPDX-License-Identifier: Apache-2.0 */
/* `job exec` and `job shell`: a program, or a shell on a terminal, beside a running worker.
 * Where the job runs here the program is started by us (job_exec_local.c), else the server
 * does it (job_exec_remote.c), by calling this command.
 */
#include "cmd/job_exec.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/cmd.h"

struct exec_conf {
    struct job_where where;
    int64_t worker, parent;
    bool terminal, in_terminal;
    const char *by;
};

static const struct opt exec_opts[] = {
    {OPT_INT(struct exec_conf, worker, "0", 0, 1024, "beside this worker")},
    {OPT_BOOL(struct exec_conf, terminal, "false", "give it a terminal"), .letter = 't'},
    {OPT_BOOL(struct exec_conf, in_terminal, "false", "stdin is its terminal"),
     .hidden = true},
    {OPT_TEXT(struct exec_conf, by, NULL, "who asked"), .hidden = true},
    {OPT_INT(struct exec_conf, parent, "0", 0, INT32_MAX, "process that asked"),
     .hidden = true},
    JOB_WHERE_OPTS(struct exec_conf),
    JOB_SERVER_OPT(struct exec_conf),
    {0},
};

static const struct opt shell_opts[] = {
    {OPT_INT(struct exec_conf, worker, "0", 0, 1024, "beside this worker")},
    JOB_WHERE_OPTS(struct exec_conf),
    JOB_SERVER_OPT(struct exec_conf),
    {0},
};

void job_terminal_enter(struct job_terminal *t)
{
    struct termios raw;
    t->raw = isatty(0) && tcgetattr(0, &t->before) == 0;
    if (!t->raw)
        return;
    raw = t->before;
    cfmakeraw(&raw);
    t->raw = tcsetattr(0, TCSADRAIN, &raw) == 0;
}

void job_terminal_leave(struct job_terminal *t)
{
    if (t->raw)
        tcsetattr(0, TCSADRAIN, &t->before);
    t->raw = false;
}

void job_terminal_size(struct winsize *out)
{
    if (ioctl(0, TIOCGWINSZ, out) < 0 || !out->ws_row || !out->ws_col)
        *out = (struct winsize){.ws_row = 24, .ws_col = 80};
}

int job_terminal_signals(void)
{
    static const int which[] = {SIGWINCH, SIGHUP, SIGINT, SIGTERM};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(which); i++)
        sigaddset(&set, which[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int job_terminal_signal(int fd)
{
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo
                                                                  : 0;
}

static enum rc exec_beside(const struct exec_conf *c, const char *text,
                           struct job_exec_ask *x, struct err *err)
{
    struct cmd_place p;
    char id[JOB_ID_SIZE];
    int status = 0;
    enum rc rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = job_pick(&p, text, id, err);
    x->id = id;
    x->worker = c->worker;
    if (!rc)
        rc = p.ops->exec(&p, x, &status, err);
    cmd_place_close(&p);
    if (!rc && status) { /* the program said what was wrong */
        err->msg[0] = '\0';
        err->exit = status;
        return RC_CANCELED;
    }
    return rc;
}

static enum rc job_exec_command(const void *conf, const struct opt_args *args,
                                struct err *err)
{
    const struct exec_conf *c = conf;
    size_t n = args->n_dashed;
    if (args->n - n != 1 || !n)
        return err_coded(err, RC_INVAL, E0605,
                         "one ID is needed, and COMMAND after `--`");
    const char **argv = mem_calloc(n + 1, sizeof(*argv));
    memcpy(argv, args->at + 1, n * sizeof(*argv));
    struct job_exec_ask x = {.argv = argv,
                             .n = n,
                             .terminal = c->terminal,
                             .in_terminal = c->in_terminal,
                             .by = c->by,
                             .parent = c->parent};
    enum rc rc = exec_beside(c, args->at[0], &x, err);
    mem_free(argv);
    return rc;
}

static enum rc job_shell_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    /* Of an account without a name a prompt says which job it is. */
    static const char *const argv[] = {
        "/bin/sh", "-c",
        "export PS1='${TRAINYARD_JOB_ID}:\\w\\$ '; if command -v bash >/dev/null; then id -un "
        ">/dev/null 2>&1 && exec bash; exec bash --norc; fi; "
        "PS1='${TRAINYARD_JOB_ID}:${PWD}$ ' exec sh",
        NULL};
    struct job_exec_ask x = {.argv = argv, .n = 3, .terminal = true};
    if (!isatty(0))
        return err_coded(err, RC_INVAL, E0603,
                         "stdin is not a terminal; use `job exec` in scripts");
    return exec_beside(conf, args->at[0], &x, err);
}

static const struct cmd_example exec_examples[] = {
    {"what a worker does", "trainyard job exec jb-0123456789ab -- ps aux"},
    {"its GPUs", "trainyard job exec --worker 1 jb-0123456789ab -- nvidia-smi"},
    {0},
};

#define ABOUT                                                                             \
    "The program sees what the worker sees: its files, processes, variables and limits, " \
    "under the same identity and isolation. It is ended when the worker ends, when you "  \
    "interrupt this command, or when the connection is lost: by SIGHUP, and five "        \
    "seconds later by SIGKILL. Only the owner of a job and admins may do this; an Exec "  \
    "event and the server's audit log record it."

const struct cmd cmd_job_exec = {
    .name = "job exec",
    .args = "ID -- COMMAND...",
    .summary = "run a program beside a running worker",
    .description = ABOUT
    " The exit status is the program's. The command returns when the program ends; "
    "processes that it leaves in the background keep running, but their later output "
    "is not shown.",
    .examples = exec_examples,
    .opts = exec_opts,
    .conf_size = sizeof(struct exec_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = job_exec_command,
};

static const struct cmd_example shell_examples[] = {
    {"look around", "trainyard job shell jb-0123456789ab"}, {0}};

const struct cmd cmd_job_shell = {
    .name = "job shell",
    .args = "ID",
    .summary = "open a shell beside a running worker",
    .description = ABOUT,
    .examples = shell_examples,
    .opts = shell_opts,
    .conf_size = sizeof(struct exec_conf),
    .min_args = 1,
    .max_args = 1,
    .run = job_shell_command,
};
