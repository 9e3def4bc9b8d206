/* SPDX-License-Identifier: Apache-2.0 */
/* The first step of a supervisor: what is needed to reach the workers. A failure that will
 * not pass ends the job with the backend's words. One that may pass is tried again after 1,
 * 2, 4 ... seconds: OPEN_TRIES times, or, while workers of an earlier supervisor may still
 * run, for OPEN_PATIENCE_NS, since giving up on those costs their work.
 */
#include <stddef.h>
#include <stdio.h>

#include "backend/call.h"
#include "backend/calling.h"
#include "backend/sup_private.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#define SECOND_NS INT64_C(1000000000)
#define OPEN_TRIES 8
#define OPEN_DELAY_MAX_S 60
#define OPEN_PATIENCE_NS (3600 * SECOND_NS)

static void warn_of_backend(struct backend_job *j, const char *text)
{
    struct sup *s = (struct sup *)((char *)j - offsetof(struct sup, job));
    sup_warn(s, text);
}

enum rc opening_find(struct sup *s, struct err *err)
{
    const struct backend_ops *ops = backend_find(s->spec.backend);
    bool isolated = false;
    enum rc rc = RC_OK;
    if (!ops)
        return err_coded(err, RC_NOTFOUND, E3209, "there is no backend '%.60s' here",
                         s->spec.backend);
    rc = backend_call_check(ops, err);
    if (rc)
        return rc;
    s->job = (struct backend_job){.ops = ops,
                                  .p = s->p,
                                  .id = s->id,
                                  .dir = s->dir,
                                  .ml = s->ml,
                                  .spec = &s->spec,
                                  .attempt = s->rec.now.attempt,
                                  .gpus = s->rec.now.gpus,
                                  .mounts = &s->mounts,
                                  .warn = warn_of_backend,
                                  .network = -1,
                                  .view = "",
                                  .calling = backend_calling_open(s->dir)};
    attempt_create(s);
    rc = job_isolation_read(s->dir, &s->isolation, &isolated, err);
    s->job.isolation = isolated ? &s->isolation : NULL;
    return rc;
}

/* Did a supervisor before us start workers of this attempt? */
static bool has_workers(const struct sup *s)
{
    enum job_state state = s->rec.now.state;
    if (state == JOB_Restarting || job_state_ended(state))
        return false;
    if (state != JOB_EnvPreparing)
        return true;
    char *handle = mem_printf("%s/run/0.%jd", s->dir, (intmax_t)s->rec.now.attempt);
    bool there = fs_exists(handle);
    mem_free(handle);
    return there;
}

enum rc opening_refuse(struct sup *s, enum job_reason why, const char *text,
                       struct err *err)
{
    if (!s->rec.store || job_state_ended(s->rec.now.state) || has_workers(s))
        return RC_IO; /* tried again: what runs may yet be reached */
    enum rc rc = job_record_move(&s->rec, JOB_Failed, why, -1, 0, text, err);
    return rc ? rc : job_record_flush(&s->rec, err);
}

static int64_t delay_s(int64_t tries)
{
    int64_t s = 1;
    for (int64_t i = 0; i < tries && s < OPEN_DELAY_MAX_S; i++)
        s *= 2;
    return s < OPEN_DELAY_MAX_S ? s : OPEN_DELAY_MAX_S;
}

static bool may_try_again(const struct sup *s)
{
    return has_workers(s) ? clock_mono_ns() - s->open_since < OPEN_PATIENCE_NS
                          : s->open_tries < OPEN_TRIES;
}

/* Said once for each new reason, so that a long wait does not fill the record. */
static void note_wait(struct sup *s, const char *text)
{
    char *full = mem_printf("backend %s cannot be used now, and is tried again: %s",
                            s->job.ops->name, text);
    sup_waits(s, full);
    mem_free(full);
}

static void fail_open(struct sup *s, enum rc rc, const struct err *err)
{
    char text[JOB_MESSAGE_SIZE];
    enum job_reason why = err->code == E3208 ? WHY_BackendFault : WHY_BackendUnavailable;
    snprintf(text, sizeof(text), "%.400s%s%s", err->msg,
             rc == RC_CANCELED ? " (tried several times)" : "",
             has_workers(s) ? "; workers that were started may still run" : "");
    sup_finish(s, JOB_Failed, why, -1, 0, text);
}

bool opening_try(struct sup *s, loop_fn *again)
{
    struct err err = {0};
    if (s->job.opened)
        return true;
    if (!s->open_tries)
        s->open_since = clock_mono_ns();
    enum rc rc = backend_call_open(&s->job, &err);
    if (!rc) {
        s->open_tries = 0;
        return true;
    }
    s->open_tries++;
    if (rc != RC_CANCELED || !may_try_again(s)) {
        fail_open(s, rc, &err);
        return false;
    }
    note_wait(s, err.msg);
    loop_timer_start(s->loop, &s->later, delay_s(s->open_tries - 1) * SECOND_NS, 0, again,
                     s);
    return false;
}

void opening_stop(struct sup *s)
{
    if (!s->open_tries || !s->rec.now.stop || has_workers(s))
        return;
    loop_timer_stop(&s->later);
    sup_attempt_failed(s, WHY_UserStopped, -1, 0, "");
}
