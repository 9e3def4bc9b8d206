/* SPDX-License-Identifier: Apache-2.0 */
/* launch: starts the ranks of a run on this machine by mpirun and waits for it. The first
 * SIGTERM or Ctrl-C becomes SIGUSR1, which mpirun hands on to the ranks at once, so that
 * they save a checkpoint (of SIGTERM it leaves them a second); the next one ends them.
 * Where there is no mpirun, one process does the work of all ranks of a training, with the
 * same result.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "dist/shards.h"

struct launch_conf {
    int64_t nproc_per_node;
};

static const struct opt opts[] = {
    {OPT_INT(struct launch_conf, nproc_per_node, "1", 1, DIST_SHARDS_MAX,
             "ranks on this machine"),
     .meta = "N"},
    {0},
};

typedef VEC(char *) word_vec;

static void add_word(word_vec *v, const char *word)
{
    VEC_PUSH(v, mem_strdup(word));
}

static void release_words(word_vec *v)
{
    for (size_t i = 0; i < v->n; i++)
        mem_free(v->at[i]);
    VEC_RELEASE(v);
}

/* The words of the command; one of this program gets its path in front, and `shards`
 * behind its name.
 */
static void add_command(word_vec *v, const struct opt_args *args, const char *shards)
{
    char self[4096];
    int words = 0;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0 && cmd_find((int)args->n, (char *const *)(uintptr_t)args->at, &words)) {
        self[n] = '\0';
        add_word(v, self);
    }
    for (size_t i = 0; i < args->n; i++) {
        add_word(v, args->at[i]);
        if (i == 0 && shards) {
            add_word(v, "--shards");
            add_word(v, shards);
        }
    }
}

static bool is_training(const struct opt_args *args)
{
    return args->n > 0 && strcmp(args->at[0], "train") == 0;
}

/* Returns only when it could not be started. */
static enum rc become(word_vec *v, struct err *err)
{
    VEC_PUSH(v, NULL);
    fflush(NULL);
    execv(v->at[0], v->at);
    v->n--;
    return err_sys(err, errno, "cannot start '%s'", v->at[0]);
}

/* As many shards as there would be ranks. */
static enum rc run_alone(int64_t n, const struct opt_args *args, struct err *err)
{
    word_vec v = {0};
    char shards[32];
    fprintf(stderr,
            "launch: note: there is no mpirun on PATH: one process does the work of %jd "
            "ranks, with the same result\n",
            (intmax_t)n);
    snprintf(shards, sizeof(shards), "%jd", (intmax_t)n);
    add_command(&v, args, shards);
    enum rc rc = become(&v, err);
    release_words(&v);
    return rc;
}

/* Readable when this process is asked to stop; -1: the system has none. */
static int watch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static struct proc_exit wait_for(struct proc *p, int signals)
{
    struct pollfd fds[] = {{.fd = proc_pidfd(p), .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo info;
    struct proc_exit exit = {0};
    for (int asked = 0; !proc_poll(p, &exit);) {
        poll(fds, ARRAY_LEN(fds), 1000);
        while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
            kill(proc_pid(p), asked++ ? SIGTERM : SIGUSR1);
    }
    return exit;
}

static enum rc start_and_wait(word_vec *v, struct err *err)
{
    static const char *const as_root[] = {"OMPI_ALLOW_RUN_AS_ROOT=1",
                                          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", NULL};
    struct proc *p = NULL;
    int signals = watch_signals();
    VEC_PUSH(v, NULL);
    struct proc_spec spec = {.argv = (const char *const *)v->at,
                             .env_add = geteuid() == 0 ? as_root : NULL};
    enum rc rc = proc_start(&spec, &p, err);
    v->n--;
    if (rc)
        return rc;
    struct proc_exit exit = wait_for(p, signals);
    proc_destroy(p);
    close(signals);
    if (exit.code == 0)
        return RC_OK;
    err->exit = exit.code > 0 ? exit.code : 128 + exit.signal;
    err->msg[0] = '\0'; /* the ranks or mpirun have said it */
    return RC_IO;
}

static enum rc run_ranks(const char *mpirun, int64_t n, const struct opt_args *args,
                         struct err *err)
{
    static const char *const how[] = {"--oversubscribe", "--bind-to", "none", "-n"};
    word_vec v = {0};
    char ranks[32];
    snprintf(ranks, sizeof(ranks), "%jd", (intmax_t)n);
    add_word(&v, mpirun);
    for (size_t i = 0; i < ARRAY_LEN(how); i++)
        add_word(&v, how[i]);
    add_word(&v, ranks);
    add_command(&v, args, NULL);
    enum rc rc = start_and_wait(&v, err);
    release_words(&v);
    return rc;
}

static enum rc launch_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    const struct launch_conf *c = conf;
    const char *path = getenv("PATH");
    char *mpirun = proc_which("mpirun", path ? path : "/usr/bin:/bin");
    enum rc rc;
    if (mpirun)
        rc = run_ranks(mpirun, c->nproc_per_node, args, err);
    else if (is_training(args))
        rc = run_alone(c->nproc_per_node, args, err);
    else
        rc = err_coded(err, RC_NOTFOUND, E2504,
                       "there is no mpirun on PATH: install Open MPI");
    mem_free(mpirun);
    return rc;
}

static const struct cmd_example examples[] = {
    {"four ranks on this machine",
     "trainyard launch --nproc-per-node 4 train pipeline.config"},
    {0},
};

const struct cmd cmd_launch = {
    .name = "launch",
    .args = "COMMAND...",
    .summary = "start the ranks of a run on this machine",
    .description =
        "Starts the command so many times by mpirun; the processes train one model "
        "together. COMMAND is one of this program (train ...) or any other program. "
        "SIGTERM and Ctrl-C let the ranks save a checkpoint; a second one ends them. "
        "Without mpirun one process "
        "does the work of all ranks of a training. See docs/ranks.md.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct launch_conf),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .stop_at_word = true,
    .run = launch_command,
};
