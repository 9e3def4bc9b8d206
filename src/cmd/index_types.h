/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/index_types.h - kinds of indexes by faiss' names. */
#ifndef CMD_INDEX_TYPES_H
#define CMD_INDEX_TYPES_H

#include <stdbool.h>

#include "recall/index.h"

#define CMD_INDEX_TYPES                                                                     \
    "FlatIP, FlatL2: all vectors are compared; IVFFlatIP, IVFFlatL2: those of the nearest " \
    "lists; HNSWFlatIP, HNSWFlatL2: those met by a graph search"

struct cmd_index_type {
    const char *name;
    bool lists, graph;
    enum recall_metric metric;
};

/* RC_INVAL E0603. */
enum rc cmd_index_find(const char *name, const struct cmd_index_type **out,
                       struct err *err) MUST_CHECK;

#endif
