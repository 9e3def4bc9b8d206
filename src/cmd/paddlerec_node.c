/* SPDX-License-Identifier: Apache-2.0 */
/* Every variable is read here and nowhere else, checked before anything is started, and named in the
 * message when it cannot be. The secret is the only one that PaddleCloud does not set.
 */
#include "cmd/paddlerec_node.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define SECRET_MAX 4096
#define WRONG "something wrong with PaddleCloud, please check environment: "

bool paddlerec_node_is_one(void)
{
    const char *role = env_get("PADDLE_PADDLEREC_ROLE");
    return role && strcasecmp(role, "WORKER") == 0;
}

static enum rc read_servers(struct paddlerec_node *n, struct err *err)
{
    const char *list = env_get("PADDLE_PSERVERS_IP_PORT_LIST");
    if (!list)
        return err_coded(err, RC_INVAL, E2706,
                         WRONG "PADDLE_PSERVERS_IP_PORT_LIST is not set");
    n->list = mem_strdup(list);
    char *rest = n->list;
    for (char *one; (one = strsep(&rest, ","));) {
        if (n->job.servers == DIST_PS_SERVERS_MAX || !strchr(one, ':'))
            return err_coded(err, RC_INVAL, E2706,
                             WRONG "PADDLE_PSERVERS_IP_PORT_LIST is ip:port,ip:port, not "
                                   "'%s'",
                             list);
        n->servers =
            mem_realloc(n->servers, (size_t)n->job.servers + 1, sizeof(*n->servers));
        n->servers[n->job.servers++] = one;
    }
    return RC_OK;
}

static enum rc find_server(struct paddlerec_node *n, struct err *err)
{
    const char *ip = env_get("POD_IP"), *port = env_get("PADDLE_PORT");
    char *own = mem_printf("%s:%s", ip ? ip : "", port ? port : "");
    n->index = -1;
    for (int i = 0; i < n->job.servers; i++)
        if (strcmp(n->servers[i], own) == 0)
            n->index = i;
    enum rc rc = n->index >= 0
                     ? RC_OK
                     : err_coded(err, RC_INVAL, E2706,
                                 WRONG "POD_IP:PADDLE_PORT is '%s', which is none of "
                                       "PADDLE_PSERVERS_IP_PORT_LIST",
                                 own);
    mem_free(own);
    return rc;
}

static enum rc read_role(struct paddlerec_node *n, struct err *err)
{
    const char *role = env_get("TRAINING_ROLE");
    bool server = role && strcmp(role, "PSERVER") == 0;
    if (!server && !(role && strcmp(role, "TRAINER") == 0))
        return err_coded(err, RC_INVAL, E2706,
                         "TRAINING_ROLE must be PSERVER or TRAINER, not '%s'",
                         role ? role : "");
    n->server = server;
    n->job.workers = (int)env_int("PADDLE_TRAINERS_NUM", 1, DIST_PS_WORKERS_MAX, 0);
    if (n->job.workers == 0)
        return err_coded(err, RC_INVAL, E2706,
                         WRONG "PADDLE_TRAINERS_NUM is a number from 1 to %d",
                         DIST_PS_WORKERS_MAX);
    if (server)
        return find_server(n, err);
    n->index = (int)env_int("PADDLE_TRAINER_ID", 0, n->job.workers - 1, -1);
    return n->index >= 0 ? RC_OK
                         : err_coded(err, RC_INVAL, E2706,
                                     WRONG "PADDLE_TRAINER_ID is a number below %d",
                                     n->job.workers);
}

static enum rc read_secret(struct paddlerec_node *n, struct err *err)
{
    const char *path = env_get("TRAINYARD_PS_SECRET_FILE");
    const char *word = env_get("TRAINYARD_PS_SECRET");
    char *text = NULL;
    size_t len = 0;
    enum rc rc = path ? fs_read(path, SECRET_MAX, &text, &len, err) : RC_OK;
    if (rc)
        return rc;
    struct str s = str_trim(path ? str_of(text, len) : str_c(word ? word : ""));
    n->secret = mem_printf("%.*s", (int)s.n, s.p);
    mem_free(text);
    if (s.n >= COMM_LINK_SECRET_MIN)
        return RC_OK;
    return err_coded(err, RC_INVAL, E2702,
                     "servers and trainers know each other by the job's secret: "
                     "TRAINYARD_PS_SECRET (or the file TRAINYARD_PS_SECRET_FILE) has %zu "
                     "characters, and needs %d",
                     s.n, COMM_LINK_SECRET_MIN);
}

enum rc paddlerec_node_read(struct paddlerec_node *n, enum dist_ps_mode mode, bool local,
                            struct err *err)
{
    const char *kind = env_get("PADDLEREC_CLUSTER_TYPE");
    *n = (struct paddlerec_node){.job = {.mode = mode}};
    n->splits = local || (kind && strcasecmp(kind, "K8S") == 0);
    enum rc rc = read_servers(n, err);
    if (!rc)
        rc = read_role(n, err);
    return rc ? rc : read_secret(n, err);
}

void paddlerec_node_release(struct paddlerec_node *n)
{
    mem_free(n->list);
    mem_free(n->servers);
    mem_free(n->secret);
    *n = (struct paddlerec_node){0};
}

/* Modes that wait send what they have: the flags cannot say otherwise. */
static void warn_forced(const char *flag, int64_t value, int64_t threads)
{
    if (value != threads)
        fprintf(stderr,
                "WARNING: In sync or half_async mode, %s must be equal to CPU_NUM, set "
                "%s = CPU_NUM\n",
                flag, flag);
}

void paddlerec_node_flags(const struct paddlerec_node *n, int64_t threads, int sgd,
                          struct train_ps_conf *out)
{
    static const char queue[] = "FLAGS_communicator_send_queue_size";
    static const char merge[] = "FLAGS_communicator_max_merge_var_num";
    int64_t most = INT32_MAX;
    out->queue = env_int(queue, 1, most, threads);
    out->merge = env_int(merge, 1, most, threads);
    out->before_pull = env_int(
        "FLAGS_communicator_min_send_grad_num_before_recv", 1, most,
        env_int("FLAGS_communicator_max_send_grad_num_before_recv", 1, most, threads));
    out->sum = sgd >= 0 ? sgd > 0 : env_is_true("FLAGS_communicator_is_sgd_optimizer");
    out->deadline_ms = env_int("FLAGS_rpc_deadline", 1, most, 180000);
    out->tries = env_int("FLAGS_rpc_retry_times", 1, 1000, 3);
    out->replicas = threads;
    if (n->job.mode == PS_SYNC || n->job.mode == PS_HALF_ASYNC) {
        warn_forced(queue, out->queue, threads);
        warn_forced(merge, out->merge, threads);
    }
}

const char *paddlerec_node_snapshot(int64_t *ms)
{
    *ms = 1000 * env_int("TRAINYARD_PS_SNAPSHOT_SECONDS", 0, INT32_MAX, 60);
    return env_get("TRAINYARD_PS_SNAPSHOT");
}

int64_t paddlerec_node_silence(void)
{
    return 1000 * env_int("FLAGS_worker_update_interval_secs", 1, INT32_MAX, 900);
}

void paddlerec_node_share(size_t files, int index, int n, size_t *first, size_t *count)
{
    size_t each = files / (size_t)n, more = files % (size_t)n, i = (size_t)index;
    *first = i * each + (i < more ? i : more);
    *count = each + (i < more ? 1 : 0);
}
