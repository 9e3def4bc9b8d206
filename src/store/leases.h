/* SPDX-License-Identifier: Apache-2.0 */
/* store/leases.h - who leads: a name that one holder has for a while.
 *
 * Time is the database's own, so clocks of machines do not matter. The epoch grows each
 * time the lease changes hands: what an earlier holder still does can be told from it.
 */
#ifndef STORE_LEASES_H
#define STORE_LEASES_H

#include "store/store.h"

struct store_lease {
    const char *name, *holder;
    int64_t until_ms; /* by the database's clock, since 1970 */
    int64_t now_ms;   /* that clock */
    int64_t epoch;
};
struct store_leases {
    struct arena arena;
    struct store_lease *at;
    size_t n;
};
void store_leases_release(struct store_leases *l);

/* Takes the lease for `ms` if it is free, over, or `holder`'s already (then it is
 * renewed). *mine says whether; *epoch is that of the holder, whoever it is.
 */
enum rc store_lease_take(struct store *s, const char *name, const char *holder,
                         int64_t ms, bool *mine, int64_t *epoch,
                         struct err *err) MUST_CHECK;
/* Gives it back; fine when it is not the holder's. */
enum rc store_lease_drop(struct store *s, const char *name, const char *holder,
                         struct err *err) MUST_CHECK;
/* RC_NOTFOUND (E3111) when nobody ever had it. */
enum rc store_lease_get(struct store *s, const char *name, struct store_leases *out,
                        struct err *err) MUST_CHECK;

/* From now on store_create() and store_append() of `s`, and what stands between
 * store_fence_begin() and store_fence_end(), change nothing unless `holder` has the lease
 * with this epoch at the moment of the change (RC_INVAL, E5401). `name` NULL: no more.
 * Texts are copied.
 */
void store_fence(struct store *s, const char *name, const char *holder, int64_t epoch);
/* A transaction around calls that write single rows of schedules, notifications and
 * marks. The end commits when rc is RC_OK and returns what became of it. Without a fence:
 * a transaction all the same.
 */
enum rc store_fence_begin(struct store *s, struct err *err) MUST_CHECK;
enum rc store_fence_end(struct store *s, enum rc rc, struct err *err) MUST_CHECK;

#endif
