/* SPDX-License-Identifier: Apache-2.0 */
/* All messages lie in one list of the hub, under one lock, each for an address (questions)
 * or a client's number (answers). Questions wait for their server, also for one that comes
 * later; a secret that differs is not heard.
 */
#include "comm/link_local.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

struct message {
    struct message *next;
    char *address; /* of a question; NULL: an answer */
    char *secret;  /* of the client, of a question */
    uint64_t client;
    size_t n;
    unsigned char data[];
};

struct comm_link_hub {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct message *first;
    uint64_t clients;
};

struct local_server {
    struct comm_link_server base;
    struct comm_link_hub *hub;
    char *address, *secret;
    struct message *held; /* the question at hand */
};

struct local_client {
    struct comm_link_client base;
    struct comm_link_hub *hub;
    char *address, *secret;
    uint64_t number;
    struct message *held;
};

struct comm_link_hub *comm_link_hub_create(void)
{
    struct comm_link_hub *h = mem_calloc(1, sizeof(*h));
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    return h;
}

static void message_free(struct message *m)
{
    if (m) {
        mem_free(m->address);
        mem_free(m->secret);
    }
    mem_free(m);
}

void comm_link_hub_destroy(struct comm_link_hub *h)
{
    if (!h)
        return;
    while (h->first) {
        struct message *m = h->first;
        h->first = m->next;
        message_free(m);
    }
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    mem_free(h);
}

static enum rc put(struct comm_link_hub *h, struct message head, const void *data,
                   struct err *err)
{
    struct message *m = mem_try_alloc(1, sizeof(*m) + head.n), **at = &h->first;
    if (!m)
        return err_set(err, RC_NOMEM, "no memory for a message of %zu bytes", head.n);
    *m = head;
    m->address = head.address ? mem_strdup(head.address) : NULL;
    m->secret = head.secret ? mem_strdup(head.secret) : NULL;
    memcpy(m->data, data, head.n);
    pthread_mutex_lock(&h->lock);
    while (*at)
        at = &(*at)->next;
    *at = m;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    return RC_OK;
}

static bool is_for(const struct message *m, const struct message *want)
{
    if (!want->address)
        return !m->address && m->client == want->client;
    return m->address && strcmp(m->address, want->address) == 0 &&
           strcmp(m->secret, want->secret) == 0;
}

static struct message *take(struct comm_link_hub *h, const struct message *want)
{
    for (struct message **at = &h->first; *at; at = &(*at)->next)
        if (is_for(*at, want)) {
            struct message *m = *at;
            *at = m->next;
            return m;
        }
    return NULL;
}

static struct message *wait_for(struct comm_link_hub *h, const struct message *want,
                                int64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&h->lock);
    struct message *m = take(h, want);
    while (!m && pthread_cond_timedwait(&h->changed, &h->lock, &until) == 0)
        m = take(h, want);
    pthread_mutex_unlock(&h->lock);
    return m;
}

static enum rc local_serve(const struct comm_link_conf *conf, const char *address,
                           struct comm_link_server **out, struct err *err)
{
    struct local_server *s = mem_calloc(1, sizeof(*s));
    s->base.ops = &comm_link_local_ops;
    s->hub = conf->hub;
    s->address = mem_strdup(address);
    s->secret = mem_strdup(conf->secret);
    *out = &s->base;
    return RC_OK;
}

static void local_stop(struct comm_link_server *base)
{
    struct local_server *s = (struct local_server *)base;
    message_free(s->held);
    mem_free(s->address);
    mem_free(s->secret);
    mem_free(s);
}

static enum rc local_receive(struct comm_link_server *base, int64_t ms,
                             struct comm_link_asked *out, struct err *err)
{
    struct local_server *s = (struct local_server *)base;
    struct message want = {.address = s->address, .secret = s->secret};
    message_free(s->held);
    s->held = wait_for(s->hub, &want, ms);
    if (s->held) {
        memcpy(out->peer.id, &s->held->client, sizeof(s->held->client));
        out->peer.n = sizeof(s->held->client);
        out->data = s->held->data;
        out->n = s->held->n;
    }
    return RC_OK;
}

static enum rc local_reply(struct comm_link_server *base, const struct comm_link_peer *to,
                           const void *data, size_t n, struct err *err)
{
    struct local_server *s = (struct local_server *)base;
    struct message m = {.n = n};
    memcpy(&m.client, to->id, sizeof(m.client));
    return put(s->hub, m, data, err);
}

static enum rc local_connect(const struct comm_link_conf *conf, const char *address,
                             struct comm_link_client **out, struct err *err)
{
    struct local_client *c = mem_calloc(1, sizeof(*c));
    c->base.ops = &comm_link_local_ops;
    c->hub = conf->hub;
    c->address = mem_strdup(address);
    c->secret = mem_strdup(conf->secret);
    pthread_mutex_lock(&c->hub->lock);
    c->number = ++c->hub->clients;
    pthread_mutex_unlock(&c->hub->lock);
    *out = &c->base;
    return RC_OK;
}

static void local_disconnect(struct comm_link_client *base)
{
    struct local_client *c = (struct local_client *)base;
    message_free(c->held);
    mem_free(c->address);
    mem_free(c->secret);
    mem_free(c);
}

static enum rc local_ask(struct comm_link_client *base, const void *data, size_t n,
                         struct err *err)
{
    struct local_client *c = (struct local_client *)base;
    struct message m = {
        .address = c->address, .secret = c->secret, .client = c->number, .n = n};
    return put(c->hub, m, data, err);
}

static enum rc local_answer(struct comm_link_client *base, int64_t ms, const void **data,
                            size_t *n, struct err *err)
{
    struct local_client *c = (struct local_client *)base;
    struct message want = {.client = c->number};
    message_free(c->held);
    c->held = wait_for(c->hub, &want, ms);
    if (c->held) {
        *data = c->held->data;
        *n = c->held->n;
    }
    return RC_OK;
}

const struct comm_link_ops comm_link_local_ops = {
    .name = "local",
    .summary = "threads of one process",
    .serve = local_serve,
    .stop = local_stop,
    .receive = local_receive,
    .reply = local_reply,
    .connect = local_connect,
    .disconnect = local_disconnect,
    .ask = local_ask,
    .answer = local_answer,
};
