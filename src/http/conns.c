/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that wait for a head stand in a list of their own, the one that has waited
 * longest at its end. When nearly all that the server can have are open, each new one
 * closes that one: whoever opens many and sends nothing loses them again, while a client
 * that sends its request at once is heard.
 *
 * The socket is shut down, not closed: the server notices and closes it itself. It tells
 * us before it does (http_conns_remove), and both happen under the lock, so the number never
 * belongs to somebody else.
 */
#include "http/conns.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

#define LOOK_S 1
#define SLOWEST 65536 /* bytes per second that a large body must bring */

struct http_conn {
    int fd;
    int64_t due; /* monotonic; 0: none */
    struct http_conn *next, *prev;
    bool waits; /* for a head: it is in that list */
    struct http_conn *later, *earlier;
};

struct http_conns {
    int64_t header_ns, body_ns;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t ended;
    struct http_conn *first;
    struct http_conn *newest, *oldest; /* of those that wait for a head */
    int64_t n, late, most;
    bool stop;
};

static void close_late(struct http_conns *c)
{
    int64_t now = clock_mono_ns();
    for (struct http_conn *x = c->first; x; x = x->next)
        if (x->due && x->due < now) {
            shutdown(x->fd, SHUT_RDWR);
            x->due = 0;
            c->late++;
        }
}

static void begin_wait(struct http_conns *c, struct http_conn *x)
{
    if (x->waits)
        return;
    x->waits = true;
    x->earlier = c->newest;
    x->later = NULL;
    if (c->newest)
        c->newest->later = x;
    else
        c->oldest = x;
    c->newest = x;
}

static void end_wait(struct http_conns *c, struct http_conn *x)
{
    if (!x->waits)
        return;
    x->waits = false;
    *(x->later ? &x->later->earlier : &c->newest) = x->earlier;
    *(x->earlier ? &x->earlier->later : &c->oldest) = x->later;
}

/* The one that has waited longest goes; the server sees that and makes room. */
static void close_oldest(struct http_conns *c)
{
    struct http_conn *x = c->oldest;
    if (!x)
        return;
    shutdown(x->fd, SHUT_RDWR);
    end_wait(c, x);
    x->due = 0;
    c->late++;
}

static void *conns_watch(void *arg)
{
    struct http_conns *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += LOOK_S;
        pthread_cond_timedwait(&c->ended, &c->lock, &until);
        close_late(c);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

enum rc http_conns_create(double header_s, double body_s, int64_t most,
                          struct http_conns **out, struct err *err)
{
    struct http_conns *c = mem_calloc(1, sizeof(*c));
    c->header_ns = (int64_t)(header_s * 1e9);
    c->body_ns = (int64_t)(body_s * 1e9);
    c->most = most;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->ended, NULL);
    int failed = pthread_create(&c->thread, NULL, conns_watch, c);
    if (failed) {
        pthread_cond_destroy(&c->ended);
        pthread_mutex_destroy(&c->lock);
        mem_free(c);
        return err_sys(err, failed, "cannot start a thread");
    }
    *out = c;
    return RC_OK;
}

void http_conns_destroy(struct http_conns *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->ended);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

struct http_conn *http_conns_add(struct http_conns *c, int fd)
{
    struct http_conn *x = mem_calloc(1, sizeof(*x));
    x->fd = fd;
    pthread_mutex_lock(&c->lock);
    x->due = clock_mono_ns() + c->header_ns;
    x->next = c->first;
    if (c->first)
        c->first->prev = x;
    c->first = x;
    c->n++;
    if (c->n > c->most)
        close_oldest(c);
    begin_wait(c, x);
    pthread_mutex_unlock(&c->lock);
    return x;
}

void http_conns_remove(struct http_conns *c, struct http_conn *x)
{
    pthread_mutex_lock(&c->lock);
    end_wait(c, x);
    if (x->next)
        x->next->prev = x->prev;
    if (x->prev)
        x->prev->next = x->next;
    else
        c->first = x->next;
    c->n--;
    pthread_mutex_unlock(&c->lock);
    mem_free(x);
}

static void set_due(struct http_conns *c, struct http_conn *x, int64_t due, bool waits)
{
    pthread_mutex_lock(&c->lock);
    x->due = due;
    if (waits)
        begin_wait(c, x);
    else
        end_wait(c, x);
    pthread_mutex_unlock(&c->lock);
}

void http_conns_body(struct http_conns *c, struct http_conn *x, int64_t bytes)
{
    set_due(c, x, clock_mono_ns() + c->body_ns + bytes / SLOWEST * CLOCK_SECOND, false);
}

void http_conns_answer(struct http_conns *c, struct http_conn *x)
{
    set_due(c, x, 0, false);
}

void http_conns_idle(struct http_conns *c, struct http_conn *x)
{
    set_due(c, x, clock_mono_ns() + c->header_ns, true);
}

int64_t http_conns_count(struct http_conns *c)
{
    pthread_mutex_lock(&c->lock);
    int64_t n = c->n;
    pthread_mutex_unlock(&c->lock);
    return n;
}

int64_t http_conns_late(struct http_conns *c)
{
    pthread_mutex_lock(&c->lock);
    int64_t n = c->late;
    pthread_mutex_unlock(&c->lock);
    return n;
}
