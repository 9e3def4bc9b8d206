/* SPDX-License-Identifier: Apache-2.0 */
/* launch: starts the ranks of a run by mpirun and waits for it (launch_ranks.c). With
 * several hosts each has a launcher: that of node 0 runs mpirun, the others start its
 * daemons (launch_hub.c, launch_node.c). Where there is no mpirun, one process does the
 * work of all ranks of a training, with the same result. A run that fails is started again
 * as often as --max-restarts says, on the hosts that are left if they are enough; a
 * training goes on from its last checkpoint then. What another start cannot mend (wrong
 * options or config: exit status 2) ends it at once.
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
#include "cmd/launch_hub.h"
#include "cmd/launch_node.h"
#include "cmd/launch_ranks.h"
#include "dist/shards.h"

#define USAGE_STATUS 2
#define TIMEOUT_S 600 /* for hosts to come; PROCESS_GROUP_TIMEOUT_SECONDS sets another */

struct launch_conf {
    int64_t nproc_per_node, max_restarts, node_rank, master_port;
    const char *bind, *log_dir, *nnodes, *master_addr, *rdzv_id, *rdzv_endpoint, *agent;
};

static const struct opt opts[] = {
    {OPT_INT(struct launch_conf, nproc_per_node, "1", 1, DIST_SHARDS_MAX,
             "ranks on this machine"),
     .meta = "N"},
    {OPT_INT(
         struct launch_conf, max_restarts, "0", 0, 1000000,
         "restart a failed run up to N times; training resumes from its last checkpoint"),
     .meta = "N"},
    {OPT_CHOICE(
        struct launch_conf, bind, "cores", "cores|none",
        "cores: each rank runs on its share of the processors, as long as there are "
        "as many processors as ranks")},
    {OPT_TEXT(struct launch_conf, log_dir, NULL,
              "also write what each rank prints to DIR/rank-N.log"),
     .meta = "DIR"},
    {OPT_TEXT(struct launch_conf, nnodes, "1",
              "number of hosts, each with its own launcher; with MIN the run starts, and "
              "restarts, with as few as MIN"),
     .meta = "[MIN:]N"},
    {OPT_INT(struct launch_conf, node_rank, "0", 0, DIST_SHARDS_MAX,
             "number of this host; host 0 starts all ranks"),
     .meta = "N"},
    {OPT_TEXT(struct launch_conf, master_addr, "127.0.0.1",
              "where the other hosts reach host 0"),
     .meta = "HOST"},
    {OPT_INT(struct launch_conf, master_port, "29500", 1, 65535,
             "port on which host 0 waits for the others"),
     .meta = "PORT"},
    {OPT_TEXT(struct launch_conf, rdzv_endpoint, NULL,
              "in place of --node-rank, --master-addr and --master-port: the host whose "
              "address it is becomes host 0"),
     .meta = "HOST:PORT"},
    {OPT_TEXT(struct launch_conf, rdzv_id, "",
              "secret that the hosts of the run share; also TRAINYARD_LAUNCH_SECRET"),
     .meta = "ID"},
    {OPT_TEXT(struct launch_conf, agent, NULL, "what mpirun calls in place of ssh"),
     .hidden = true},
    {0},
};

struct launcher {
    const struct launch_conf *conf;
    const struct opt_args *args;
    char *mpirun;           /* NULL: there is none */
    char *dir;              /* temporary, owned */
    char *state;            /* file in it */
    char *log_dir;          /* absolute; NULL: none */
    int64_t least, most;    /* hosts */
    char *address, port[8]; /* of host 0 */
    char *secret;
    struct launch_hub *hub; /* NULL: one host */
    int ranks;              /* of this start */
    int first_ranks;        /* of the first */
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

/* Without mpirun a training has as many shards as there would be ranks, unless the user
 * says how many; started again, it resumes.
 */
static void add_options(const struct launcher *l, word_vec *v)
{
    char shards[32];
    if (!l->mpirun) {
        snprintf(shards, sizeof(shards), "%jd",
                 (intmax_t)(l->conf->nproc_per_node * l->most));
        words_add(v, "--shards");
        words_add(v, shards);
    }
    if (l->restarts > 0 && !has_word(l->args, "--continue", "--continue-train"))
        words_add(v, "--continue");
}

/* The words of the command; one of this program gets its path in front. */
static void add_command(const struct launcher *l, word_vec *v)
{
    const struct opt_args *args = l->args;
    char self[4096];
    int words = 0;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0 && cmd_find((int)args->n, (char *const *)(uintptr_t)args->at, &words)) {
        self[n] = '\0';
        words_add(v, self);
    }
    for (size_t i = 0; i < args->n; i++) {
        words_add(v, args->at[i]);
        if (i == 0 && is_training(args)) /* what follows may be behind a "--" */
            add_options(l, v);
    }
}

