/* SPDX-License-Identifier: Apache-2.0 */
/* data/jsonl/jsonl_private.h - what the parts of the reader share.
 *
 *   token.c   strings, numbers, structure of one line
 *   fill.c    values into columns
 *   infer.c   types from values
 *   reader.c  open, next, cursor
 */
#ifndef DATA_JSONL_JSONL_PRIVATE_H
#define DATA_JSONL_JSONL_PRIVATE_H

#include "base/map.h"
#include "data/csv/csv_private.h"
#include "data/jsonl/jsonl.h"
#include "data/jsonl/object.h"
#include "data/jsonl/token.h"

struct jsonl_reader {
    struct stream *in;      /* owned */
    struct csv_block block; /* its fields are lines */
    struct data_schema schema;
    struct map by_name; /* index into the schema plus one */
    bool skip_bad;
    int64_t max_bad;
    int64_t start; /* offset of the first line: behind a byte order mark */

    bool *exact; /* [schema.n], owned; NULL: none */

    struct jsonl_tokens json;
    struct csv_walk walk; /* where the next line is looked for */
    bool loaded;          /* `walk` is in the block */
    int64_t record, good; /* lines that are not blank, and rows, up to `walk` */
    struct err first_bad;
};

/* One line into the columns of `b`, as row `row`; false at a fault (see json.fault),
 * where *name is the column, or "". Columns may then be of unequal length.
 */
bool jsonl_fill(struct jsonl_tokens *j, const struct map *by_name, struct batch *b,
                int64_t row, const char **name);
/* Takes rows behind the first n away. */
void jsonl_truncate(struct column *c, int64_t n);

/* Looks at so many lines and adds what it finds to `schema`; the block moves on. */
struct jsonl_infer_conf {
    int64_t rows, bytes; /* at most */
    bool skip_bad;
    bool exact; /* whole numbers that a double rounds, among fractions, are texts */
};
enum rc jsonl_infer(struct csv_block *b, struct jsonl_tokens *j,
                    const struct jsonl_infer_conf *conf, struct data_schema *schema,
                    struct err *err) MUST_CHECK;

/* The fault of j in the line as an error; `name` may be "". */
enum rc jsonl_fault_error(const struct csv_block *b, const struct jsonl_tokens *j,
                          const char *name, struct err *err);

#endif
