/* SPDX-License-Identifier: Apache-2.0 */
/* dist/ps_rows.h - gradients of rows, collected from several batches or trainers: of each
 * id one sum, added in the order in which they came.
 */
#ifndef DIST_PS_ROWS_H
#define DIST_PS_ROWS_H

#include <stdint.h>

#include "base/err.h"

/* A zeroed one is empty. */
struct dist_ps_rows {
    int64_t dim, n;
    int64_t *ids; /* [n]; after a merge ascending, each once */
    float *sums;  /* [n][dim] */
    int64_t room;
    int lists; /* that were added since it was empty */
};

/* Both lists lie at any address. RC_NOMEM. */
enum rc dist_ps_rows_add(struct dist_ps_rows *r, int64_t dim, const void *ids,
                         const void *sums, int64_t n, struct err *err) MUST_CHECK;
/* Each id once. RC_NOMEM. */
enum rc dist_ps_rows_merge(struct dist_ps_rows *r, struct err *err) MUST_CHECK;
void dist_ps_rows_scale(struct dist_ps_rows *r, float by);
void dist_ps_rows_clear(struct dist_ps_rows *r);
void dist_ps_rows_release(struct dist_ps_rows *r);

#endif
