/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/stats.h - smallest and largest values. */
#ifndef DATA_PARQUET_STATS_H
#define DATA_PARQUET_STATS_H

#include "data/parquet/leaf_writer.h"

/* Takes in one value in plain encoding (text: without its length). */
void pq_stats_add(struct pq_stats *s, const struct type *t, const void *p, size_t n);
void pq_stats_merge(struct pq_stats *s, const struct type *t,
                    const struct pq_stats *from);

#endif
