/* SPDX-License-Identifier: Apache-2.0 */
/* lib/import.h - rows of Arrow's C data interface as a batch. */
#ifndef LIB_IMPORT_H
#define LIB_IMPORT_H

#include "data/batch.h"
#include "trainyard/scoring.h"

/* The type of a column; kids lie in `mem`. A column, or elements of a list, of nothing but
 * nulls have the type that `like` has there, or are texts where it is NULL. RC_UNSUPPORTED
 * E2031 names the format.
 */
enum rc lib_import_type(const struct ArrowSchema *s, const struct type *like,
                        struct arena *mem, struct type *out, struct err *err) MUST_CHECK;

/* Rows [at, at + n) of an array of that type, at the end of nothing: `to` is empty. What
 * lies in memory as a column has it is borrowed; the rest is copied into memory of the
 * column; a number that is NaN is null. `outer` has a bit for each row, 0 where it is null whatever the array says, or is
 * NULL. RC_FORMAT E2032: the array is not what its schema says. RC_NOMEM, RC_INVAL.
 */
enum rc lib_import_rows(const struct ArrowSchema *s, const struct ArrowArray *a,
                        int64_t at, int64_t n, const uint8_t *outer, struct column *to,
                        struct err *err) MUST_CHECK;

/* Are these rows, a struct with its children there? *valid: which of them are null as a
 * whole, for lib_import_rows; borrowed, or NULL. RC_FORMAT E2032.
 */
enum rc lib_import_struct(const struct ArrowSchema *s, const struct ArrowArray *a,
                          const uint8_t **valid, struct err *err) MUST_CHECK;

#endif
