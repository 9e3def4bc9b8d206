/* SPDX-License-Identifier: Apache-2.0 */
/* data/csv/csv_private.h - what the parts of the reader share.
 *
 *   block.c   bytes -> records: reading, scanning, one table entry per field
 *   field.c   one column of some records -> one struct column
 *   reader.c  open, next, cursor
 *   infer.c   types from values
 */
#ifndef DATA_CSV_CSV_PRIVATE_H
#define DATA_CSV_CSV_PRIVATE_H

#include "data/csv/csv.h"
#include "data/csv/scan.h"
#include "io/stream.h"

/* Why a field or record was refused. */
enum csv_fault {
    CSV_FAULT_NONE,
    CSV_FAULT_COUNT, /* E1102 number of fields */
    CSV_FAULT_QUOTE, /* E1103 text behind the closing quote */
    CSV_FAULT_VALUE, /* E1106 not of the type */
    CSV_FAULT_RANGE, /* E1107 does not fit */
    CSV_FAULT_UTF8,  /* E1108 */
    CSV_FAULT_EXACT, /* E1119 the number does not tell its text */
};

/* Records of one block. Field k of row i lies in
 * text[table[i * stride + k]] .. text[table[i * stride + k + 1] - 1], the last one too.
 * CSV_SCAN_PAD bytes behind the text may be read.
 */
struct csv_rows {
    const unsigned char *text;
    const uint32_t *table;
    size_t stride;
    size_t n;
    bool quotes; /* some field may be quoted */
    bool high;   /* some byte is >= 0x80 */
    bool crlf;   /* the last field may end in '\r' that is not part of it */
    char quote;
};

struct csv_block {
    struct stream *in;
    csv_scan_fn *scan;
    char delim;
    bool quoting;
    size_t size, max_record;
    int64_t end; /* offset where the input ends for us; -1: at its end */

    unsigned char *text; /* [cap + CSV_SCAN_PAD + 1] */
    size_t n, cap;
    size_t used;    /* bytes that belong to records handed out or dropped */
    int64_t offset; /* of text[0] in the input */
    int64_t line;   /* of text[0]; 0: not known */
    bool eof;       /* nothing behind text[n] */
    uint32_t *ends; /* ends[0] is 0, then where each field ends; [n_ends + 1] */
    size_t n_ends;
    size_t n_lines;  /* line ends among them */
    size_t n_breaks; /* line ends of any kind in the first `scanned` bytes */
    size_t scanned;
    size_t n_records;  /* set by csv_block_rows(): those that are not blank */
    size_t whole;      /* bytes up to the last of them */
    int64_t size_seen; /* with eof: the offset of the end */
    bool saw_quote, saw_high;
    uint32_t *table; /* rows that do not lie side by side; [table_cap] */
    size_t table_cap;
};

enum rc csv_block_init(struct csv_block *b, const struct csv_conf *conf,
                       struct stream *in, struct err *err) MUST_CHECK;
void csv_block_release(struct csv_block *b);
/* Drops the used bytes and reads on until there is a whole record (n_ends > 0, the last
 * end is a line end) or nothing is left (n_ends == 0). E1104, E1105.
 */
enum rc csv_block_fill(struct csv_block *b, struct err *err) MUST_CHECK;
/* Starts again at `offset`, which is line `line`. */
enum rc csv_block_seek(struct csv_block *b, int64_t offset, int64_t line,
                       struct err *err) MUST_CHECK;
/* Line and byte within it (both from 1) of text[at]; line 0 when not known. */
void csv_block_place(const struct csv_block *b, size_t at, int64_t *line,
                     int64_t *column);

/* A walk over the records of a block; `at` starts as 0. */
struct csv_walk {
    size_t end;  /* next entry of ends */
    size_t from; /* first entry of the current record: its fields are ends[from..end) */
    uint32_t start; /* its first byte */
    bool blank;
};
bool csv_walk_next(const struct csv_block *b, struct csv_walk *w);

