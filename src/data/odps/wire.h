/* SPDX-License-Identifier: Apache-2.0 */
/* data/odps/wire.h - rows as the tunnel sends them.
 *
 * A row is its values, each behind a tag of its number (from 1) in the style of protobuf,
 * nulls left out, and a CRC32C over numbers and values; at the end of the bytes stand the
 * number of rows and a CRC32C over those of the rows. Whole numbers are zigzag varints of
 * 64 bits whatever their type; lists are a count, then for each element a null flag and
 * the value.
 */
#ifndef DATA_ODPS_WIRE_H
#define DATA_ODPS_WIRE_H

#include "data/batch.h"
#include "data/odps/type.h"

/* Bytes being taken apart. */
struct odps_wire {
    const uint8_t *start, *p, *end; /* borrowed */
    uint32_t row_crc, all_crc;
    int64_t rows; /* so far */
    bool ended;   /* behind the checksum at the end */
};

void odps_wire_init(struct odps_wire *w, const void *p, size_t n);
/* Adds one row: value k goes to cols[k] (NULL: it is passed over). At the end nothing is
 * added and w->ended is set. After a failure the columns may hold parts of a row.
 * RC_FORMAT E1707 (with the byte), RC_NOMEM.
 */
enum rc odps_wire_row(struct odps_wire *w, const struct odps_type *types,
                      struct column *const *cols, size_t n, struct err *err) MUST_CHECK;

/* Bytes being put together. */
struct odps_out {
    struct buf bytes;
    uint32_t row_crc, all_crc;
    int64_t rows;
};

void odps_out_init(struct odps_out *o, size_t max);
void odps_out_release(struct odps_out *o);
void odps_out_clear(struct odps_out *o); /* a new block */
/* One value of row i as number `k` (from 0); nothing for a null. The types fit
 * (odps_type_takes). Sizes are checked by odps_out_end().
 */
void odps_out_value(struct odps_out *o, size_t k, const struct odps_type *type,
                    const struct column *c, int64_t i);
void odps_out_row(struct odps_out *o);                                /* ends a row */
enum rc odps_out_end(struct odps_out *o, struct err *err) MUST_CHECK; /* ends the block */

#endif
