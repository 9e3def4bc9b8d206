/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/clip.h - bounds on the gradients of the dense parameters, and their norm. */
#ifndef NN_OPTIM_CLIP_H
#define NN_OPTIM_CLIP_H

#include "nn/optim/params.h"

struct pc_GradClipping;

enum optim_clip_kind { CLIP_NONE, CLIP_NORM, CLIP_VALUE };

struct optim_clip {
    enum optim_clip_kind kind;
    double max;
    double p; /* of the norm; may be infinite */
};

/* `conf` may be NULL: no clipping. enable_global_grad_clip changes nothing: every rank
 * holds the same gradients. RC_INVAL.
 */
enum rc optim_clip_from(const struct pc_GradClipping *conf, struct optim_clip *out,
                        struct err *err) MUST_CHECK;

/* The p-norm of all gradients, p above 0 or infinite. NaN when one of them is. */
double optim_grads_norm(const struct optim_param_set *s, double p);
/* Norm: all gradients times max / (norm + 1e-6) when that is below 1. Value: each element
 * clamped to +-max. Returns the norm before, or NaN for the other kinds; with a norm that
 * is not finite nothing is changed.
 */
double optim_clip_grads(const struct optim_clip *c, const struct optim_param_set *s);
/* All gradients times `by`; false when one of the products is infinite or NaN. */
bool optim_scale_grads(const struct optim_param_set *s, double by);

#endif
