/* SPDX-License-Identifier: Apache-2.0 */
/* dist/replicated.h - tables that every rank holds whole (data parallel).
 *
 * In training the ids of all ranks travel to all, one behind the other in the order of
 * ranks, and so do the gradients of their vectors: each rank updates its own copy as one
 * process would with the whole batch. So all copies have the same bytes after every step,
 * equal to those of one process that is given the same gradients. Evaluations look up the
 * rank's own ids and exchange nothing.
 *
 * Memory and traffic grow with the batch of all ranks: right for small tables, and the
 * reference that sharded ones are compared with.
 */
#ifndef DIST_REPLICATED_H
#define DIST_REPLICATED_H

#include "embed/lookup.h"

/* For model_options.lookup; the comm is lookup_conf's. */
extern const struct lookup_ops lookup_replicated_ops;

#endif
