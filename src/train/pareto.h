/* SPDX-License-Identifier: Apache-2.0 */
/* train/pareto.h - weights of losses such that no task is improved at the cost of another
 * (PE-MTL, Lin et al. 2019).
 */
#ifndef TRAIN_PARETO_H
#define TRAIN_PARETO_H

#include "model/model.h"

#define PARETO_MAX 64 /* losses */

/* least[n] >= 0, their sum below 1; gram[n][n]: products of the losses' gradients. The
 * weights are at least `least`, and their sum is 1.
 */
void train_pareto_solve(const double *gram, const double *least, size_t n,
                        double *weights);

struct train_pareto;

/* NULL in *out when the config does not ask for it. RC_UNSUPPORTED: more than PARETO_MAX
 * losses; RC_NOMEM.
 */
enum rc train_pareto_create(const struct model *m, struct train_pareto **out,
                            struct err *err) MUST_CHECK;
void train_pareto_destroy(struct train_pareto *p); /* NULL is fine */

/* After a forward pass: one backward pass per loss, then seeds the losses of the tasks
 * with their weights times `scale`. Gradients are as before. The graph must keep values.
 * The loss that is logged stays the plain sum, as in TorchEasyRec.
 */
void train_pareto_seed(struct train_pareto *p, struct graph *g, float scale);

#endif
