/* SPDX-License-Identifier: Apache-2.0 */
/* store/accounts.h - the user ids that jobs of a server run under, one per name.
 *
 * All servers of a store take them from here, so a name has the same number on every machine
 * and no number is two people's. A number is never given out again.
 */
#ifndef STORE_ACCOUNTS_H
#define STORE_ACCOUNTS_H

#include "store/store.h"

struct store_account {
    const char *name; /* "#NUMBER": nobody's any more */
    int64_t uid;
};
struct store_accounts {
    struct arena arena;
    struct store_account *at;
    size_t n;
};
void store_accounts_release(struct store_accounts *l);
/* All, by number. */
enum rc store_account_get(struct store *s, struct store_accounts *out,
                          struct err *err) MUST_CHECK;
/* *uid is 0 when the name has none. */
enum rc store_account_find(struct store *s, const char *name, int64_t *uid,
                           struct err *err) MUST_CHECK;
/* The number of `name`, a new one of first..last if it has none yet. RC_NOTFOUND: all of
 * them are given out.
 */
enum rc store_account_take(struct store *s, const char *name, int64_t first, int64_t last,
                           int64_t *uid, struct err *err) MUST_CHECK;
/* Notes who has a number; changes nothing when the name has one or the number is given. */
enum rc store_account_put(struct store *s, const struct store_account *x,
                          struct err *err) MUST_CHECK;
/* The name has no number any more; fine when it has none. */
enum rc store_account_retire(struct store *s, const char *name,
                             struct err *err) MUST_CHECK;

#endif
