/* SPDX-License-Identifier: Apache-2.0 */
/* Zero-collision hash. The rules are those of TorchEasyRec's managed collision tables:
 * ids of `interval` batches are collected, then one round counts them, updates those that
 * have rows, and lets the rest compete.
 *
 * The original sorts all rows and all newcomers by their score and keeps the best. The
 * same follows from less: newcomers take free rows first; then the j-th best of those
 * left over replaces the j-th worst of those with rows, as long as it scores higher (at
 * equal scores who has a row keeps it). So only as many rows are put in order as there
 * are newcomers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "embed/keyed_private.h"

/* An id of the history, or one that has a row. */
struct entry {
    int64_t id, count, last;
    int64_t place; /* -1: no row */
    double score;
};

static int64_t counted_ids(const struct embed_keyed_use *uses, size_t n)
{
    int64_t total = 0;
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; !uses[i].again && k < uses[i].n; k++)
            total += uses[i].ids[k] >= 0;
    return total;
}

/* The first batch says how many ids the history can take: a quarter more than it would
 * need. What does not fit is left out.
 */
static enum rc start_history(struct embed_keyed *k, const struct embed_keyed_use *uses,
                             size_t n, struct err *err)
{
    int64_t ids = k->history.room ? 0 : counted_ids(uses, n);
    double room = floor(1.25 * (double)k->conf.interval * (double)ids);
    if (ids == 0)
        return RC_OK;
    return embed_keyed_restore_history(k, NULL, NULL, 0, room > 1 ? (int64_t)room : 1,
                                       err);
}

static void remember(struct embed_history *h, const struct embed_keyed_use *use,
                     int64_t now)
{
    for (int64_t i = 0; i < use->n && h->n < h->room; i++) {
        if (use->ids[i] < 0)
            continue;
        h->ids[h->n] = use->ids[i];
        h->times[h->n++] = now;
    }
}

static int by_id(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int more_counts_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return by_id(a, b);
}

static int better_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return more_counts_first(a, b);
}

static int worse_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return by_id(b, a);
}

/* The ids of the history, each once; how many. */
static int64_t distinct(const struct embed_history *h, struct entry *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < h->n; i++)
        out[i] = (struct entry){.id = h->ids[i], .count = 1, .last = h->times[i]};
    qsort(out, (size_t)h->n, sizeof(*out), by_id);
    for (int64_t i = 0; i < h->n; i++) {
        if (n && out[n - 1].id == out[i].id) {
            out[n - 1].count++;
            if (out[i].last > out[n - 1].last)
                out[n - 1].last = out[i].last;
        } else {
            out[n++] = out[i];
        }
    }
    return n;
}

static double score_of(const struct embed_keyed *k, int64_t count, int64_t last)
{
    double age = pow((double)(k->now - last + 1), k->conf.decay);
    switch (k->conf.worth) {
    case WORTH_RECENT:
        return -age;
    case WORTH_COUNT_BY_AGE:
        return (double)count / age;
    default:
        return (double)count;
    }
}

static double chance_of(const struct embed_keyed *k, int64_t id)
{
    struct rng r;
    rng_init(&r, k->conf.seed, k->conf.stream, (uint64_t)k->now, (uint64_t)id);
    return rng_f64(&r);
}

/* Ids that have rows are updated; what is left are the newcomers, the best ones first. */
static int64_t newcomers(struct embed_keyed *k, struct entry *e, int64_t n)
{
    int64_t left = 0;
    struct embed_filter_round round;
    const struct embed_filter *filter = &k->conf.filter;
    bool chance = embed_filter_is_random(filter);
    embed_filter_begin(filter, &e->count, sizeof(*e) / sizeof(int64_t), n, &round);
    for (int64_t i = 0; i < n; i++) {
        if (!embed_filter_keeps(filter, &round, e[i].count,
                                chance ? chance_of(k, e[i].id) : 0))
            continue;
        int64_t place = embed_idset_find(&k->ids, e[i].id);
        if (place >= 0) {
            k->ids.counts[place] += e[i].count;
            k->ids.last[place] = e[i].last;
            continue;
        }
        e[left] = e[i];
        e[left++].score = score_of(k, e[i].count, e[i].last);
    }
    qsort(e, (size_t)left, sizeof(*e), better_first);
    return left;
}

