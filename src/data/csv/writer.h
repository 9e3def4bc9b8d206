/* SPDX-License-Identifier: Apache-2.0 */
/* data/csv/writer.h - columns to CSV text.
 *
 * A value is quoted only when it must be: it holds the delimiter, a quote or a line end,
 * or it stands alone on its line and is empty. Floats are the shortest decimals that read
 * back as the same number; null is empty. Text of a null and of "" look alike unless
 * empty_is_null is set on both sides: then "" is quoted. NaN reads back as null.
 */
#ifndef DATA_CSV_WRITER_H
#define DATA_CSV_WRITER_H

#include "base/err.h"
#include "base/str.h"
#include "data/batch.h"

struct csv_style {
    char delim;     /* 0: ',' */
    bool no_header; /* csv_create() writes none */
    bool empty_is_null;
};

/* E1114 when a column is a list, a map or a struct; E1101 for the delimiter. */
enum rc csv_check_style(const struct data_schema *schema, const struct csv_style *style,
                        struct err *err) MUST_CHECK;
/* The line of names, and rows [from, to) of a batch; both checked before. */
void csv_print_header(const struct data_schema *schema, const struct csv_style *style,
                      struct buf *out);
void csv_print_rows(const struct batch *b, int64_t from, int64_t to,
                    const struct csv_style *style, struct buf *out);

/* A file that appears at `path`, whole, at csv_commit(). */
struct csv_writer;
enum rc csv_create(const char *path, const struct data_schema *schema,
                   const struct csv_style *style, struct csv_writer **out,
                   struct err *err) MUST_CHECK;
enum rc csv_write(struct csv_writer *w, const struct batch *b,
                  struct err *err) MUST_CHECK;
/* Both end `w`, whatever they return. */
enum rc csv_commit(struct csv_writer *w, struct err *err) MUST_CHECK;
void csv_abandon(struct csv_writer *w); /* NULL is fine */

#endif
