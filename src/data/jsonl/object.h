/* SPDX-License-Identifier: Apache-2.0 */
/* data/jsonl/object.h - one JSON object as a row of a batch. */
#ifndef DATA_JSONL_OBJECT_H
#define DATA_JSONL_OBJECT_H

#include "base/map.h"
#include "data/batch.h"
#include "data/jsonl/token.h"

/* From the names of a schema to their places plus one. */
void jsonl_names(const struct data_schema *s, struct map *by_name);
/* The object at j->p into the columns of `b`, as row `row`; j->p is behind it then.
 * Columns that it lacks are null, keys that are no columns are skipped. false at a fault
 * (see json.fault), where *name is the column, or ""; columns may then be of unequal
 * length. given[k] is set to 1 for each column that the object has, if only as null;
 * `given` may be NULL.
 */
bool jsonl_object(struct jsonl_tokens *j, const struct map *by_name, struct batch *b,
                  int64_t row, uint8_t *given, const char **name);

#endif