static void sift_down(struct entry *heap, int64_t n, int64_t i)
{
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && worse_first(&heap[child], &heap[child + 1]) < 0)
            child++;
        if (worse_first(&heap[i], &heap[child]) >= 0)
            return;
        struct entry other = heap[i];
        heap[i] = heap[child];
        heap[child] = other;
    }
}

/* The `n` worst ids with rows, worst first; a heap holds the worst so far, the best of
 * them on top.
 */
static void find_worst(const struct embed_keyed *k, struct entry *heap, int64_t n)
{
    const struct embed_idset *s = &k->ids;
    for (int64_t p = 0; p < s->n; p++) {
        struct entry e = {.id = s->keys[p],
                          .count = s->counts[p],
                          .last = s->last[p],
                          .place = p,
                          .score = score_of(k, s->counts[p], s->last[p])};
        if (p < n)
            heap[p] = e;
        if (p == n - 1)
            for (int64_t i = n / 2; i >= 0; i--)
                sift_down(heap, n, i);
        if (p >= n && worse_first(&e, &heap[0]) < 0) {
            heap[0] = e;
            sift_down(heap, n, 0);
        }
    }
    qsort(heap, (size_t)n, sizeof(*heap), worse_first);
}

static void settle(struct embed_keyed *k, int64_t place, const struct entry *e)
{
    k->ids.counts[place] = e->count;
    k->ids.last[place] = e->last;
    k->admitted++;
    embed_keyed_reset(k, place);
}

/* An id gets a row, and `former` (-1: nobody) loses it. */
static enum rc note_change(struct embed_keyed *k, int64_t id, int64_t former,
                           struct err *err)
{
    enum rc rc = k->touched ? embed_touched_add(k->touched, id, err) : RC_OK;
    if (!rc && k->touched && former >= 0)
        rc = embed_touched_add(k->touched, former, err);
    return rc;
}

/* Newcomers [0, n) in order of value; returns how many found a free row. */
static enum rc fill_free(struct embed_keyed *k, const struct entry *e, int64_t n,
                         int64_t *done, struct err *err)
{
    for (*done = 0; *done < n && k->ids.n < k->ids.capacity; (*done)++) {
        int64_t place;
        enum rc rc = note_change(k, e[*done].id, -1, err);
        if (!rc)
            rc = embed_idset_add(&k->ids, e[*done].id, &place, err);
        if (rc)
            return rc;
        settle(k, place, &e[*done]);
    }
    return RC_OK;
}

static enum rc replace_worst(struct embed_keyed *k, const struct entry *e, int64_t n,
                             struct err *err)
{
    n = n < k->ids.n ? n : k->ids.n;
    if (n == 0)
        return RC_OK;
    struct entry *worst = mem_try_alloc((size_t)n, sizeof(*worst));
    if (!worst)
        return err_coded(err, RC_NOMEM, E2304, "no memory to compare %jd ids",
                         (intmax_t)n);
    find_worst(k, worst, n);
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n && e[i].score > worst[i].score; i++) {
        rc = note_change(k, e[i].id, worst[i].id, err);
        if (rc)
            break;
        embed_idset_replace(&k->ids, worst[i].place, e[i].id);
        settle(k, worst[i].place, &e[i]);
        k->evicted++;
    }
    mem_free(worst);
    return rc;
}

static enum rc hold_round(struct embed_keyed *k, struct err *err)
{
    struct embed_history *h = &k->history;
    struct entry *e = mem_try_alloc((size_t)h->n + 1, sizeof(*e));
    if (!e)
        return err_coded(err, RC_NOMEM, E2304, "no memory to count %jd ids",
                         (intmax_t)h->n);
    int64_t n = newcomers(k, e, distinct(h, e)), done;
    enum rc rc = fill_free(k, e, n, &done, err);
    if (!rc)
        rc = replace_worst(k, e + done, n - done, err);
    h->n = 0;
    k->last_round = k->now;
    mem_free(e);
    return rc;
}

enum rc embed_zch_train(struct embed_keyed *k, const struct embed_keyed_use *uses,
                        size_t n, struct err *err)
{
    enum rc rc = start_history(k, uses, n, err);
    if (rc)
        return rc;
    k->now++;
    for (size_t i = 0; i < n; i++)
        if (!uses[i].again)
            remember(&k->history, &uses[i], k->now);
    return k->now - k->last_round >= k->conf.interval ? hold_round(k, err) : RC_OK;
}
