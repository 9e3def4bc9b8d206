/* SPDX-License-Identifier: Apache-2.0 */
/* Workers of one attempt: all start together, and all are gone before the next attempt.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/sup_private.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/environ.h"

#define EXTRA_GRACE_NS                                              \
    (5 * INT64_C(1000000000)) /* for a shim, after the worker's own \
                               */

/* A port that is free now; bound to 0 and let go again. */
static int64_t free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(a);
    int64_t port = 23456;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0 &&
        getsockname(fd, (struct sockaddr *)&a, &n) == 0)
        port = ntohs(a.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}

static void name_files(struct sup *s, struct sup_worker *w)
{
    mem_free(w->run);
    mem_free(w->log);
    w->run = mem_printf("%s/run/%jd.%jd", s->dir, (intmax_t)w->index,
                        (intmax_t)s->rec.now.attempt);
    w->log = place_log(s->p, s->id, w->index, s->rec.now.attempt);
}

static void reset_workers(struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        loop_fd_stop(&w->watch);
        shim_release(&w->shim);
        buf_release(&w->line);
        mem_free(w->run);
        mem_free(w->log);
        *w = (struct sup_worker){.sup = s, .index = i, .shim = {.pidfd = -1}};
        buf_init(&w->line, 1 << 20);
        name_files(s, w);
    }
    s->ending = WHY_None;
    s->ending_text[0] = '\0';
    s->launch_status = 0;
    s->kill_at = 0;
    s->suspended = false;
}

void attempt_release(struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        loop_fd_stop(&w->watch);
        shim_release(&w->shim);
        buf_release(&w->line);
        mem_free(w->run);
        mem_free(w->log);
    }
    mem_free(s->workers);
    s->workers = NULL;
    s->n_workers = 0;
}

/* "2,3" of "0,1,2,3" for worker 1 with two each; in `a`. */
static const char *gpus_of(const struct sup *s, int64_t index, struct arena *a)
{
    struct str rest = str_c(s->rec.now.gpus), part;
    int64_t each = s->spec.s->gpu, i = 0;
    struct buf b;
    if (!each)
        return NULL;
    buf_init(&b, 4096);
    for (; rest.n && str_split(&rest, ',', &part); i++)
        if (i >= index * each && i < (index + 1) * each)
            buf_printf(&b, "%s%.*s", b.n ? "," : "", (int)part.n, part.p);
    const char *text = arena_strndup(a, buf_str(&b), b.n);
    buf_release(&b);
    return text;
}

/* The variables of the submission that are not set yet. */
static void submitted_env(const struct sup *s, struct contract_env *e)
{
    struct environ_list env;
    char *path = fs_join(s->dir, "env.json");
    environ_read(path, &env);
    for (size_t i = 0; i < env.list.n; i++) {
        const char *value = strchr(env.list.at[i], '=');
        char *name = mem_strndup(env.list.at[i], (size_t)(value - env.list.at[i]));
        if (!contract_env_get(e, name))
            contract_env_put(e, name, value + 1);
        mem_free(name);
    }
    environ_release(&env);
    mem_free(path);
    if (!contract_env_get(e, "PATH"))
        contract_env_put(e, "PATH", "/usr/local/bin:/usr/bin:/bin");
}

/* What the submission's environment and the job's packages add; an image has its own. */
static void base_env(const struct sup *s, struct contract_env *e)
{
    if (s->view == VIEW_CONTAINER)
        return;
    submitted_env(s, e);
    char *venv = fs_join(s->dir, "venv"), *ready = fs_join(venv, ".ready");
    if (fs_exists(ready)) {
        const char *old = contract_env_get(e, "PATH");
        char *full = mem_printf("%s/bin:%s", venv, old ? old : "/usr/bin:/bin");
        contract_env_put(e, "PATH", full);
        contract_env_put(e, "VIRTUAL_ENV", venv);
        mem_free(full);
    }
    mem_free(ready);
    mem_free(venv);
}

/* Where the job's program finds itself. */
static const char *work_dir(const struct sup *s, const char *root, struct arena *a)
{
    if (s->rec.now.snapshot[0] || s->view == VIEW_CONTAINER || !s->spec.s->has_workdir)
        return arena_printf(a, "%s/usercode", root);
    return s->spec.s->workdir;
}

struct launch {
    struct arena arena;
    struct contract_env env;
    struct shim_spec spec;
    VEC(struct view_mount) mounts;
    VEC(const char *) secrets;
};

