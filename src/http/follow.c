/* SPDX-License-Identifier: Apache-2.0 */
/* A follower reads its file by itself, on a thread of the server, for as long as there is
 * something to read. Then its connection is suspended and it waits in the list of its
 * topic (job, log, attempt). The thread here compares the size of each topic's file with
 * what its followers have read, and wakes those that are behind. Whether a topic is over
 * is looked at before the file is read, so what was written last is never missed. Every
 * other second it looks whether followers may still see the job, and ends the streams of
 * those who may not.
 */
#include "http/follow.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "job/log_read.h"
#include "job/state.h"

#define TICK_NS 50000000
#define STATE_EVERY 6   /* ticks between looks at the store */
#define RIGHTS_EVERY 40 /* and at who may */
#define BEAT_NS (15 * CLOCK_SECOND)
#define CHUNK 16384
#define EVENT_MAX (CHUNK * 8)

struct topic {
    char job[JOB_ID_SIZE], log[12];
    int64_t attempt;
    char *path; /* owned */
    int64_t size;
    bool over;      /* the file grows no more */
    bool ended;     /* and the job has ended */
    int64_t latest; /* attempt of the job */
    char state[24];
    struct follower *first;
    struct topic *next;
};

struct follower {
    struct http_follows *all;
    struct MHD_Connection *conn;
    struct topic *topic;
    struct follower *next, *prev; /* of the topic */
    int64_t offset, since;        /* since: waits from then on */
    bool waiting, fixed, done, revoked;
    struct http_rights_case who;
    struct buf out; /* event text that is being sent */
    size_t sent;
};

struct http_follows {
    const struct job_place *place;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below, and every topic and list */
    pthread_cond_t ended;
    struct topic *topics;
    int64_t n;
    bool stop, closing;
};

char *http_follow_path(const struct job_place *p, const char *job, const char *log,
                       int64_t attempt)
{
    int64_t worker = 0;
    if (strcmp(log, "prepare") == 0) {
        char *name = mem_printf("logs/prepare.%jd.log", (intmax_t)attempt);
        char *path = job_place_file(p, job, name);
        mem_free(name);
        return path;
    }
    if (!str_to_i64(str_c(log), &worker))
        worker = 0;
    return job_place_log(p, job, worker, attempt);
}

/* The lock is held. */
static struct topic *topic_find(struct http_follows *f, const char *job, const char *log,
                                int64_t attempt)
{
    for (struct topic *t = f->topics; t; t = t->next)
        if (t->attempt == attempt && strcmp(t->job, job) == 0 && strcmp(t->log, log) == 0)
            return t;
    struct topic *t = mem_calloc(1, sizeof(*t));
    snprintf(t->job, sizeof(t->job), "%s", job);
    snprintf(t->log, sizeof(t->log), "%s", log);
    t->attempt = attempt;
    t->path = http_follow_path(f->place, job, log, attempt);
    t->next = f->topics;
    f->topics = t;
    return t;
}

static void topic_drop(struct http_follows *f, struct topic *t)
{
    for (struct topic **at = &f->topics; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    mem_free(t->path);
    mem_free(t);
}

static void follow_join(struct follower *w, struct topic *t)
{
    w->topic = t;
    w->prev = NULL;
    w->next = t->first;
    if (t->first)
        t->first->prev = w;
    t->first = w;
}

static void follow_leave(struct follower *w)
{
    struct topic *t = w->topic;
    if (w->next)
        w->next->prev = w->prev;
    if (w->prev)
        w->prev->next = w->next;
    else
        t->first = w->next;
    if (!t->first)
        topic_drop(w->all, t);
}

static void follow_wake(struct follower *w)
{
    w->waiting = false;
    MHD_resume_connection(w->conn);
}

static void look_at_file(struct topic *t, int64_t now, bool closing)
{
    struct stat st;
    if (stat(t->path, &st) == 0)
        t->size = st.st_size;
    for (struct follower *w = t->first; w; w = w->next)
        if (w->waiting && (closing || t->over || w->revoked || t->size > w->offset ||
                           now - w->since > BEAT_NS))
            follow_wake(w);
}

/* Without the lock: the store may take a while. */
static bool look_at_job(struct http_follows *f, const char *id, struct store_job *out,
                        struct store_jobs *jobs)
{
    if (store_get(f->place->store, id, jobs, NULL))
        return false;
    *out = jobs->at[0];
    return true;
}

static void note_state(struct http_follows *f, const char *id, const struct store_job *j)
{
    enum job_state state = JOB_Unknown;
    bool ended = job_state_find(j->state, &state) && job_state_ended(state);
    for (struct topic *t = f->topics; t; t = t->next)
        if (strcmp(t->job, id) == 0) {
            t->latest = j->attempt;
            snprintf(t->state, sizeof(t->state), "%s", j->state);
            t->ended = ended;
            t->over = ended || j->attempt > t->attempt;
        }
}

/* One question per job that is followed. */
static void look_at_jobs(struct http_follows *f)
{
    char(*ids)[JOB_ID_SIZE] = NULL;
    size_t n = 0;
    for (struct topic *t = f->topics; t; t = t->next)
        n++;
    ids = mem_calloc(n + 1, sizeof(*ids));
    n = 0;
    for (struct topic *t = f->topics; t; t = t->next) {
        size_t i = 0;
        while (i < n && strcmp(ids[i], t->job) != 0)
            i++;
        if (i == n && !t->over)
            memcpy(ids[n++], t->job, JOB_ID_SIZE);
    }
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < n; i++) {
        struct store_jobs jobs = {0};
        struct store_job j;
        if (look_at_job(f, ids[i], &j, &jobs)) {
            pthread_mutex_lock(&f->lock);
            note_state(f, ids[i], &j);
            pthread_mutex_unlock(&f->lock);
        }
        store_jobs_release(&jobs);
    }
    mem_free(ids);
    pthread_mutex_lock(&f->lock);
}

