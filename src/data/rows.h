/* SPDX-License-Identifier: Apache-2.0 */
/* data/rows.h - moving rows between batches. */
#ifndef DATA_ROWS_H
#define DATA_ROWS_H

#include "data/batch.h"

/* Adds rows [at, at + n) of `from` behind those of `to`, which has a column of the same
 * type and whose own memory is used: an encoded column arrives decoded. `to` must not be
 * encoded or point into memory of others. RC_NOMEM, RC_INVAL (E1090 too much for one
 * batch): `to` may hold a part then.
 */
enum rc column_append(struct column *to, const struct column *from, int64_t at, int64_t n,
                      struct err *err) MUST_CHECK;
/* The same for rows at[0], at[1], ... of `from`, n in all. */
enum rc column_gather(struct column *to, const struct column *from, const int64_t *at,
                      int64_t n, struct err *err) MUST_CHECK;
/* As column_append() for all columns, in order; sets to->n. */
enum rc batch_append(struct batch *to, const struct batch *from, int64_t at, int64_t n,
                     struct err *err) MUST_CHECK;

/* Numbers of any width as double; 0 for null. False when the type is not a number. */
bool column_is_number(const struct type *t);
double column_number(const struct column *c, int64_t i);

#endif
