/* SPDX-License-Identifier: Apache-2.0 */
/* A backend that breaks the contract of backend/backend.h on purpose: it is local, but for
 * one fault, which is the name of the job. For tests of what becomes of a job then.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/capacity.h"
#include "backend/process.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"

#define UNKNOWN_STATE 77
#define UNKNOWN_REASON 9999

static bool fault(const struct backend_job *j, const char *name)
{
    return strcmp(j->spec->s->name, name) == 0;
}

/* How often it was asked, this time included; the count survives the supervisor. */
static size_t count(const struct backend_job *j, const char *what)
{
    char *path = fs_join(j->dir, what), *text = NULL;
    size_t n = 0;
    if (fs_read(path, 1 << 16, &text, &n, NULL) != RC_OK)
        n = 0;
    mem_free(text);
    char *more = mem_calloc(n + 2, 1);
    memset(more, '.', n + 1);
    enum rc rc = job_file_put(path, more, n + 1, 0600, NULL);
    (void)rc;
    mem_free(more);
    mem_free(path);
    return n + 1;
}

/* "crash-METHOD", "abort-METHOD", "exit-METHOD": that method ends the supervisor, by a call of
 * nothing, by abort() or by _exit(); "hang-METHOD": it does not return.
 */
static void may_crash(const struct backend_job *j, const char *method)
{
    static void (*volatile nothing)(void);
    char name[64];
    snprintf(name, sizeof(name), "crash-%s", method);
    if (fault(j, name))
        nothing();
    snprintf(name, sizeof(name), "abort-%s", method);
    if (fault(j, name))
        abort();
    snprintf(name, sizeof(name), "exit-%s", method);
    if (fault(j, name))
        _exit(7);
    snprintf(name, sizeof(name), "hang-%s", method);
    while (fault(j, name))
        sleep(1);
    snprintf(name, sizeof(name), "twice-%s", method);
    if (fault(j, name) && count(j, "crashes") < 3)
        abort();
}

/* The file faulty.probe of the directory has the words with which it fails; or how it ends
 * whoever asks.
 */
static enum rc faulty_probe(const char *dir, struct err *err)
{
    char *path = fs_join(dir, "faulty.probe"), *text = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;
    bool is_there = fs_read(path, 1 << 10, &text, &n, NULL) == RC_OK;
    if (is_there && strcmp(text, "abort\n") == 0)
        abort();
    if (is_there && strcmp(text, "killed\n") == 0)
        kill(getpid(), SIGKILL);
    while (is_there && strcmp(text, "hang\n") == 0)
        sleep(1);
    if (is_there)
        rc = text[0] == '~' ? err_set(err, RC_CANCELED, "%s", text + 1)
                            : err_set(err, RC_NOTFOUND, "%s", text);
    mem_free(text);
    mem_free(path);
    return rc;
}

static enum rc faulty_open(struct backend_job *j, struct err *err)
{
    may_crash(j, "open");
    if (fault(j, "open-fails"))
        return err_set(err, RC_IO, "the cluster refuses us");
    if (fault(j, "open-fails-silently"))
        return RC_IO;
    if (fault(j, "open-passes") && count(j, "opens") < 3)
        return err_set(err, RC_CANCELED, "the controller is restarting");
    if (fault(j, "open-hangs"))
        return err_set(err, RC_CANCELED, "the controller is restarting");
    return RC_OK;
}

static void faulty_prepare(struct backend_job *j)
{
    if (!fault(j, "prepare-nothing"))
        backend_local.prepare(j);
    if (fault(j, "prepare-markup"))
        j->view = "plain\", \"more";
}

static void faulty_address(const struct backend_job *j, int64_t worker,
                           char out[BACKEND_ADDRESS_SIZE])
{
    if (fault(j, "address-endless"))
        memset(out, 'a', BACKEND_ADDRESS_SIZE);
    else if (!fault(j, "address-empty"))
        backend_process_address(j, worker, out);
}

static int64_t faulty_port(const struct backend_job *j)
{
    return fault(j, "port-impossible") ? 70000 : backend_process_port(j);
}

static enum rc faulty_start(struct backend_job *j, struct backend_launch *at, size_t n,
                            struct err *err)
{
    may_crash(j, "start");
    if (fault(j, "start-fails-silently"))
        return RC_IO;
    if (fault(j, "start-unknown"))
        return (enum rc)12;
    if (fault(j, "start-again-zero") && at[0].w->life > 0) {
        j->launch_status = 0;
        return err_set(err, RC_IO, "no node takes it");
    }
    if (fault(j, "start-status")) {
        j->launch_status = 65536;
        return err_set(err, RC_IO, "no node takes it");
    }
    if (fault(j, "start-nothing"))
        return RC_OK;
    if (fault(j, "start-some"))
        return backend_local.start(j, at, 1, err);
    if (fault(j, "start-without-handle")) {
        for (size_t i = 0; i < n; i++)
            at[i].started = true;
        return RC_OK;
    }
    return backend_local.start(j, at, n, err);
}