/* A store that does not answer takes nobody's right away. */
static void look_at_rights(struct http_follows *f)
{
    struct http_rights r;
    pthread_mutex_unlock(&f->lock);
    enum rc rc = http_rights_open(f->place->store, &r, NULL);
    pthread_mutex_lock(&f->lock);
    for (struct topic *t = f->topics; t && !rc; t = t->next)
        for (struct follower *w = t->first; w; w = w->next)
            w->revoked |= !http_rights_sees(&r, &w->who);
    http_rights_close(&r);
}

static void *follow_watch(void *arg)
{
    struct http_follows *f = arg;
    pthread_mutex_lock(&f->lock);
    for (unsigned i = 0; !f->stop; i++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TICK_NS;
        if (until.tv_nsec >= CLOCK_SECOND) {
            until.tv_sec++;
            until.tv_nsec -= CLOCK_SECOND;
        }
        pthread_cond_timedwait(&f->ended, &f->lock, &until);
        if (f->topics && i % STATE_EVERY == 0)
            look_at_jobs(f);
        if (f->topics && i % RIGHTS_EVERY == 0)
            look_at_rights(f);
        for (struct topic *t = f->topics; t; t = t->next)
            look_at_file(t, clock_mono_ns(), f->closing);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* Bytes of `data` that end in a whole character. */
static size_t whole(const char *data, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)data[n - back];
        if (c < 0x80)
            return n;
        if (c >= 0xc0) /* the first byte of a sequence */
            return utf8_len(data + n - back, back) ? n : n - back;
    }
    return n;
}

/* What the file holds behind the offset becomes an event. True when there was something.
 */
/* An event for what was dropped; what follows comes with the next. */
static void tell_gap(struct follower *w, int64_t gap)
{
    const struct topic *t = w->topic;
    struct buf text;
    buf_init(&text, 200);
    job_log_gap(gap, &text);
    buf_clear(&w->out);
    w->sent = 0;
    buf_printf(&w->out,
               "id: %jd.%jd\nevent: log\ndata: {\"attempt\":%jd,\"offset\":%jd,"
               "\"text\":",
               (intmax_t)t->attempt, (intmax_t)w->offset, (intmax_t)t->attempt,
               (intmax_t)w->offset);
    buf_json_str(&w->out, buf_str(&text), text.n);
    buf_puts(&w->out, "}\n\n");
    buf_release(&text);
}

static bool read_more(struct follower *w, bool over)
{
    char block[CHUNK];
    const struct topic *t = w->topic; /* ours while we are in it */
    int fd = open(t->path, O_RDONLY | O_CLOEXEC);
    int64_t gap = 0;
    ssize_t got = fd < 0 ? 0 : job_log_read(fd, block, sizeof(block), &w->offset, &gap);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return false;
    if (gap) {
        tell_gap(w, gap);
        return true;
    }
    size_t n =
        over && (size_t)got < sizeof(block) ? (size_t)got : whole(block, (size_t)got);
    if (n == 0)
        return false;
    buf_clear(&w->out);
    w->sent = 0;
    buf_printf(&w->out,
               "id: %jd.%jd\nevent: log\ndata: {\"attempt\":%jd,\"offset\":%jd,"
               "\"text\":",
               (intmax_t)t->attempt, (intmax_t)w->offset + (intmax_t)n,
               (intmax_t)t->attempt, (intmax_t)w->offset);
    buf_json_str(&w->out, block, n);
    buf_puts(&w->out, "}\n\n");
    w->offset += (int64_t)n;
    return true;
}

/* On to the next attempt, or the last event. The lock is held. */
static void go_on(struct follower *w)
{
    struct topic *t = w->topic;
    buf_clear(&w->out);
    w->sent = 0;
    if (!w->fixed && t->latest > t->attempt) {
        struct topic *next = topic_find(w->all, t->job, t->log, t->attempt + 1);
        follow_leave(w);
        follow_join(w, next);
        w->offset = 0;
        buf_puts(&w->out, ": next attempt\n\n");
        return;
    }
    buf_printf(&w->out, "event: end\ndata: {\"state\":\"%s\"}\n\n", t->state);
    w->done = true;
}

