/* SPDX-License-Identifier: Apache-2.0 */
/* data/jsonl/jsonl.h - JSON lines: one object per line, to typed columns and back.
 *
 * Scalars, lists, maps and structs follow a schema, or one inferred from the first rows,
 * where an object is a map with string keys. A key that a line does not have is null;
 * keys that the schema does not have are checked and skipped. Plain, gzip and zstd input.
 * docs/data-formats.md has the rules in full.
 *
 * A reader belongs to one thread at a time. Its memory follows from block, max_record and
 * the batch, never from the size of the file.
 */
#ifndef DATA_JSONL_JSONL_H
#define DATA_JSONL_JSONL_H

#include "base/err.h"
#include "data/batch.h"
#include "data/csv/csv.h" /* struct csv_cursor serves all text files */
#include "data/reader.h"

#define JSONL_DEPTH 64 /* deepest nesting that is read or skipped */

struct jsonl_reader;

/* A zeroed struct has the usual meaning everywhere. */
struct jsonl_conf {
    const struct data_schema *schema; /* copied; NULL: inferred */
    /* Inferred: types of columns that are known from elsewhere, by name. */
    const struct reader_field *types;
    size_t n_types;
    const char *const *want; /* names of the columns to read; NULL: all */
    size_t n_want;
    bool skip_bad;   /* malformed lines are counted and left out */
    int64_t max_bad; /* with skip_bad: more than these are an error; 0: any number */
    int read_ahead;  /* see stream_open() */
    int64_t end;     /* offset where reading stops, the start of a line; 0: at the end */
    int64_t infer_rows; /* 0: as many as are in the first 64 MiB */
    /* Whole numbers that a double would round make an inferred column STRING, behind the
     * rows that tell types they are an error. Columns that `types` names are added when no
     * row has them.
     */
    bool exact;
    bool all_keys;     /* with exact: so is a key that no column has */
    const bool *loose; /* [schema->n]: columns that may round all the same; NULL: none */
    size_t block;      /* bytes read at a time; 0: 256 KiB */
    size_t max_record; /* bytes of a line; 0: 16 MiB */
};

/* The caller's, to jsonl_close(). Besides what stream_open() reports: RC_INVAL E1159 (a
 * wanted column that is not there), RC_FORMAT E1158 (types that cannot be inferred).
 */
enum rc jsonl_open(const char *path, const struct jsonl_conf *conf,
                   struct jsonl_reader **out, struct err *err) MUST_CHECK;
/* Over bytes of the caller, which outlive the reader; `name` stands in messages. */
enum rc jsonl_open_memory(const char *name, const void *bytes, size_t n,
                          const struct jsonl_conf *conf, struct jsonl_reader **out,
                          struct err *err) MUST_CHECK;
void jsonl_close(struct jsonl_reader *r); /* NULL is fine */

/* Borrowed until jsonl_close(). */
const struct data_schema *jsonl_schema(const struct jsonl_reader *r);
/* Empties `b`, which was made with jsonl_schema(), and adds up to `max` rows; b->n == 0
 * is the end. On failure b is empty, and the reader is good for jsonl_seek() and
 * jsonl_close() only. RC_FORMAT E1150..E1157 with the place, E1105, E1117, RC_IO,
 * RC_NOMEM.
 */
enum rc jsonl_next(struct jsonl_reader *r, int64_t max, struct batch *b,
                   struct err *err) MUST_CHECK;

void jsonl_tell(const struct jsonl_reader *r, struct csv_cursor *at);
/* E1112 when no line can start there. */
enum rc jsonl_seek(struct jsonl_reader *r, const struct csv_cursor *at,
                   struct err *err) MUST_CHECK;
/* The message of the first line that skip_bad left out; "" when there is none. */
const char *jsonl_first_bad(const struct jsonl_reader *r);

/* As csv_split(). */
enum rc jsonl_split(const char *path, size_t n, struct csv_cursor *out,
                    struct err *err) MUST_CHECK;

/* A file that appears at `path`, whole, at jsonl_commit(); rows as batch_print_json()
 * prints them.
 */
struct jsonl_writer;
enum rc jsonl_create(const char *path, struct jsonl_writer **out,
                     struct err *err) MUST_CHECK;
enum rc jsonl_write(struct jsonl_writer *w, const struct batch *b,
                    struct err *err) MUST_CHECK;
/* Both end `w`, whatever they return. */
enum rc jsonl_commit(struct jsonl_writer *w, struct err *err) MUST_CHECK;
void jsonl_abandon(struct jsonl_writer *w); /* NULL is fine */

#endif
