/* SPDX-License-Identifier: Apache-2.0 */
/* Workers are pods of one object of Kubernetes' per attempt (pods_alloc.h), an Indexed Job or
 * what `kind` says (pods_kind.h), whose directories are on storage that the nodes share (pods_place.h). What becomes of them is told by one
 * process that watches for all supervisors (pods_watcher.h); their output comes from the API
 * server (pods_logs.h); pauses are asked for in a file that the pod reads.
 *
 * Beside a handle lies HANDLE.verdict: how a worker ended, written before its pod is
 * deleted. An end is told when all of the output is here.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/agent.h"
#include "backend/backend.h"
#include "backend/pods_alloc.h"
#include "backend/pods_logs.h"
#include "backend/pods_news.h"
#include "backend/pods_objects.h"
#include "backend/pods_requests.h"
#include "backend/pods_role.h"
#include "backend/pods_watcher.h"
#include "backend/verdict.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/file.h"

#define SECOND_NS INT64_C(1000000000)
#define LOOK_NS (2 * SECOND_NS)   /* whether the watcher lives */
#define SURE_NS (3 * SECOND_NS)   /* a list that began so long behind a Job has it */
#define LOGS_NS (20 * SECOND_NS)  /* output of an ended pod is waited for */
#define DRAIN_NS (10 * SECOND_NS) /* the same, in one call */
#define STALE_NS (15 * SECOND_NS) /* a pod that was deleted and is still told of */
#define AGAIN_NS (3 * SECOND_NS)
#define CLEAN_NS (25 * SECOND_NS)
#define FORCE_NS (12 * SECOND_NS) /* then nodes are not asked any more */
#define IMAGE_WAIT_S 120.0
#define PORT 23456
#define NEWS_MAX (64 << 20)

/* `own` of a job. */
struct kubernetes {
    struct kube_options options; /* borrowed from the spec and the environment */
    struct kube_client *client;  /* for output and the last things */
    struct io_http_streams *set;
    VEC(struct pods_alloc *) allocs;
    char *dir;       /* owned: of the watcher */
    char *news_path; /* owned */
    int users;       /* shared lock: the watcher is needed */
    struct proc *watcher;
    int64_t looked; /* monotonic ns */
    struct pods_news news;
    struct stat news_at;
    struct pods_watcher_state state;
    double image_wait_s;
};

/* `own` of a worker. */
struct seat {
    struct pods_alloc *alloc; /* borrowed; NULL: its handle cannot be read */
    struct backend_verdict end;
    struct pods_logs logs;
    char pod[PODS_NAME_SIZE]; /* the last one */
    bool pod_ended;
    int64_t ended;     /* monotonic ns: its end was seen; 0: no */
    int64_t stuck;     /* monotonic ns: it waits for what may never come; 0: no */
    int wanted, asked; /* of enum backend_signal + 1: to be done, and done */
    int64_t again;     /* monotonic ns */
    pid_t child;       /* asks; 0: none */
};

static const char *option(const struct backend_job *j, const char *name)
{
    return jobspec_backend_option(j->spec->s, name);
}

static enum rc kubernetes_probe(const char *dir, struct err *err)
{
    struct kube_config c;
    enum rc rc = kube_config_load(&(struct kube_options){0}, &c, err);
    kube_config_release(&c);
    return rc ? err_wrap(err, rc, "use Kubernetes (see docs/clusters.md)") : RC_OK;
}

static void set_options(const struct backend_job *j, struct kubernetes *k)
{
    const char *files = option(j, "kubeconfig"), *wait = option(j, "image_wait");
    k->options = (struct kube_options){.files = files ? files : env_get("KUBECONFIG"),
                                       .context = option(j, "context"),
                                       .ns = option(j, "namespace")};
    if (!wait || !jobspec_seconds(str_c(wait), &k->image_wait_s))
        k->image_wait_s = IMAGE_WAIT_S;
}

