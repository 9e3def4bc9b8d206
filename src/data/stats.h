/* SPDX-License-Identifier: Apache-2.0 */
/* data/stats.h - what is in the columns: one pass, bounded memory.
 *
 * A nested column has a part of its own for the lengths of its rows and one for each kid
 * ("seq", "seq[]"; "kv", "kv{key}", "kv{value}"). The number of different values is exact
 * up to TOP_MAX, beyond that estimated with a standard error of 0.81 %. Single-threaded.
 */
#ifndef DATA_STATS_H
#define DATA_STATS_H

#include "base/str.h"
#include "data/batch.h"

struct stats;

/* `schema` is copied. `labels`: names, each there; none: guessed from the names. */
struct stats *stats_create(const struct data_schema *schema, const char *const *labels,
                           size_t n_labels);
void stats_destroy(struct stats *s); /* NULL is fine */
void stats_add(struct stats *s, const struct batch *b);
int64_t stats_rows(const struct stats *s);

/* A table for people and a balance of the labels; one JSON object. */
void stats_print(const struct stats *s, struct buf *out);
/* {"rows": .., "columns": [..], "labels": [..]} without the outer braces. */
void stats_json(const struct stats *s, struct buf *out);

/* What was counted of column `i`, or of the elements of a list. */
struct stats_view {
    const char *name; /* borrowed, as `type` */
    const struct type *type;
    bool is_label;         /* by its name, or as asked for */
    int64_t n, n_null;     /* values, of which null */
    int64_t n_number;      /* of which min .. stddev tell */
    double min, max, mean; /* numbers; of texts their bytes, of lists their entries */
    double stddev;
    int64_t distinct; /* different values; 0 for nested types */
};
void stats_view(const struct stats *s, size_t i, struct stats_view *out);
/* False when column i is no list. */
bool stats_view_element(const struct stats *s, size_t i, struct stats_view *out);

#endif