/* A variable for all ranks. */
static void add_variable(word_vec *v, const char *name, const char *value)
{
    char *both = mem_printf("%s=%s", name, value);
    words_add(v, "-x");
    words_add(v, both);
    mem_free(both);
}

/* Other hosts: their launchers start mpirun's daemons, asked by our agent. */
static void add_hosts(const struct launcher *l, const char *list, word_vec *v)
{
    static const char *const how[] = {
        "--leave-session-attached", "--mca", "plm",   "rsh",          "--mca",
        "plm_rsh_no_tree_spawn",    "1",     "--mca", "plm_rsh_agent"};
    static const char *const passed[] = {"PROCESS_GROUP_TIMEOUT_SECONDS",
                                         "TRAINYARD_HEARTBEAT_SECONDS", "TRAINYARD_COMM"};
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(how); i++)
        words_add(v, how[i]);
    char *agent = mem_printf("%s launch --agent %s", self, launch_hub_name(l->hub));
    words_add(v, agent);
    mem_free(agent);
    words_add(v, "--host");
    words_add(v, list);
    for (size_t i = 0; i < ARRAY_LEN(passed); i++)
        if (getenv(passed[i]))
            add_variable(v, passed[i], getenv(passed[i]));
}

static void add_mpirun(const struct launcher *l, const char *hosts, word_vec *v)
{
    /* Where ranks go is said here; in a job of Slurm's mpirun would take all its nodes. */
    static const char *const how[] = {"--oversubscribe", "--bind-to", "none",
                                      "--mca",           "ras",       "^slurm"};
    static const char *const here[] = {"--mca", "plm", "^slurm"};
    char ranks[32];
    snprintf(ranks, sizeof(ranks), "%d", l->ranks);
    /* with its path it would tell the other hosts to use that */
    words_add(v, hosts ? "mpirun" : l->mpirun);
    for (size_t i = 0; i < ARRAY_LEN(how); i++)
        words_add(v, how[i]);
    for (size_t i = 0; i < ARRAY_LEN(here) && !hosts; i++)
        words_add(v, here[i]);
    words_add(v, "-n");
    words_add(v, ranks);
    if (hosts)
        add_hosts(l, hosts, v);
    if (l->first_ranks != l->ranks) {
        snprintf(ranks, sizeof(ranks), "%d", l->first_ranks);
        add_variable(v, "TRAINYARD_SHARDS", ranks);
    }
    add_variable(v, "TRAINYARD_LAUNCH_STATE", l->state);
    add_variable(v, "TRAINYARD_BIND", l->conf->bind);
    if (l->log_dir)
        add_variable(v, "TRAINYARD_LOG_DIR", l->log_dir);
}

static enum rc gather(struct launcher *l, struct launch_hosts *hosts, struct err *err)
{
    l->ranks = (int)l->conf->nproc_per_node;
    enum rc rc = l->hub ? launch_hub_gather(l->hub, hosts, err) : RC_OK;
    if (!rc && l->hub)
        l->ranks = hosts->ranks;
    if (!l->first_ranks || l->ranks > l->first_ranks)
        l->first_ranks = l->ranks;
    return rc;
}

