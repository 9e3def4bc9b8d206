/* SPDX-License-Identifier: Apache-2.0 */
/* embed/keyed_private.h - what the two kinds of keyed tables share. */
#ifndef EMBED_KEYED_PRIVATE_H
#define EMBED_KEYED_PRIVATE_H

#include "embed/keyed.h"

/* The row is no longer what its former owner left. */
void embed_keyed_reset(struct embed_keyed *k, int64_t row);
/* Rows of all uses; -1 for ids without one when `other` is negative, else `other`. */
void embed_keyed_rows_of(const struct embed_keyed *k, struct pool *pool,
                         const struct embed_keyed_use *uses, size_t n, int64_t other);

enum rc embed_zch_train(struct embed_keyed *k, const struct embed_keyed_use *uses,
                        size_t n, struct err *err) MUST_CHECK;

#endif
