/* SPDX-License-Identifier: Apache-2.0 */
/* The scale is a float, as in PyTorch, so that it goes through the same values. */
#include "nn/optim/scaler.h"

#include <math.h>

#include "text/pipeline/pipeline.h"

enum rc optim_scaler_from(const struct pc_GradScaler *conf, struct optim_scaler *out,
                          struct err *err)
{
    if (!conf) {
        *out = (struct optim_scaler){.scale = 1};
        return RC_OK;
    }
    struct optim_scaler s = {.on = true,
                             .scale = (float)conf->init_scale,
                             .growth = (float)conf->growth_factor,
                             .backoff = (float)conf->backoff_factor,
                             .interval = conf->growth_interval};
    if (!(s.scale > 0) || isinf(s.scale))
        return err_set(err, RC_INVAL, "grad_scaler: init_scale: %g must be above 0",
                       conf->init_scale);
    if (!(s.growth > 1) || isinf(s.growth))
        return err_set(err, RC_INVAL, "grad_scaler: growth_factor: %g must be above 1",
                       conf->growth_factor);
    if (!(s.backoff > 0 && s.backoff < 1))
        return err_set(err, RC_INVAL, "grad_scaler: backoff_factor: %g is outside (0, 1)",
                       conf->backoff_factor);
    if (s.interval == 0)
        return err_set(err, RC_INVAL, "grad_scaler: growth_interval must be above 0");
    *out = s;
    return RC_OK;
}

void optim_scaler_update(struct optim_scaler *s, bool finite)
{
    if (!s->on)
        return;
    if (!finite) {
        s->scale *= s->backoff;
        s->good = 0;
    } else if (++s->good >= s->interval) {
        float grown = s->scale * s->growth;
        if (isfinite(grown))
            s->scale = grown;
        s->good = 0;
    }
}

void optim_scaler_save(const struct optim_scaler *s, struct nn_state *out)
{
    if (!s->on)
        return;
    nn_state_add(out, STATE_F32, &s->scale, 1, "scaler.scale");
    nn_state_add(out, STATE_I64, &s->good, 1, "scaler.good");
}

enum rc optim_scaler_load(struct optim_scaler *s, const struct nn_state *in,
                          struct err *err)
{
    float scale = 0;
    int64_t good = 0;
    if (!s->on)
        return RC_OK;
    enum rc rc = nn_state_copy(in, "scaler.scale", STATE_F32, &scale, 1, err);
    if (rc == RC_OK)
        rc = nn_state_copy(in, "scaler.good", STATE_I64, &good, 1, err);
    if (rc == RC_OK && (!(scale > 0) || isinf(scale) || good < 0))
        rc = err_set(err, RC_FORMAT, "scaler: scale %g after %jd good steps",
                     (double)scale, (intmax_t)good);
    if (rc)
        return rc;
    s->scale = scale;
    s->good = good;
    return RC_OK;
}
