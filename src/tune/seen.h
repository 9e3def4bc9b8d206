/* SPDX-License-Identifier: Apache-2.0 */
/* tune/seen.h - what was tried already, so that nothing finite is tried twice. */
#ifndef TUNE_SEEN_H
#define TUNE_SEEN_H

#include <stdbool.h>

#include "base/map.h"
#include "text/nni/space.h"
#include "tune/grid.h"

struct tune_seen {
    const struct nni_space *space; /* borrowed */
    bool endless;                  /* a continuous parameter: points do not repeat */
    struct map seen;               /* of the user's form */
    struct tune_grid *grid;        /* where the search for unseen points stands */
};

void tune_seen_init(struct tune_seen *d, const struct nni_space *s);
void tune_seen_release(struct tune_seen *d);

bool tune_seen_has(const struct tune_seen *d, const double *x);
void tune_seen_add(struct tune_seen *d, const double *x);
/* The first point of the grid that was not issued, into x; false when there is none. */
bool tune_seen_unseen(struct tune_seen *d, double *x);

#endif
