/* SPDX-License-Identifier: Apache-2.0 */
/* dist/ps_geo.h - a trainer that updates its own copy of the model, and now and then tells
 * the servers by how much it moved (geo-SGD).
 *
 * `old` is the last value of a server that was taken in. An exchange sends
 * delta = (own - old) / trainers, old += delta, and gets the server's value z, to which all
 * trainers' deltas were added: own += z - old, old = z. Rows: those that training touched go,
 * those that anybody changed come.
 */
#ifndef DIST_PS_GEO_H
#define DIST_PS_GEO_H

#include "dist/ps_client.h"

struct dist_ps_geo;

/* `lookup` is a local one that notes what is touched (lookup_track()); both are borrowed.
 * `values` of the model are the servers' by now. RC_NOMEM, RC_INVAL.
 */
enum rc dist_ps_geo_create(struct dist_ps_client *client, struct lookup *lookup,
                           int workers, struct dist_ps_geo **out,
                           struct err *err) MUST_CHECK;
void dist_ps_geo_destroy(struct dist_ps_geo *g); /* NULL is fine */
enum rc dist_ps_geo_exchange(struct dist_ps_geo *g, struct err *err) MUST_CHECK;

#endif
