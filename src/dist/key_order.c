/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank sorts its own ids. How many each class has is added up over the ranks, which says
 * where a class begins; a list then comes to rank 0 as the messages of all ranks, from which the
 * classes are taken in turn.
 */
#include "dist/key_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"

struct entry {
    int64_t class, key, place;
};

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

/* Places of this rank's ids, and how many each class has. */
static enum rc order_own(struct dist_key_order *o, const struct lookup_list *keys,
                         struct err *err)
{
    struct entry *all = mem_try_alloc((size_t)keys->n + 1, sizeof(*all));
    if (!all)
        return err_set(err, RC_NOMEM, "no memory for the order of %jd ids",
                       (intmax_t)keys->n);
    for (int64_t i = 0; i < keys->n; i++) {
        int64_t key = lookup_list_at(keys, i);
        all[i] = (struct entry){embed_id_class(key, o->owner.classes), key, i};
        o->own[all[i].class + 1]++;
    }
    qsort(all, (size_t)keys->n, sizeof(*all), compare);
    for (int64_t i = 0; i < keys->n; i++)
        o->places[i] = all[i].place;
    mem_free(all);
    return RC_OK;
}

/* A class is on one rank: what all say of those kept here is what this rank says. */
static enum rc check_counts(const struct dist_key_order *o, int64_t most, struct err *err)
{
    int64_t left = most;
    for (int64_t c = 0; c < o->owner.classes; c++) {
        int64_t n = o->starts[c + 1], own = o->own[c + 1];
        bool here = dist_owner_of_class(&o->owner, c) == comm_rank(o->comm);
        if (n < 0 || n > left || own != (here ? n : 0))
            return comm_broken(o->comm, "all_reduce", err,
                               "%jd ids of a class of which %jd are here", (intmax_t)n,
                               (intmax_t)own);
        left -= n;
    }
    return RC_OK;
}

enum rc dist_key_order_init(struct dist_key_order *o, struct comm *comm,
                            const struct dist_owner *owner,
                            const struct lookup_list *keys, int64_t most, struct err *err)
{
    size_t classes = (size_t)owner->classes;
    *o = (struct dist_key_order){.comm = comm, .owner = *owner};
    o->starts = mem_try_calloc(classes + 1, sizeof(*o->starts));
    o->own = mem_try_calloc(classes + 1, sizeof(*o->own));
    o->places = mem_try_alloc((size_t)keys->n + 1, sizeof(*o->places));
    if (!o->starts || !o->own || !o->places)
        return err_set(err, RC_NOMEM, "no memory for the order of %jd ids",
                       (intmax_t)keys->n);
    enum rc rc = order_own(o, keys, err);
    if (rc)
        return rc;
    memcpy(o->starts, o->own, (classes + 1) * sizeof(*o->starts));
    rc = comm_all_reduce(comm, comm_i64(o->starts + 1), owner->classes, COMM_SUM, err);
    if (!rc)
        rc = check_counts(o, most, err);
    for (size_t c = 0; c < classes && !rc; c++) {
        o->starts[c + 1] += o->starts[c];
        o->own[c + 1] += o->own[c];
    }
    o->n = o->starts[classes];
    return rc;
}

void dist_key_order_release(struct dist_key_order *o)
{
    mem_free(o->starts);
    mem_free(o->own);
    mem_free(o->places);
    *o = (struct dist_key_order){0};
}

/* The class of the i-th id. */
static int64_t class_at(const struct dist_key_order *o, int64_t i)
{
    int64_t low = 0, high = o->owner.classes; /* starts[low] <= i < starts[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (o->starts[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int dist_key_order_keeper(const struct dist_key_order *o, int64_t i)
{
    return dist_owner_of_class(&o->owner, class_at(o, i));
}

int64_t dist_key_order_place(const struct dist_key_order *o, int64_t i)
{
    int64_t class = class_at(o, i);
    return o->places[o->own[class] + i - o->starts[class]];
}

/* The lists of all ranks, class by class. */
static void merge(const struct dist_key_order *o, const int64_t *got, int64_t *at,
                  int64_t *out)
{
    for (int64_t c = 0; c < o->owner.classes; c++) {
        int64_t n = o->starts[c + 1] - o->starts[c];
        int64_t *from = &at[dist_owner_of_class(&o->owner, c)];
        memcpy(out + o->starts[c], got + *from, (size_t)n * sizeof(*out));
        *from += n;
    }
}

static enum rc gather(const struct dist_key_order *o, const int64_t *message, int64_t n,
                      int64_t *got, int64_t *out, struct err *err)
{
    int world = comm_world(o->comm);
    int64_t *send = mem_calloc(3 * (size_t)world, sizeof(*send));
    int64_t *receive = send + world, *at = receive + world;
    send[0] = n;
    for (int64_t c = 0; c < o->owner.classes && out; c++)
        receive[dist_owner_of_class(&o->owner, c)] += o->starts[c + 1] - o->starts[c];
    for (int r = 1; r < world; r++)
        at[r] = at[r - 1] + receive[r - 1];
    enum rc rc = comm_all_to_all(o->comm, comm_i64((int64_t *)(uintptr_t)message), send,
                                 comm_i64(got), receive, err);
    if (!rc && out)
        merge(o, got, at, out);
    mem_free(send);
    return rc;
}

enum rc dist_key_order_gather(const struct dist_key_order *o,
                              const struct lookup_list *own, int64_t *out,
                              struct err *err)
{
    int64_t n = o->own[o->owner.classes];
    int64_t *message = mem_try_alloc((size_t)n + 1, sizeof(*message));
    int64_t *got = out ? mem_try_alloc((size_t)o->n + 1, sizeof(*got)) : NULL;
    enum rc rc = message && (got || !out)
                     ? RC_OK
                     : err_set(err, RC_NOMEM, "no memory for %jd ids", (intmax_t)o->n);
    for (int64_t i = 0; i < n && !rc; i++)
        message[i] = lookup_list_at(own, o->places[i]);
    if (!rc)
        rc = gather(o, message, n, got, out, err);
    mem_free(message);
    mem_free(got);
    return rc;
}
