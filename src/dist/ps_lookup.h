/* SPDX-License-Identifier: Apache-2.0 */
/* dist/ps_lookup.h - the tables of a trainer whose rows are kept by parameter servers.
 *
 * A batch's rows are fetched when it is prepared; its gradients are summed by
 * lookup_update() and stay until dist_ps_lookup_push(). A local lookup inside has the
 * tables' shapes, and after dist_ps_client_fetch() their rows, for checkpoints.
 */
#ifndef DIST_PS_LOOKUP_H
#define DIST_PS_LOOKUP_H

#include "dist/ps_client.h"
#include "embed/lookup.h"

/* For model_options.lookup; without a client it is an ordinary local one. */
extern const struct lookup_ops dist_ps_lookup_ops;

/* From now on; `c` (NULL: no more) is borrowed. Its model has dist_ps_lookup_tables(). */
void dist_ps_lookup_attach(struct lookup *l, struct dist_ps_client *c);
struct lookup *dist_ps_lookup_tables(struct lookup *l); /* the local one; borrowed */
/* The gradients of the last update, with those of the dense parameters. */
enum rc dist_ps_lookup_push(struct lookup *l, struct err *err) MUST_CHECK;

#endif
