/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/table.h - the tables that samplers read: items, users, edges.
 *
 * Text files have a first line that names their columns and the ids' type
 * ("id:int64<tab>weight:float<tab>attrs:string"); Parquet files say it themselves.
 * Columns go by their order, not by their names.
 */
#ifndef DATA_SAMPLER_TABLE_H
#define DATA_SAMPLER_TABLE_H

#include "base/err.h"
#include "data/batch.h"
#include "data/sampler/keymap.h"

#define TABLE_COLS_MAX 3

struct sampler_table_conf {
    const char *what; /* for messages: "item table" */
    const char *path; /* see data/files.h */
    char delim;       /* of text files; 0: tab */
    size_t n_ids;     /* columns with ids: 1 or 2; a weight follows them */
    bool attrs;       /* and attributes */
};

/* A batch of rows as a reader gave them; the first columns are those of the table. */
struct sampler_table_rows {
    const struct batch *batch;
    int64_t first; /* number of the batch's first row in its file, from 1 */
    enum id_kind kinds[2];
};

/* Calls `each` for all batches of all files, in order; stops when it fails. Messages say
 * which table and file. RC_FORMAT E1901: not a table of this kind.
 */
typedef enum rc sampler_table_fn(void *arg, const struct sampler_table_rows *rows,
                                 struct err *err);
enum rc sampler_table_read(const struct sampler_table_conf *conf, sampler_table_fn *each,
                           void *arg, struct err *err) MUST_CHECK;

/* The id in column `col` of row i; RC_FORMAT E1902 when it is none. */
enum rc sampler_table_id(const struct sampler_table_rows *rows, size_t col, int64_t i,
                         int64_t *out, struct err *err) MUST_CHECK;
/* The weight, which follows the ids; E1902 unless finite and not negative. */
enum rc sampler_table_weight(const struct sampler_table_rows *rows, size_t col, int64_t i,
                             double *out, struct err *err) MUST_CHECK;

#endif
