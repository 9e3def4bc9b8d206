/* SPDX-License-Identifier: Apache-2.0 */
/* data/reader.h - files of any known format as batches of columns.
 *
 * A format is one struct reader_ops and one line in readers.def. It is found by the first
 * bytes of a file (decompressed), the name only breaks ties. A reader belongs to one
 * thread at a time; its memory follows from its settings and the batch, never from the
 * size of the file.
 */
#ifndef DATA_READER_H
#define DATA_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/fs.h"
#include "data/batch.h"

/* Between two rows of one file. `row` always counts from the file's first one and says
 * all that Parquet needs; a text reader gets there at once when the others are known too.
 */
struct reader_cursor {
    int64_t row;    /* rows before it; malformed ones that were left out are rows, too */
    int64_t offset; /* decompressed bytes before it; -1: not known */
    int64_t line;   /* of it, from 1; 0: not known */
    /* Offset and line are those of the place so many rows before it, and no malformed row
     * lies between.
     */
    int64_t back;
    int64_t bad; /* of the rows before it, left out as malformed */
};

/* A column of a text file that the caller knows something about. */
struct reader_field {
    const char *name;
    struct type type;
    bool inferred;   /* look at the values instead of `type` */
    bool widens;     /* INT64 becomes DOUBLE where the values have fractions */
    bool exact;      /* as in struct reader_conf, where the type is known already */
    const char *why; /* who says so, for messages; NULL: nobody */
};

/* Zeroed, it has the usual meaning everywhere. What it points at is only used during
 * reader_open() and reader_index().
 */
struct reader_conf {
    const char *const *want; /* names of the columns to read; NULL: all */
    size_t n_want;
    bool all; /* `want` names all columns: nobody chose some of them */
    /* Text formats: */
    char delim;     /* 0: guessed from the first line of the file */
    bool no_quotes; /* '"' is a character like others */
    bool no_header; /* names are those of `fields`, or "c0", "c1", ... */
    const struct reader_field *fields;
    size_t n_fields;
    /* What is known from elsewhere of columns that `fields` does not tell the type of, by
     * name; a file need not have them all, and the first of one name counts.
     */
    const struct reader_field *types;
    size_t n_types;
    /* Numbers whose text cannot be told from their value (007, +5, whole numbers that a
     * double rounds) make an inferred column STRING; behind the rows that tell types they
     * are an error, and so is, unless columns were chosen, a JSON key without a column.
     */
    bool exact;
    bool skip_bad;   /* malformed records are counted and left out */
    int64_t max_bad; /* with skip_bad: more than these are an error; 0: any number */
    int read_ahead;  /* chunks decompressed ahead in a thread, see io/stream.h */
    int64_t end;     /* offset where reading stops, the start of a row; 0: at the end */
    /* Slot files (data/slots/slots.h): */
    const char *line_format;  /* NULL: "slots" */
    const char *line_columns; /* NULL: inferred */
    int64_t line_padding;
    /* Parquet: */
    bool decode; /* no dictionary-encoded columns */
    /* MaxCompute: */
    const char *quota;       /* NULL: the project's */
    const char *compression; /* on the wire, "LZ4_FRAME", "ZSTD"; NULL: none */
    /* Streams: */
    bool bare; /* messages have no schema; it is `fields` */
    /* Whoever waits for data gives up when it is set (RC_CANCELED); must outlive the
     * reader; NULL: never.
     */
    const atomic_bool *stop;
};

/* Places of a text file from which reading can start, about a mebibyte apart. */
struct reader_index {
    struct reader_cursor *at; /* [n], owned; the last one is the end of the file */
    size_t n;
};
void reader_index_release(struct reader_index *index);

