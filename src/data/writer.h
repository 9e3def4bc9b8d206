/* SPDX-License-Identifier: Apache-2.0 */
/* data/writer.h - batches of columns to files of any known format.
 *
 * A format is one struct writer_ops and one line in writers.def. The file appears under
 * its name when writer_commit() succeeded, whole, or not at all. A writer belongs to one
 * thread at a time; its memory is bounded.
 */
#ifndef DATA_WRITER_H
#define DATA_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "data/batch.h"

struct writer_conf {
    const char *compression; /* "none", "snappy", "zstd", ...; NULL: the format's usual */
    char delim;              /* CSV; 0: ',' ('\t' for a name that ends in .tsv) */
    int64_t group_rows;      /* Parquet: rows per row group; 0: its usual */
    const char *quota;       /* MaxCompute; NULL: the project's */
};

struct writer_ops {
    const char *name;        /* "parquet" */
    const char *suffixes;    /* "parquet|pq" */
    const char *scheme;      /* of addresses that are no files, "odps"; or NULL */
    const char *compression; /* what it takes: "none|snappy|zstd" */
    bool nested; /* lists and maps have a form of their own, not just as text */
    /* RC_UNSUPPORTED E1206 when a column's type has no form in this format. */
    enum rc (*open)(const char *path, const struct data_schema *schema,
                    const struct writer_conf *conf, void **state, struct err *err);
    enum rc (*add)(void *state, const struct batch *b, struct err *err);
    /* Both end the state, whatever they return. */
    enum rc (*commit)(void *state, struct err *err);
    void (*abandon)(void *state); /* NULL is fine */
};

#define WRITER(name, where) extern const struct writer_ops writer_##name;
#include "data/writers.def"
#undef WRITER
/* "parquet|csv|jsonl": the formats of files, a constant for OPT_CHOICE. */
extern const char writer_formats[]; /* with a bar in front */
#define WRITER_FILES (writer_formats + 1)

const struct writer_ops *const *writer_all(size_t *n);
const struct writer_ops *writer_find(const char *name); /* NULL when there is none */
/* By the scheme or the end of the path, also in front of .gz and .zst. NULL when none
 * fits.
 */
const struct writer_ops *writer_of_path(const char *path);

struct writer;
/* `schema` is copied. The writer is the caller's, to writer_commit() or
 * writer_abandon(). RC_INVAL E1205 for a compression that the format does not have.
 */
enum rc writer_open(const char *path, const struct writer_ops *ops,
                    const struct data_schema *schema, const struct writer_conf *conf,
                    struct writer **out, struct err *err) MUST_CHECK;
/* `b` has the columns of the schema; encoded ones are fine. */
enum rc writer_add(struct writer *w, const struct batch *b, struct err *err) MUST_CHECK;
/* Ends `w`, whatever it returns; after a failure the path is as it was before. */
enum rc writer_commit(struct writer *w, struct err *err) MUST_CHECK;
void writer_abandon(struct writer *w); /* NULL is fine */

#endif