static void launch_release(struct launch *l)
{
    VEC_RELEASE(&l->mounts);
    VEC_RELEASE(&l->secrets);
    contract_env_release(&l->env);
    arena_release(&l->arena);
}

static void fill_env(struct sup *s, struct sup_worker *w, int64_t port, struct launch *l)
{
    const char *root = s->view == VIEW_PLAIN ? s->ml : "/ml";
    struct contract_worker cw = {.job = s->id,
                                 .index = w->index,
                                 .count = s->n_workers,
                                 .attempt = s->rec.now.attempt,
                                 .restarts = s->rec.now.restarts,
                                 .master = "127.0.0.1",
                                 .port = port,
                                 .gpus = gpus_of(s, w->index, &l->arena),
                                 .root = root,
                                 .work = work_dir(s, root, &l->arena)};
    base_env(s, &l->env);
    contract_env_fill(&l->env, &s->spec, &s->channels, &cw);
    for (size_t i = 0; i < s->secrets.list.n; i++) {
        contract_env_put(&l->env, s->secrets.list.at[i].name,
                         s->secrets.list.at[i].value);
        VEC_PUSH(&l->secrets, s->secrets.list.at[i].value);
    }
    VEC_PUSH(&l->secrets, NULL);
    l->spec.cwd = cw.work;
    for (size_t i = 0; w->index == 0 && i < l->env.warnings.n; i++)
        sup_warn(s, l->env.warnings.at[i]);
}

static void fill_view(struct sup *s, struct launch *l)
{
    if (s->view != VIEW_MOUNT)
        return;
    struct view_mount tree = {.from = s->ml, .to = "/ml"};
    VEC_PUSH(&l->mounts, tree);
    for (size_t i = 0; i < s->mounts.list.n; i++) {
        const struct contract_mount *m = &s->mounts.list.at[i];
        struct view_mount v = {.from = m->from, .to = m->to, .read_only = m->read_only};
        VEC_PUSH(&l->mounts, v);
    }
    l->spec.scratch = arena_printf(&l->arena, "%s/root", s->dir);
    l->spec.mounts = l->mounts.at;
    l->spec.n_mounts = l->mounts.n;
}

static enum rc start_one(struct sup *s, struct sup_worker *w, int64_t port,
                         struct err *err)
{
    struct launch l = {
        .spec = {.run = w->run, .log = w->log, .grace_s = s->spec.grace_s}};
    const char *shell[] = {"/bin/sh", "-c", s->spec.shell, NULL};
    enum rc rc = RC_OK;
    fill_env(s, w, port, &l);
    fill_view(s, &l);
    l.spec.argv = s->spec.shell ? shell : s->spec.argv;
    l.spec.env = contract_env_list(&l.env);
    l.spec.secrets = l.secrets.at;
    if (s->view == VIEW_CONTAINER) {
        rc = container_argv(s, w, l.spec.env, gpus_of(s, w->index, &l.arena), &l.arena,
                            &l.spec.argv, err);
        submitted_env(s, &l.env); /* for the engine's client; the job does not see it */
        l.spec.env = contract_env_list(&l.env);
        l.spec.cwd = s->dir;
    }
    if (!rc)
        rc = shim_start(&l.spec, &w->shim, &s->launch_status, err);
    launch_release(&l);
    w->alive = rc == RC_OK;
    return rc;
}

static void note_started(struct sup *s, const struct sup_worker *w, int64_t port)
{
    char *data =
        mem_printf("{\"role\": \"worker\", \"pid\": %d, \"port\": %jd, \"view\": \"%s\"}",
                   (int)w->shim.worker, (intmax_t)port, contract_view_name(s->view));
    struct record_note note = {.worker = w->index, .data = data};
    enum rc rc = record_add(&s->rec, EV_WorkerStarted, &note, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
}

void attempt_start(struct sup *s)
{
    struct err err = {0};
    int64_t port = free_port();
    enum rc rc = RC_OK;
    reset_workers(s);
    s->launch_status = 126;
    for (int64_t i = 0; i < s->n_workers && !rc; i++)
        rc = start_one(s, &s->workers[i], port, &err);
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive)
            note_started(s, &s->workers[i], port);
    if (rc) {
        /* All or none: those that did start are stopped, then the attempt has failed. */
        attempt_stop(s, rc == RC_CANCELED ? WHY_NodeFailure : WHY_LaunchFailure, true,
                     err.msg);
        if (rc == RC_CANCELED)
            shim_sweep(s->id, s->rec.now.attempt);
        attempt_watch(s);
        if (!attempt_alive(s))
            sup_attempt_over(s);
        return;
    }
    s->phase = SUP_RUNNING;
    s->last_sign = clock_mono_ns();
    rc = record_move(&s->rec, JOB_Running, WHY_WorkersStarted, -1, 0, "", &err);
    (void)rc;
    sup_flush(s);
    attempt_watch(s);
}

