/* SPDX-License-Identifier: Apache-2.0 */
/* data/csv/csv.h - CSV and TSV files to typed columns.
 *
 * RFC 4180 with the freedoms that real files take: any one-byte delimiter, LF or CRLF, a
 * byte order mark, a last line without its end, blank lines (skipped), quotes within bare
 * text. Plain, gzip and zstd input. Columns are INT32, INT64, FLOAT, DOUBLE or STRING;
 * CSV has no form for lists and maps. docs/data-formats.md has the rules in full.
 *
 * A reader belongs to one thread at a time. Its memory follows from block, max_record and
 * the batch, never from the size of the file.
 */
#ifndef DATA_CSV_CSV_H
#define DATA_CSV_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/batch.h"

struct csv_reader;

enum csv_names {
    CSV_NAMES_HEADER, /* the first line */
    CSV_NAMES_GIVEN,  /* conf.fields, in the file's order; none: as CSV_NAMES_HEADER */
    CSV_NAMES_NUMBER, /* "c0", "c1", ...; the first line is data */
};

/* A column that the caller knows something about. */
struct csv_field {
    const char *name;
    enum type_id type; /* TYPE_I32, I64, F32, F64 or STR */
    bool inferred;     /* look at the values instead of `type` */
    bool widens;       /* TYPE_I64 becomes TYPE_F64 where the values have fractions */
    bool exact;        /* as in struct csv_conf, where the type is known already */
    const char *why;   /* who says so, for messages; NULL: nobody */
};

/* A zeroed struct has the usual meaning everywhere; what it points at is only read during
 * csv_open().
 */
struct csv_conf {
    char delim;     /* 0: ',' */
    bool no_quotes; /* '"' is a character like others */
    enum csv_names names;
    const struct csv_field *fields; /* of CSV_NAMES_HEADER: matched by name */
    size_t n_fields;
    /* Types of columns whose type `fields` does not tell, by name, where they are there;
     * the first of one name counts.
     */
    const struct csv_field *types;
    size_t n_types;
    const char *const *want; /* names of the columns to read; NULL: all */
    size_t n_want;
    /* Numbers whose text cannot be told from their value (007, +5, whole numbers that a
     * double rounds) make an inferred column STRING; behind infer_bytes they are E1119.
     */
    bool exact;
    bool empty_is_null; /* of STRING columns: an empty field without quotes is null */
    bool skip_bad;      /* malformed records are counted and left out */
    int64_t max_bad;    /* with skip_bad: more than these are an error; 0: any number */
    int read_ahead;     /* see stream_open() */
    int64_t end; /* offset where reading stops, the start of a record; 0: at the end */
    int64_t infer_bytes; /* 0: 64 MiB */
    size_t block;        /* bytes read at a time; 0: 256 KiB */
    size_t max_record;   /* bytes; 0: 16 MiB */
};

/* Between two records. */
struct csv_cursor {
    int64_t offset; /* in the decompressed bytes: where the next record starts */
    int64_t line;   /* of it; the first is 1. 0: not known */
    int64_t record; /* number of records before it; header and blank lines are none */
    int64_t bad;    /* of these, left out as malformed */
};

/* Opens, reads the header, finds the types. The caller's, to csv_close(). Besides what
 * stream_open() reports: RC_INVAL E1101 (conf), E1110 (a wanted or declared column that
 * is not there), E1116 (type); RC_FORMAT E1109, E1113 (header).
 */
enum rc csv_open(const char *path, const struct csv_conf *conf, struct csv_reader **out,
                 struct err *err) MUST_CHECK;
/* Over bytes of the caller, which outlive the reader; `name` stands in messages. */
enum rc csv_open_memory(const char *name, const void *bytes, size_t n,
                        const struct csv_conf *conf, struct csv_reader **out,
                        struct err *err) MUST_CHECK;
void csv_close(struct csv_reader *r); /* NULL is fine */

/* The columns that are read, in the file's order. Borrowed until csv_close(). */
const struct data_schema *csv_schema(const struct csv_reader *r);

/* Empties `b`, which was made with csv_schema(), and adds up to `max` rows; b->n == 0 is
 * the end. A batch may be short before the end. On failure b is empty, and the reader is
 * good for csv_seek() and csv_close() only. RC_FORMAT E1102..E1108 with the place, E1117
 * (more than max_bad), RC_IO, RC_NOMEM.
 */
enum rc csv_next(struct csv_reader *r, int64_t max, struct batch *b,
                 struct err *err) MUST_CHECK;

void csv_tell(const struct csv_reader *r, struct csv_cursor *at);
/* To a place that csv_tell() or csv_split() gave for the same file and conf. E1112 when
 * no record can start there.
 */
enum rc csv_seek(struct csv_reader *r, const struct csv_cursor *at,
                 struct err *err) MUST_CHECK;
/* The message of the first record that skip_bad left out; "" when there is none. */
const char *csv_first_bad(const struct csv_reader *r);

/* Cuts an uncompressed file into `n` ranges of about the same size at record boundaries:
 * out[i]..out[i+1] is the i-th, out[n] the end of the file. Reads the whole file once,
 * because only that tells a line end from one in quotes. RC_UNSUPPORTED E1118 when it is
 * compressed.
 */
enum rc csv_split(const char *path, const struct csv_conf *conf, size_t n,
                  struct csv_cursor *out, struct err *err) MUST_CHECK;

#endif
