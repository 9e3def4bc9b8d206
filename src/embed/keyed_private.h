/* SPDX-License-Identifier: Apache-2.0 */
/* embed/keyed_private.h - what the two kinds of keyed tables share. */
#ifndef EMBED_KEYED_PRIVATE_H
#define EMBED_KEYED_PRIVATE_H

#include "embed/keyed.h"

/* The row is no longer what its former owner left. */
void keyed_reset(struct keyed *k, int64_t row);
/* Rows of all uses; -1 for ids without one when `other` is negative, else `other`. */
void keyed_rows_of(const struct keyed *k, struct pool *pool, const struct keyed_use *uses,
                   size_t n, int64_t other);

enum rc zch_train(struct keyed *k, const struct keyed_use *uses, size_t n,
                  struct err *err) MUST_CHECK;

#endif