static enum rc hold_users(struct kubernetes *k, struct err *err)
{
    char *path = fs_join(k->dir, "users");
    k->users = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    enum rc rc = RC_OK;
    if (k->users < 0 || flock(k->users, LOCK_SH | LOCK_NB) < 0)
        rc = err_set(err, RC_CANCELED, "cannot lock '%s'", path);
    mem_free(path);
    return rc;
}

static void kubernetes_free(struct kubernetes *k)
{
    for (size_t i = 0; i < k->allocs.n; i++)
        pods_alloc_destroy(k->allocs.at[i]);
    VEC_RELEASE(&k->allocs);
    pods_news_release(&k->news);
    io_http_streams_destroy(k->set);
    kube_client_close(k->client);
    if (k->watcher)
        proc_disown(k->watcher);
    if (k->users >= 0)
        close(k->users);
    mem_free(k->news_path);
    mem_free(k->dir);
    mem_free(k);
}

static enum rc kubernetes_open(struct backend_job *j, struct err *err)
{
    struct kubernetes *k = mem_calloc(1, sizeof(*k));
    char yard[PODS_YARD_SIZE];
    k->users = -1;
    set_options(j, k);
    pods_yard(j->p->dir, yard);
    enum rc rc = kube_client_open(&k->options, &k->client, err);
    if (!rc)
        rc = pods_watcher_place(j->p->dir, &k->options, kube_client_config(k->client),
                                yard, &k->dir, err);
    if (!rc)
        rc = pods_watcher_add(k->dir, pods_row_of(j), err);
    if (!rc)
        rc = hold_users(k, err);
    k->set = io_http_streams_create();
    if (!rc && !k->set)
        rc = err_set(err, RC_CANCELED, "no memory for connections");
    if (rc) {
        kubernetes_free(k);
        return rc;
    }
    k->news_path = mem_printf("%s/jobs/%s", k->dir, j->id);
    j->own = k;
    return RC_OK;
}

static void kubernetes_prepare(struct backend_job *j)
{
    j->root = "/ml";
    j->view = "pod";
    j->links = false;
}

/* Pods have names of their own in the domain of a Service. Operators that give every pod a
 * Service have no domain.
 */
static void kubernetes_address(const struct backend_job *j, int64_t worker,
                               char out[BACKEND_ADDRESS_SIZE])
{
    const struct pods_row *r = pods_row_of(j);
    char *name = pods_service_name(j);
    char host[PODS_HOST_SIZE];
    pods_row_host(r, j, name, worker, host);
    snprintf(out, BACKEND_ADDRESS_SIZE, "%s%s%s", host, r->kind->flat ? "" : ".",
             r->kind->flat ? "" : name);
    mem_free(name);
}

/* Every pod has a network of its own. */
static int64_t kubernetes_port(const struct backend_job *j)
{
    return PORT;
}

static void take_seat(struct backend_worker *w, struct pods_alloc *a)
{
    struct seat *x = mem_calloc(1, sizeof(*x));
    x->alloc = a;
    w->own = x;
    w->fd = -1;
    w->limited = w->role->memory > 0; /* by Kubernetes */
}

static enum rc kubernetes_start(struct backend_job *j, struct backend_launch *at,
                                size_t n, struct err *err)
{
    struct kubernetes *k = j->own;
    struct pods_alloc *a = NULL;
    if (j->isolation)
        return err_set(err, RC_UNSUPPORTED,
                       "jobs of a server's users are isolated, which the kubernetes "
                       "backend cannot do: their pods would have the server's rights");
    if (!pods_row_of(j)->kind->alone && strcmp(j->spec->s->restart, "worker") == 0)
        return err_set(err, RC_UNSUPPORTED,
                       "with 'kind=%s' no worker can start again alone: leave "
                       "'restart: worker' away",
                       pods_row_of(j)->kind->name);
    if (n > 1 && job_spec_roles_differ(j->spec))
        j->warn(j, "roles ask for different resources; the pods of one object of "
                   "Kubernetes are alike, so each worker gets what the largest asks for");
    if (j->spec->s->n_requirement)
        j->warn(j, "the Python packages that the job asks for are not installed on "
                   "Kubernetes: use an image that has them");
    enum rc rc = pods_alloc_create(j, at, n, &k->options, &a, err);
    if (rc)
        return rc;
    VEC_PUSH(&k->allocs, a);
    for (size_t i = 0; i < n; i++) {
        take_seat(at[i].w, a);
        at[i].started = at[i].w->waiting = true;
    }
    return RC_OK;
}

