/* SPDX-License-Identifier: Apache-2.0 */
/* tune/issued.h - what was tried already, so that nothing finite is tried twice. */
#ifndef TUNE_ISSUED_H
#define TUNE_ISSUED_H

#include <stdbool.h>

#include "base/map.h"
#include "text/nni/space.h"
#include "tune/grid.h"

struct issued {
    const struct nni_space *space; /* borrowed */
    bool endless;                  /* a continuous parameter: points do not repeat */
    struct map seen;               /* of the user's form */
    struct grid *grid;             /* where the search for unseen points stands */
};

void issued_init(struct issued *d, const struct nni_space *s);
void issued_release(struct issued *d);

bool issued_has(const struct issued *d, const double *x);
void issued_add(struct issued *d, const double *x);
/* The first point of the grid that was not issued, into x; false when there is none. */
bool issued_unseen(struct issued *d, double *x);

#endif
