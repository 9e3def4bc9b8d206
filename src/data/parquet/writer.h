/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/writer.h - writing batches as a Parquet file.
 *
 * Pages of version 1, dictionaries where they pay, statistics, page indexes. The file
 * appears under its name only when parquet_writer_finish() succeeded. Memory: the
 * compressed pages of one row group and one open page per column.
 */
#ifndef DATA_PARQUET_WRITER_H
#define DATA_PARQUET_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/batch.h"
#include "io/codec.h"

struct parquet_writer;

/* Zeroed is the default, which is not compressed; `codec` is one that can be written. */
struct parquet_writer_options {
    enum codec_id codec;
    int level;          /* of the codec; 0: its default */
    bool no_dict;       /* no dictionaries */
    bool no_index;      /* no page indexes */
    bool crc;           /* a checksum on every page */
    size_t page_bytes;  /* a page is closed when its values reach this; 0: 1 MiB */
    int64_t page_rows;  /* or it has so many rows; 0: 20000 */
    int64_t group_rows; /* a row group is closed at so many; 0: 1048576 */
    size_t group_bytes; /* or when its pages take this; 0: 128 MiB */
    size_t dict_bytes;  /* largest dictionary; 0: 1 MiB */
};

/* The schema is copied. On success *out is the caller's, to finish or abandon. `o` may be
 * NULL. RC_IO, RC_NOMEM, RC_UNSUPPORTED (codec).
 */
enum rc parquet_writer_create(const char *path, const struct data_schema *schema,
                              const struct parquet_writer_options *o,
                              struct parquet_writer **out, struct err *err) MUST_CHECK;
/* All rows of `b`, whose columns are those of the schema. RC_INVAL (E1020), RC_IO,
 * RC_NOMEM. After a failure only parquet_writer_abandon() is of use.
 */
enum rc parquet_write(struct parquet_writer *w, const struct batch *b,
                      struct err *err) MUST_CHECK;
/* Both end `w`, whatever they return. */
enum rc parquet_writer_finish(struct parquet_writer *w, struct err *err) MUST_CHECK;
void parquet_writer_abandon(struct parquet_writer *w); /* NULL is fine */

#endif
