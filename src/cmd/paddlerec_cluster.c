/* SPDX-License-Identifier: Apache-2.0 */
/* Servers come first, then trainers; each is this program with the same command, and learns
 * from its environment what it is (paddlerec_node.h). The job's secret is drawn here and
 * known to them alone. Trainers are waited for; servers end by themselves when all trainers
 * are done, and are ended when one of those failed. A server that is killed is started again,
 * and goes on from its last snapshot.
 */
#include "cmd/paddlerec_cluster.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "cmd/stop_signals.h"

#define HOST "127.0.0.1"
#define LOGS "logs"
#define SECRET_BYTES 32
#define LOOK_S 0.02
#define GRACE_S 5.0 /* for servers to end behind the last trainer */
#define VARIABLES 13
#define RESTARTS_MAX 3 /* of a server that was killed */

struct child {
    bool server;
    int index;
    struct proc *proc; /* NULL: ended */
    struct proc_exit end;
    int restarts;
    char log[32], snapshot[48];
};

struct cluster {
    const struct paddlerec_cluster *c;
    struct child *children; /* [n]: servers, then trainers */
    int n;
    int *ports; /* [servers] */
    char *list; /* PADDLE_PSERVERS_IP_PORT_LIST */
    char secret[2 * SECRET_BYTES + 1];
    char self[4096];
};

static enum rc draw_secret(struct cluster *x, struct err *err)
{
    unsigned char bytes[SECRET_BYTES];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return err_sys(err, errno, "no random numbers");
    for (int i = 0; i < SECRET_BYTES; i++)
        snprintf(x->secret + 2 * i, 3, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof(bytes));
    return RC_OK;
}

/* Ports that are free now: held until all are found, so that they differ. */
static enum rc find_ports(struct cluster *x, struct err *err)
{
    int n = x->c->job.servers;
    int *fds = mem_calloc((size_t)n, sizeof(*fds));
    enum rc rc = RC_OK;
    for (int i = 0; i < n; i++) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof(at);
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fds[i] < 0 || bind(fds[i], (struct sockaddr *)&at, sizeof(at)) ||
            getsockname(fds[i], (struct sockaddr *)&at, &len))
            rc = err_sys(err, errno, "no free port");
        x->ports[i] = ntohs(at.sin_port);
    }
    for (int i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    mem_free(fds);
    return rc;
}

static void make_list(struct cluster *x)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    for (int i = 0; i < x->c->job.servers; i++)
        buf_printf(&b, "%s" HOST ":%d", i ? "," : "", x->ports[i]);
    x->list = buf_take(&b);
}

static enum rc find_self(struct cluster *x, struct err *err)
{
    ssize_t n = readlink("/proc/self/exe", x->self, sizeof(x->self) - 1);
    if (n <= 0)
        return err_sys(err, errno, "cannot find the program itself");
    x->self[n] = '\0';
    return RC_OK;
}

/* --- children --- */

static void set_variables(const struct cluster *x, const struct child *k, char **env)
{
    int n = 0;
    env[n++] = mem_printf("PADDLE_PSERVERS_IP_PORT_LIST=%s", x->list);
    env[n++] = mem_printf("PADDLE_TRAINERS_NUM=%d", x->c->job.workers);
    env[n++] = mem_printf("TRAINING_ROLE=%s", k->server ? "PSERVER" : "TRAINER");
    env[n++] = mem_strdup("PADDLE_PADDLEREC_ROLE=WORKER");
    env[n++] = mem_strdup("CLUSTER_INSTANCE=1");
    env[n++] = mem_strdup("POD_IP=" HOST);
    env[n++] = mem_printf("CPU_NUM=%jd", (intmax_t)x->c->threads);
    env[n++] = mem_printf("TRAINYARD_PS_SECRET=%s", x->secret);
    env[n++] = mem_strdup("TRAINYARD_PS_SECRET_FILE");
    env[n++] = k->server ? mem_printf("PADDLE_PORT=%d", x->ports[k->index])
                         : mem_printf("PADDLE_TRAINER_ID=%d", k->index);
    env[n++] = k->server ? mem_printf("TRAINYARD_PS_SNAPSHOT=%s", k->snapshot)
                         : mem_strdup("TRAINYARD_PS_SNAPSHOT");
    env[n++] = mem_strdup("http_proxy");
    env[n++] = mem_strdup("https_proxy");
    env[n] = NULL;
}

static enum rc start(const struct cluster *x, struct child *k, struct err *err)
{
    char *env[VARIABLES + 1];
    size_t n = 0;
    while (x->c->args[n])
        n++;
    const char **argv = mem_calloc(n + 2, sizeof(*argv));
    argv[0] = x->self;
    memcpy(argv + 1, x->c->args, n * sizeof(*argv));
    set_variables(x, k, env);
    struct proc_spec spec = {
        .argv = argv,
        .env_add = (const char *const *)env,
        .in = {.kind = PROC_NULL},
        .out = {.kind = k->restarts ? PROC_APPEND : PROC_FILE, .path = k->log},
        .err = {.kind = PROC_STDOUT},
        .same_group = true};
    enum rc rc = proc_start(&spec, &k->proc, err);
    for (int i = 0; env[i]; i++)
        mem_free(env[i]);
    mem_free(argv);
    return rc;
}

