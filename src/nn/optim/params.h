/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/params.h - the trainable parameters of a model, seen as one long array.
 *
 * Loops over it are cut by a fixed number of elements, whatever the sizes of the single
 * parameters, and so give the same bytes on any number of threads.
 */
#ifndef NN_OPTIM_PARAMS_H
#define NN_OPTIM_PARAMS_H

#include "base/err.h"
#include "base/pool.h"
#include "nn/graph.h"
#include "nn/optim/param_ops.h"
#include "tensor/device.h"

#define PARAM_GRAIN 16384 /* elements of a chunk */

struct optim_param_set {
    struct param **at; /* [n]; owned array of borrowed parameters */
    size_t n;
    int64_t *begin;              /* [n + 1]: place of each in the long array */
    struct pool *pool;           /* borrowed; NULL for this thread alone */
    double *parts;               /* one per chunk */
    const struct device *device; /* that all of them live on */
    const struct param_ops *ops; /* that device's */
};

/* Those of `params` that are trainable; they must outlive the set. RC_NOMEM. */
enum rc optim_param_set_init(struct optim_param_set *s, struct param *const *params,
                             size_t n, struct pool *pool, struct err *err) MUST_CHECK;
void optim_param_set_release(struct optim_param_set *s);

static inline int64_t param_set_total(const struct optim_param_set *s)
{
    return s->n ? s->begin[s->n] : 0;
}

/* For loops that run on the host: elements [begin, end) of parameter number `which`. */
typedef void param_fn(void *arg, size_t which, int64_t begin, int64_t end);
void optim_param_set_for(const struct optim_param_set *s, param_fn *fn, void *arg);

/* For each chunk joins what fn returns for its pieces, then the chunks, in order: their
 * sum, or their largest. NaN wins over everything in both.
 */
enum param_join { PARAM_SUM, PARAM_MAX };
typedef double param_part_fn(void *arg, size_t which, int64_t begin, int64_t end);
double optim_param_set_join(const struct optim_param_set *s, enum param_join how,
                            param_part_fn *fn, void *arg);

#endif
