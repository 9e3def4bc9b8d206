/* SPDX-License-Identifier: Apache-2.0 */
/* launch: starts the ranks of a run on this machine by mpirun and waits for it
 * (launch_ranks.c). Where there is no mpirun, one process does the work of all ranks of a
 * training, with the same result. A run that fails is started again as often as
 * --max-restarts says; a training goes on from its last checkpoint then. What another
 * start cannot mend (wrong options or config: exit status 2) ends it at once.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/launch_ranks.h"
#include "dist/shards.h"

#define USAGE_STATUS 2

struct launch_conf {
    int64_t nproc_per_node, max_restarts;
    const char *log_dir;
};

static const struct opt opts[] = {
    {OPT_INT(struct launch_conf, nproc_per_node, "1", 1, DIST_SHARDS_MAX,
             "ranks on this machine"),
     .meta = "N"},
    {OPT_INT(struct launch_conf, max_restarts, "0", 0, 1000000,
             "start a run that failed again so often; a training resumes from its last "
             "checkpoint"),
     .meta = "N"},
    {OPT_TEXT(struct launch_conf, log_dir, NULL,
              "also write what each rank prints to DIR/rank-N.log"),
     .meta = "DIR"},
    {0},
};

struct launcher {
    const struct launch_conf *conf;
    const struct opt_args *args;
    char *mpirun;  /* NULL: there is none */
    char *dir;     /* temporary, owned */
    char *state;   /* file in it */
    char *log_dir; /* absolute; NULL: none */
    int signals;
    int restarts; /* so far */
};

static bool is_training(const struct opt_args *args)
{
    return args->n > 0 && strcmp(args->at[0], "train") == 0;
}

static bool has_word(const struct opt_args *args, const char *a, const char *b)
{
    for (size_t i = 0; i < args->n; i++)
        if (strcmp(args->at[i], a) == 0 || strcmp(args->at[i], b) == 0)
            return true;
    return false;
}

/* The words of the command; one of this program gets its path in front. Without mpirun a
 * training has as many shards as there would be ranks; started again, it resumes.
 */
static void add_command(const struct launcher *l, word_vec *v)
{
    const struct opt_args *args = l->args;
    char self[4096], shards[32];
    int words = 0;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0 && cmd_find((int)args->n, (char *const *)(uintptr_t)args->at, &words)) {
        self[n] = '\0';
        words_add(v, self);
    }
    for (size_t i = 0; i < args->n; i++)
        words_add(v, args->at[i]);
    if (is_training(args) && !l->mpirun) {
        snprintf(shards, sizeof(shards), "%jd", (intmax_t)l->conf->nproc_per_node);
        words_add(v, "--shards");
        words_add(v, shards);
    }
    if (is_training(args) && l->restarts > 0 &&
        !has_word(args, "--continue", "--continue-train"))
        words_add(v, "--continue");
}

/* A variable for all ranks. */
static void add_variable(word_vec *v, const char *name, const char *value)
{
    char *both = mem_printf("%s=%s", name, value);
    words_add(v, "-x");
    words_add(v, both);
    mem_free(both);
}

static void add_mpirun(const struct launcher *l, word_vec *v)
{
    static const char *const how[] = {"--oversubscribe", "--bind-to", "none", "-n"};
    char ranks[32];
    snprintf(ranks, sizeof(ranks), "%jd", (intmax_t)l->conf->nproc_per_node);
    words_add(v, l->mpirun);
    for (size_t i = 0; i < ARRAY_LEN(how); i++)
        words_add(v, how[i]);
    words_add(v, ranks);
    add_variable(v, "TRAINYARD_LAUNCH_STATE", l->state);
    if (l->log_dir)
        add_variable(v, "TRAINYARD_LOG_DIR", l->log_dir);
}

static enum rc start_once(struct launcher *l, struct launch_end *end, struct err *err)
{
    static const int64_t none = 0;
    word_vec v = {0};
    enum rc rc = fs_write(l->state, &none, sizeof(none), 0600, err);
    if (rc)
        return rc;
    if (l->mpirun)
        add_mpirun(l, &v);
    add_command(l, &v);
    struct launch_start start = {.command = &v,
                                 .mpirun = l->mpirun != NULL,
                                 .ranks = (int)l->conf->nproc_per_node,
                                 .signals = l->signals,
                                 .log_dir = l->log_dir,
                                 .state = l->state};
    rc = launch_ranks(&start, end, err);
    words_release(&v);
    return rc;
}

static bool may_start_again(const struct launcher *l, const struct launch_end *end,
                            const struct err *err)
{
    return l->restarts < l->conf->max_restarts && !end->asked &&
           err->exit != USAGE_STATUS;
}

static enum rc start_until_done(struct launcher *l, struct err *err)
{
    for (;;) {
        struct launch_end end = {0};
        *err = (struct err){0};
        enum rc rc = start_once(l, &end, err);
        if (!rc || !may_start_again(l, &end, err))
            return rc;
        l->restarts++;
        fprintf(stderr, "launch: note: %s%s%srestart %d of %jd%s\n",
                err->msg[0] ? "the run failed: " : "", err->msg, err->msg[0] ? "; " : "",
                l->restarts, (intmax_t)l->conf->max_restarts,
                is_training(l->args) ? ", from the last checkpoint" : "");
    }
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

static enum rc make_places(struct launcher *l, struct err *err)
{
    enum rc rc = fs_temp_dir("trainyard-launch", &l->dir, err);
    if (rc)
        return rc;
    l->state = fs_join(l->dir, "state");
    if (!l->conf->log_dir)
        return RC_OK;
    rc = fs_mkdirs(l->conf->log_dir, 0755, err);
    l->log_dir = realpath(l->conf->log_dir, NULL);
    return rc;
}

static void launcher_release(struct launcher *l)
{
    if (l->dir && fs_remove_all(l->dir, NULL) != RC_OK)
        fprintf(stderr, "launch: note: cannot remove '%s'\n", l->dir);
    if (l->signals >= 0)
        close(l->signals);
    mem_free(l->mpirun);
    mem_free(l->dir);
    mem_free(l->state);
    free(l->log_dir); /* of realpath() */
}

static enum rc launch_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    struct launcher l = {.conf = conf, .args = args, .signals = -1};
    const char *path = getenv("PATH");
    l.mpirun = proc_which("mpirun", path ? path : "/usr/bin:/bin");
    if (!l.mpirun && !is_training(args))
        return err_coded(err, RC_NOTFOUND, E2504,
                         "there is no mpirun on PATH: install Open MPI");
    if (!l.mpirun)
        fprintf(stderr,
                "launch: note: there is no mpirun on PATH: one process does the work of "
                "%jd ranks, with the same result\n",
                (intmax_t)l.conf->nproc_per_node);
    l.signals = watch_signals();
    enum rc rc = make_places(&l, err);
    if (!rc)
        rc = start_until_done(&l, err);
    launcher_release(&l);
    return rc;
}

static const struct cmd_example examples[] = {
    {"four ranks on this machine",
     "trainyard launch --nproc-per-node 4 train pipeline.config"},
    {"start again from the last checkpoint when a rank is lost",
     "trainyard launch --nproc-per-node 4 --max-restarts 3 train pipeline.config"},
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
