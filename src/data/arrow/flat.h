/* SPDX-License-Identifier: Apache-2.0 */
/* data/arrow/flat.h - looking into FlatBuffers, every place checked before it is read.
 *
 * A place is an offset into the bytes; 0, which no table or vector has, means "absent or
 * malformed", and every function gives its default for it. So a damaged message yields
 * absent fields, never a read outside.
 */
#ifndef DATA_ARROW_FLAT_H
#define DATA_ARROW_FLAT_H

#include <stdint.h>

#include "base/str.h"

struct flat {
    const uint8_t *p; /* borrowed */
    size_t n;
};

size_t flat_root(const struct flat *f); /* the table that everything hangs on */
/* Field `id` of the table at `t`. */
int64_t flat_i64(const struct flat *f, size_t t, unsigned id, int64_t preset);
int32_t flat_i32(const struct flat *f, size_t t, unsigned id, int32_t preset);
int16_t flat_i16(const struct flat *f, size_t t, unsigned id, int16_t preset);
uint8_t flat_u8(const struct flat *f, size_t t, unsigned id, uint8_t preset);
size_t flat_table(const struct flat *f, size_t t, unsigned id);
struct str flat_text(const struct flat *f, size_t t, unsigned id);
/* A vector of elements of `width` bytes (tables: 4): its number of elements, and the
 * place of the first one. All of them lie in the bytes.
 */
size_t flat_vector(const struct flat *f, size_t t, unsigned id, size_t width, size_t *at);
/* The table that element i of a vector of tables means. */
size_t flat_element(const struct flat *f, size_t at, size_t i);
int64_t flat_at_i64(const struct flat *f, size_t place); /* of a struct in a vector */

#endif
