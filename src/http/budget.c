/* SPDX-License-Identifier: Apache-2.0 */
#include "http/budget.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

struct share {
    char *name; /* owned */
    int64_t bytes;
};

struct http_budget {
    int64_t most;
    pthread_mutex_t lock; /* guards the list: those who have something under way */
    VEC(struct share) list;
};

struct http_budget *http_budget_create(int64_t most)
{
    struct http_budget *b = mem_calloc(1, sizeof(*b));
    b->most = most;
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void http_budget_destroy(struct http_budget *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->list.n; i++)
        mem_free(b->list.at[i].name);
    VEC_RELEASE(&b->list);
    pthread_mutex_destroy(&b->lock);
    mem_free(b);
}

static struct share *find(struct http_budget *b, const char *name)
{
    for (size_t i = 0; i < b->list.n; i++)
        if (strcmp(b->list.at[i].name, name) == 0)
            return &b->list.at[i];
    return NULL;
}

bool http_budget_take(struct http_budget *b, const char *name, int64_t bytes)
{
    pthread_mutex_lock(&b->lock);
    struct share *s = find(b, name);
    bool fits = bytes <= b->most - (s ? s->bytes : 0);
    if (fits && s) {
        s->bytes += bytes;
    } else if (fits) {
        struct share one = {.name = mem_strdup(name), .bytes = bytes};
        VEC_PUSH(&b->list, one);
    }
    pthread_mutex_unlock(&b->lock);
    return fits;
}

void http_budget_give(struct http_budget *b, const char *name, int64_t bytes)
{
    pthread_mutex_lock(&b->lock);
    struct share *s = find(b, name);
    if (s && (s->bytes -= bytes) <= 0) {
        mem_free(s->name);
        *s = b->list.at[--b->list.n];
    }
    pthread_mutex_unlock(&b->lock);
}
