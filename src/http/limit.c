/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of four, by the hash of the name; who was not seen for longest makes room. A full
 * table forgets somebody, which gives them a full bucket: an attacker with many addresses
 * gains what many addresses would give anyway.
 */
#include "http/limit.h"

#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define SETS 1024
#define WAYS 4

struct bucket {
    uint64_t name; /* its hash */
    int64_t seen;  /* ns */
    double left;
};

struct http_limit {
    double rate, most;
    pthread_mutex_t lock; /* guards the buckets */
    struct bucket at[SETS][WAYS];
};

struct http_limit *http_limit_create_burst(double rate, double most)
{
    struct http_limit *l = mem_calloc(1, sizeof(*l));
    l->rate = rate;
    l->most = most < 1 ? 1 : most;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

struct http_limit *http_limit_create(double rate)
{
    return http_limit_create_burst(rate, rate * 2);
}

void http_limit_destroy(struct http_limit *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

static struct bucket *limit_find(struct http_limit *l, uint64_t name, int64_t now)
{
    struct bucket *set = l->at[name % SETS], *oldest = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].name == name)
            return &set[i];
        if (set[i].seen < oldest->seen)
            oldest = &set[i];
    }
    *oldest = (struct bucket){.name = name, .seen = now, .left = l->most};
    return oldest;
}

bool http_limit_take(struct http_limit *l, const char *name, int64_t now)
{
    if (l->rate <= 0)
        return true;
    uint64_t hash = hash_xxh3(name, strlen(name)) | 1; /* 0 is free */
    pthread_mutex_lock(&l->lock);
    struct bucket *b = limit_find(l, hash, now);
    b->left += (double)(now - b->seen) / 1e9 * l->rate;
    if (b->left > l->most)
        b->left = l->most;
    b->seen = now;
    bool fine = b->left >= 1;
    if (fine)
        b->left -= 1;
    pthread_mutex_unlock(&l->lock);
    return fine;
}