static struct pods_alloc *alloc_of(struct backend_job *j, const char *handle)
{
    struct kubernetes *k = j->own;
    struct pods_alloc *a = NULL;
    if (pods_alloc_open(j, handle, &k->options, &a, NULL))
        return NULL;
    for (size_t i = 0; i < k->allocs.n; i++)
        if (strcmp(k->allocs.at[i]->base, a->base) == 0) {
            pods_alloc_destroy(a);
            return k->allocs.at[i];
        }
    VEC_PUSH(&k->allocs, a);
    pods_alloc_advance(a);
    return a;
}

static void tell(struct backend_exit *out, const char *text)
{
    snprintf(out->text, sizeof(out->text), "%s", text);
}

/* What the end of a pod means. One that we stopped ended as we wanted. */
static enum backend_state end_of_pod(const struct backend_worker *w, struct seat *x,
                                     const struct pods_pod *p, struct backend_exit *out)
{
    bool ours = x->alloc->stopped || x->wanted;
    *out = (struct backend_exit){.code = p->code, .ended = p->ended};
    if (ours) {
        if (p->code < 0)
            out->signal = SIGKILL;
        return backend_verdict_keep(&x->end, w->handle, BACKEND_ENDED, out);
    }
    out->why = p->why;
    out->out_of_memory = p->why == WHY_OutOfMemory;
    if (p->why == WHY_None && p->deleting) {
        out->why = WHY_Evicted;
        snprintf(out->text, sizeof(out->text), "somebody deleted pod %.200s", p->name);
    } else if (p->text[0]) {
        snprintf(out->text, sizeof(out->text), "pod %.60s: %s", p->name, p->text);
    }
    if (p->why == WHY_LaunchFailure && p->code < 126)
        out->code = -1;
    bool lost = p->why == WHY_NodeFailure && p->code < 0;
    return backend_verdict_keep(&x->end, w->handle, lost ? BACKEND_LOST : BACKEND_ENDED,
                                out);
}

/* It is gone, and how it ended nobody can tell any more. */
static enum backend_state gone(const struct backend_worker *w, struct seat *x,
                               const char *what, const char *name,
                               struct backend_exit *out)
{
    *out = (struct backend_exit){.code = -1};
    if (x->alloc->stopped || x->wanted) {
        out->signal = SIGKILL;
        return backend_verdict_keep(&x->end, w->handle, BACKEND_ENDED, out);
    }
    out->why = WHY_Evicted;
    snprintf(out->text, sizeof(out->text), "somebody deleted its %s %.200s", what, name);
    return backend_verdict_keep(&x->end, w->handle, BACKEND_LOST, out);
}

/* Output first: an end is told behind the last line. */
static bool awaits_logs(struct seat *x)
{
    int64_t now = clock_mono_ns();
    if (!x->ended)
        x->ended = now;
    x->pod_ended = true;
    return !x->logs.whole && now - x->ended < LOGS_NS;
}

