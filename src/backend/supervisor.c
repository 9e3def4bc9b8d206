/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job from its admission to its end, as one event loop. A tick every 200 ms
 * reads logs, looks for ends and limits and at the store; the job's pipe and the workers'
 * descriptors make it quicker. Where the life stands is a phase (phases.def); whatever
 * happens goes through sup_on(), which refuses a move that is not in the table. Events are
 * written to the record first and acted on then, so that a supervisor that is killed
 * leaves nothing that the next one could not find: it reads the record, asks the backend
 * for the workers (take_over), and goes on.
 */
#include "backend/supervisor.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/call.h"
#include "backend/calling.h"
#include "backend/confine.h"
#include "backend/reserve.h"
#include "backend/sup_private.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/manifest.h"
#include "job/retry.h"

#define LOG_AREA "supervisor"
#define TICKS_PER_LOOK 5 /* at the store */
#define DESTROY_NS (5 * INT64_C(1000000000))
#define TICKS_PER_USE 25 /* samples of memory and processor time */

/* A full disk must not keep a job from ending: there is a reserve for that. */
static enum rc flush(struct sup *s, struct err *err)
{
    enum rc rc = job_record_flush(&s->rec, err);
    if (!rc || err->code != E3108 || !backend_reserve_give_up(s->p->dir))
        return rc;
    char *text = mem_printf("the disk of %s is full", s->p->dir);
    sup_warn(s, text);
    mem_free(text);
    return job_record_flush(&s->rec, err);
}

void sup_flush(struct sup *s)
{
    struct err err = {0};
    enum rc rc = flush(s, &err);
    if (rc == RC_CANCELED) {
        log_job(LOG_LEVEL_ERROR, s->id, "%s", err.msg);
        attempt_stop(s, WHY_Lost, true, err.msg);
        if (job_state_ended(s->rec.now.state) && s->phase != PHASE_CLOSING)
            sup_on(s, PHASE_ON_FINISH);
    } else if (rc) {
        log_job(LOG_LEVEL_WARN, s->id, "%s", err.msg);
    }
    if (s->phase == PHASE_CLOSING && !s->rec.pending.n && !attempt_alive(s))
        loop_stop(s->loop);
}

void sup_warn(struct sup *s, const char *text)
{
    struct job_record_note note = {.worker = -1, .message = text};
    enum rc rc = job_record_add(&s->rec, EV_Warning, &note, NULL);
    (void)rc; /* can always follow */
}

void sup_waits(struct sup *s, const char *text)
{
    struct job_record_note note = {.worker = -1, .message = text};
    if (strncmp(s->rec.now.message, text, sizeof(s->rec.now.message) - 1) == 0)
        return;
    enum rc rc = job_record_add(&s->rec, EV_Waiting, &note, NULL);
    (void)rc; /* can always follow */
    sup_flush(s);
}

const char *const *sup_masks(struct sup *s)
{
    if (!s->masks.n) {
        for (size_t i = 0; i < s->secrets.list.n; i++)
            VEC_PUSH(&s->masks, s->secrets.list.at[i].value);
        VEC_PUSH(&s->masks, NULL);
    }
    return s->masks.at;
}

/* Any state from which the wanted one cannot be reached directly is passed through. */
static void move(struct sup *s, enum job_state to, enum job_reason why, int code,
                 int signal, const char *text)
{
    struct err err = {0};
    if (job_record_move(&s->rec, to, why, code, signal, text, &err))
        log_job(LOG_LEVEL_ERROR, s->id, "%s", err.msg);
}

void sup_finish(struct sup *s, enum job_state to, enum job_reason why, int code,
                int signal, const char *text)
{
    if (!sup_on(s, PHASE_ON_FINISH))
        return;
    move(s, to, why, code, signal, text);
    sup_flush(s);
}

static void on_next_attempt(void *arg)
{
    struct sup *s = arg;
    if (s->phase != PHASE_WAITING)
        return;
    move(s, JOB_EnvPreparing, WHY_None, -1, 0, "");
    sup_flush(s);
    prepare_start(s);
}

