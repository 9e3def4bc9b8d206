/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/make.h - tables for samplers out of a click log.
 *
 * An item's weight is the number of its rows, its attributes are those of the first. Where
 * the item's column is a list a row has several items, and attributes are lists as long. All
 * items, users and pairs of both are kept in memory.
 */
#ifndef DATA_SAMPLER_MAKE_H
#define DATA_SAMPLER_MAKE_H

#include "data/dataset.h"

struct sampler_make_conf {
    const char *item, *user; /* columns; user may be NULL: no users and edges */
    const char *const *attrs;
    size_t n_attrs;
    const char *attr_delim;
    const char *out; /* directory: items.txt, users.txt, edges.txt */
};

struct sampler_make_counts {
    int64_t rows, items, users, edges;
};

/* Reads `d` to its end. RC_INVAL E1904 (a column), E1908 (a value that the table cannot
 * hold), RC_NOMEM, RC_IO.
 */
enum rc sampler_tables(struct dataset *d, const struct sampler_make_conf *conf,
                       struct sampler_make_counts *out, struct err *err) MUST_CHECK;

#endif