static enum backend_state waiting(struct backend_job *j, struct backend_worker *w,
                                  struct seat *x, const struct pods_pod *p,
                                  struct backend_exit *out)
{
    struct kubernetes *k = j->own;
    int64_t now = clock_mono_ns();
    const char *event = pods_news_event(&k->news, p->name);
    snprintf(out->text, sizeof(out->text), "pod %.60s: %.240s%s%.80s", p->name, p->text,
             *event && p->placed && p->why == WHY_None ? "; " : "",
             p->placed && p->why == WHY_None ? event : "");
    if (p->why == WHY_None)
        x->stuck = 0;
    else if (!x->stuck)
        x->stuck = now;
    bool late = x->stuck && (double)(now - x->stuck) / 1e9 > k->image_wait_s;
    if (!p->hopeless && !late)
        return BACKEND_WAITING;
    out->code = -1;
    out->why = p->why;
    pods_alloc_forbid(x->alloc);
    return backend_verdict_keep(&x->end, w->handle, BACKEND_ENDED, out);
}

static enum backend_state poll_pod(struct backend_job *j, struct backend_worker *w,
                                   struct seat *x, const struct pods_pod *p,
                                   struct backend_exit *out)
{
    snprintf(x->pod, sizeof(x->pod), "%s", p->name);
    if (!w->node[0] && p->node[0])
        snprintf(w->node, sizeof(w->node), "%s", p->node);
    switch (p->state) {
    case PODS_ENDED:
        return awaits_logs(x) ? BACKEND_RUNNING : end_of_pod(w, x, p, out);
    case PODS_GONE:
        return awaits_logs(x) && x->logs.stream ? BACKEND_RUNNING
                                                : gone(w, x, "pod", p->name, out);
    case PODS_WAITING:
        return waiting(j, w, x, p, out);
    case PODS_RUNNING:
        break;
    }
    return BACKEND_RUNNING;
}

static enum backend_state never_made(const struct backend_worker *w, struct seat *x,
                                     struct backend_exit *out)
{
    const struct pods_alloc *a = x->alloc;
    *out = (struct backend_exit){.code = -1};
    if (a->why == WHY_UserStopped) {
        out->signal = SIGTERM;
    } else {
        out->why = a->why;
        snprintf(out->text, sizeof(out->text), "Kubernetes does not take it: %.300s",
                 a->text);
    }
    return backend_verdict_keep(&x->end, w->handle, BACKEND_ENDED, out);
}

static enum backend_state poll_job(struct backend_job *j, struct backend_worker *w,
                                   struct seat *x, struct backend_exit *out)
{
    struct kubernetes *k = j->own;
    const struct pods_alloc *a = x->alloc;
    const struct pods_job *job = pods_news_job(&k->news, a->name);
    const char *event = pods_news_event(&k->news, a->name);
    const char *kind = a->row->object;
    if ((job && job->gone) || (!job && k->state.listed > a->made_at + SURE_NS))
        return gone(w, x, kind, a->name, out);
    if (job && job->over) {
        *out = (struct backend_exit){.code = -1, .why = WHY_NodeFailure};
        snprintf(out->text, sizeof(out->text), "%s %.60s ended without it: %s", kind,
                 a->name, job->text);
        return backend_verdict_keep(&x->end, w->handle, BACKEND_LOST, out);
    }
    if (k->state.away[0])
        snprintf(out->text, sizeof(out->text), "%s %.60s; %s", kind, a->name,
                 k->state.away);
    else if (*event)
        snprintf(out->text, sizeof(out->text), "%s %.60s: %s", kind, a->name, event);
    else
        snprintf(out->text, sizeof(out->text), "%s %.60s has no pod for it yet%s%s", kind,
                 a->name, job && job->text[0] ? ": " : "", job ? job->text : "");
    return BACKEND_WAITING;
}

static enum backend_state kubernetes_poll(struct backend_job *j, struct backend_worker *w,
                                          struct backend_exit *out)
{
    struct kubernetes *k = j->own;
    struct seat *x = w->own;
    if (!x || !x->alloc) {
        tell(out, "its handle cannot be read");
        return BACKEND_LOST;
    }
    if (backend_verdict_find(&x->end, w->handle)) {
        *out = x->end.exit;
        return x->end.state;
    }
    const struct pods_alloc *a = x->alloc;
    const struct pods_pod *p = pods_news_pod(&k->news, a->name, w->index);
    if (a->why != WHY_None)
        return never_made(w, x, out);
    /* Until then a pod may be one that is being deleted: its secrets were refused. */
    if (p && a->made)
        return poll_pod(j, w, x, p, out);
    if (a->made)
        return poll_job(j, w, x, out);
    tell(out, a->text);
    return BACKEND_WAITING;
}