/* Something to send is in w->out afterwards, or the follower waits (false). */
static bool follow_fill(struct follower *w)
{
    struct http_follows *f = w->all;
    pthread_mutex_lock(&f->lock);
    bool over = w->topic->over, closing = f->closing || w->revoked;
    pthread_mutex_unlock(&f->lock);
    if (!closing && read_more(w, over))
        return true;
    pthread_mutex_lock(&f->lock);
    bool beat = w->since && clock_mono_ns() - w->since > BEAT_NS;
    buf_clear(&w->out);
    w->sent = 0;
    if (closing)
        w->done = true;
    else if (over)
        go_on(w);
    else if (beat)
        buf_puts(&w->out, ": still here\n\n");
    bool wait = !closing && !over && !beat && !f->closing;
    w->since = wait ? clock_mono_ns() : 0;
    if (wait) {
        MHD_suspend_connection(w->conn);
        w->waiting = true;
    }
    pthread_mutex_unlock(&f->lock);
    return !wait;
}

static ssize_t read_event(void *arg, uint64_t pos, char *to, size_t max)
{
    struct follower *w = arg;
    if (w->sent == w->out.n) {
        if (w->done)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (!follow_fill(w))
            return 0; /* suspended */
        if (w->sent == w->out.n)
            return w->done ? MHD_CONTENT_READER_END_OF_STREAM : 0;
    }
    size_t n = w->out.n - w->sent < max ? w->out.n - w->sent : max;
    memcpy(to, w->out.p + w->sent, n);
    w->sent += n;
    return (ssize_t)n;
}

static void close_follower(void *arg)
{
    struct follower *w = arg;
    struct http_follows *f = w->all;
    pthread_mutex_lock(&f->lock);
    follow_leave(w);
    f->n--;
    pthread_mutex_unlock(&f->lock);
    buf_release(&w->out);
    mem_free(w);
}

/* The lock is held. */
static int64_t count_of(const struct http_follows *f, const char *user)
{
    int64_t n = 0;
    for (const struct topic *t = f->topics; t; t = t->next)
        for (const struct follower *w = t->first; w; w = w->next)
            n += strcmp(w->who.user, user) == 0;
    return n;
}

enum rc http_follows_open(struct http_follows *f, struct MHD_Connection *conn,
                          const struct http_follow_start *start,
                          struct MHD_Response **out, struct err *err)
{
    pthread_mutex_lock(&f->lock);
    int64_t have = count_of(f, start->who.user);
    pthread_mutex_unlock(&f->lock);
    if (have >= HTTP_STREAMS_MAX)
        return err_coded(err, RC_INVAL, E5011, "you follow %d logs already; close some",
                         HTTP_STREAMS_MAX);
    struct follower *w = mem_calloc(1, sizeof(*w));
    *w = (struct follower){.all = f,
                           .conn = conn,
                           .offset = start->offset,
                           .fixed = start->fixed,
                           .who = start->who};
    buf_init(&w->out, EVENT_MAX);
    buf_puts(&w->out, "retry: 2000\n\n");
    pthread_mutex_lock(&f->lock);
    follow_join(w, topic_find(f, start->job, start->log, start->attempt));
    f->n++;
    pthread_mutex_unlock(&f->lock);
    struct MHD_Response *r = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, CHUNK, read_event, w, close_follower);
    if (!r) {
        close_follower(w);
        return err_set(err, RC_NOMEM, "out of memory for an answer");
    }
    *out = r;
    return RC_OK;
}

enum rc http_follows_create(const struct job_place *place, struct http_follows **out,
                            struct err *err)
{
    struct http_follows *f = mem_calloc(1, sizeof(*f));
    f->place = place;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->ended, NULL);
    int failed = pthread_create(&f->thread, NULL, follow_watch, f);
    if (failed) {
        pthread_cond_destroy(&f->ended);
        pthread_mutex_destroy(&f->lock);
        mem_free(f);
        return err_sys(err, failed, "cannot start a thread");
    }
    *out = f;
    return RC_OK;
}

void http_follows_end(struct http_follows *f)
{
    pthread_mutex_lock(&f->lock);
    f->closing = true;
    for (struct topic *t = f->topics; t; t = t->next)
        look_at_file(t, clock_mono_ns(), true);
    pthread_mutex_unlock(&f->lock);
}

void http_follows_destroy(struct http_follows *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_signal(&f->ended);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->ended);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
}

int64_t http_follows_count(struct http_follows *f)
{
    pthread_mutex_lock(&f->lock);
    int64_t n = f->n;
    pthread_mutex_unlock(&f->lock);
    return n;
}
