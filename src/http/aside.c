/* SPDX-License-Identifier: Apache-2.0 */
/* One line of waiting requests under one lock. A thread takes the first whose sender has not
 * enough at work already; a request that is done resumes its connection, and the server then
 * sends the answer from the thread that the connection belongs to.
 */
#include "http/aside.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "job/model.h"

#define EACH_MOST 2      /* of one user at work */
#define STRANGERS_MOST 3 /* of all who have no token */
#define LINE_MOST 512    /* in line, and of one user or all strangers: */
#define LINE_EACH 128

struct place {
    struct http_call *c;
    struct place *next;
};

struct http_aside {
    pthread_t threads[ASIDE_THREADS];
    size_t n_threads;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct place *first; /* in line, the oldest first */
    struct http_call *at_work[ASIDE_THREADS];
    int64_t away; /* connections that are suspended, or resumed and not yet back */
    bool stop;
};

/* Its files may lie at another server, or be many. */
static bool names_a_model(const struct http_call *c)
{
    static const char word[] = "\"" MODEL_PREFIX;
    bool may = c->route->fn == http_create_job || c->route->fn == http_create_schedule ||
               c->route->fn == http_update_schedule;
    return may && c->raw.n && memmem(c->raw.p, c->raw.n, word, sizeof(word) - 1);
}

bool http_aside_wants(const struct http_call *c)
{
    return http_aside_is(c->route) || names_a_model(c);
}

bool http_aside_is(const struct http_route *r)
{
    static http_route_fn *const all[] = {http_get_login,
                                         http_login,
                                         http_ask_device,
                                         http_create_model,
                                         http_delete_job,
                                         http_collect_storage,
                                         http_list_series,
                                         http_list_training,
                                         http_get_training,
                                         http_get_job_training,
                                         http_list_training_series,
                                         http_get_serving,
                                         http_get_serving_counters,
                                         http_get_serving_samples,
                                         http_score_serving};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (r->fn == all[i])
            return true;
    return false;
}

/* All strangers are one. */
static bool same_sender(const struct http_call *a, const struct http_call *b)
{
    return strcmp(a->who.name, b->who.name) == 0;
}

static bool may_start(const struct http_aside *a, const struct http_call *c)
{
    int busy = 0, most = c->route->role == ROLE_NONE ? STRANGERS_MOST : EACH_MOST;
    for (size_t i = 0; i < ASIDE_THREADS; i++)
        busy += a->at_work[i] && same_sender(a->at_work[i], c);
    return busy < most;
}

/* With the lock: the next to answer, or NULL. */
static struct http_call *take_next(struct http_aside *a)
{
    for (struct place **p = &a->first; *p; p = &(*p)->next) {
        struct place *one = *p;
        struct http_call *c = one->c;
        if (!a->stop && !may_start(a, c))
            continue;
        *p = one->next;
        mem_free(one);
        return c;
    }
    return NULL;
}

static void refuse(struct http_call *c)
{
    struct err err = {0};
    c->status = 503;
    enum rc rc = err_set(&err, RC_CANCELED, "the server is stopping");
    api_fail(c, rc, &err);
}

static void work(struct http_aside *a, size_t me)
{
    struct http_call *c = take_next(a);
    if (!c) {
        pthread_cond_wait(&a->changed, &a->lock);
        return;
    }
    bool late = a->stop;
    a->at_work[me] = c;
    pthread_mutex_unlock(&a->lock);
    if (late)
        refuse(c);
    else
        api_answer(c);
    pthread_mutex_lock(&a->lock);
    a->at_work[me] = NULL;
    MHD_resume_connection(c->conn); /* from here on it is the server's */
    pthread_cond_broadcast(&a->changed);
}

struct start {
    struct http_aside *a;
    size_t me;
};

static void *aside_loop(void *arg)
{
    struct start s = *(struct start *)arg;
    mem_free(arg);
    pthread_mutex_lock(&s.a->lock);
    while (!s.a->stop || s.a->first)
        work(s.a, s.me);
    pthread_mutex_unlock(&s.a->lock);
    return NULL;
}

enum rc http_aside_create(struct http_aside **out, struct err *err)
{
    struct http_aside *a = mem_calloc(1, sizeof(*a));
    int failed = 0;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    for (size_t i = 0; i < ASIDE_THREADS && !failed; i++) {
        struct start *s = mem_alloc(sizeof(*s));
        *s = (struct start){.a = a, .me = i};
        failed = pthread_create(&a->threads[i], NULL, aside_loop, s);
        a->n_threads += !failed;
        if (failed)
            mem_free(s);
    }
    if (failed) {
        http_aside_destroy(a);
        return err_sys(err, failed, "cannot start a thread");
    }
    *out = a;
    return RC_OK;
}

bool http_aside_take(struct http_aside *a, struct http_call *c)
{
    int64_t all = 0, own = 0;
    struct place **end = &a->first;
    pthread_mutex_lock(&a->lock);
    for (; *end; end = &(*end)->next) {
        all++;
        own += same_sender((*end)->c, c);
    }
    bool fits = !a->stop && all < LINE_MOST && own < LINE_EACH;
    if (fits) {
        struct place *one = mem_alloc(sizeof(*one));
        *one = (struct place){.c = c};
        *end = one;
        a->away++;
        c->aside = true;
        MHD_suspend_connection(c->conn);
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return fits;
}

void http_aside_back(struct http_aside *a)
{
    pthread_mutex_lock(&a->lock);
    a->away--;
    pthread_mutex_unlock(&a->lock);
}

void http_aside_end(struct http_aside *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < a->n_threads; i++)
        pthread_join(a->threads[i], NULL);
    a->n_threads = 0;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&a->lock);
        int64_t away = a->away;
        pthread_mutex_unlock(&a->lock);
        if (!away)
            break;
        usleep(10000);
    }
}

void http_aside_destroy(struct http_aside *a)
{
    if (!a)
        return;
    http_aside_end(a);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
}
