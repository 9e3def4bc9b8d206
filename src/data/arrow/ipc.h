/* SPDX-License-Identifier: Apache-2.0 */
/* data/arrow/ipc.h - Arrow record batches as they travel in messages.
 *
 * Two forms: a stream (a schema, then batches), of which the first batch is taken; or one
 * batch alone, whose columns the reader must know. Bodies may be compressed (LZ4 frames,
 * zstd). Arrow's columns have the shape of ours, so a batch is looked at where it lies.
 *
 * Read: int32, int64, uint32, uint64, float, double, bool, utf8, binary, and lists, maps
 * and structs of these; other types only fail when somebody wants their column.
 */
#ifndef DATA_ARROW_IPC_H
#define DATA_ARROW_IPC_H

#include "data/batch.h"

struct arrow;

struct arrow *arrow_create(void);
void arrow_destroy(struct arrow *a); /* NULL is fine */

/* The schema at the front of a stream, all columns that can be read; `out` is empty.
 * RC_FORMAT E1805 (not a stream, or damaged).
 */
enum rc arrow_schema(const void *p, size_t n, struct data_schema *out,
                     struct err *err) MUST_CHECK;

/* The columns `want` of the first batch of the message. `known`: the columns of a message
 * without a schema, in its order; NULL: it has one. *out has the columns of `want` in
 * order, is borrowed, and valid until the next call; the bytes must stay as long.
 * RC_FORMAT E1805 (damaged), RC_INVAL E1806 (a column is missing or of another type),
 * RC_NOMEM.
 */
enum rc arrow_batch(struct arrow *a, const void *p, size_t n,
                    const struct data_schema *known, const struct data_schema *want,
                    const struct batch **out, struct err *err) MUST_CHECK;

#endif