static void on_end(void *arg, int fd, unsigned events)
{
    struct sup_worker *w = arg;
    loop_fd_stop(&w->watch);
    attempt_settle(w->sup, w);
}

void attempt_watch(struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        if (!w->alive || w->watch.loop || w->shim.pidfd < 0)
            continue;
        enum rc rc =
            loop_fd_start(s->loop, &w->watch, w->shim.pidfd, LOOP_READ, on_end, w, NULL);
        (void)rc; /* the tick looks as well */
    }
}

int64_t attempt_find(struct sup *s)
{
    int64_t found = 0;
    reset_workers(s);
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        struct shim_exit exit;
        w->alive = shim_attach(w->run, &w->shim);
        if (w->alive || shim_exit_read(w->run, &exit) || fs_exists(w->run))
            found++;
    }
    return found;
}

bool attempt_alive(const struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive)
            return true;
    return false;
}

void attempt_stop(struct sup *s, enum job_reason why, bool now, const char *text)
{
    if (s->ending == WHY_None && why != WHY_None) {
        s->ending = why;
        snprintf(s->ending_text, sizeof(s->ending_text), "%s", text);
    }
    if (s->suspended)
        attempt_pause(s, false);
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive)
            shim_signal(&s->workers[i].shim, now ? SIGINT : SIGTERM);
    int64_t grace = now ? 0 : (int64_t)(s->spec.grace_s * 1e9);
    int64_t at = clock_mono_ns() + grace + EXTRA_GRACE_NS;
    if (!s->kill_at || at < s->kill_at)
        s->kill_at = at;
    s->phase = SUP_ENDING;
}

void attempt_pause(struct sup *s, bool pause)
{
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive)
            shim_signal(&s->workers[i].shim, pause ? SIGUSR1 : SIGUSR2);
    s->suspended = pause;
    s->last_sign = clock_mono_ns();
}

static void note_exit(struct sup *s, const struct sup_worker *w)
{
    char *data = mem_printf(
        "{\"code\": %d, \"signal\": %d, \"cpu_s\": %.3f, \"rss_bytes\": %jd%s}",
        w->exit.code, w->exit.signal, w->exit.cpu_s, (intmax_t)w->exit.rss_bytes,
        w->unseen ? ", \"unseen\": 1" : "");
    struct record_note note = {.worker = w->index, .data = data};
    enum rc rc = record_add(&s->rec, EV_WorkerExited, &note, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
}

static bool good(const struct sup_worker *w)
{
    return w->over && w->exit.code == 0 && !w->unseen;
}

/* One worker's end decides about the others. */
static void after_end(struct sup *s, const struct sup_worker *w)
{
    bool chief = strcmp(s->spec.s->success, "chief") == 0;
    if (!attempt_alive(s)) {
        sup_attempt_over(s);
        return;
    }
    if (s->phase == SUP_ENDING)
        return;
    if (chief && w->index == 0)
        attempt_stop(s, WHY_None, false, "");
    else if (!good(w) && !(chief && w->index != 0))
        attempt_stop(s, WHY_None, false, "");
}

void attempt_take_end(struct sup *s, struct sup_worker *w)
{
    const struct job_status *st = &s->rec.now;
    const struct job_worker *known =
        w->index < st->n_workers ? &st->workers[w->index] : NULL;
    w->alive = false;
    w->over = true;
    if (!shim_exit_read(w->run, &w->exit)) {
        w->unseen = true;
        w->exit = (struct shim_exit){.code = -1, .signal = SIGKILL};
        shim_sweep(s->id, st->attempt);
    }
    if (!known || !known->exited || known->attempt != st->attempt)
        note_exit(s, w);
}

void attempt_settle(struct sup *s, struct sup_worker *w)
{
    if (!w->alive || !shim_ended(&w->shim))
        return;
    attempt_take_end(s, w);
    after_end(s, w);
}