static enum rc start_all(struct cluster *x, struct err *err)
{
    enum rc rc = fs_mkdirs(LOGS, 0755, err);
    for (int i = 0; i < x->n && !rc; i++) {
        struct child *k = &x->children[i];
        k->server = i < x->c->job.servers;
        k->index = k->server ? i : i - x->c->job.servers;
        snprintf(k->log, sizeof(k->log), LOGS "/%s.%d", k->server ? "server" : "worker",
                 k->index);
        snprintf(k->snapshot, sizeof(k->snapshot), "%s.snapshot", k->log);
        unlink(k->snapshot);
        rc = start(x, k, err);
    }
    return rc;
}

/* True when it ended just now. */
static bool has_ended(struct child *k)
{
    if (!k->proc || !proc_poll(k->proc, &k->end))
        return false;
    proc_destroy(k->proc);
    k->proc = NULL;
    return true;
}

static bool failed(const struct child *k)
{
    return !k->proc && (k->end.code != 0 || k->end.signal);
}

static enum rc tell_failure(const struct child *k, const char *more, struct err *err)
{
    char words[PROC_WORDS_SIZE];
    proc_exit_words(k->end, words);
    return err_coded(err, RC_IO, E2705, "%s %d ended with %s: see %s%s",
                     k->server ? "server" : "worker", k->index, words, k->log, more);
}

/* Whether others must end because this one did. */
static bool is_needed(const struct cluster *x, const struct child *k)
{
    return k->server || x->c->job.mode == PS_SYNC;
}

static bool trainers_run(const struct cluster *x)
{
    for (int i = x->c->job.servers; i < x->n; i++)
        if (x->children[i].proc)
            return true;
    return false;
}

/* A server that was killed goes on from its last snapshot, if it has one. */
static bool start_again(const struct cluster *x, struct child *k, struct err *err)
{
    char words[PROC_WORDS_SIZE];
    if (!k->server || !k->end.signal || k->restarts == RESTARTS_MAX ||
        !fs_exists(k->snapshot))
        return false;
    proc_exit_words(k->end, words);
    k->restarts++;
    fprintf(stderr,
            "server %d ended with %s: it goes on from its last snapshot (%d of %d)\n",
            k->index, words, k->restarts, RESTARTS_MAX);
    return start(x, k, err) == RC_OK;
}

static enum rc look(struct cluster *x, struct err *err)
{
    for (int i = 0; i < x->n; i++) {
        struct child *k = &x->children[i];
        if (!has_ended(k) || !failed(k) || start_again(x, k, err))
            continue;
        if (is_needed(x, k))
            return tell_failure(k, "", err);
        fprintf(stderr, "worker %d failed: see %s; the others train on\n", k->index,
                k->log);
    }
    return RC_OK;
}

static enum rc wait_for_trainers(struct cluster *x, struct err *err)
{
    int stop = stop_signals_watch();
    enum rc rc = RC_OK;
    while (!rc && trainers_run(x)) {
        rc = look(x, err);
        if (!rc && stop >= 0 && stop_signals_came(stop))
            rc = err_set(err, RC_CANCELED, "stopped");
        if (!rc)
            usleep((useconds_t)(LOOK_S * 1e6));
    }
    if (stop >= 0)
        close(stop);
    for (int i = x->c->job.servers; i < x->n && !rc; i++)
        if (failed(&x->children[i]))
            rc = tell_failure(&x->children[i], "; the others trained on", err);
    return rc;
}

static void end_all(struct cluster *x, double grace)
{
    for (int i = 0; i < x->n; i++) {
        struct child *k = &x->children[i];
        if (k->proc && !(grace > 0 && proc_wait(k->proc, grace, &k->end)))
            proc_terminate(k->proc, 1.0, &k->end);
        proc_destroy(k->proc);
        k->proc = NULL;
        unlink(k->snapshot);
    }
}

enum rc paddlerec_cluster_run(const struct paddlerec_cluster *c, struct err *err)
{
    struct cluster x = {.c = c, .n = c->job.servers + c->job.workers};
    x.children = mem_calloc((size_t)x.n, sizeof(*x.children));
    x.ports = mem_calloc((size_t)c->job.servers, sizeof(*x.ports));
    enum rc rc = draw_secret(&x, err);
    if (!rc)
        rc = find_self(&x, err);
    if (!rc)
        rc = find_ports(&x, err);
    if (!rc) {
        make_list(&x);
        rc = start_all(&x, err);
    }
    if (!rc)
        rc = wait_for_trainers(&x, err);
    end_all(&x, rc ? 0 : GRACE_S);
    if (!rc)
        fprintf(stderr, "all workers already completed, you can view logs under the "
                        "`logs` directory\n");
    explicit_bzero(x.secret, sizeof(x.secret));
    mem_free(x.list);
    mem_free(x.ports);
    mem_free(x.children);
    return rc;
}