static void start_watcher(const struct backend_job *j, struct kubernetes *k)
{
    char *program = backend_agent_program(), *lock = fs_join(k->dir, "lock");
    const char *const argv[] = {program, "job", "agent", "--pods-watch", k->dir, NULL};
    struct proc_spec spec = {.argv = argv,
                             .cwd = "/",
                             .in = {.kind = PROC_NULL},
                             .out = {.kind = PROC_NULL},
                             .err = {.kind = PROC_NULL},
                             .new_session = true};
    if (!job_lock_held(lock) && proc_start(&spec, &k->watcher, NULL))
        k->watcher = NULL;
    mem_free(lock);
    mem_free(program);
}

static void look_at_watcher(const struct backend_job *j, struct kubernetes *k)
{
    struct proc_exit exit;
    int64_t now = clock_mono_ns();
    if (k->looked && now - k->looked < LOOK_NS)
        return;
    k->looked = now;
    if (k->watcher && proc_poll(k->watcher, &exit)) {
        proc_destroy(k->watcher);
        k->watcher = NULL;
    }
    if (!k->watcher)
        start_watcher(j, k);
}

static void read_news(struct kubernetes *k)
{
    struct stat st;
    struct pods_news news;
    char *text = NULL;
    size_t n = 0;
    if (stat(k->news_path, &st) < 0 ||
        (st.st_ino == k->news_at.st_ino &&
         st.st_mtim.tv_nsec == k->news_at.st_mtim.tv_nsec &&
         st.st_mtim.tv_sec == k->news_at.st_mtim.tv_sec))
        return;
    if (fs_read(k->news_path, NEWS_MAX, &text, &n, NULL) == RC_OK) {
        if (pods_news_parse(text, n, &news, NULL) == RC_OK) {
            pods_news_release(&k->news);
            k->news = news;
            k->news_at = st;
        } else {
            pods_news_release(&news);
        }
    }
    mem_free(text);
}

static enum rc kubernetes_refresh(struct backend_job *j, struct err *err)
{
    struct kubernetes *k = j->own;
    look_at_watcher(j, k);
    pods_watcher_state(k->dir, &k->state);
    read_news(k);
    for (size_t i = 0; i < k->allocs.n; i++)
        pods_alloc_advance(k->allocs.at[i]);
    return k->state.away[0] ? err_set(err, RC_CANCELED, "Kubernetes does not answer: %s",
                                      k->state.away)
                            : RC_OK;
}

static enum backend_state kubernetes_reattach(struct backend_job *j,
                                              struct backend_worker *w)
{
    struct backend_exit exit = {.code = 0};
    bool there = fs_exists(w->handle);
    take_seat(w, there ? alloc_of(j, w->handle) : NULL);
    return there ? kubernetes_poll(j, w, &exit) : BACKEND_NONE;
}

static void write_request(const struct backend_job *j, const struct backend_worker *w,
                          const char *word)
{
    char *dir = pods_alloc_ask(j);
    char *path = mem_printf("%s/%jd", dir, (intmax_t)w->index);
    enum rc rc = job_file_put(path, word, strlen(word), 0644, NULL);
    (void)rc; /* what cannot be paused runs on */
    mem_free(path);
    mem_free(dir);
}

/* In a child: what is wanted of a pod, or of an object that has none yet. Where a pod that is
 * deleted is made anew, its processes are killed by the pod itself (write_request()).
 */
