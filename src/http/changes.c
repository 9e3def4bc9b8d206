/* SPDX-License-Identifier: Apache-2.0 */
/* The thread looks a few times a second at numbers that change with the lists: of the store in one
 * query, of directories less often. A listener whose number is old is resumed and reads the
 * new one; the others stay suspended and cost nothing. Every other second it looks whether
 * their tokens still count, and ends the answers of those that do not.
 */
#include "http/changes.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "http/rights.h"
#include "http/training.h"
#include "job/state.h"

#define TICK_NS 250000000
#define DIRS_EVERY 4   /* ticks between looks at directories */
#define RIGHTS_EVERY 8 /* and at who may */
#define BEAT_NS (15 * CLOCK_SECOND)
#define LAST_NS (300 * CLOCK_SECOND)
#define EVENT_MAX 1024

enum list { LIST_JOBS, LIST_RECORDS, LIST_EXPERIMENTS, LIST_RUNS, LISTS };
static const char *const names[LISTS] = {"jobs", "records", "experiments", "runs"};

struct listener {
    struct http_changes *all;
    struct MHD_Connection *conn;
    struct listener *next, *prev;
    bool once;
    int64_t seen; /* number of the last event that it got; 0: none */
    int64_t opened, since;
    bool waiting, done, revoked;
    char user[AUTH_NAME_SIZE], token[AUTH_NAME_SIZE];
    struct buf out;
    size_t sent;
};

struct http_changes {
    struct api *api;
    struct store *store; /* the thread's */
    struct buf live;     /* states of jobs that may still change */
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t woken;
    struct listener *first;
    int64_t n;
    int64_t number; /* of what `now` says; 0: nobody has looked yet */
    uint64_t now[LISTS];
    bool stop, closing;
};

static uint64_t fold(uint64_t h, int64_t v)
{
    return hash_xxh3_seeded(&v, sizeof(v), h);
}

/* Folders are few and their logs only grow. */
static uint64_t look_at_experiments(const char *home)
{
    struct fs_names all = {0};
    uint64_t h = 1;
    if (!home || fs_list(home, &all, NULL))
        return 0;
    for (size_t i = 0; i < all.n; i++) {
        struct stat st;
        char *log = mem_printf("%s/%s/log.jsonl", home, all.at[i]);
        if (stat(log, &st) == 0) {
            h = fold(h, (int64_t)st.st_ino);
            h = fold(h, st.st_size);
        }
        mem_free(log);
    }
    fs_names_release(&all);
    return h;
}

/* Without the lock: the store and the disk may take a while. What cannot be looked at stays. */
static void look(struct http_changes *x, unsigned tick, uint64_t now[LISTS])
{
    struct store_revision is = {0};
    if (store_revision(x->store, buf_str(&x->live), &is, NULL) == RC_OK) {
        now[LIST_JOBS] = fold(fold(fold(1, is.jobs), is.live), is.events);
        now[LIST_RECORDS] = (uint64_t)is.records;
    }
    if (tick % DIRS_EVERY)
        return;
    now[LIST_EXPERIMENTS] = look_at_experiments(x->api->o.experiments);
    now[LIST_RUNS] = http_run_list_revision(x->api->training);
}

static void wake_those_who_should(struct http_changes *x)
{
    int64_t now = clock_mono_ns();
    for (struct listener *l = x->first; l; l = l->next)
        if (l->waiting && (x->closing || l->revoked || l->seen != x->number ||
                           now - l->since > BEAT_NS || now - l->opened > LAST_NS)) {
            l->waiting = false;
            MHD_resume_connection(l->conn);
        }
}

/* A store that does not answer takes nobody's right away. The lock is held, but not while the
 * store is asked.
 */
static void look_at_rights(struct http_changes *x)
{
    struct http_rights r;
    pthread_mutex_unlock(&x->lock);
    enum rc rc = http_rights_open(x->store, &r, NULL);
    pthread_mutex_lock(&x->lock);
    for (struct listener *l = x->first; l && !rc; l = l->next)
        l->revoked |= !http_rights_holds(&r, l->token);
    http_rights_close(&r);
}

static void *changes_watch(void *arg)
{
    struct http_changes *x = arg;
    pthread_mutex_lock(&x->lock);
    for (unsigned tick = 0; !x->stop; tick++) {
        struct timespec until;
        uint64_t now[LISTS];
        while (!x->first && !x->stop)
            pthread_cond_wait(&x->woken, &x->lock);
        if (x->stop)
            break;
        memcpy(now, x->now, sizeof(now));
        bool first = x->number == 0;
        pthread_mutex_unlock(&x->lock);
        look(x, first ? 0 : tick, now);
        pthread_mutex_lock(&x->lock);
        if (first || memcmp(now, x->now, sizeof(now)) != 0) {
            memcpy(x->now, now, sizeof(now));
            x->number++;
        }
        if (tick % RIGHTS_EVERY == RIGHTS_EVERY - 1)
            look_at_rights(x);
        wake_those_who_should(x);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TICK_NS;
        if (until.tv_nsec >= CLOCK_SECOND) {
            until.tv_sec++;
            until.tv_nsec -= CLOCK_SECOND;
        }
        if (!x->stop)
            pthread_cond_timedwait(&x->woken, &x->lock, &until);
    }
    pthread_mutex_unlock(&x->lock);
    return NULL;
}

static void put_now(struct buf *out, const uint64_t now[LISTS])
{
    struct json_out j = {.out = out};
    char text[24];
    json_open(&j, NULL, '{');
    for (size_t i = 0; i < LISTS; i++) {
        snprintf(text, sizeof(text), "%jx", (uintmax_t)now[i]);
        json_put_str(&j, names[i], text);
    }
    json_close(&j, '}');
}

