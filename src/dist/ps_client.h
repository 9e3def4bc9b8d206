/* SPDX-License-Identifier: Apache-2.0 */
/* dist/ps_client.h - a trainer's side of parameter servers.
 *
 *     dist_ps_client_pull(c, tables, true, err)   vectors of a batch's rows
 *     dist_ps_client_step(c, tables, err)         its gradients, as the mode wants them
 *     dist_ps_client_flush(c, err)                all of them have arrived
 *     dist_ps_client_complete(c, err)             no more will come
 *
 * Dense values are written to the model's parameters when it is made and by steps and
 * flushes, never in between. PS_GEO_MODE has no pulls and steps: ps_geo.h exchanges.
 */
#ifndef DIST_PS_CLIENT_H
#define DIST_PS_CLIENT_H

#include "comm/link.h"
#include "dist/ps.h"
#include "nn/state.h"

struct dist_ps_client;

struct dist_ps_client_conf {
    struct dist_ps_job job;
    int worker; /* which it is */
    struct dist_ps_model model;
    const struct comm_link_ops *ops;
    struct comm_link_conf link;
    const char *const *servers; /* [job.servers]: HOST:PORT; borrowed */
    /* Async: batches that wait to be sent, at most; how many are sent as one, summed (`sum`)
     * or averaged; how many are sent before values are fetched.
     */
    int64_t queue, merge, before_pull;
    bool sum;
    int64_t replicas; /* batches of which one is made before it comes here; at least 1 */
    /* A server that does not answer for so long, so many times over, ends the run. */
    int64_t deadline_ms, tries;
};

/* Waits for the servers. RC_IO (E2701), RC_INVAL (E2703: they train another model). */
enum rc dist_ps_client_create(const struct dist_ps_client_conf *conf,
                              struct dist_ps_client **out, struct err *err) MUST_CHECK;
void dist_ps_client_destroy(struct dist_ps_client *c); /* NULL is fine */

/* Rows of one table in a batch: distinct ids, and where their vectors or gradients lie. */
struct dist_ps_table {
    int64_t n;
    const int64_t *ids;
    float *vectors;    /* [n][dim] */
    const float *sums; /* [n][dim]; NULL: nothing moves */
};

/* tables[] of the model. */
enum rc dist_ps_client_pull(struct dist_ps_client *c, const struct dist_ps_table *tables,
                            bool training, struct err *err) MUST_CHECK;
/* Dense gradients are those of the parameters. */
enum rc dist_ps_client_step(struct dist_ps_client *c, const struct dist_ps_table *tables,
                            struct err *err) MUST_CHECK;
enum rc dist_ps_client_flush(struct dist_ps_client *c, struct err *err) MUST_CHECK;
enum rc dist_ps_client_complete(struct dist_ps_client *c, struct err *err) MUST_CHECK;

/* To save: all rows that are used, with their state, into the model's own tables; dense values into its
 * parameters; their optimizer state as optim_load() takes it, in `a` (and *state, the caller's).
 */
enum rc dist_ps_client_fetch(struct dist_ps_client *c, struct arena *a,
                             struct nn_state *state, uint64_t *steps,
                             struct err *err) MUST_CHECK;

/* Geo: differences of dense values (all blocks, one behind the other) and rows there, `values` and
 * changed rows back. rows(arg, table, ids, n, values) is called for each table and server.
 */
typedef void dist_ps_changed_fn(void *arg, int table, const void *ids, const void *values,
                                int64_t n);
enum rc dist_ps_client_exchange(struct dist_ps_client *c, const float *dense,
                                const struct dist_ps_table *tables, float *values,
                                dist_ps_changed_fn *rows, void *arg,
                                struct err *err) MUST_CHECK;
/* Dense values of the model in the order of blocks; to: from the parameters, else into them. */
int64_t dist_ps_client_n_dense(const struct dist_ps_client *c);
void dist_ps_client_read(const struct dist_ps_client *c, float *values);
void dist_ps_client_write(struct dist_ps_client *c, const float *values);

#endif
