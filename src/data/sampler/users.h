/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/users.h - the user table, which edges are checked against. */
#ifndef DATA_SAMPLER_USERS_H
#define DATA_SAMPLER_USERS_H

#include "data/sampler/edges.h"

struct sampler_users_conf {
    const char *path;
    char delim;
    struct buf *notes; /* as in nodes_conf */
};

/* Reads the table and notes how many users of the edges it does not have; `what` is theirs
 * ("positive edges"). Nothing is drawn from it: users without a row keep their edges.
 * RC_NOTFOUND E1201; RC_FORMAT E1901, E1902; RC_NOMEM.
 */
enum rc sampler_users_check(const struct sampler_users_conf *conf, const char *what,
                            const struct edges *edges, struct err *err) MUST_CHECK;

#endif
