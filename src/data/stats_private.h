/* SPDX-License-Identifier: Apache-2.0 */
/* data/stats_private.h - what was counted; stats.c counts, stats_print.c shows. */
#ifndef DATA_STATS_PRIVATE_H
#define DATA_STATS_PRIVATE_H

#include "data/sketch.h"
#include "data/stats.h"

struct stats_part {
    char *name; /* owned: "seq", "seq[]" */
    const struct type *type;
    bool is_label;
    int64_t n, n_null;
    /* Numbers: the values; strings: their bytes; lists and maps: their entries. */
    int64_t n_number; /* of which there are min .. m2 (NaN left out) */
    double min, max, sum;
    double running, m2; /* mean so far, squared deviations from it */
    int64_t n_zero, n_nan;
    struct hll *distinct; /* owned; NULL for nested types */
    struct top top;
    struct stats_part *kids; /* owned; [type->n_kids] */
};

struct stats {
    struct data_schema schema;
    struct stats_part *parts; /* [schema.n] */
    int64_t rows;
    int64_t *codes; /* scratch: how often each entry of a dictionary occurs */
    size_t n_codes;
};

#endif