static void ask_for_end(const struct backend_job *j, const struct seat *x,
                        const struct pods_pod *p)
{
    struct kubernetes *k = j->own;
    struct kube_client *c = NULL;
    enum rc rc = kube_client_open(&k->options, &c, NULL);
    bool never = p && (!p->placed || x->wanted == BACKEND_DESTROY + 1);
    bool anew = x->alloc->row->kind->recreates;
    if (!rc && (!p || (anew && (never || p->state == PODS_WAITING))))
        rc = pods_request_delete(c, x->alloc->row, x->alloc->name, NULL);
    else if (!rc && never)
        rc = pods_request_kill(c, p->name, 0, NULL);
    else if (!rc && x->wanted == BACKEND_KILL + 1 && !anew)
        rc = pods_request_kill(c, p->name, 1, NULL);
    else if (!rc)
        rc = pods_request_stop(c, p->name, NULL);
    _exit(rc ? 1 : 0);
}

static bool others_run(const struct kubernetes *k, const struct pods_alloc *a)
{
    for (size_t i = 0; i < k->news.pods.n; i++)
        if (strcmp(k->news.pods.at[i].owner, a->name) == 0)
            return true;
    return false;
}

/* Goes on with an end that was asked for; never waits. */
static void advance_end(struct backend_job *j, struct backend_worker *w, struct seat *x)
{
    struct kubernetes *k = j->own;
    int status = 0;
    if (x->child && waitpid(x->child, &status, WNOHANG) == 0)
        return;
    if (x->child && (!WIFEXITED(status) || WEXITSTATUS(status))) {
        x->asked = 0;
        x->again = clock_mono_ns() + AGAIN_NS;
    }
    x->child = 0;
    if (x->end.known || !x->alloc->made || x->asked >= x->wanted ||
        clock_mono_ns() < x->again)
        return;
    const struct pods_pod *p = pods_news_pod(&k->news, x->alloc->name, w->index);
    if (!p && others_run(k, x->alloc))
        return; /* its pod may come any moment, or never */
    x->asked = p ? x->wanted : 0;
    x->again = clock_mono_ns() + AGAIN_NS;
    x->child = fork();
    if (x->child == 0) {
        close_range(3, ~0U, 0);
        prctl(PR_SET_NAME, "ty-pods-end");
        ask_for_end(j, x, p);
    }
    if (x->child < 0)
        x->child = 0;
}

static void kubernetes_signal(struct backend_job *j, struct backend_worker *w,
                              enum backend_signal sig)
{
    struct seat *x = w->own;
    if (!x || !x->alloc || x->end.known)
        return;
    if (sig == BACKEND_PAUSE || sig == BACKEND_RESUME) {
        write_request(j, w, sig == BACKEND_PAUSE ? "pause\n" : "resume\n");
        return;
    }
    if (sig == BACKEND_KILL && x->alloc->row->kind->recreates)
        write_request(j, w, "kill\n");
    if (x->wanted < (int)sig + 1)
        x->wanted = (int)sig + 1;
    x->again = 0;
    pods_alloc_forbid(x->alloc);
    advance_end(j, w, x);
}

/* Behind an end that another supervisor told, in one call: nobody asks again. */
static bool drain(struct kubernetes *k, struct seat *x, struct backend_log *log)
{
    int64_t until = clock_mono_ns() + DRAIN_NS;
    struct pods_logs_at at = {x->pod, x->alloc->row->kind->container};
    bool some = false;
    while (!x->logs.whole && clock_mono_ns() < until) {
        some = pods_logs_read(&x->logs, k->client, k->set, &at, true, log) || some;
        io_http_streams_work(k->set, 50);
    }
    x->logs.whole = true;
    return some;
}

static bool kubernetes_logs(struct backend_job *j, struct backend_worker *w,
                            struct backend_log *log)
{
    struct kubernetes *k = j->own;
    struct seat *x = w->own;
    if (!x || !x->alloc)
        return false;
    if (x->wanted)
        advance_end(j, w, x);
    const struct pods_pod *p = pods_news_pod(&k->news, x->alloc->name, w->index);
    if (p && !x->pod[0])
        snprintf(x->pod, sizeof(x->pod), "%s", p->name);
    if (!x->pod[0] || x->logs.whole || (p && p->state == PODS_WAITING))
        return false;
    struct pods_logs_at at = {x->pod, x->alloc->row->kind->container};
    if (x->end.known)
        return drain(k, x, log);
    return pods_logs_read(&x->logs, k->client, k->set, &at, x->pod_ended, log);
}