static void schedule_restart(struct sup *s, enum job_reason why, const char *text)
{
    if (!sup_on(s, PHASE_ON_RETRY))
        return;
    double delay = job_retry_delay(&s->spec, s->rec.now.restarts);
    char *data = mem_printf("{\"delay_s\": %g}", delay);
    struct job_record_note note = {
        .reason = why, .worker = -1, .message = text, .data = data};
    move(s, JOB_Restarting, why, -1, 0, text);
    enum rc rc = job_record_add(&s->rec, EV_RestartScheduled, &note, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
    sup_flush(s);
    loop_timer_start(s->loop, &s->later, (int64_t)(delay * 1e9), 0, on_next_attempt, s);
}

/* It made room: it waits in the queue again, without a supervisor. */
static void requeue(struct sup *s, const char *text)
{
    if (!sup_on(s, PHASE_ON_FINISH))
        return;
    char *data = mem_printf("{\"by\": \"%s\"}", s->rec.now.preempt_by);
    struct job_record_note note = {
        .reason = WHY_Preempted, .worker = -1, .message = text, .data = data};
    enum rc rc = job_record_add(&s->rec, EV_Preempted, &note, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
    move(s, JOB_Queuing, WHY_Preempted, -1, 0, text);
    sup_flush(s);
}

void sup_attempt_failed(struct sup *s, enum job_reason why, int code, int signal,
                        const char *text)
{
    if (why == WHY_Preempted && s->rec.now.preempt && !s->rec.now.stop) {
        requeue(s, text);
        return;
    }
    if (s->rec.now.stop) {
        if (s->rec.now.state != JOB_Stopping)
            move(s, JOB_Stopping, WHY_UserStopped, -1, 0, "");
        sup_finish(s, JOB_Stopped, WHY_UserStopped, code, signal, "stopped on request");
        return;
    }
    if (job_retry_wanted(&s->spec, why, code, signal, s->rec.now.restarts))
        schedule_restart(s, why, text);
    else
        sup_finish(s, JOB_Failed, why, code, signal, text);
}

/* The worker whose end tells most: the first that failed, by itself as far as one can
 * tell.
 */
static const struct sup_worker *culprit(const struct sup *s)
{
    const struct sup_worker *found = NULL;
    for (int64_t i = 0; i < s->n_workers; i++) {
        const struct sup_worker *w = &s->workers[i];
        if (w->first || w->exit.out_of_memory)
            return w;
        bool bad = w->over && (w->exit.code != 0 || w->unseen);
        /* One that was only told to stop is no reason. */
        bool told = w->exit.signal == SIGTERM || w->exit.signal == SIGKILL;
        if (bad && (!found || (!told && (found->exit.signal == SIGTERM ||
                                         found->exit.signal == SIGKILL))))
            found = w;
    }
    return found;
}

static void on_sent(void *arg, struct proc_exit exit)
{
    struct sup *s = arg;
    char why[400], text[600];
    proc_destroy(s->helper);
    s->helper = NULL;
    enum job_reason reason = copies_end(s, exit.code == 0, why, sizeof(why));
    if (reason == WHY_None) {
        sup_finish(s, JOB_Succeeded, WHY_None, 0, 0, "");
        return;
    }
    if (s->rec.now.stop)
        snprintf(why, sizeof(why), "stopped while outputs were sent");
    snprintf(text, sizeof(text), "%s; all files are still in %.100s/output", why, s->ml);
    if (s->rec.now.stop)
        sup_finish(s, JOB_Stopped, WHY_UserStopped, 0, 0, text);
    else
        sup_finish(s, JOB_Failed, reason, 0, 0, text);
}

static void succeed(struct sup *s)
{
    struct job_manifest_total total = {0};
    struct err err = {0};
    char *path = fs_join(s->dir, "outputs.json");
    enum rc rc = job_manifest_write(s->ml, &s->channels, path, &total, &err);
    if (!rc && total.files) {
        char *data = mem_printf("{\"files\": %jd, \"bytes\": %jd, \"manifest\": "
                                "\"outputs.json\"}",
                                (intmax_t)total.files, (intmax_t)total.bytes);
        struct job_record_note note = {.worker = -1, .data = data};
        rc = job_record_add(&s->rec, EV_OutputsReady, &note, &err);
        mem_free(data);
    }
    mem_free(path);
    bool send = !rc && copies_wanted(s, true);
    if (send && sup_on(s, PHASE_ON_SEND)) {
        rc = copies_start(s, true, on_sent, &err);
        sup_flush(s);
    }
    if (rc)
        sup_finish(s, JOB_Failed, WHY_OutputFailed, 0, 0, err.msg);
    else if (!send)
        sup_finish(s, JOB_Succeeded, WHY_None, 0, 0, "");
}

static void describe_end(const struct sup *s, const struct sup_worker *w,
                         enum job_reason why, char *out, size_t size)
{
    char words[PROC_WORDS_SIZE];
    if (w->exit.text[0]) { /* the backend knows best */
        if (s->n_workers > 1)
            snprintf(out, size, "worker %jd: %s", (intmax_t)w->b.index, w->exit.text);
        else
            snprintf(out, size, "%s", w->exit.text);
        return;
    }
    proc_exit_words((struct proc_exit){.code = w->exit.code, .signal = w->exit.signal},
                    words);
    if (why == WHY_OutOfMemory)
        snprintf(out, size, "worker %jd: %s, which needed more than %jd MiB of memory",
                 (intmax_t)w->b.index, words, (intmax_t)(w->b.role->memory >> 20));
    else if (w->unseen)
        snprintf(out, size, "worker %jd: its process was killed from outside",
                 (intmax_t)w->b.index);
    else
        snprintf(out, size, "worker %jd: %s%s", (intmax_t)w->b.index, words,
                 why == WHY_LaunchFailure
                     ? " (the command was not found or not executable)"
                     : "");
}

/* Workers were started, and nothing says where they are: whatever is found is ended. */
static void handles_gone(struct sup *s)
{
    backend_call_clean(&s->job, -1, true);
    backend_shim_sweep(s->id, s->rec.now.attempt, -1);
    sup_attempt_failed(s, WHY_NodeFailure, -1, 0,
                       "the handles of its workers are gone; what was found of them was "
                       "ended");
}

void sup_attempt_over(struct sup *s)
{
    char text[JOB_MESSAGE_SIZE];
    const struct sup_worker *w = culprit(s);
    int code = w ? w->exit.code : 0, sig = w ? w->exit.signal : 0;
    watch_logs(s, true);
    watch_write(s);
    /* Also when all ended well: podman run ends with 0 when it is stopped while it makes
     * its container, and leaves that. */
    if (s->n_workers && (!attempt_good(s) || s->ending != WHY_None))
        backend_call_clean(&s->job, -1, false);
    if (s->ending == WHY_LaunchFailure || s->ending == WHY_BackendFault) {
        snprintf(text, sizeof(text), "%.290s", s->ending_text);
        sup_attempt_failed(s, s->ending, s->job.launch_status, 0, text);
    } else if (s->n_workers && attempt_good(s) && s->ending == WHY_None) {
        succeed(s);
    } else if (s->ending != WHY_None) {
        snprintf(text, sizeof(text), "%.290s", s->ending_text);
        sup_attempt_failed(s, s->ending, code, sig, text);
    } else if (w) {
        enum job_reason why = attempt_reason(w);
        describe_end(s, w, why, text, sizeof(text));
        sup_attempt_failed(s, why, code, sig, text);
    } else if (s->rec.now.stop) {
        sup_attempt_failed(s, WHY_UserStopped, -1, 0, "stopped before it started");
    } else {
        handles_gone(s);
    }
}

static void nothing(struct sup *s)
{
}

static void stop_workers(struct sup *s)
{
    attempt_stop(s, WHY_UserStopped, s->rec.now.force, "stopped on request");
}

static void stop_harder(struct sup *s)
{
    if (s->rec.now.force)
        attempt_stop(s, WHY_UserStopped, true, "stopped on request");
}

static void stop_waiting(struct sup *s)
{
    loop_timer_stop(&s->later);
    sup_attempt_failed(s, WHY_UserStopped, -1, 0, "");
}

bool sup_on(struct sup *s, enum backend_phase_event e)
{
    static void (*const actions[])(struct sup *) = {
        [PHASE_DO_nothing] = nothing,
        [PHASE_DO_cancel_helper] = sup_helper_cancel,
        [PHASE_DO_stop_workers] = stop_workers,
        [PHASE_DO_stop_harder] = stop_harder,
        [PHASE_DO_stop_waiting] = stop_waiting,
    };
    enum backend_phase_action action;
    enum backend_phase from = s->phase;
    if (!backend_phase_next(from, e, &s->phase, &action)) {
        log_job(LOG_LEVEL_ERROR, s->id, "%s cannot happen while %s",
                backend_phase_event_name(e), backend_phase_name(from));
        return false;
    }
    actions[action](s);
    return true;
}

static void act_on_stop(struct sup *s)
{
    if (s->rec.now.state != JOB_Stopping && !job_state_ended(s->rec.now.state))
        move(s, JOB_Stopping, WHY_UserStopped, -1, 0, "");
    sup_on(s, PHASE_ON_STOP);
}

static void act_on_preemption(struct sup *s)
{
    char text[100];
    snprintf(text, sizeof(text), "made room for job %s", s->rec.now.preempt_by);
    if (s->phase == PHASE_RUNNING || s->phase == PHASE_STARTING) {
        attempt_stop(s, WHY_Preempted, false, text);
    } else if (s->phase == PHASE_WAITING) {
        loop_timer_stop(&s->later);
        requeue(s, text);
    }
}

/* What others asked for since we last looked. */
static void act_on_requests(struct sup *s)
{
    const struct job_status *st = &s->rec.now;
    if (job_state_ended(st->state))
        return;
    if (s->phase == PHASE_OPENING) {
        opening_stop(s);
        return;
    }
    if (st->stop && (st->state != JOB_Stopping || st->force))
        act_on_stop(s);
    else if (st->preempt && !st->stop && s->ending == WHY_None)
        act_on_preemption(s);
    if (s->phase == PHASE_RUNNING && st->suspend != s->suspended) {
        attempt_pause(s, st->suspend);
        move(s, st->suspend ? JOB_Suspended : JOB_Running,
             st->suspend ? WHY_UserSuspended : WHY_WorkersStarted, -1, 0, "");
    }
    sup_flush(s);
}

static void look(struct sup *s)
{
    struct err err = {0};
    if (job_record_refresh(&s->rec, &err))
        log_job(LOG_LEVEL_WARN, s->id, "%s", err.msg);
    else
        act_on_requests(s);
}

static void on_control(void *arg, int fd, unsigned events)
{
    job_wake_drain(fd);
    look(arg);
}

/* Again and again while its backend says that it runs: it may never be alive twice. */
static void destroy_workers(struct sup *s)
{
    char text[200];
    for (int64_t i = 0; i < s->n_workers; i++) {
        struct sup_worker *w = &s->workers[i];
        if (!w->alive)
            continue;
        snprintf(
            text, sizeof(text),
            "worker %jd does not end: the backend %s says that it still runs, though "
            "it was destroyed",
            (intmax_t)i, s->job.ops->name);
        if (w->destroyed == 1)
            sup_waits(s, text);
        w->destroyed++;
        attempt_signal(s, w, BACKEND_DESTROY);
    }
}

static void on_tick(void *arg)
{
    struct sup *s = arg;
    s->ticks++;
    if (s->phase == PHASE_STARTING || s->phase == PHASE_RUNNING ||
        s->phase == PHASE_ENDING)
        watch_logs(s, false);
    watch_write(s);
    if (attempt_alive(s))
        attempt_refresh(s);
    for (int64_t i = 0; i < s->n_workers; i++)
        attempt_settle(s, &s->workers[i]);
    attempt_again(s);
    if (s->phase == PHASE_ENDING && !attempt_alive(s))
        sup_attempt_over(s); /* only one that was to start again was left */
    if (s->kill_at && clock_mono_ns() > s->kill_at && attempt_alive(s)) {
        destroy_workers(s);
        s->kill_at = clock_mono_ns() + DESTROY_NS;
    }
    if (s->phase == PHASE_RUNNING &&
        (s->ticks % TICKS_PER_USE == 5 ||
         (s->spec.total_mem && s->ticks % TICKS_PER_LOOK == 0)))
        watch_use(s);
    watch_limits(s);
    copies_tick(s);
    if (s->ticks % TICKS_PER_LOOK == 0)
        look(s);
    sup_flush(s);
}

/* Did a worker end behind the job's time limit? Then it was told to, by a supervisor that
 * is dead now.
 */
static bool past_its_time(const struct sup *s)
{
    int64_t limit = s->rec.now.started + (int64_t)(s->spec.timeout_s * 1e9);
    for (int64_t i = 0; i < s->n_workers; i++)
        if (s->spec.timeout_s > 0 && s->rec.now.started && s->workers[i].over &&
            s->workers[i].exit.ended > limit)
            return true;
    return false;
}

/* Continues where another supervisor was killed. */
static void take_over(struct sup *s, int64_t found)
{
    bool told = s->rec.now.state == JOB_Stopping;
    struct job_record_note note = {.worker = -1, .message = "a new supervisor took over"};
    enum rc rc = job_record_add(&s->rec, EV_Reattached, &note, NULL);
    (void)rc; /* can always follow */
    s->last_sign = clock_mono_ns();
    for (int64_t i = 0; i < s->n_workers; i++)
        if (!s->workers[i].alive && (found == s->n_workers || s->workers[i].known))
            attempt_take_end(s, &s->workers[i]);
    if (found < s->n_workers && !told && s->rec.now.state != JOB_Running) {
        /* Killed while it started them: those are stopped, and it begins again. */
        destroy_workers(s);
        backend_call_clean(&s->job, -1, true);
        move(s, JOB_Restarting, WHY_NodeFailure, -1, 0,
             "the supervisor was killed while workers started");
        move(s, JOB_EnvPreparing, WHY_None, -1, 0, "");
        sup_flush(s);
        prepare_start(s);
        return;
    }
    if (past_its_time(s)) {
        s->ending = WHY_Timeout;
        snprintf(s->ending_text, sizeof(s->ending_text), "ran longer than %g s",
                 s->spec.timeout_s);
    }
    s->suspended = s->rec.now.state == JOB_Suspended;
    if (told)
        stop_workers(s);
    else if (s->rec.now.state == JOB_EnvPreparing)
        attempt_started(s);
    else
        sup_on(s, PHASE_ON_STARTED);
    attempt_watch(s);
    sup_flush(s);
    if (!attempt_alive(s))
        sup_attempt_over(s);
    else
        for (int64_t i = 0; i < s->n_workers && s->phase == PHASE_RUNNING; i++)
            if (s->workers[i].over && s->workers[i].exit.code != 0 &&
                !attempt_alone(s, &s->workers[i]))
                attempt_stop(s, WHY_None, false, "");
}

/* Channels are needed at the end also when workers run already, secrets where the log is
 * brought here.
 */
static void read_again(struct sup *s)
{
    struct err err = {0};
    char *path = fs_join(s->dir, "secrets.json");
    if (job_channels_resolve(s->p, s->rec.row.owner, &s->spec, s->spec.s->workdir, s->dir,
                             &s->channels, &err))
        log_job(LOG_LEVEL_WARN, s->id, "%s", err.msg);
    if (s->job.ops->logs && job_secrets_read(&s->spec, path, &s->secrets, &err))
        log_job(LOG_LEVEL_WARN, s->id, "%s", err.msg);
    mem_free(path);
}

static void begin(void *arg)
{
    struct sup *s = arg;
    int64_t found = 0;
    if (!opening_try(s, begin))
        return;
    switch (s->rec.now.state) {
    case JOB_EnvPreparing:
    case JOB_Running:
    case JOB_Suspended:
    case JOB_Stopping:
    case JOB_Unknown:
        found = attempt_find(s);
        if (s->rec.now.state != JOB_EnvPreparing || found) {
            read_again(s);
            take_over(s, found);
        } else {
            prepare_start(s);
        }
        break;
    case JOB_Restarting: {
        int64_t left = s->rec.now.restart_at - clock_wall_ns();
        s->job.attempt = s->rec.now.attempt;
        backend_call_clean(&s->job, -1, true);
        sup_on(s, PHASE_ON_RETRY);
        loop_timer_start(s->loop, &s->later, left > 0 ? left : 0, 0, on_next_attempt, s);
        break;
    }
    default:
        loop_stop(s->loop);
        return;
    }
    act_on_requests(s);
}

/* What nobody needs once the job has ended. */
static void clean_up(struct sup *s)
{
    static const char *const gone[] = {"secrets.json",
                                       "access.json",
                                       "ml/input/credential",
                                       "run",
                                       "control",
                                       "root",
                                       CONFINE_READY,
                                       "venv",
                                       "requirements.txt",
                                       "remote",
                                       "fetched",
                                       "fetch.json",
                                       "fetch.json.state",
                                       "crashes.json",
                                       "send.json",
                                       "send.json.state",
                                       "tmp"};
    if (!job_state_ended(s->rec.known.state))
        return;
    for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
        char *path = fs_join(s->dir, gone[i]);
        enum rc rc = fs_remove_all(path, NULL);
        (void)rc; /* what is left is harmless */
        mem_free(path);
    }
}

/* What it says will not change: a job that cannot be understood has failed. */
static enum rc read_spec(struct sup *s, const char *text, struct err *err)
{
    enum job_reason why = WHY_Rejected;
    enum rc rc = job_spec_from_json(text, &s->spec, err);
    if (!rc)
        rc = job_metric_open(&s->spec, &s->metrics, err);
    if (!rc) {
        rc = opening_find(s, err);
        why = rc && err->code == E3208 ? WHY_BackendFault : WHY_BackendUnavailable;
    }
    struct err later = {0};
    if (rc && opening_refuse(s, why, err->msg, &later) == RC_OK)
        log_job(LOG_LEVEL_ERROR, s->id, "%s", err->msg);
    return rc;
}

static enum rc open_all(struct sup *s, struct err *err)
{
    char *text = NULL, *control = fs_join(s->dir, "control");
    enum rc rc = job_record_open(s->p->store, s->id, &s->rec, err);
    if (!rc)
        rc = store_spec(s->p->store, s->id, &text, err);
    if (!rc)
        rc = read_spec(s, text, err);
    if (!rc)
        rc = loop_create(1, &s->loop, err);
    if (!rc) {
        s->control = job_wake_open(control, err);
        rc = s->control < 0 ? RC_IO
                            : loop_fd_start(s->loop, &s->control_watch, s->control,
                                            LOOP_READ, on_control, s, err);
    }
    mem_free(control);
    mem_free(text);
    return rc;
}

static void close_all(struct sup *s)
{
    loop_timer_stop(&s->tick);
    loop_timer_stop(&s->later);
    loop_fd_stop(&s->control_watch);
    if (s->helper)
        loop_child_stop(&s->helper_watch);
    proc_destroy(s->helper);
    confine_helper_release(s);
    backend_disk_look_end(&s->disk);
    if (s->job.ops)
        confine_release(&s->job);
    attempt_release(s);
    if (s->job.ops)
        backend_call_close(&s->job, job_state_ended(s->rec.known.state));
    backend_calling_close(s->job.calling);
    if (s->loop)
        loop_destroy(s->loop);
    if (s->control >= 0)
        close(s->control);
    backend_gpus_close(s->gpus);
    job_metric_close(s->metrics);
    job_secrets_release(&s->secrets);
    job_contract_mounts_release(&s->mounts);
    job_channels_release(&s->channels);
    job_spec_release(&s->spec);
    VEC_RELEASE(&s->masks);
    VEC_RELEASE(&s->points);
    arena_release(&s->points_arena);
    backend_thin_release(&s->thin);
    clean_up(s);
    job_record_release(&s->rec);
    mem_free(s->ml);
    mem_free(s->dir);
    if (s->lock >= 0)
        close(s->lock);
}

/* A job that is given up needs less, so that less can crash. */
static enum rc give_up(struct sup *s, const struct backend_crash *c, struct err *err)
{
    char *text = NULL;
    enum rc rc = job_record_open(s->p->store, s->id, &s->rec, err);
    if (rc || job_state_ended(s->rec.now.state))
        return rc;
    if (c->tries == 0)
        rc = store_spec(s->p->store, s->id, &text, err);
    if (!rc && c->tries == 0)
        rc = read_spec(s, text, err);
    mem_free(text);
    if (rc && job_state_ended(s->rec.known.state))
        return rc;
    return giveup_run(s, c, err);
}

enum rc backend_supervisor_run(const struct job_place *p, const char *id, struct err *err)
{
    struct sup s = {.p = p, .id = id, .lock = -1, .control = -1, .last_step = -1};
    prctl(PR_SET_NAME, id); /* by it the agent knows the process */
    s.dir = job_place_dir(p, id);
    s.ml = fs_join(s.dir, "ml");
    char *lock = fs_join(s.dir, "lock");
    s.lock = job_lock_take(lock);
    mem_free(lock);
    if (s.lock < 0) { /* somebody else does it */
        close_all(&s);
        return RC_OK;
    }
    struct backend_crash crash;
    backend_crash_read(s.dir, &crash);
    bool over = backend_crash_over(&crash);
    enum rc rc = over ? give_up(&s, &crash, err) : open_all(&s, err);
    if (s.job.isolation)
        umask(022); /* the account of the job reads what is staged for it */
    if (!rc && !over && !job_state_ended(s.rec.now.state)) {
        loop_timer_start(s.loop, &s.tick, SUP_TICK_NS, SUP_TICK_NS, on_tick, &s);
        loop_post(s.loop, begin, &s);
        rc = loop_run(s.loop, err);
    }
    if (rc && job_state_ended(s.rec.known.state))
        rc = RC_OK; /* it cannot be begun, which is recorded */
    close_all(&s);
    return rc;
}
