/* SPDX-License-Identifier: Apache-2.0 */
/* On a node: the list tells which worker this is. Tokens in the worker's variables become
 * names of nodes, the node's name is left beside the handle, and this process becomes the
 * shim of the worker.
 */
#include "backend/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/address.h"
#include "backend/handoff.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"

#define LIST_MAX (16 << 20)
#define VALUE_MAX (1 << 20)

struct seats {
    const struct backend_task *task;
    int64_t first, count; /* workers of the list, by index */
    const char *dir;      /* `run` */
    int64_t attempt;
    char noted[BACKEND_ADDRESS_SIZE];
};

/* Of a worker that is not in the list, as it left it itself. */
static const char *noted_node(struct seats *s, int64_t worker)
{
    char *path =
        mem_printf("%s/%jd.%jd.node", s->dir, (intmax_t)worker, (intmax_t)s->attempt);
    char *text = NULL;
    size_t n = 0;
    bool there = fs_read(path, sizeof(s->noted) - 1, &text, &n, NULL) == RC_OK && n > 0;
    if (there)
        snprintf(s->noted, sizeof(s->noted), "%s", text);
    mem_free(text);
    mem_free(path);
    return there ? s->noted : NULL;
}

static const char *node_name(const void *arg, int64_t worker)
{
    struct seats *s = (struct seats *)(uintptr_t)arg; /* its own to write the name to */
    int64_t task = worker - s->first;
    bool listed = task >= 0 && task < s->count;
    const char *noted = listed ? NULL : noted_node(s, worker);
    return listed || noted ? s->task->reach(s->task->arg, task, noted) : NULL;
}

static void fill_env(struct backend_handoff *l, struct seats *s)
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
        if (s->task->keeps(*e))
            VEC_PUSH(&l->env, *e);
    VEC_PUSH(&l->env, NULL);
}

static enum rc become_shim(const char *handle, int64_t requests_ms,
                           struct backend_handoff *l, struct err *err)
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
                                     .n_mounts = l->mounts.n,
                                     .requests_ms = requests_ms};
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

static void leave_node(const struct seats *s, int64_t worker)
{
    const char *name = s->task->node;
    char *path =
        mem_printf("%s/%jd.%jd.node", s->dir, (intmax_t)worker, (intmax_t)s->attempt);
    enum rc rc = job_file_put(path, name, strlen(name), 0600, NULL);
    (void)rc; /* for people, and for workers that start again alone */
    mem_free(path);
}

static enum rc run_worker(const struct backend_task *t, const char *handle,
                          const char *dir, int64_t count, struct err *err)
{
    struct backend_handoff l;
    enum rc rc = backend_handoff_read(handle, &l, err);
    struct seats s = {.task = t,
                      .first = l.worker - t->number,
                      .count = count,
                      .dir = dir,
                      .attempt = l.attempt};
    if (!rc) {
        leave_node(&s, l.worker);
        fill_env(&l, &s);
        rc = become_shim(handle, t->requests_ms, &l, err);
    }
    backend_handoff_release(&l);
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

enum rc backend_task_run(const struct backend_task *t, struct err *err)
{
    char *handle = NULL, *dir = fs_dirname(t->list);
    int64_t count;
    enum rc rc = handle_of(t->list, t->number, &count, &handle, err);
    if (!rc)
        rc = run_worker(t, handle, dir, count, err);
    mem_free(handle);
    mem_free(dir);
    return rc;
}

enum rc backend_task_sweep(const char *list, struct err *err)
{
    struct backend_handoff l = {.worker = 0};
    char *handle = NULL;
    int64_t count;
    enum rc rc = handle_of(list, 0, &count, &handle, err);
    if (!rc)
        rc = backend_handoff_read(handle, &l, err);
    for (size_t i = 0; !rc && i + 1 < l.env.n; i++)
        if (str_starts(l.env.at[i], "TRAINYARD_JOB_ID="))
            backend_shim_sweep(strchr(l.env.at[i], '=') + 1, l.attempt,
                               count == 1 ? l.worker : -1);
    backend_handoff_release(&l);
    mem_free(handle);
    return rc;
}
