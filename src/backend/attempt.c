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

#include "backend/bubble.h"
#include "backend/cgroup.h"
#include "backend/sup_private.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/environ.h"
#include "job/file.h"
#include "job/retry.h"

#define EXTRA_GRACE_NS \
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
    if (w->life) {
        char *first = w->run;
        w->run = mem_printf("%s-%jd", first, (intmax_t)w->life);
        mem_free(first);
    }
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
        mem_free(w->cgroup);
        *w = (struct sup_worker){.sup = s, .index = i, .shim = {.pidfd = -1}};
        w->role = spec_role_of(&s->spec, i, NULL);
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
        mem_free(w->cgroup);
    }
    mem_free(s->workers);
    s->workers = NULL;
    s->n_workers = 0;
}

/* "2,3" of "0,1,2,3" for worker 1 with two each. */
const char *attempt_gpus(const struct sup *s, int64_t index, struct arena *a)
{
    struct str rest = str_c(s->rec.now.gpus), part;
    int64_t first = 0, n = s->workers[index].role->gpu;
    struct buf b;
    if (!n)
        return NULL;
    for (int64_t i = 0; i < index; i++)
        first += s->workers[i].role->gpu;
    buf_init(&b, 4096);
    for (int64_t i = 0; rest.n && str_split(&rest, ',', &part); i++)
        if (i >= first && i < first + n)
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
    struct contract_env env, engine; /* the worker's; of the client that starts it */
    struct shim_spec spec;
    VEC(struct view_mount) mounts;
    VEC(const char *) secrets;
};

static void launch_release(struct launch *l)
{
    VEC_RELEASE(&l->mounts);
    VEC_RELEASE(&l->secrets);
    contract_env_release(&l->env);
    contract_env_release(&l->engine);
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
                                 .gpus = attempt_gpus(s, w->index, &l->arena),
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
    if (s->view != VIEW_MOUNT && s->view != VIEW_BUBBLE)
        return;
    struct view_mount tree = {.from = s->ml, .to = "/ml"};
    VEC_PUSH(&l->mounts, tree);
    for (size_t i = 0; i < s->mounts.list.n; i++) {
        const struct contract_mount *m = &s->mounts.list.at[i];
        struct view_mount v = {.from = m->from, .to = m->to, .read_only = m->read_only};
        VEC_PUSH(&l->mounts, v);
    }
    if (s->view == VIEW_BUBBLE)
        return;
    l->spec.scratch = arena_printf(&l->arena, "%s/root", s->dir);
    l->spec.mounts = l->mounts.at;
    l->spec.n_mounts = l->mounts.n;
}

/* bwrap looks for the command only when it runs; what is surely not there is told now. */
static enum rc use_bubble(struct sup *s, struct launch *l, struct err *err)
{
    const char *name = l->spec.argv[0];
    char *path = proc_which(name, contract_env_get(&l->env, "PATH"));
    bool there = path != NULL || strchr(name, '/');
    mem_free(path);
    if (!there) {
        s->launch_status = 127;
        return err_sys(err, ENOENT, "cannot execute '%.150s'", name);
    }
    l->spec.argv =
        bubble_argv(l->mounts.at, l->mounts.n, l->spec.cwd, l->spec.argv, &l->arena);
    l->spec.cwd = "/";
    return RC_OK;
}

/* Beside the run file, for a supervisor that takes over. */
static char *cgroup_file(const struct sup_worker *w)
{
    return mem_printf("%s.cgroup", w->run);
}

static void limit_memory(struct sup *s, struct sup_worker *w)
{
    struct err err = {0};
    if (!w->role->memory || s->view == VIEW_CONTAINER)
        return;
    char *name = mem_printf("trainyard-%s-%jd.%jd", s->id, (intmax_t)w->index,
                            (intmax_t)s->rec.now.attempt);
    char *file = cgroup_file(w);
    if (cgroup_create(name, w->role->memory, &w->cgroup, &err) == RC_OK &&
        file_put(file, w->cgroup, strlen(w->cgroup), 0600, NULL)) {
        cgroup_destroy(w->cgroup);
        mem_free(w->cgroup);
        w->cgroup = NULL;
    }
    mem_free(file);
    mem_free(name);
}

