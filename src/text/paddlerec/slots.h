/* SPDX-License-Identifier: Apache-2.0 */
/* text/paddlerec/slots.h - sparse_slots and dense_slots of a dataset.
 *
 *     sparse_slots: "click 1 2 3"            dense_slots: "dense_var:13 img:[3,8]"
 */
#ifndef TEXT_PADDLEREC_SLOTS_H
#define TEXT_PADDLEREC_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define PREC_SLOTS_MAX 100000
#define PREC_DIMS_MAX 8

struct prec_slot {
    const char *name;
    int64_t dims[PREC_DIMS_MAX]; /* dense only */
    int n_dims;                  /* 0: sparse */
    int64_t width;               /* product of dims; 1 for a sparse slot */
    size_t off, len;             /* where it stands in the text */
};

struct prec_slots {
    const struct prec_slot *at; /* [n] */
    size_t n;
};

/* Everything lies in `a`. RC_FORMAT: `err` says what is wrong, *bad and *bad_len where in
 * `text`. An empty text has no slots.
 */
enum rc prec_slots_parse(struct str text, bool dense, struct arena *a,
                         struct prec_slots *out, size_t *bad, size_t *bad_len,
                         struct err *err) MUST_CHECK;

#endif
