/* SPDX-License-Identifier: Apache-2.0 */
/* On a node: Slurm's variables tell which worker this is and where the others are. Tokens in
 * the worker's variables become names of nodes, the node's name is left beside the handle,
 * and this process becomes the shim of the worker, so that log and exit record are written
 * as on a single machine. A node whose name means nothing here (a test's) is reached at the
 * address from which the step was launched, which is the first node's.
 */
#include "backend/slurm_task.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/address.h"
#include "backend/shim.h"
#include "backend/slurm_hosts.h"
#include "backend/slurm_launch.h"
#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"

#define LIST_MAX (16 << 20)
#define VALUE_MAX (1 << 20)

struct seats {
    const char *nodes, *layout; /* of the step */
    const char *fallback;
    int64_t first, count; /* workers of this step, by index */
    const char *dir;      /* `run` */
    int64_t attempt;
    char name[SLURM_HOST_SIZE];
};

/* Of the task, "" where there is none. */
static const char *variable(const char *name, const char *other)
{
    const char *const names[] = {name, other, NULL};
    const char *value = env_first(names);
    return value ? value : "";
}

static bool resolves(const char *name)
{
    struct addrinfo *list = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    bool good = getaddrinfo(name, NULL, &hints, &list) == 0;
    if (list)
        freeaddrinfo(list);
    return good;
}

/* Of a worker that is not in this step, as it left it itself. */
static const char *noted_node(struct seats *s, int64_t worker)
{
    char *path =
        mem_printf("%s/%jd.%jd.node", s->dir, (intmax_t)worker, (intmax_t)s->attempt);
    char *text = NULL;
    size_t n = 0;
    bool there = fs_read(path, SLURM_HOST_SIZE - 1, &text, &n, NULL) == RC_OK && n > 0;
    if (there)
        snprintf(s->name, sizeof(s->name), "%s", text);
    mem_free(text);
    mem_free(path);
    return there ? s->name : NULL;
}

static const char *node_name(const void *arg, int64_t worker)
{
    struct seats *s = (struct seats *)(uintptr_t)arg; /* its own to write the name to */
    int64_t task = worker - s->first;
    if (task < 0 || task >= s->count) {
        if (!noted_node(s, worker))
            return NULL;
    } else if (!slurm_host_at(s->nodes, slurm_node_of_task(s->layout, task), s->name)) {
        return NULL;
    }
    return resolves(s->name) || !*s->fallback ? s->name : s->fallback;
}

/* What Slurm set for this task is the worker's too: devices, and what MPI looks for. */
static bool from_slurm(const char *e)
{
    static const char *const names[] = {"SLURM",
                                        "CUDA_VISIBLE_DEVICES=",
                                        "GPU_DEVICE_ORDINAL=",
                                        "ROCR_VISIBLE_DEVICES=",
                                        "ZE_AFFINITY_MASK=",
                                        "TMPDIR="};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(e, names[i]))
            return true;
    return false;
}

static void fill_env(struct slurm_launch *l, struct seats *s)
{
    for (size_t i = 0; i + 1 < l->env.n; i++) {
        struct buf b;
        if (!strchr(l->env.at[i], '@'))
            continue;
        buf_init(&b, VALUE_MAX);
        backend_address_fill(l->env.at[i], node_name, s, &b);
        if (!b.failed)
            l->env.at[i] = arena_strdup(&l->arena, buf_str(&b));
        buf_release(&b);
    }
    l->env.n--; /* the NULL goes behind */
    for (char **e = environ; *e; e++)
        if (from_slurm(*e))
            VEC_PUSH(&l->env, *e);
    VEC_PUSH(&l->env, NULL);
}

