/* SPDX-License-Identifier: Apache-2.0 */
/* A job that waits in the queue has no supervisor: whoever gets its lock changes its
 * state there and then. Of any other job something is asked, by an event and a sign
 * through its pipe.
 */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "job/file.h"
#include "job/record.h"
#include "job/submit.h"

struct asking {
    const struct job_place *p;
    const char *id;
    enum job_event_type type;
    const char *data;
};

static enum rc add_request(struct job_record *r, const struct asking *a, struct err *err)
{
    char *who = mem_printf("by %s", a->p->owner);
    struct job_record_note note = {.worker = -1, .message = who, .data = a->data};
    enum rc rc = job_record_add(r, a->type, &note, err);
    mem_free(who);
    return rc;
}

static bool waits(const struct job_status *s)
{
    return s->state == JOB_Creating || s->state == JOB_Queuing ||
           (s->state == JOB_Suspended && s->attempt == 0);
}

/* The moves that the request means for a job that nobody runs. */
static enum rc settle_waiting(struct job_record *r, const struct asking *a,
                              struct err *err)
{
    enum rc rc = RC_OK;
    switch (a->type) {
    case EV_StopRequested:
        rc = job_record_move(r, JOB_Stopping, WHY_UserStopped, -1, 0, "", err);
        if (!rc)
            rc = job_record_move(r, JOB_Stopped, WHY_UserStopped, -1, 0,
                                 "stopped before it started", err);
        break;
    case EV_SuspendRequested:
        rc = job_record_move(r, JOB_Suspended, WHY_UserSuspended, -1, 0, "", err);
        break;
    default:
        rc = job_record_move(r, JOB_Queuing, WHY_JobEnqueued, -1, 0, "", err);
        break;
    }
    return rc;
}

static enum rc ask_locked(struct job_record *r, const struct asking *a, int lock,
                          struct job_request_result *out, struct err *err)
{
    enum rc rc = add_request(r, a, err);
    if (!rc && lock >= 0 && waits(&r->now))
        rc = settle_waiting(r, a, err);
    if (!rc)
        rc = job_record_flush(r, err);
    out->state = r->now.state;
    out->alone = lock >= 0 && !job_state_ended(r->now.state);
    return rc;
}

/* RC_CANCELED: the job moved on meanwhile. */
static enum rc ask_once(const struct asking *a,
                        enum rc (*allowed)(const struct job_status *, struct err *),
                        bool *done, struct job_request_result *out, struct err *err)
{
    struct job_record r = {0};
    char *lock_path = job_place_file(a->p, a->id, "lock");
    char *control = job_place_file(a->p, a->id, "control");
    int lock = job_lock_take(lock_path);
    enum rc rc = job_record_open(a->p->store, a->id, &r, err);
    if (!rc) {
        out->state = r.now.state;
        *done = out->ended = job_state_ended(r.now.state);
        rc = allowed(&r.now, err);
        if (!rc && !*done)
            rc = ask_locked(&r, a, lock, out, err);
    }
    job_record_release(&r);
    if (lock >= 0)
        close(lock);
    else
        job_wake_send(control);
    mem_free(control);
    mem_free(lock_path);
    return rc;
}

static enum rc ask(const struct asking *a,
                   enum rc (*allowed)(const struct job_status *, struct err *),
                   struct job_request_result *out, struct err *err)
{
    enum rc rc = RC_CANCELED;
    bool done = false;
    *out = (struct job_request_result){.alone = false};
    if (!job_id_ok(a->id))
        return err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", a->id);
    for (int i = 0; i < 10 && rc == RC_CANCELED && !done; i++)
        rc = ask_once(a, allowed, &done, out, err);
    return rc;
}

static enum rc may_stop(const struct job_status *s, struct err *err)
{
    return RC_OK;
}

static enum rc may_suspend(const struct job_status *s, struct err *err)
{
    if (s->state == JOB_Running || s->state == JOB_Queuing ||
        s->state == JOB_EnvPreparing)
        return RC_OK;
    return err_coded(err, RC_INVAL, job_state_ended(s->state) ? E3011 : E3014,
                     "a job that is %s cannot be suspended", job_state_name(s->state));
}

static enum rc may_resume(const struct job_status *s, struct err *err)
{
    if (s->state == JOB_Suspended || s->suspend)
        return RC_OK;
    return err_coded(err, RC_INVAL, job_state_ended(s->state) ? E3011 : E3014,
                     "a job that is %s cannot be resumed", job_state_name(s->state));
}

enum rc job_request_stop(const struct job_place *p, const char *id, bool force,
                         struct job_request_result *out, struct err *err)
{
    struct asking a = {.p = p,
                       .id = id,
                       .type = EV_StopRequested,
                       .data = force ? "{\"force\": 1}" : NULL};
    return ask(&a, may_stop, out, err);
}

enum rc job_request_suspend(const struct job_place *p, const char *id,
                            struct job_request_result *out, struct err *err)
{
    struct asking a = {.p = p, .id = id, .type = EV_SuspendRequested};
    return ask(&a, may_suspend, out, err);
}

enum rc job_request_resume(const struct job_place *p, const char *id,
                           struct job_request_result *out, struct err *err)
{
    struct asking a = {.p = p, .id = id, .type = EV_ResumeRequested};
    return ask(&a, may_resume, out, err);
}

static enum rc may_preempt(const struct job_status *s, struct err *err)
{
    if (s->state == JOB_Running || s->state == JOB_EnvPreparing ||
        s->state == JOB_Restarting || s->state == JOB_Suspended)
        return RC_OK;
    return err_coded(err, RC_INVAL, job_state_ended(s->state) ? E3011 : E3014,
                     "a job that is %s has no place to give", job_state_name(s->state));
}

enum rc job_request_preempt(const struct job_place *p, const char *id, const char *by,
                            struct job_request_result *out, struct err *err)
{
    char *data = mem_printf("{\"by\": \"%s\"}", by);
    struct asking a = {.p = p, .id = id, .type = EV_PreemptRequested, .data = data};
    enum rc rc = ask(&a, may_preempt, out, err);
    mem_free(data);
    return rc;
}
