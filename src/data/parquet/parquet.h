/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/parquet.h - reading Parquet files as batches of columns.
 *
 * Pages are decoded as they are needed: memory depends on the size of the batches and of
 * the largest pages, not on row groups or files. What is read of the format, and how its
 * types become ours, is in docs/data-formats.md. A reader is used by one thread at a
 * time.
 */
#ifndef DATA_PARQUET_PARQUET_H
#define DATA_PARQUET_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "data/batch.h"

struct parquet;

enum parquet_dict {
    PARQUET_DICT_NONE,    /* always values */
    PARQUET_DICT_STRINGS, /* strings may stay encoded (column.h: dict) */
    PARQUET_DICT_ALL,     /* other flat types too */
};

/* Bytes of text, or 8 times the values, of one column in one row. */
#define PARQUET_ROW_MAX ((size_t)1 << 30)

/* Zeroed is the default. */
struct parquet_options {
    enum parquet_dict dict;
    bool skip_crc;    /* do not check the checksums of pages that have one */
    size_t max_bytes; /* per column and batch, unless it is one row; 0: 256 MiB */
    const char *const *columns; /* top-level names to read, in this order; NULL: all */
    size_t n_columns;
};

/* On success *out is the caller's, to parquet_close(). Messages begin with the path. `o`
 * may be NULL. RC_NOTFOUND, RC_IO, RC_FORMAT, RC_UNSUPPORTED, RC_NOMEM; RC_INVAL (E1011)
 * for a column that the file lacks.
 */
enum rc parquet_open(const char *path, const struct parquet_options *o,
                     struct parquet **out, struct err *err) MUST_CHECK;
/* The same for bytes that are borrowed until parquet_close(). */
enum rc parquet_open_memory(const char *name, const void *bytes, size_t n,
                            const struct parquet_options *o, struct parquet **out,
                            struct err *err) MUST_CHECK;
void parquet_close(struct parquet *r); /* NULL is fine */

/* Borrowed, as long as the reader. The columns that were asked for. */
const struct data_schema *parquet_schema(const struct parquet *r);
int64_t parquet_rows(const struct parquet *r);
size_t parquet_groups(const struct parquet *r);
/* The first row of a row group, i <= parquet_groups(): the last one is parquet_rows(). */
int64_t parquet_group_start(const struct parquet *r, size_t i);
const char *parquet_created_by(const struct parquet *r); /* "" when the file has none */

/* The next rows, at most `max`, into `b`, which was initialised with parquet_schema();
 * fewer at the end of the file and where rows are so large that max_bytes would be
 * passed, b->n == 0 behind the end. One row may take PARQUET_ROW_MAX bytes per column
 * (RC_INVAL, E1090). After a failure b is empty, and the reader stands where it stood:
 * parquet_seek() can go past the damage.
 */
enum rc parquet_next(struct parquet *r, int64_t max, struct batch *b,
                     struct err *err) MUST_CHECK;
/* Up to parquet_rows(). Nothing is read before the next parquet_next(), and then only the
 * pages that hold the rows asked for, where the file has a page index. RC_INVAL (E1015).
 */
enum rc parquet_seek(struct parquet *r, int64_t row, struct err *err) MUST_CHECK;
int64_t parquet_tell(const struct parquet *r);

/* From now on columns are decoded by the threads of `pool`, which is borrowed; NULL: by
 * the caller's alone. The result is the same.
 */
void parquet_set_pool(struct parquet *r, struct pool *pool);

#endif