static enum rc become_shim(const char *handle, struct slurm_launch *l, struct err *err)
{
    struct backend_shim_spec spec = {.run = l->run,
                                     .log = l->log,
                                     .log_most = l->log_most,
                                     .argv = l->argv.at,
                                     .env = l->env.at,
                                     .cwd = l->cwd,
                                     .grace_s = l->grace_s,
                                     .secrets = l->secrets.at,
                                     .scratch = l->scratch,
                                     .mounts = l->mounts.at,
                                     .n_mounts = l->mounts.n};
    struct err why = {0};
    int status = 0;
    spec.requests = arena_printf(&l->arena, "%s.ask", handle);
    if (backend_shim_become(&spec, &status, &why) == RC_OK)
        return RC_OK;
    if (!status)
        return err_set(err, RC_IO, "%s", why.msg);
    char *path = mem_printf("%s.text", handle);
    enum rc rc = job_file_put(path, why.msg, strlen(why.msg), 0600, err);
    mem_free(path);
    return rc;
}

static void note_node(const struct seats *s, int64_t worker)
{
    const char *name = variable("SLURMD_NODENAME", "SLURM_JOB_NODELIST");
    char *path =
        mem_printf("%s/%jd.%jd.node", s->dir, (intmax_t)worker, (intmax_t)s->attempt);
    enum rc rc = job_file_put(path, name, strlen(name), 0600, NULL);
    (void)rc; /* for people, and for workers that start again alone */
    mem_free(path);
}

static enum rc run_worker(const char *handle, const char *dir, int64_t task,
                          int64_t count, struct err *err)
{
    struct slurm_launch l;
    enum rc rc = slurm_launch_read(handle, &l, err);
    struct seats s = {.nodes = variable("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"),
                      .layout =
                          variable("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"),
                      .fallback = variable("SLURM_LAUNCH_NODE_IPADDR", NULL),
                      .first = l.worker - task,
                      .count = count,
                      .dir = dir,
                      .attempt = l.attempt};
    if (!rc) {
        note_node(&s, l.worker);
        fill_env(&l, &s);
        rc = become_shim(handle, &l, err);
    }
    slurm_launch_release(&l);
    return rc;
}

/* The handle of task number `task`, for mem_free(); *count: of all. */
static enum rc handle_of(const char *list, int64_t task, int64_t *count, char **out,
                         struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(list, LIST_MAX, &text, &n, err);
    struct str rest = str_c(rc ? "" : text), line, mine = {0};
    for (*count = 0; rest.n && str_split(&rest, '\n', &line); (*count)++)
        if (*count == task)
            mine = line;
    if (!rc && !mine.n)
        rc = err_set(err, RC_INVAL, "'%s' has no worker for task %jd", list,
                     (intmax_t)task);
    if (!rc)
        *out = mem_strndup(mine.p, mine.n);
    mem_free(text);
    return rc;
}

enum rc slurm_task_run(const char *list, struct err *err)
{
    char *handle = NULL, *dir = fs_dirname(list);
    int64_t task = 0, count;
    enum rc rc = RC_OK;
    if (!str_to_i64(str_c(variable("SLURM_PROCID", NULL)), &task))
        rc = err_set(err, RC_INVAL,
                     "this is to be started by srun: there is no SLURM_PROCID");
    if (!rc)
        rc = handle_of(list, task, &count, &handle, err);
    if (!rc)
        rc = run_worker(handle, dir, task, count, err);
    mem_free(handle);
    mem_free(dir);
    return rc;
}

enum rc slurm_task_sweep(const char *list, struct err *err)
{
    struct slurm_launch l = {.worker = 0};
    char *handle = NULL;
    int64_t count;
    enum rc rc = handle_of(list, 0, &count, &handle, err);
    if (!rc)
        rc = slurm_launch_read(handle, &l, err);
    for (size_t i = 0; !rc && i + 1 < l.env.n; i++)
        if (str_starts(l.env.at[i], "TRAINYARD_JOB_ID="))
            backend_shim_sweep(strchr(l.env.at[i], '=') + 1, l.attempt,
                               count == 1 ? l.worker : -1);
    slurm_launch_release(&l);
    mem_free(handle);
    return rc;
}