/* False: nothing to say, and the connection waits. */
static bool fill(struct listener *l)
{
    struct http_changes *x = l->all;
    int64_t now = clock_mono_ns();
    pthread_mutex_lock(&x->lock);
    bool beat = l->since && now - l->since > BEAT_NS, wait = false;
    buf_clear(&l->out);
    l->sent = 0;
    if (x->closing || l->revoked || now - l->opened > LAST_NS || (l->once && l->seen)) {
        l->done = true;
    } else if (x->number && l->seen != x->number) {
        buf_printf(&l->out, "id: %jd\nevent: changed\ndata: ", (intmax_t)x->number);
        put_now(&l->out, x->now);
        buf_puts(&l->out, "\n\n");
        l->seen = x->number;
    } else if (beat) {
        buf_puts(&l->out, ": still here\n\n");
    } else {
        wait = true;
    }
    l->since = wait ? now : 0;
    if (wait) {
        MHD_suspend_connection(l->conn);
        l->waiting = true;
    }
    pthread_mutex_unlock(&x->lock);
    return !wait;
}

static ssize_t read_event(void *arg, uint64_t pos, char *to, size_t max)
{
    struct listener *l = arg;
    if (l->sent == l->out.n && (l->done || !fill(l)))
        return l->done ? MHD_CONTENT_READER_END_OF_STREAM : 0;
    if (l->sent == l->out.n)
        return l->done ? MHD_CONTENT_READER_END_OF_STREAM : 0;
    size_t n = l->out.n - l->sent < max ? l->out.n - l->sent : max;
    memcpy(to, l->out.p + l->sent, n);
    l->sent += n;
    return (ssize_t)n;
}

static void close_listener(void *arg)
{
    struct listener *l = arg;
    struct http_changes *x = l->all;
    pthread_mutex_lock(&x->lock);
    if (l->next)
        l->next->prev = l->prev;
    if (l->prev)
        l->prev->next = l->next;
    else
        x->first = l->next;
    x->n--;
    pthread_mutex_unlock(&x->lock);
    buf_release(&l->out);
    mem_free(l);
}

static int64_t count_of(struct http_changes *x, const char *user)
{
    int64_t n = 0;
    pthread_mutex_lock(&x->lock);
    for (const struct listener *l = x->first; l; l = l->next)
        n += strcmp(l->user, user) == 0;
    pthread_mutex_unlock(&x->lock);
    return n;
}

enum rc http_get_changes(struct http_call *c, struct err *err)
{
    struct http_changes *x = c->api->changes;
    if (count_of(x, c->who.name) >= HTTP_STREAMS_MAX) {
        c->status = 429;
        return err_coded(err, RC_INVAL, E5011,
                         "you have %d streams of changes open already; close some",
                         HTTP_STREAMS_MAX);
    }
    struct listener *l = mem_calloc(1, sizeof(*l));
    *l = (struct listener){.all = x,
                           .conn = c->conn,
                           .once = !http_schema_bool(c->query, "follow", false),
                           .opened = clock_mono_ns()};
    snprintf(l->user, sizeof(l->user), "%s", c->who.name);
    snprintf(l->token, sizeof(l->token), "%s", c->who.token);
    buf_init(&l->out, EVENT_MAX);
    buf_puts(&l->out, "retry: 2000\n\n");
    pthread_mutex_lock(&x->lock);
    l->next = x->first;
    if (x->first)
        x->first->prev = l;
    x->first = l;
    x->n++;
    pthread_cond_signal(&x->woken);
    pthread_mutex_unlock(&x->lock);
    c->streaming = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENT_MAX,
                                                     read_event, l, close_listener);
    if (!c->streaming) {
        close_listener(l);
        return err_set(err, RC_NOMEM, "out of memory for an answer");
    }
    c->type = "text/event-stream";
    return RC_OK;
}

enum rc http_changes_create(struct api *a, struct store *store, struct http_changes **out,
                            struct err *err)
{
    struct http_changes *x = mem_calloc(1, sizeof(*x));
    x->api = a;
    x->store = store;
    buf_init(&x->live, 1024);
    for (int i = 0; i < JOB_STATES; i++)
        if (!job_state_ended((enum job_state)i))
            buf_printf(&x->live, "%s%s", x->live.n ? "," : "",
                       job_state_name((enum job_state)i));
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->woken, NULL);
    int failed = pthread_create(&x->thread, NULL, changes_watch, x);
    if (failed) {
        pthread_cond_destroy(&x->woken);
        pthread_mutex_destroy(&x->lock);
        buf_release(&x->live);
        mem_free(x);
        return err_sys(err, failed, "cannot start a thread");
    }
    *out = x;
    return RC_OK;
}

void http_changes_end(struct http_changes *x)
{
    pthread_mutex_lock(&x->lock);
    x->closing = true;
    wake_those_who_should(x);
    pthread_mutex_unlock(&x->lock);
}

int64_t http_changes_count(struct http_changes *x)
{
    pthread_mutex_lock(&x->lock);
    int64_t n = x->n;
    pthread_mutex_unlock(&x->lock);
    return n;
}

void http_changes_destroy(struct http_changes *x)
{
    if (!x)
        return;
    pthread_mutex_lock(&x->lock);
    x->stop = true;
    pthread_cond_signal(&x->woken);
    pthread_mutex_unlock(&x->lock);
    pthread_join(x->thread, NULL);
    pthread_cond_destroy(&x->woken);
    pthread_mutex_destroy(&x->lock);
    store_close(x->store);
    buf_release(&x->live);
    mem_free(x);
}