static void kubernetes_release(struct backend_job *j, struct backend_worker *w)
{
    struct seat *x = w->own;
    if (x) {
        pods_logs_release(&x->logs);
        if (x->child)
            waitpid(x->child, NULL, WNOHANG);
    }
    mem_free(x);
    w->own = NULL;
    w->fd = -1;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200 * 1000000}, NULL);
}

/* Deletes, and with `wait` returns when nothing is left, or it is time. */
static bool remove_all(struct backend_job *j, int64_t worker, bool wait)
{
    struct kubernetes *k = j->own;
    int64_t from = clock_mono_ns(), now = from;
    size_t left = 1;
    enum rc rc = RC_OK;
    while (left && now - from < CLEAN_NS) {
        rc = pods_request_remove(k->client, pods_row_of(j), j->id, worker,
                                 now - from > FORCE_NS ? 0 : 1, &left, NULL);
        if (!wait || (!rc && !left))
            break;
        nap();
        now = clock_mono_ns();
    }
    return !rc && (!wait || !left);
}

static void forbid_all(struct kubernetes *k, const struct backend_job *j, int64_t worker)
{
    for (size_t i = 0; i < k->allocs.n; i++)
        if (worker < 0)
            pods_alloc_forbid(k->allocs.at[i]);
}

static void kubernetes_clean(struct backend_job *j, int64_t worker, bool lost)
{
    struct kubernetes *k = j->own;
    forbid_all(k, j, worker);
    (void)remove_all(j, worker, lost);
}

/* What cannot be deleted now, the watcher will delete. */
static void kubernetes_close(struct backend_job *j, bool ended)
{
    struct kubernetes *k = j->own;
    char *todo = mem_printf("%s/remove/%s", k->dir, j->id);
    if (ended) {
        const char *kind = pods_row_of(j)->kind->name;
        enum rc rc = job_file_put(todo, kind, strlen(kind), 0600, NULL);
        (void)rc; /* a Job is deleted by Kubernetes itself in a week */
        if (remove_all(j, -1, true))
            unlink(todo);
    }
    mem_free(todo);
    kubernetes_free(k);
    j->own = NULL;
}

/* What its nodes have free nobody may ask without rights of the whole cluster. */
static void kubernetes_room(const struct job_place *p, const struct job_spec *s,
                            struct backend_room *out)
{
    const char *files = jobspec_backend_option(s->s, "kubeconfig");
    struct kube_options options = {.files = files ? files : env_get("KUBECONFIG"),
                                   .context = jobspec_backend_option(s->s, "context")};
    struct kube_config c;
    struct err err = {0};
    bool there = kube_config_load(&options, &c, &err) == RC_OK;
    out->has = there ? BACKEND_ROOM_UNKNOWN : BACKEND_ROOM_NEVER;
    snprintf(out->text, sizeof(out->text), "%.190s",
             there ? "its scheduler alone knows what is free" : err.msg);
    kube_config_release(&c);
}

const struct backend_ops backend_kubernetes = {
    .name = "kubernetes",
    .own_queue = true,
    .probe = kubernetes_probe,
    .open = kubernetes_open,
    .prepare = kubernetes_prepare,
    .address = kubernetes_address,
    .port = kubernetes_port,
    .start = kubernetes_start,
    .reattach = kubernetes_reattach,
    .refresh = kubernetes_refresh,
    .poll = kubernetes_poll,
    .signal = kubernetes_signal,
    .logs = kubernetes_logs,
    .release = kubernetes_release,
    .clean = kubernetes_clean,
    .close = kubernetes_close,
    .room = kubernetes_room,
    .role = pods_role_print,
};