static enum rc start_once(struct launcher *l, struct launch_end *end, struct err *err)
{
    static const int64_t none = 0;
    struct launch_hosts hosts = {0};
    word_vec v = {0};
    enum rc rc = fs_write(l->state, &none, sizeof(none), 0600, err);
    if (!rc)
        rc = gather(l, &hosts, err);
    if (rc) {
        err->exit = 1;
        end->asked = true; /* another start would wait as long */
        return rc;
    }
    if (l->mpirun)
        add_mpirun(l, l->hub ? buf_str(&hosts.list) : NULL, &v);
    add_command(l, &v);
    struct launch_start start = {.command = &v,
                                 .mpirun = l->mpirun != NULL,
                                 .hub = l->hub,
                                 .ranks = l->ranks,
                                 .signals = l->signals,
                                 .log_dir = l->log_dir,
                                 .state = l->state};
    rc = launch_ranks(&start, end, err);
    buf_release(&hosts.list);
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
    mem_free(l->address);
    mem_free(l->secret);
    mem_free(l->dir);
    mem_free(l->state);
    free(l->log_dir); /* of realpath() */
}

/* "2", "1:4". */
static enum rc read_nnodes(struct launcher *l, struct err *err)
{
    struct str rest = str_c(l->conf->nnodes), first;
    if (str_split(&rest, ':', &first) && str_to_i64(first, &l->least) &&
        (rest.p == NULL || rest.n == 0 || str_to_i64(rest, &l->most))) {
        l->most = l->most ? l->most : l->least;
        if (l->least >= 1 && l->least <= l->most && l->most <= DIST_SHARDS_MAX)
            return RC_OK;
    }
    return err_coded(
        err, RC_INVAL, E2504,
        "--nnodes: '%s' is neither a number of hosts nor a range such as 1:4, up to %d",
        l->conf->nnodes, DIST_SHARDS_MAX);
}

static double timeout_s(void)
{
    const char *text = getenv("PROCESS_GROUP_TIMEOUT_SECONDS");
    uint64_t n;
    return text && str_to_u64(str_c(text), &n) && n > 0 ? (double)n : TIMEOUT_S;
}

/* Where host 0 is; *here: whether that is this one. */
static enum rc find_host_0(struct launcher *l, bool *here, struct err *err)
{
    const char *endpoint = l->conf->rdzv_endpoint;
    const char *secret = getenv("TRAINYARD_LAUNCH_SECRET");
    l->secret = mem_printf("%s\n%s", l->conf->rdzv_id, secret ? secret : "");
    *here = l->conf->node_rank == 0;
    l->address = mem_strdup(l->conf->master_addr);
    snprintf(l->port, sizeof(l->port), "%jd", (intmax_t)l->conf->master_port);
    if (!endpoint || !endpoint[0])
        return RC_OK;
    const char *colon = strrchr(endpoint, ':');
    size_t n = colon ? (size_t)(colon - endpoint) : strlen(endpoint);
    mem_free(l->address);
    l->address = mem_printf("%.*s", (int)n, endpoint);
    if (colon && (strlen(colon + 1) == 0 || strlen(colon + 1) >= sizeof(l->port)))
        return err_coded(err, RC_INVAL, E2504, "--rdzv-endpoint: '%s' is not HOST:PORT",
                         endpoint);
    if (colon)
        snprintf(l->port, sizeof(l->port), "%s", colon + 1);
    *here = launch_hub_may_listen(l->address, l->port);
    return RC_OK;
}

static enum rc run_as_host_0(struct launcher *l, struct err *err)
{
    struct launch_hub_conf c = {.port = l->port,
                                .secret = l->secret,
                                .least = l->least,
                                .most = l->most,
                                .ranks = l->conf->nproc_per_node,
                                .timeout_s = timeout_s(),
                                .signals = l->signals};
    if (strcmp(l->secret, "\n") == 0)
        fprintf(stderr,
                "launch: note: without --rdzv-id or TRAINYARD_LAUNCH_SECRET any process "
                "that reaches port %s can join this run\n",
                l->port);
    enum rc rc = launch_hub_open(&c, &l->hub, err);
    if (rc) {
        err->exit = 1;
        return rc;
    }
    rc = start_until_done(l, err);
    launch_hub_close(l->hub, rc ? (err->exit ? err->exit : 1) : 0, err->msg);
    return rc;
}