static enum rc faulty_refresh(struct backend_job *j, struct err *err)
{
    if (fault(j, "refresh-fails") && count(j, "refreshes") < 5)
        return err_set(err, RC_CANCELED, "the controller is restarting");
    return RC_OK;
}

/* How it tells an end. */
static enum backend_state tell(const struct backend_job *j, struct backend_exit *out)
{
    if (fault(j, "end-waits"))
        return BACKEND_WAITING;
    if (fault(j, "end-unknown-reason"))
        out->why = (enum job_reason)UNKNOWN_REASON;
    if (fault(j, "end-unknown-status"))
        out->code = 256;
    if (fault(j, "end-unknown-signal"))
        out->signal = -5;
    if (fault(j, "end-endless-text")) {
        out->code = 3;
        out->why = WHY_Evicted;
        memset(out->text, 'x', sizeof(out->text));
    }
    if (fault(j, "end-limit")) { /* no fault: a cluster's own limit has the status 0 */
        out->why = WHY_Timeout;
        snprintf(out->text, sizeof(out->text), "the partition's\n time limit");
    }
    if (fault(j, "end-lost")) {
        *out = (struct backend_exit){.code = -1, .why = WHY_Evicted};
        snprintf(out->text, sizeof(out->text), "node n7 lost power");
        return BACKEND_LOST;
    }
    if (fault(j, "end-lost-without-reason")) {
        *out = (struct backend_exit){.code = 0};
        snprintf(out->text, sizeof(out->text), "node n8 does not answer");
        return BACKEND_LOST;
    }
    return BACKEND_ENDED;
}

static enum backend_state faulty_poll(struct backend_job *j, struct backend_worker *w,
                                      struct backend_exit *out)
{
    may_crash(j, "poll");
    if (fault(j, "poll-none"))
        return BACKEND_NONE;
    if (fault(j, "poll-unknown"))
        return (enum backend_state)UNKNOWN_STATE;
    if (fault(j, "start-without-handle"))
        return BACKEND_NONE;
    enum backend_state s = backend_process_poll(j, w, out);
    return s == BACKEND_ENDED ? tell(j, out) : s;
}

static void faulty_signal(struct backend_job *j, struct backend_worker *w,
                          enum backend_signal s)
{
    bool deaf = fault(j, "signal-deaf") && (s != BACKEND_DESTROY || count(j, "told") < 3);
    if (!deaf)
        backend_process_signal(j, w, s);
}

static enum backend_state faulty_reattach(struct backend_job *j, struct backend_worker *w)
{
    enum backend_state s = backend_process_reattach(j, w);
    if (fault(j, "reattach-none"))
        return BACKEND_NONE;
    return s != BACKEND_NONE && fault(j, "reattach-unknown")
               ? (enum backend_state)UNKNOWN_STATE
               : s;
}

static bool faulty_logs(struct backend_job *j, struct backend_worker *w,
                        struct backend_log *log)
{
    if (fault(j, "logs-flood"))
        backend_log_add(log, 0, "x\n", 2, log->position + 2);
    return fault(j, "logs-endless") || fault(j, "logs-flood");
}

static void faulty_usage(struct backend_job *j, struct backend_worker *const *w, size_t n,
                         struct backend_usage *out)
{
    backend_process_usage(j, w, n, out);
    for (size_t i = 0; i < n && fault(j, "usage-huge"); i++)
        out[i] = (struct backend_usage){.rss = INT64_MAX, .cpu_s = 1e308};
    for (size_t i = 0; i < n && fault(j, "usage-negative"); i++)
        out[i] = (struct backend_usage){.rss = -1, .cpu_s = -1};
}

static void faulty_clean(struct backend_job *j, int64_t worker, bool lost)
{
    may_crash(j, "clean");
    backend_process_clean(j, worker, lost);
}

const struct backend_ops backend_faulty = {
    .name = "faulty",
    .host_files = true,
    .processes = true,
    .probe = faulty_probe,
    .open = faulty_open,
    .prepare = faulty_prepare,
    .address = faulty_address,
    .port = faulty_port,
    .start = faulty_start,
    .reattach = faulty_reattach,
    .refresh = faulty_refresh,
    .poll = faulty_poll,
    .signal = faulty_signal,
    .logs = faulty_logs,
    .usage = faulty_usage,
    .release = backend_process_release,
    .clean = faulty_clean,
};
