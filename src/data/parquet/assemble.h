/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/assemble.h - lists, maps and structs from the levels of their leaves. */
#ifndef DATA_PARQUET_ASSEMBLE_H
#define DATA_PARQUET_ASSEMBLE_H

#include "data/parquet/leaf.h"

/* Completes `c`, a nested column whose leaves (leaves[node->leaf], and so on) were read
 * for `rows` rows. RC_FORMAT (E1012) when their levels contradict each other.
 */
enum rc pq_assemble(const struct pq_node *node, struct pq_leaf_reader *leaves,
                    struct column *c, int64_t rows, struct err *err) MUST_CHECK;

#endif