static enum rc run_as_other_host(struct launcher *l, struct err *err)
{
    bool any = l->conf->rdzv_endpoint && l->conf->rdzv_endpoint[0];
    struct launch_node_conf c = {.address = l->address,
                                 .port = l->port,
                                 .secret = l->secret,
                                 .node_rank = any ? -1 : l->conf->node_rank,
                                 .ranks = l->conf->nproc_per_node,
                                 .timeout_s = timeout_s(),
                                 .signals = l->signals};
    enum rc rc = launch_node_run(&c, err);
    if (rc && !err->exit)
        err->exit = 1;
    return rc;
}

/* Without mpirun host 0 does the work of all. */
static enum rc run_without_mpirun(struct launcher *l, bool here, struct err *err)
{
    if (!is_training(l->args))
        return err_coded(err, RC_NOTFOUND, E2504,
                         "there is no mpirun on PATH: install Open MPI");
    fprintf(stderr,
            "launch: note: there is no mpirun on PATH: one process does the work of "
            "%jd ranks, with the same result%s\n",
            (intmax_t)(l->conf->nproc_per_node * l->most),
            here ? "" : ", on host 0; nothing to do here");
    return here ? start_until_done(l, err) : RC_OK;
}

static enum rc run_launcher(struct launcher *l, struct err *err)
{
    bool here = true;
    enum rc rc = read_nnodes(l, err);
    if (!rc && l->most > 1)
        rc = find_host_0(l, &here, err);
    if (!rc)
        rc = make_places(l, err);
    if (rc)
        return rc;
    if (!l->mpirun)
        return run_without_mpirun(l, here, err);
    if (l->most == 1)
        return start_until_done(l, err);
    return here ? run_as_host_0(l, err) : run_as_other_host(l, err);
}

/* What mpirun runs in place of ssh: the host, then words of a line for its shell. */
static enum rc act_as_agent(const char *name, const struct opt_args *args,
                            struct err *err)
{
    struct buf line;
    int status = 0;
    buf_init(&line, 1 << 16);
    for (size_t i = 1; i < args->n; i++)
        buf_printf(&line, "%s%s", i > 1 ? " " : "", args->at[i]);
    enum rc rc = launch_hub_agent(name, args->at[0], buf_str(&line), &status, err);
    buf_release(&line);
    if (rc || status == 0)
        return rc;
    err->msg[0] = '\0';
    err->exit = status;
    return RC_IO;
}

static enum rc launch_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    struct launcher l = {.conf = conf, .args = args, .signals = -1};
    const char *path = getenv("PATH");
    if (l.conf->agent)
        return act_as_agent(l.conf->agent, args, err);
    l.mpirun = proc_which("mpirun", path ? path : "/usr/bin:/bin");
    l.signals = watch_signals();
    enum rc rc = run_launcher(&l, err);
    launcher_release(&l);
    return rc;
}

static const struct cmd_example examples[] = {
    {"four ranks on this machine",
     "trainyard launch --nproc-per-node 4 train pipeline.config"},
    {"start again from the last checkpoint when a rank is lost",
     "trainyard launch --nproc-per-node 4 --max-restarts 3 train pipeline.config"},
    {"two hosts with four ranks each; --node-rank 1 on the second",
     "trainyard launch --nnodes 2 --node-rank 0 --master-addr host0 --rdzv-id run7 "
     "--nproc-per-node 4 train pipeline.config"},
    {0},
};

const struct cmd cmd_launch = {
    .name = "launch",
    .args = "COMMAND...",
    .summary = "start the ranks of a run, on this machine or on several",
    .description =
        "Starts the command once per rank with mpirun; the processes train one model "
        "together. COMMAND is one of this program (train ...) or any other program. "
        "With --nnodes each host runs this command with its own --node-rank: that of "
        "host 0 starts mpirun, the others wait for it and start their part of the "
        "ranks. SIGTERM and Ctrl-C let the ranks save a checkpoint; a second one ends "
        "them. Without mpirun, one process does the work of all ranks. See "
        "docs/ranks.md.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct launch_conf),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .stop_at_word = true,
    .run = launch_command,
};
