/* SPDX-License-Identifier: Apache-2.0 */
/* train/where.h - from a row of a batch to the row of a file.
 *
 * Whoever finds a fault in a batch knows the row's place in that batch only, and writes
 * "row 44 of the batch" or "row 44:", counted from 0. Before a person reads it, it becomes
 * the row of the data, counted from 1, with the file and, for text, the line.
 */
#ifndef TRAIN_WHERE_H
#define TRAIN_WHERE_H

#include "data/dataset.h"

/* Where the rows of one batch come from; paths are borrowed from the dataset. */
struct train_where {
    struct dataset_part *at; /* owned */
    size_t n, room;
    bool loose; /* malformed rows among them were left out: places are not exact */
};

void train_where_take(struct train_where *w, const struct dataset *d);
/* Rows of one file. */
void train_where_set(struct train_where *w, const struct dataset_part *part, bool loose);
void train_where_release(struct train_where *w); /* twice is fine */
/* Rewrites the message; false, and it stays as it is, when it names no row of the batch. */
bool train_where_name(const struct train_where *w, struct err *err);
/* The same for the items of a request: "items[44]", counted from 0 as in the request. */
void train_where_item(struct err *err);

#endif
