/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/ahead.h - what of a row group will be read, announced to a remote file.
 *
 * The chunks of the columns that are read often lie side by side; near ones are asked for
 * together, and all at the same time, so that a group costs a few requests at once rather
 * than one per column and page, one after the other.
 */
#ifndef DATA_PARQUET_AHEAD_H
#define DATA_PARQUET_AHEAD_H

#include "data/parquet/pages.h"

/* The beginning of each chunk, PQ_WINDOW_FIRST bytes; with `whole` all of it, when the
 * chunks together are not too large. `chunks` are numbers of leaves, ascending.
 */
void pq_ahead(const struct pq_source *s, const struct pq_row_group *g,
              const size_t *chunks, size_t n, bool whole);

#endif
