/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/optim/ema.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

struct optim_ema {
    const struct optim_param_set *params;
    float keep, take;         /* decay, 1 - decay */
    struct device_floats avg; /* [total], in the order of the parameters */
    int64_t n;                /* updates so far */
    bool swapped;
};

enum rc optim_ema_create(double decay, const struct optim_param_set *params,
                         struct optim_ema **out, struct err *err)
{
    if (!(decay >= 0 && decay <= 1))
        return err_set(err, RC_INVAL, "ema: decay: %g is outside [0, 1]", decay);
    int64_t total = param_set_total(params);
    struct device_floats avg;
    if (device_floats_init(&avg, params->device, total))
        return err_set(err, RC_NOMEM, "no memory for the average of %jd parameters",
                       (intmax_t)total);
    struct optim_ema *e = mem_calloc(1, sizeof(*e));
    *e = (struct optim_ema){
        .params = params, .keep = (float)decay, .take = (float)(1 - decay), .avg = avg};
    *out = e;
    return RC_OK;
}

void optim_ema_destroy(struct optim_ema *e)
{
    if (!e)
        return;
    device_floats_release(&e->avg);
    mem_free(e);
}

void optim_ema_update(struct optim_ema *e)
{
    assert(!e->swapped);
    e->params->ops->average(e->params, e->avg.at, e->keep, e->take, e->n == 0);
    e->n++;
}

void optim_ema_swap(struct optim_ema *e)
{
    if (e->n == 0)
        return;
    e->params->ops->exchange(e->params, e->avg.at);
    e->swapped = !e->swapped;
}

bool optim_ema_swapped(const struct optim_ema *e)
{
    return e->swapped;
}

void optim_ema_save(const struct optim_ema *e, const char *prefix, struct nn_state *out)
{
    assert(!e->swapped);
    device_floats_pull(&e->avg, 0, e->avg.n);
    for (size_t i = 0; i < e->params->n; i++) {
        const struct param *p = e->params->at[i];
        nn_state_add(out, STATE_F32, e->avg.host + e->params->begin[i], p->n, "%s%s",
                     prefix, p->name);
    }
    nn_state_add(out, STATE_I64, &e->n, 1, "__n_averaged__");
}

static enum rc load(struct optim_ema *e, const char *prefix, const struct nn_state *in,
                    bool take, struct err *err)
{
    int64_t n = 0;
    enum rc rc = nn_state_copy(in, "__n_averaged__", STATE_I64, &n, 1, err);
    if (rc == RC_OK && n < 0)
        rc = err_set(err, RC_FORMAT, "__n_averaged__ is %jd", (intmax_t)n);
    for (size_t i = 0; rc == RC_OK && i < e->params->n; i++) {
        const struct param *p = e->params->at[i];
        char *name = mem_printf("%s%s", prefix, p->name);
        const struct nn_state_item *item;
        rc = nn_state_expect(in, name, STATE_F32, p->n, &item, err);
        if (rc == RC_OK && take)
            memcpy(e->avg.host + e->params->begin[i], item->data,
                   (size_t)p->n * sizeof(float));
        mem_free(name);
    }
    if (rc == RC_OK && take) {
        device_floats_push(&e->avg, 0, e->avg.n);
        e->n = n;
    }
    return rc;
}

enum rc optim_ema_load(struct optim_ema *e, const char *prefix, const struct nn_state *in,
                       struct err *err)
{
    assert(!e->swapped);
    enum rc rc = load(e, prefix, in, false, err);
    if (rc == RC_OK)
        rc = load(e, prefix, in, true, err);
    return rc ? err_wrap(err, rc, "moving average") : RC_OK;
}