/* What the kernel did to the worker, at its end. */
static void leave_cgroup(struct sup_worker *w)
{
    char *file = cgroup_file(w);
    size_t n = 0;
    if (!w->cgroup && fs_exists(file) &&
        fs_read(file, 4096, &w->cgroup, &n, NULL) != RC_OK)
        w->cgroup = NULL;
    if (w->cgroup) {
        w->starved = cgroup_kills(w->cgroup) > 0;
        cgroup_destroy(w->cgroup);
    }
    mem_free(file);
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
    limit_memory(s, w);
    l.spec.cgroup = w->cgroup;
    l.spec.argv = s->spec.shell ? shell : s->spec.argv;
    l.spec.env = contract_env_list(&l.env);
    l.spec.secrets = l.secrets.at;
    if (s->view == VIEW_BUBBLE)
        rc = use_bubble(s, &l, err);
    if (s->view == VIEW_CONTAINER) {
        rc = container_argv(s, w, l.spec.env, attempt_gpus(s, w->index, &l.arena),
                            &l.arena, &l.spec.argv, err);
        container_env(s, l.spec.env, &l.engine);
        l.spec.env = contract_env_list(&l.engine);
        l.spec.cwd = s->dir;
    }
    if (!rc)
        rc = shim_start(&l.spec, &w->shim, &s->launch_status, err);
    launch_release(&l);
    w->alive = rc == RC_OK;
    if (rc)
        leave_cgroup(w);
    if (rc && s->view == VIEW_CONTAINER)
        container_forget(w);
    return rc;
}

static void note_started(struct sup *s, const struct sup_worker *w, int64_t port)
{
    char *data = mem_printf(
        "{\"role\": \"%s\", \"pid\": %d, \"port\": %jd, \"view\": \"%s\"%s}",
        w->role->name, (int)w->shim.worker, (intmax_t)port, contract_view_name(s->view),
        !w->role->memory ? ""
        : w->cgroup      ? ", \"memory\": \"cgroup\""
                         : ", \"memory\": \"measured\"");
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
            shim_sweep(s->id, s->rec.now.attempt, -1);
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

/* The last time that it was started, as its run files tell. */
static void find_life(struct sup *s, struct sup_worker *w)
{
    bool there = true;
    while (there && w->life < s->spec.s->retries) {
        w->life++;
        name_files(s, w);
        there = fs_exists(w->run);
        w->life -= !there;
    }
    name_files(s, w);
}

int64_t attempt_find(struct sup *s)
{
    int64_t found = 0;
    reset_workers(s);
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        struct shim_exit exit;
        find_life(s, w);
        w->alive = shim_attach(w->run, &w->shim);
        if (w->alive || shim_exit_read(w->run, &exit) || fs_exists(w->run))
            found++;
    }
    return found;
}

bool attempt_alive(const struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].alive || s->workers[i].again_at)
            return true;
    return false;
}

static bool restarts_alone(const struct sup *s)
{
    return strcmp(s->spec.s->restart, "worker") == 0;
}

