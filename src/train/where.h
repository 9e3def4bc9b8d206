/* SPDX-License-Identifier: Apache-2.0 */
/* train/where.h - from a row of a batch to the row of a file.
 *
 * Whoever finds a fault in a batch knows the row's place in that batch only, and writes
 * "row 44 of the batch" or "row 44:", counted from 0. Before a person reads it, it becomes the row of
 * the data, counted from 1, with the file and, for text, the line.
 */
#ifndef TRAIN_WHERE_H
#define TRAIN_WHERE_H

#include "data/dataset.h"

#define TRAIN_WHERE_PARTS 8

/* Where the rows of one batch come from; paths are borrowed from the dataset. */
struct train_where {
    struct dataset_part at[TRAIN_WHERE_PARTS];
    size_t n; /* more parts than there is room for: 0 */
};

void train_where_take(struct train_where *w, const struct dataset *d);
/* Rewrites the message; false, and it stays as it is, when it names no row of the batch. */
bool train_where_name(const struct train_where *w, struct err *err);
/* The same for the items of a request: "items[44]", counted from 0 as in the request. */
void train_where_item(struct err *err);

#endif
