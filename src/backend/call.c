/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend may answer is written in backend.h; here it is checked, in the order of
 * the methods there. Two notes are kept for that: `state` of a worker, the last one told,
 * since a worker never goes back to an earlier one; and `held`, `opened`, so that release()
 * and close() are called once. Numbers that only inform (processor time, memory) are
 * dropped when they make no sense; whatever decides about a job is a fault.
 */
#include "backend/call.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend/calling.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/quote.h"

#define SIGNAL_MAX 64
#define STATUS_MAX 255
#define PORT_MAX 65535
#define ROOT_MAX 4096
#define VIEW_MAX 64

static const char *const state_names[] = {[BACKEND_NONE] = "NONE",
                                          [BACKEND_WAITING] = "WAITING",
                                          [BACKEND_RUNNING] = "RUNNING",
                                          [BACKEND_ENDED] = "ENDED",
                                          [BACKEND_LOST] = "LOST"};

static bool is_state(enum backend_state s)
{
    return (size_t)s < ARRAY_LEN(state_names);
}

/* "backend NAME: METHOD() ...", E3208. */
static enum rc fault(const struct backend_ops *b, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static enum rc fault(const struct backend_ops *b, struct err *err, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_coded(err, RC_INVAL, E3208, "backend %s: %s", b->name, text);
}

/* A method that failed has said why, with a code, or that is said for it. Its words are
 * cleared beforehand, by said().
 */
static enum rc failed(const struct backend_ops *b, const char *method, enum rc rc,
                      struct err *err)
{
    if (!rc || !err)
        return rc;
    if (rc > RC_OK || rc < RC_CANCELED)
        return fault(b, err, "%s() answered %d, which is not an error code", method,
                     (int)rc);
    if (!err->msg[0])
        return err_coded(err, rc, E3209, "backend %s: %s failed without saying why",
                         b->name, method);
    return rc;
}

static void say_nothing(struct err *err)
{
    if (err)
        *err = (struct err){.code = E_NONE};
}

static enum rc lacks(const struct backend_ops *b, const char *method, struct err *err)
{
    return err_coded(err, RC_INVAL, E3208, "backend %s has no %s()", b->name, method);
}

enum rc backend_call_check(const struct backend_ops *b, struct err *err)
{
    const struct {
        const char *name;
        bool there;
    } required[] = {{"probe", b->probe},
                    {"prepare", b->prepare},
                    {"address", b->address},
                    {"port", b->port},
                    {"start", b->start},
                    {"reattach", b->reattach},
                    {"poll", b->poll},
                    {"signal", b->signal},
                    {"release", b->release},
                    {"clean", b->clean},
                    {"capacity", b->capacity || b != backend_at(0)}};
    for (size_t i = 0; i < ARRAY_LEN(required); i++)
        if (!required[i].there)
            return lacks(b, required[i].name, err);
    return RC_OK;
}

enum rc backend_call_probe(const struct backend_ops *b, const char *dir, struct err *err)
{
    enum rc rc = backend_call_check(b, err);
    if (rc)
        return rc;
    say_nothing(err);
    return failed(b, "probe", b->probe(dir, err), err);
}

enum rc backend_call_capacity(const struct backend_ops *b, const char *slots,
                              struct backend_queue_need *out, struct err *err)
{
    struct backend_queue_need got = {0};
    if (!b->capacity)
        return lacks(b, "capacity", err);
    say_nothing(err);
    enum rc rc = failed(b, "capacity", b->capacity(slots, &got, err), err);
    if (rc)
        return rc;
    if (got.cpu_milli < 0 || got.memory < 0 || got.gpu < 0)
        return fault(b, err, "capacity() gave a negative number");
    *out = got;
    return RC_OK;
}

enum rc backend_call_open(struct backend_job *j, struct err *err)
{
    say_nothing(err);
    backend_calling_enter(j->calling, "open");
    enum rc rc = j->ops->open ? failed(j->ops, "open", j->ops->open(j, err), err) : RC_OK;
    backend_calling_leave(j->calling);
    j->opened = rc == RC_OK;
    return rc;
}

static bool is_word(const char *text, size_t size)
{
    size_t n = strnlen(text, size);
    for (size_t i = 0; i < n; i++)
        if (isspace((unsigned char)text[i]) || iscntrl((unsigned char)text[i]))
            return false;
    return n > 0 && n < size;
}

enum rc backend_call_prepare(struct backend_job *j, struct err *err)
{
    j->root = j->view = NULL;
    backend_calling_enter(j->calling, "prepare");
    j->ops->prepare(j);
    backend_calling_leave(j->calling);
    const char *lacks = !j->root ? "root" : !j->view ? "view" : NULL;
    if (!j->view)
        j->view = "";
    if (lacks)
        return fault(j->ops, err, "prepare() left `%s` unset", lacks);
    size_t n = strnlen(j->root, ROOT_MAX);
    if (j->root[0] != '/' || j->root[n - 1] == '/' || !is_word(j->root, ROOT_MAX))
        return fault(
            j->ops, err,
            "prepare() gave the root '%.100s', which is not an absolute path without "
            "blanks and without a trailing '/'",
            j->root);
    if (!is_word(j->view, VIEW_MAX) ||
        strspn(j->view, "abcdefghijklmnopqrstuvwxyz-_") != strlen(j->view))
        return fault(j->ops, err,
                     "prepare() gave the view '%.60s', which is not one word", j->view);
    return RC_OK;
}

enum rc backend_call_packages(struct backend_job *j, struct arena *a,
                              const char *const **argv, struct job_contract_env *env,
                              struct err *err)
{
    say_nothing(err);
    backend_calling_enter(j->calling, "packages");
    enum rc rc = failed(j->ops, "packages", j->ops->packages(j, a, argv, env, err), err);
    backend_calling_leave(j->calling);
    if (!rc && (!*argv || !(*argv)[0]))
        return fault(j->ops, err, "packages() gave no program");
    return rc;
}

enum rc backend_call_address(const struct backend_job *j, int64_t worker,
                             char out[BACKEND_ADDRESS_SIZE], struct err *err)
{
    out[0] = '\0';
    backend_calling_enter(j->calling, "address");
    j->ops->address(j, worker, out);
    backend_calling_leave(j->calling);
    bool is_good = is_word(out, BACKEND_ADDRESS_SIZE);
    out[BACKEND_ADDRESS_SIZE - 1] = '\0';
    if (is_good)
        return RC_OK;
    return fault(j->ops, err, "address() gave '%.60s' for worker %jd", out,
                 (intmax_t)worker);
}

enum rc backend_call_port(const struct backend_job *j, int64_t *out, struct err *err)
{
    backend_calling_enter(j->calling, "port");
    int64_t port = j->ops->port(j);
    backend_calling_leave(j->calling);
    if (port < 1 || port > PORT_MAX)
        return fault(j->ops, err, "port() answered %jd", (intmax_t)port);
    *out = port;
    return RC_OK;
}

/* Words for people: one line that ends. */
static void clean_text(char *text, size_t size)
{
    struct buf b;
    text[size - 1] = '\0';
    buf_init(&b, 4 * size);
    job_quote_terminal(str_c(text), &b);
    snprintf(text, size, "%s", buf_str(&b));
    buf_release(&b);
}

/* A worker that was started has a handle, by which the next supervisor finds it. */
static enum rc check_started(const struct backend_job *j, const struct backend_launch *l,
                             struct err *err)
{
    intmax_t index = l->w->index;
    if (!l->started)
        return fault(j->ops, err,
                     "start() answered success, but worker %jd was not started", index);
    if (!fs_exists(l->w->handle))
        return fault(j->ops, err, "start() left no handle of worker %jd", index);
    return RC_OK;
}

enum rc backend_call_start(struct backend_job *j, struct backend_launch *at, size_t n,
                           struct err *err)
{
    say_nothing(err);
    for (size_t i = 0; i < n; i++) {
        at[i].started = false;
        at[i].w->waiting = false;
        at[i].w->node[0] = '\0';
        at[i].w->held = true;
        at[i].w->fault[0] = '\0';
    }
    backend_calling_enter(j->calling, "start");
    enum rc rc = failed(j->ops, "start", j->ops->start(j, at, n, err), err);
    backend_calling_leave(j->calling);
    for (size_t i = 0; i < n && !rc; i++)
        rc = check_started(j, &at[i], err);
    if (rc && (j->launch_status < 1 || j->launch_status > UINT8_MAX))
        j->launch_status = 126; /* what failed has not succeeded, as an exit status too */
    for (size_t i = 0; i < n; i++)
        clean_text(at[i].w->node, sizeof(at[i].w->node));
    for (size_t i = 0; i < n; i++)
        at[i].w->state = !at[i].started     ? BACKEND_NONE
                         : at[i].w->waiting ? BACKEND_WAITING
                                            : BACKEND_RUNNING;
    return rc;
}

enum backend_state backend_call_reattach(struct backend_job *j, struct backend_worker *w)
{
    w->held = true;
    w->fault[0] = '\0';
    bool had = fs_exists(w->handle);
    backend_calling_enter(j->calling, "reattach");
    enum backend_state s = j->ops->reattach(j, w);
    backend_calling_leave(j->calling);
    if (!is_state(s))
        snprintf(w->fault, sizeof(w->fault),
                 "reattach() answered %d, which is not a state, for worker %jd", (int)s,
                 (intmax_t)w->index);
    else if (s == BACKEND_NONE && fs_exists(w->handle))
        snprintf(w->fault, sizeof(w->fault),
                 "reattach() answered NONE for worker %jd, whose handle is there",
                 (intmax_t)w->index);
    else if (s != BACKEND_NONE && !had)
        snprintf(w->fault, sizeof(w->fault),
                 "reattach() answered %s for worker %jd, which has no handle",
                 state_names[s], (intmax_t)w->index);
    w->state = w->fault[0] ? BACKEND_LOST : s;
    return w->state;
}

enum rc backend_call_refresh(struct backend_job *j, struct err *err)
{
    say_nothing(err);
    backend_calling_enter(j->calling, "refresh");
    enum rc rc =
        j->ops->refresh ? failed(j->ops, "refresh", j->ops->refresh(j, err), err) : RC_OK;
    backend_calling_leave(j->calling);
    return rc;
}

/* An end by the backend's fault, with what is wrong. */
static void fault_end(const struct backend_job *j, struct backend_exit *out,
                      const char *fmt, ...) PRINTF_LIKE(3, 4);

static void fault_end(const struct backend_job *j, struct backend_exit *out,
                      const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    *out = (struct backend_exit){.code = -1, .why = WHY_BackendFault};
    snprintf(out->text, sizeof(out->text), "backend %s: %s", j->ops->name, text);
}

/* What a backend says about an end. A reason beats an exit status of 0: some ends, such as
 * a time limit of a cluster, have no other. So does a signal.
 */
static void check_exit(const struct backend_job *j, const struct backend_worker *w,
                       struct backend_exit *out)
{
    intmax_t index = w->index;
    if ((int)out->why < 0 || (int)out->why >= JOB_REASONS)
        fault_end(j, out, "poll() gave the reason %d for the end of worker %jd",
                  (int)out->why, index);
    else if (out->signal < 0 || out->signal > SIGNAL_MAX)
        fault_end(j, out, "poll() gave the signal %d for the end of worker %jd",
                  out->signal, index);
    else if (out->code < -1 || out->code > STATUS_MAX ||
             (out->code == -1 && !out->signal && out->why == WHY_None))
        fault_end(j, out, "poll() gave the exit status %d for the end of worker %jd",
                  out->code, index);
    if ((out->why != WHY_None || out->signal) && out->code == 0)
        out->code = -1;
    if (!(isfinite(out->cpu_s) && out->cpu_s >= 0))
        out->cpu_s = 0;
    out->rss_bytes = out->rss_bytes < 0 ? 0 : out->rss_bytes;
    out->ended = out->ended < 0 ? 0 : out->ended;
    clean_text(out->text, sizeof(out->text));
}

/* Of one that is not there any more, whatever is known. */
static void check_lost(const struct backend_job *j, const struct backend_worker *w,
                       struct backend_exit *out)
{
    if (!out->signal && out->why == WHY_None)
        out->code = 0; /* not seen: the supervisor has words for that */
    check_exit(j, w, out);
}

enum backend_state backend_call_poll(struct backend_job *j, struct backend_worker *w,
                                     struct backend_exit *out)
{
    *out = (struct backend_exit){.code = 0};
    if (w->fault[0]) { /* of reattach() */
        fault_end(j, out, "%s", w->fault);
        return BACKEND_LOST;
    }
    backend_calling_enter(j->calling, "poll");
    enum backend_state was = w->state, s = j->ops->poll(j, w, out);
    backend_calling_leave(j->calling);
    intmax_t index = w->index;
    if (s == BACKEND_NONE && was != BACKEND_NONE) {
        fault_end(j, out, "poll() answered NONE for worker %jd, which was %s", index,
                  state_names[was]);
        s = BACKEND_LOST;
    } else if (!is_state(s)) {
        fault_end(j, out, "poll() answered %d, which is not a state, for worker %jd",
                  (int)s, index);
        s = BACKEND_LOST;
    } else if (s == BACKEND_WAITING && was != BACKEND_WAITING && was != BACKEND_NONE) {
        fault_end(j, out, "poll() answered WAITING for worker %jd, which was %s", index,
                  state_names[was]);
        s = BACKEND_LOST;
    } else if (s == BACKEND_RUNNING && (was == BACKEND_ENDED || was == BACKEND_LOST)) {
        fault_end(j, out, "poll() answered RUNNING for worker %jd, which was %s", index,
                  state_names[was]);
        s = BACKEND_LOST;
    } else if (s == BACKEND_ENDED) {
        check_exit(j, w, out);
    } else if (s == BACKEND_LOST || s == BACKEND_NONE) {
        check_lost(j, w, out);
    }
    if (s == BACKEND_WAITING)
        clean_text(out->text, sizeof(out->text));
    clean_text(w->node, sizeof(w->node));
    w->state = s;
    return s;
}

void backend_call_signal(struct backend_job *j, struct backend_worker *w,
                         enum backend_signal s)
{
    backend_calling_enter(j->calling, "signal");
    j->ops->signal(j, w, s);
    backend_calling_leave(j->calling);
}

bool backend_call_logs(struct backend_job *j, struct backend_worker *w,
                       struct backend_log *log)
{
    int64_t before = log->position;
    backend_calling_enter(j->calling, "logs");
    bool more = j->ops->logs && j->ops->logs(j, w, log);
    backend_calling_leave(j->calling);
    if (!more)
        return false;
    if (log->position > before)
        return true;
    char text[200];
    snprintf(
        text, sizeof(text),
        "backend %s: logs() says that there is more of worker %jd, but brings nothing",
        j->ops->name, (intmax_t)w->index);
    if (!w->told)
        j->warn(j, text);
    w->told = true;
    return false;
}

/* More than any machine has: sums over all workers stay numbers. */
#define CPU_S_MAX 1e12
#define RSS_MAX ((int64_t)1 << 50)

void backend_call_usage(struct backend_job *j, struct backend_worker *const *w, size_t n,
                        struct backend_usage *out)
{
    if (!j->ops->usage)
        return;
    backend_calling_enter(j->calling, "usage");
    j->ops->usage(j, w, n, out);
    backend_calling_leave(j->calling);
    for (size_t i = 0; i < n; i++) {
        if (!(out[i].cpu_s >= 0 && out[i].cpu_s <= CPU_S_MAX))
            out[i].cpu_s = 0;
        if (out[i].rss < 0 || out[i].rss > RSS_MAX)
            out[i].rss = 0;
    }
}

enum rc backend_call_enter(struct backend_job *j, const struct backend_entry *e,
                           const char *const *argv, struct arena *a,
                           const char *const **out, struct job_contract_env *env,
                           struct err *err)
{
    say_nothing(err);
    enum rc rc =
        failed(j->ops, "enter", j->ops->enter(j, e, argv, a, out, env, err), err);
    if (!rc && (!*out || !(*out)[0]))
        return fault(j->ops, err, "enter() gave no program");
    return rc;
}

void backend_call_release(struct backend_job *j, struct backend_worker *w)
{
    backend_calling_enter(j->calling, "release");
    if (w->held)
        j->ops->release(j, w);
    backend_calling_leave(j->calling);
    w->held = false;
    w->own = NULL;
    w->fd = -1;
}

void backend_call_clean(struct backend_job *j, int64_t worker, bool lost)
{
    backend_calling_enter(j->calling, "clean");
    j->ops->clean(j, worker, lost);
    backend_calling_leave(j->calling);
}

void backend_call_close(struct backend_job *j, bool ended)
{
    backend_calling_enter(j->calling, "close");
    if (j->opened && j->ops->close)
        j->ops->close(j, ended);
    backend_calling_leave(j->calling);
    j->opened = false;
}