/* A record of another number of fields than the others. */
struct csv_odd {
    size_t at; /* its place in the text; SIZE_MAX: there is none */
    size_t n_fields;
};
/* Makes the table; `n_cols` fields per record. *odd is the first record of another
 * number; with `skip` all such are left out, else the rows end before it.
 */
enum rc csv_block_rows(struct csv_block *b, size_t n_cols, bool skip,
                       struct csv_rows *out, struct csv_odd *odd,
                       struct err *err) MUST_CHECK;

/* Content of a field without its quotes: from *p, *n on, or into `room` (of at least *n
 * bytes) when doubled quotes had to go. False when something stands behind the closing
 * quote.
 */
bool csv_unquote(const unsigned char **p, size_t *n, char quote, unsigned char *room);
/* A field that should be a number: quotes and blanks around it are left out. */
struct str csv_number_text(const unsigned char *p, size_t n, char quote);
bool csv_is_null_word(struct str s);
/* Of a number: its text is what would be written for its value, but for fractions. */
bool csv_is_plain_number(struct str s);
/* Of a number: whole, and so long that a double may round it. */
bool csv_is_large_number(struct str s);

/* A value as a message may show it: short, and without control characters or broken
 * bytes. `out` has room for CSV_EXCERPT bytes.
 */
#define CSV_EXCERPT 200
void csv_excerpt(struct buf *out, const unsigned char *p, size_t n);

/* The faults of some rows: by row, the first column that has one. */
struct csv_faults {
    size_t n;     /* rows with a fault */
    uint32_t col; /* the column at work */
    struct {
        enum csv_fault fault;
        uint32_t col;
    } * at; /* [CSV_SLICE] */
};
#define CSV_SLICE 4096 /* most rows that csv_field_read() takes */

/* Adds field `col` of the rows to `c`, whose room was reserved (csv_field_reserve). A
 * refused field is added as null and noted in `faults`. RC_NOMEM for the bitmap.
 */
enum rc csv_field_read(const struct csv_rows *rows, size_t col, bool last,
                       bool empty_is_null, struct column *c, struct csv_faults *faults,
                       struct err *err) MUST_CHECK;

/* Notes the fields of a column of numbers that do not tell their texts. */
void csv_field_exact(const struct csv_rows *rows, size_t col, bool last,
                     enum type_id type, struct csv_faults *faults);

/* Field 0 of the rows: eight digits and a sign at most: out[i] and bit i of valid; rows
 * that need a closer look go to slow[], whose number is returned; their bit is set and
 * out[] undefined. valid has whole words for n rows.
 */
typedef size_t csv_ints_fn(const struct csv_rows *rows, void *out, uint64_t *valid,
                           uint32_t *slow);
csv_ints_fn csv_ints_i32_ref, csv_ints_i64_ref;
#ifdef CSV_SCAN_X86
csv_ints_fn csv_ints_i32_avx512, csv_ints_i64_avx512;
/* Texts of the first rows, as long as they have eight bytes or none: copied behind each
 * other to `to` + offsets[0], with their ends in offsets[1] and on. How many rows.
 */
size_t csv_eights_avx512(const struct csv_rows *rows, char *to, int32_t *offsets);
#endif

/* How the type of a column of the file is found. */
struct csv_column {
    bool wanted, inferred;
    bool widens; /* inferred, but a number in any case */
    bool unseen; /* inferred from nothing: no field has a value */
    bool exact;  /* its numbers must tell their texts */
    bool large;  /* it has a whole number that a double may round */
    enum type_id type;
    const char *why; /* borrowed */
};
/* Finds types for the columns [n_cols] whose `inferred` is set, from the records at hand;
 * on return the block has moved on.
 */
enum rc csv_infer(struct csv_block *b, struct csv_column *columns, size_t n_cols,
                  int64_t max_bytes, struct err *err) MUST_CHECK;

#endif
