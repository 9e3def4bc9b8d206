/* SPDX-License-Identifier: Apache-2.0 */
/* store/experiments.h - the code that experiments of servers need, so that no collection, of
 * whichever server, deletes it. The experiments themselves are folders (tune/experiment.h).
 */
#ifndef STORE_EXPERIMENTS_H
#define STORE_EXPERIMENTS_H

#include "store/store.h"

struct store_experiment {
    const char *id, *node; /* node: see struct store_job */
    const char *owner;
    const char *snapshot; /* "snapshot:" and an id */
};
struct store_experiments {
    struct arena arena;
    struct store_experiment *at;
    size_t n;
};
void store_experiments_release(struct store_experiments *l);
/* Takes the place of a row of the same id and node. */
enum rc store_experiment_put(struct store *s, const struct store_experiment *x,
                             struct err *err) MUST_CHECK;
/* `node` NULL: of all. */
enum rc store_experiment_get(struct store *s, const char *node,
                             struct store_experiments *out, struct err *err) MUST_CHECK;
/* One that is not there is fine. */
enum rc store_experiment_delete(struct store *s, const char *id, const char *node,
                                struct err *err) MUST_CHECK;

#endif
