/* SPDX-License-Identifier: Apache-2.0 */
/* dist/ps_store.h - what one parameter server keeps, and the updates that it makes.
 *
 *     dist_ps_store_read_rows(s, table, ids, n, true, out, err)
 *     dist_ps_store_add_dense(s, grads)                 gradients of one trainer,
 *     dist_ps_store_add_rows(s, table, ids, sums, n, err)   and of others
 *     dist_ps_store_update(s, 1.0f / workers, err)      one step of the optimizer
 *
 * Geo: dist_ps_store_shift_*() add differences to the values themselves.
 * Dense values are those of the server's blocks, one behind the other. One thread.
 */
#ifndef DIST_PS_STORE_H
#define DIST_PS_STORE_H

#include "dist/ps.h"
#include "nn/optim/optim.h"

struct dist_ps_store;

struct dist_ps_store_conf {
    struct dist_ps_job job;
    int server; /* which it is */
    struct dist_ps_model model;
    const struct pc_DenseOptimizer *dense; /* borrowed */
    struct nn_schedule rows;               /* rates of tables */
    struct pool *pool;                     /* borrowed; may be NULL */
    /* Optimizer state of all dense parameters to start from (optim_save()); NULL: none. */
    const struct nn_state *state;
};

/* Values start as those of the model. RC_UNSUPPORTED (E2704), RC_INVAL, RC_NOMEM. */
enum rc dist_ps_store_create(const struct dist_ps_store_conf *conf,
                             struct dist_ps_store **out, struct err *err) MUST_CHECK;
void dist_ps_store_destroy(struct dist_ps_store *s); /* NULL is fine */

struct lookup *dist_ps_store_lookup(const struct dist_ps_store *s); /* borrowed */
int64_t dist_ps_store_n_dense(const struct dist_ps_store *s);
const float *
dist_ps_store_dense(struct dist_ps_store *s); /* [n_dense], until it changes */
int64_t dist_ps_store_dim(const struct dist_ps_store *s,
                          int table);                        /* 0: no such table */
uint64_t dist_ps_store_steps(const struct dist_ps_store *s); /* updates so far */

/* ids[n] lie at any address and must be this server's: RC_INVAL (E2703), RC_NOMEM. */
enum rc dist_ps_store_check_ids(struct dist_ps_store *s, int table, const void *ids,
                                int64_t n, struct err *err) MUST_CHECK;
/* The same; out[n][dim]. */
enum rc dist_ps_store_read_rows(struct dist_ps_store *s, int table, const void *ids,
                                int64_t n, bool training, float *out,
                                struct err *err) MUST_CHECK;

void dist_ps_store_add_dense(struct dist_ps_store *s, const void *grads);
enum rc dist_ps_store_add_rows(struct dist_ps_store *s, int table, const void *ids,
                               const void *sums, int64_t n, struct err *err) MUST_CHECK;
enum rc dist_ps_store_update(struct dist_ps_store *s, float scale,
                             struct err *err) MUST_CHECK;

void dist_ps_store_shift_dense(struct dist_ps_store *s, const void *by);
enum rc dist_ps_store_shift_rows(struct dist_ps_store *s, int table, const void *ids,
                                 const void *by, int64_t n, struct err *err) MUST_CHECK;
/* Rows that shifts changed since the worker asked last; *ids is the caller's, to mem_free().
 */
enum rc dist_ps_store_changed(struct dist_ps_store *s, int table, int worker,
                              int64_t **ids, int64_t *n, struct err *err) MUST_CHECK;

/* Used rows from number `from` on, at most `most` of them: ids[] and rows[][stride] with their
 * state. *next: where to go on; -1: that was all. Both lists are the caller's, to mem_free().
 */
struct dist_ps_piece {
    int64_t n, stride, next;
    int64_t *ids;
    float *rows;
};
enum rc dist_ps_store_piece(struct dist_ps_store *s, int table, int64_t from,
                            int64_t most, struct dist_ps_piece *out,
                            struct err *err) MUST_CHECK;
/* Names are those of the parameters; a block's own values stand for them. */
void dist_ps_store_state(const struct dist_ps_store *s, struct nn_state *out);
/* What these gave, back again, before the first trainer comes. Rows lie at any address. RC_FORMAT:
 * of another model.
 */
enum rc dist_ps_store_put_piece(struct dist_ps_store *s, int table, const void *ids,
                                const void *rows, int64_t n, struct err *err) MUST_CHECK;
enum rc dist_ps_store_put_dense(struct dist_ps_store *s, const void *values,
                                const struct nn_state *state, uint64_t steps,
                                struct err *err) MUST_CHECK;
int64_t dist_ps_store_stride(const struct dist_ps_store *s, int table);

#endif
