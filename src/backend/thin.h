/* SPDX-License-Identifier: Apache-2.0 */
/* backend/thin.h - of very many metric values of one job, fewer.
 *
 * The store of a server is everybody's, so no job may fill it with what it prints. The
 * first THIN_EACH values are all kept; then of every second line, behind as many again of
 * every fourth, and so on: the number kept grows with the logarithm of what is printed. The
 * latest value of each name is never lost.
 */
#ifndef BACKEND_THIN_H
#define BACKEND_THIN_H

#include <stdbool.h>

#include "base/map.h"
#include "store/store.h"

#define THIN_EACH 200000
#define THIN_NAMES 2000 /* of one job; values of further names are left out */

/* Zeroed: nothing has come yet. */
struct backend_thin {
    int64_t kept;
    uint64_t lines;
    int64_t worker, at; /* of the last line */
    bool keep;          /* and what was decided of it */
    struct map names;   /* owned struct store_point: the latest, if it was left out */
};

/* Whether to keep it; values of one line have one fate. */
bool backend_thin_keep(struct backend_thin *t, const struct store_point *p);
/* Of how many lines one is kept now. */
int64_t backend_thin_stride(const struct backend_thin *t);
/* Takes the next of the latest values that were left out, until none is left; its name
 * lives as long as `t`.
 */
bool backend_thin_rest(struct backend_thin *t, struct store_point *out);
void backend_thin_release(struct backend_thin *t); /* twice is fine */

#endif
