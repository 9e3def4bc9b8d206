/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/optim/clip.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "text/pipeline/pipeline.h"

enum rc optim_clip_from(const struct pc_GradClipping *conf, struct optim_clip *out,
                        struct err *err)
{
    struct optim_clip c = {.kind = CLIP_NONE, .p = 2};
    if (conf) {
        c.max = conf->max_gradient;
        c.p = conf->norm_type;
        if (strcasecmp(conf->clipping_type, "norm") == 0)
            c.kind = CLIP_NORM;
        else if (strcasecmp(conf->clipping_type, "value") == 0)
            c.kind = CLIP_VALUE;
        else if (strcasecmp(conf->clipping_type, "none") != 0)
            return err_set(err, RC_INVAL,
                           "grad_clipping: clipping_type '%s' is none of norm, value, "
                           "none",
                           conf->clipping_type);
    }
    if (c.kind != CLIP_NONE && !(c.max > 0))
        return err_set(err, RC_INVAL, "grad_clipping: max_gradient: %g must be above 0",
                       c.max);
    if (c.kind == CLIP_NORM && !(c.p > 0))
        return err_set(err, RC_INVAL, "grad_clipping: norm_type: %g must be above 0",
                       c.p);
    *out = c;
    return RC_OK;
}

double optim_grads_norm(const struct optim_param_set *s, double p)
{
    return s->ops->norm(s, p);
}

double optim_clip_grads(const struct optim_clip *c, const struct optim_param_set *s)
{
    if (c->kind == CLIP_VALUE)
        s->ops->clamp(s, (float)c->max);
    if (c->kind != CLIP_NORM)
        return (double)NAN;
    double norm = optim_grads_norm(s, c->p);
    float by = (float)(c->max / (norm + 1e-6));
    if (isfinite(norm) && by < 1)
        s->ops->multiply(s, by);
    return norm;
}

bool optim_scale_grads(const struct optim_param_set *s, double by)
{
    return s->ops->multiply_finite(s, (float)by);
}