struct reader_ops {
    const char *name;     /* "csv" */
    const char *title;    /* for people: "CSV" */
    const char *suffixes; /* of file names, "csv|tsv|txt" */
    const char *scheme;   /* of addresses that are no files, "odps"; or NULL */
    /* The addresses that one address stands for are added to `out`; NULL: itself. */
    enum rc (*expand)(const char *address, struct fs_names *out, struct err *err);
    /* Reading may wait for data to come: an address is read by a thread of its own, and
     * may hold commas.
     */
    bool streams;
    bool delimited;   /* texts between delimiters; types are guessed unless given */
    bool text;        /* a value may be written in several ways */
    bool no_training; /* no dataset_type of a config reads it */
    /* 0 "not mine" .. 100 "certain", from the first bytes rather than the name. */
    int (*probe)(const unsigned char *head, size_t n, const char *path);
    enum rc (*open)(const char *path, const struct reader_conf *conf, void **state,
                    struct err *err);
    const struct data_schema *(*schema)(const void *state);
    int64_t (*rows)(const void *state); /* of the whole file; -1: only reading tells */
    /* Empties b and adds up to `max` rows. RC_OK with b->n == 0 is the end of the data;
     * a batch may be short before that.
     */
    enum rc (*next)(void *state, int64_t max, struct batch *b, struct err *err);
    void (*tell)(const void *state, struct reader_cursor *at);
    /* Event time of the rows that the last next() gave, Unix milliseconds; 0: not known.
     * NULL: rows have none.
     */
    int64_t (*time)(const void *state);
    enum rc (*seek)(void *state, const struct reader_cursor *at, struct err *err);
    /* NULL: cannot. RC_UNSUPPORTED: not for this file (it is compressed). */
    enum rc (*index)(const char *path, const struct reader_conf *conf,
                     struct reader_index *out, struct err *err);
    /* What was wrong with the first row that was left out; "" or NULL ops: nothing. */
    const char *(*first_bad)(const void *state);
    void (*close)(void *state); /* NULL is fine */
};

#define READER(name) extern const struct reader_ops reader_##name;
#include "data/readers.def"
#undef READER

const struct reader_ops *const *reader_all(size_t *n);
const struct reader_ops *reader_find(const char *name); /* NULL when there is none */
/* By the scheme of an address; NULL for files. */
const struct reader_ops *reader_of_scheme(const char *path);
/* The format of a file. RC_NOTFOUND, RC_IO, RC_FORMAT E1203 (none knows it). */
enum rc reader_detect(const char *path, const struct reader_ops **out,
                      struct err *err) MUST_CHECK;

/* Of a CSV file, the character that a person would take for its delimiter: of the usual
 * ones, the most frequent in the first line; a comma when in doubt.
 */
enum rc reader_csv_delimiter(const char *path, char *out, struct err *err) MUST_CHECK;

struct reader {
    const struct reader_ops *ops;
    void *state;
    char *path; /* owned */
};

/* `ops` NULL: detected. Messages name the file. The reader is the caller's, to
 * reader_close().
 */
enum rc reader_open(const char *path, const struct reader_ops *ops,
                    const struct reader_conf *conf, struct reader **out,
                    struct err *err) MUST_CHECK;
void reader_close(struct reader *r); /* NULL is fine */
/* The columns that are read, in the file's order. Borrowed until reader_close(). */
const struct data_schema *reader_schema(const struct reader *r);
int64_t reader_rows(const struct reader *r);
/* `b` was made with reader_schema() or one that equals it. */
enum rc reader_next(struct reader *r, int64_t max, struct batch *b,
                    struct err *err) MUST_CHECK;
void reader_tell(const struct reader *r, struct reader_cursor *at);
int64_t reader_time(const struct reader *r); /* see .time; 0: none */
/* To a place that reader_tell() or an index gave for the same file and settings, or to
 * any row with the rest unknown ({.row = n, .offset = -1}): a text file is then read up
 * to there. RC_INVAL E1210 past the end.
 */
enum rc reader_seek(struct reader *r, const struct reader_cursor *at,
                    struct err *err) MUST_CHECK;

#endif
