/* SPDX-License-Identifier: Apache-2.0 */
/* A growing table goes through a batch in three passes: all ids are looked up (by all
 * threads); those that were found are marked as seen, so that none of them is given up
 * for another of the same batch; then the others are counted, admitted and placed, in
 * the order of the batch.
 */
#include "embed/keyed.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "embed/keyed_private.h"

#define FIND_GRAIN 4096 /* ids per task */
#define MISSING (-1)    /* no row yet */
#define SKIPPED (-2)    /* no id */

int64_t embed_keyed_rows(const struct embed_keyed_conf *conf)
{
    return conf->capacity + (conf->kind == KEYED_ZCH ? 1 : 2);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t embed_keyed_classes(const struct embed_keyed_conf *conf)
{
    if (conf->kind != KEYED_GROWING)
        return 1;
    int64_t n = embed_idset_buckets(conf->capacity, conf->bucket);
    return conf->admit > 1 ? common_divisor(n, embed_idset_buckets(conf->counters,
                                                                   conf->counter_bucket))
                           : n;
}

int64_t embed_keyed_other(const struct embed_keyed_conf *conf, bool training)
{
    return conf->capacity + (conf->kind == KEYED_ZCH || training ? 0 : 1);
}

bool embed_keyed_trains(const struct embed_keyed *k, int64_t row)
{
    return row < k->conf.capacity || k->conf.kind == KEYED_ZCH;
}

static enum rc check_conf(const struct embed_keyed_conf *c, const char *name,
                          struct err *err)
{
    if (c->capacity < 1 || c->capacity > EMBED_IDS_MAX)
        return err_coded(err, RC_INVAL, E2301,
                         "table '%s': room for %jd ids is outside [1, %jd]", name,
                         (intmax_t)c->capacity, (intmax_t)EMBED_IDS_MAX);
    if (c->admit > 0 && (c->counters < 1 || c->counters > EMBED_IDS_MAX))
        return err_coded(err, RC_INVAL, E2301,
                         "table '%s': counters of %jd ids are outside [1, %jd]", name,
                         (intmax_t)c->counters, (intmax_t)EMBED_IDS_MAX);
    if (c->kind == KEYED_ZCH && (c->interval < 1 || !(c->decay > 0)))
        return err_coded(
            err, RC_INVAL, E2301,
            "table '%s': eviction_interval %jd and decay_exponent %g must be "
            "above 0",
            name, (intmax_t)c->interval, c->decay);
    return RC_OK;
}

enum rc embed_keyed_create(const struct embed_keyed_conf *conf, const char *name,
                           uint64_t *used, struct embed_keyed **out, struct err *err)
{
    enum rc rc = check_conf(conf, name, err);
    if (rc)
        return rc;
    struct embed_keyed *k = mem_calloc(1, sizeof(*k));
    char *what = mem_printf("table '%s'", name);
    k->conf = *conf;
    k->used = used;
    rc = embed_idset_init(&k->ids, what, conf->capacity,
                          conf->kind == KEYED_ZCH ? 0 : conf->bucket, err);
    if (!rc && conf->admit > 1)
        rc = embed_idset_init(&k->waiting, what, conf->counters, conf->counter_bucket,
                              err);
    mem_free(what);
    if (rc)
        embed_keyed_destroy(k);
    else
        *out = k;
    return rc;
}

void embed_keyed_destroy(struct embed_keyed *k)
{
    if (!k)
        return;
    embed_idset_release(&k->ids);
    embed_idset_release(&k->waiting);
    mem_free(k->history.ids);
    mem_free(k->history.times);
    mem_free(k);
}

size_t embed_keyed_bytes(const struct embed_keyed *k)
{
    size_t waiting = k->waiting.capacity ? embed_idset_bytes(&k->waiting) : 0;
    return embed_idset_bytes(&k->ids) + waiting + (size_t)k->history.room * 16;
}

void embed_keyed_reset(struct embed_keyed *k, int64_t row)
{
    k->used[row >> 6] &= ~((uint64_t)1 << (row & 63));
}

int64_t embed_keyed_find(const struct embed_keyed *k, int64_t id)
{
    return id < 0 ? -1 : embed_idset_find(&k->ids, id);
}

struct finding {
    const struct embed_keyed *k;
    const struct embed_keyed_use *use;
    int64_t other;
};

static void find_some(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct finding *f = arg;
    for (int64_t i = begin; i < end; i++) {
        int64_t id = f->use->ids[i];
        int64_t row = id < 0 ? SKIPPED : embed_idset_find(&f->k->ids, id);
        f->use->rows[i] = row == MISSING ? f->other : row;
    }
}

void embed_keyed_rows_of(const struct embed_keyed *k, struct pool *pool,
                         const struct embed_keyed_use *uses, size_t n, int64_t other)
{
    for (size_t i = 0; i < n; i++) {
        struct finding f = {k, &uses[i], other};
        pool_for(pool, uses[i].n, FIND_GRAIN, find_some, &f);
    }
}

void embed_keyed_look_up(const struct embed_keyed *k, struct pool *pool,
                         const struct embed_keyed_use *uses, size_t n)
{
    embed_keyed_rows_of(k, pool, uses, n, embed_keyed_other(&k->conf, false));
}

/* Less valuable; of equals the one not seen for longer, then the greater id. */
static bool goes_before(const struct embed_idset *s, enum embed_keyed_worth worth,
                        int64_t a, int64_t b)
{
    if (worth == WORTH_COUNT && s->counts[a] != s->counts[b])
        return s->counts[a] < s->counts[b];
    if (s->last[a] != s->last[b])
        return s->last[a] < s->last[b];
    return s->keys[a] > s->keys[b];
}

/* The place that a new id can take over, or -1: ids of this batch stay. */
static int64_t victim_of(const struct embed_idset *s, enum embed_keyed_worth worth,
                         int64_t key, int64_t now)
{
    int64_t least = -1;
    for (int64_t p = embed_idset_first(s, key); p >= 0; p = embed_idset_next(s, p))
        if (s->last[p] != now && (least < 0 || goes_before(s, worth, p, least)))
            least = p;
    return least;
}

/* A place for a new id; -1 when there is none. */
static enum rc place_for(struct embed_idset *s, enum embed_keyed_worth worth, int64_t key,
                         int64_t now, int64_t *place, bool *evicted, struct err *err)
{
    *evicted = false;
    *place = -1;
    if (embed_idset_has_room(s, key))
        return embed_idset_add(s, key, place, err);
    if (worth == WORTH_ALL)
        return RC_OK;
    *place = victim_of(s, worth, key, now);
    if (*place < 0)
        return RC_OK;
    embed_idset_replace(s, *place, key);
    *evicted = true;
    return RC_OK;
}

static void touch(struct embed_idset *s, int64_t place, int64_t now, bool again)
{
    s->last[place] = now;
    s->counts[place] += again ? 0 : 1;
}

/* How often ids without a row occurred, so far and in this batch. */
static enum rc count_waiting(struct embed_keyed *k, const struct embed_keyed_use *uses,
                             size_t n, struct err *err)
{
    enum rc rc = RC_OK;
    bool evicted;
    for (size_t i = 0; i < n && k->waiting.capacity && !rc; i++)
        for (int64_t j = 0; j < uses[i].n && !rc; j++) {
            if (uses[i].rows[j] != MISSING)
                continue;
            int64_t at = embed_idset_find(&k->waiting, uses[i].ids[j]);
            if (at < 0)
                rc = place_for(&k->waiting, WORTH_COUNT, uses[i].ids[j], k->now, &at,
                               &evicted, err);
            if (!rc && at >= 0)
                touch(&k->waiting, at, k->now, uses[i].again);
        }
    return rc;
}

static bool admitted(struct embed_keyed *k, int64_t id)
{
    if (!k->waiting.capacity)
        return true;
    int64_t at = embed_idset_find(&k->waiting, id);
    if (at < 0 || k->waiting.counts[at] < k->conf.admit)
        return false;
    k->waiting.counts[at] = 0; /* the first to go */
    return true;
}

static enum rc place_missing(struct embed_keyed *k, const struct embed_keyed_use *use,
                             struct err *err)
{
    int64_t other = embed_keyed_other(&k->conf, true);
    for (int64_t j = 0; j < use->n; j++) {
        int64_t id = use->ids[j];
        if (use->rows[j] != MISSING)
            continue;
        int64_t row = embed_idset_find(&k->ids, id);
        if (row < 0 && admitted(k, id)) {
            bool evicted;
            enum rc rc =
                place_for(&k->ids, k->conf.worth, id, k->now, &row, &evicted, err);
            if (rc)
                return rc;
            if (row >= 0)
                embed_keyed_reset(k, row);
            k->admitted += row >= 0;
            k->evicted += evicted;
        }
        if (row >= 0)
            touch(&k->ids, row, k->now, use->again);
        use->rows[j] = row >= 0 ? row : other;
    }
    return RC_OK;
}

static enum rc growing_train(struct embed_keyed *k, struct pool *pool,
                             const struct embed_keyed_use *uses, size_t n,
                             struct err *err)
{
    k->now++;
    embed_keyed_rows_of(k, pool, uses, n, MISSING);
    for (size_t i = 0; i < n; i++)
        for (int64_t j = 0; j < uses[i].n; j++)
            if (uses[i].rows[j] >= 0)
                touch(&k->ids, uses[i].rows[j], k->now, uses[i].again);
    enum rc rc = count_waiting(k, uses, n, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = place_missing(k, &uses[i], err);
    return rc;
}

static enum rc note_ids(const struct embed_keyed *k, const struct embed_keyed_use *uses,
                        size_t n, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n && k->touched && !rc; i++)
        for (int64_t j = 0; j < uses[i].n && !rc; j++)
            if (uses[i].ids[j] >= 0)
                rc = embed_touched_add(k->touched, uses[i].ids[j], err);
    return rc;
}

enum rc embed_keyed_train(struct embed_keyed *k, struct pool *pool,
                          const struct embed_keyed_use *uses, size_t n, struct err *err)
{
    enum rc noted = note_ids(k, uses, n, err);
    if (noted)
        return noted;
    if (k->conf.kind == KEYED_GROWING)
        return growing_train(k, pool, uses, n, err);
    enum rc rc = embed_zch_train(k, uses, n, err);
    if (!rc)
        embed_keyed_rows_of(k, pool, uses, n, embed_keyed_other(&k->conf, true));
    return rc;
}

void embed_keyed_clear(struct embed_keyed *k)
{
    for (int64_t i = 0; i < k->ids.n; i++)
        embed_keyed_reset(k, i);
    embed_idset_clear(&k->ids);
    if (k->waiting.capacity)
        embed_idset_clear(&k->waiting);
    mem_free(k->history.ids);
    mem_free(k->history.times);
    k->history = (struct embed_history){0};
    k->now = k->last_round = k->admitted = k->evicted = 0;
}

enum rc embed_keyed_restore(struct embed_idset *s, int64_t key, int64_t count,
                            int64_t last, struct err *err)
{
    int64_t place;
    if (key < 0 || embed_idset_find(s, key) >= 0)
        return err_coded(err, RC_FORMAT, E2303, "id %jd %s", (intmax_t)key,
                         key < 0 ? "is negative" : "occurs twice");
    if (!embed_idset_has_room(s, key))
        return err_coded(err, RC_FORMAT, E2303, "id %jd finds no place among %jd",
                         (intmax_t)key, (intmax_t)s->capacity);
    enum rc rc = embed_idset_add(s, key, &place, err);
    if (!rc) {
        s->counts[place] = count;
        s->last[place] = last;
    }
    return rc;
}

enum rc embed_keyed_restore_history(struct embed_keyed *k, const void *ids,
                                    const void *times, int64_t n, int64_t room,
                                    struct err *err)
{
    struct embed_history h = {.n = n, .room = room};
    if (room == 0)
        return RC_OK;
    h.ids = mem_try_alloc((size_t)room, sizeof(*h.ids));
    h.times = mem_try_alloc((size_t)room, sizeof(*h.times));
    if (!h.ids || !h.times) {
        mem_free(h.ids);
        mem_free(h.times);
        return err_coded(err, RC_NOMEM, E2304, "no memory for a history of %jd ids",
                         (intmax_t)room);
    }
    if (n) {
        memcpy(h.ids, ids, (size_t)n * sizeof(*h.ids));
        memcpy(h.times, times, (size_t)n * sizeof(*h.times));
    }
    mem_free(k->history.ids);
    mem_free(k->history.times);
    k->history = h;
    return RC_OK;
}
