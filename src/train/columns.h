/* SPDX-License-Identifier: Apache-2.0 */
/* train/columns.h - the types that the columns of a model have.
 *
 * They are decided once, when a model is first trained: by input_fields, by the files
 * themselves where these tell types, else by the first rows. Checkpoints and exports keep
 * them, and whatever reads data for the model afterwards reads it with these types: an id
 * has one written form, and so one hash, however odd the other values of a file are.
 */
#ifndef TRAIN_COLUMNS_H
#define TRAIN_COLUMNS_H

#include "base/arena.h"
#include "data/reader.h"
#include "feature/feature.h"
#include "text/node.h"

#define TRAIN_COLUMNS "columns" /* the blob of a checkpoint, the key of a manifest */

/* Adds what `found` has of the columns of the plan and `known` has not. */
void train_columns_add(struct data_schema *known, const struct feature_plan *plan,
                       const struct data_schema *found);
/* {"age": "int64", "tags": "list<string>"} */
void train_columns_print(const struct data_schema *known, struct buf *out);
/* Back; a type that this version does not know is left out. NULL: nothing is added. */
void train_columns_read(const struct node *saved, struct data_schema *known);

/* Of an export: those of its manifest. Exports of earlier versions do not tell them; their
 * sample rows have them, too.
 */
void train_columns_know(struct data_schema *known, const struct feature_plan *plan,
                        const struct node *manifest, const struct data_schema *samples);

/* Lets a reader of text read with these types, behind those that `out` has already; what
 * it points at lies in `a`.
 */
void train_columns_conf(const struct data_schema *known, const struct feature_plan *plan,
                        struct arena *a, struct reader_conf *out);
/* Are columns of these types what the model was trained with? `text`: of a file of text,
 * where the same value may be written in several ways. RC_INVAL E1411.
 */
enum rc train_columns_check(const struct data_schema *known,
                            const struct feature_plan *plan,
                            const struct data_schema *found, bool text, const char *path,
                            struct err *err) MUST_CHECK;

#endif