bool attempt_alone(struct sup *s, struct sup_worker *w)
{
    enum job_reason why =
        retry_reason(w->exit.code, w->exit.signal, w->starved, w->unseen);
    if (!restarts_alone(s) || s->phase != SUP_RUNNING || s->rec.now.stop ||
        !retry_wanted(&s->spec, why, w->exit.code, w->exit.signal, s->rec.now.restarts))
        return false;
    double delay = retry_delay(&s->spec, s->rec.now.restarts);
    char *data = mem_printf("{\"delay_s\": %g}", delay);
    struct record_note note = {.reason = why, .worker = w->index, .data = data};
    enum rc rc = record_add(&s->rec, EV_RestartScheduled, &note, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
    loop_fd_stop(&w->watch);
    shim_release(&w->shim);
    w->again_at = clock_mono_ns() + (int64_t)(delay * 1e9);
    sup_flush(s);
    return true;
}

/* Its log goes on; everything else is new. */
static void start_again(struct sup *s, struct sup_worker *w)
{
    struct err err = {0};
    w->again_at = 0;
    w->life++;
    w->over = w->unseen = w->starved = w->first = false;
    mem_free(w->cgroup);
    w->cgroup = NULL;
    name_files(s, w);
    enum rc rc = start_one(s, w, s->rec.now.port, &err);
    if (rc == RC_CANCELED) { /* killed from outside, as it might have been later */
        w->over = w->unseen = true;
        w->exit = (struct shim_exit){.code = -1, .signal = SIGKILL};
        shim_sweep(s->id, s->rec.now.attempt, w->index);
        if (!attempt_alone(s, w))
            attempt_stop(s, WHY_NodeFailure, false, err.msg);
        return;
    }
    if (rc) {
        w->over = true;
        w->exit = (struct shim_exit){.code = s->launch_status};
        attempt_stop(s, WHY_LaunchFailure, false, err.msg);
        return;
    }
    note_started(s, w, s->rec.now.port);
    s->last_sign = clock_mono_ns();
    sup_flush(s);
    attempt_watch(s);
}

void attempt_again(struct sup *s)
{
    int64_t now = clock_mono_ns();
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->phase == SUP_RUNNING && !s->suspended && s->workers[i].again_at &&
            s->workers[i].again_at <= now)
            start_again(s, &s->workers[i]);
}

void attempt_stop(struct sup *s, enum job_reason why, bool now, const char *text)
{
    if (s->ending == WHY_None && why != WHY_None) {
        s->ending = why;
        snprintf(s->ending_text, sizeof(s->ending_text), "%s", text);
    }
    if (s->suspended)
        attempt_pause(s, false);
    for (int64_t i = 0; i < s->n_workers; i++) {
        s->workers[i].again_at = 0; /* its last end counts */
        if (s->workers[i].alive)
            shim_signal(&s->workers[i].shim, now ? SIGINT : SIGTERM);
    }
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
        w->unseen    ? ", \"unseen\": 1"
        : w->starved ? ", \"out_of_memory\": 1"
                     : "");
    struct record_note note = {.worker = w->index, .data = data};
    enum rc rc = record_add(&s->rec, EV_WorkerExited, &note, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
}

static bool good(const struct sup_worker *w)
{
    return w->over && w->exit.code == 0 && !w->unseen;
}

static bool only_chief(const struct sup *s)
{
    return strcmp(s->spec.s->success, "chief") == 0;
}

bool attempt_good(const struct sup *s)
{
    for (int64_t i = 0; i < s->n_workers; i++) {
        const struct sup_worker *w = &s->workers[i];
        if (only_chief(s))
            return good(w);
        if (!w->role->serves && !good(w))
            return false;
    }
    return true;
}

/* One worker's end decides about the others. */
static void after_end(struct sup *s, struct sup_worker *w)
{
    bool chief = only_chief(s);
    if (!good(w) && attempt_alone(s, w))
        return;
    if (!attempt_alive(s)) {
        sup_attempt_over(s);
        return;
    }
    if (s->phase == SUP_ENDING)
        return;
    if ((chief && w->index == 0) || attempt_good(s))
        attempt_stop(s, WHY_None, false, ""); /* nobody needs those that serve any more */
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
        shim_sweep(s->id, st->attempt, restarts_alone(s) ? w->index : -1);
    }
    leave_cgroup(w);
    if (s->view == VIEW_CONTAINER)
        container_forget(w);
    if (w->exit.log_cut && !w->unseen)
        sup_warn(s, "a log could not be written to its end: is the disk full?");
    w->first = s->phase == SUP_RUNNING && !good(w);
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
