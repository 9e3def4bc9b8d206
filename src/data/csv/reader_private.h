/* SPDX-License-Identifier: Apache-2.0 */
/* data/csv/reader_private.h - the reader itself, shared by reader.c, open.c and fault.c.
 */
#ifndef DATA_CSV_READER_PRIVATE_H
#define DATA_CSV_READER_PRIVATE_H

#include "data/csv/csv_private.h"

struct csv_reader {
    struct stream *in; /* owned */
    struct csv_block block;
    struct data_schema schema;
    char **names;            /* owned; [n_cols], all columns of the file */
    size_t n_cols;           /* of the file */
    size_t *plan;            /* [schema.n]: which column of the file */
    bool *exact;             /* [schema.n]: its numbers must tell their texts */
    struct csv_cursor start; /* behind the header, and blank lines at the front */
    int64_t least;           /* where the first record may start */
    bool empty_is_null, skip_bad;
    int64_t max_bad;

    bool loaded; /* `rows` are those of the block */
    struct csv_rows rows;
    size_t next_row;
    struct csv_odd odd; /* behind the rows: the record to complain about */
    int64_t record;     /* records before the block */
    int64_t good;       /* rows handed out, and before the place of csv_seek() */
    int64_t n_bad;      /* left out so far, up to the end of the block at hand */
    struct err first_bad;
    int64_t first_bad_at; /* its offset */
    struct csv_faults faults;
    struct {
        int64_t n, n_null;
    } * before; /* [schema.n]: columns before the slice at work */
};

/* Each writes the place and what is wrong there, and returns RC_FORMAT. `row` is the
 * row's line of the table.
 */
enum rc csv_odd_error(const struct csv_reader *r, const struct csv_odd *odd,
                      struct err *err);
enum rc csv_fault_error(const struct csv_reader *r, enum csv_fault fault,
                        const uint32_t *row, size_t col, struct err *err);
/* INT32, INT64, FLOAT, DOUBLE or STRING, as configurations spell them. */
const char *csv_type_name(enum type_id type);

#endif
