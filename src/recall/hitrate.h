/* SPDX-License-Identifier: Apache-2.0 */
/* recall/hitrate.h - how many of the items that users met are among those nearest to
 * them.
 */
#ifndef RECALL_HITRATE_H
#define RECALL_HITRATE_H

#include "data/writer.h"
#include "recall/index.h"
#include "recall/items.h"

struct hitrate_conf {
    int64_t top_k, probes;
    int64_t batch; /* users that are searched for at a time */
    /* Users have several vectors: the nearest of each count, or (`across`) those that are
     * nearest to any. Vectors of zeros count for nothing then.
     */
    bool across;
    int64_t interests_at; /* column of users.rows: how many vectors are valid; -1: all */
    enum recall_metric metric;
    struct pool *pool;
    const char *details; /* file that gets a row per user; NULL: none */
    const struct writer_ops *format;
    int64_t from, to; /* users that count; to 0: all of them */
    double *rates;    /* [to - from]: share of each, -1 of those without items; or NULL */
};

struct hitrate {
    int64_t users;   /* with items that they met, */
    int64_t skipped; /* and without */
    int64_t truths, hits;
    int64_t lucky; /* users with at least one hit */
    double mean;   /* of the users' shares */
};

/* `users` has vectors and the column of items that they met (list_at). RC_INVAL E2405,
 * RC_NOMEM; what the writer reports.
 */
enum rc hitrate_run(const struct recall_index *x, const struct recall_items *items,
                    const struct recall_items *users, const struct hitrate_conf *conf,
                    struct hitrate *out, struct err *err) MUST_CHECK;

#endif
