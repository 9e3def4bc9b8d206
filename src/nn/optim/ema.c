/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/optim/ema.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

struct ema {
    const struct param_set *params;
    float keep, take; /* decay, 1 - decay */
    float *avg;       /* [total], in the order of the parameters */
    int64_t n;        /* updates so far */
    bool swapped;
};

enum rc ema_create(double decay, const struct param_set *params, struct ema **out,
                   struct err *err)
{
    if (!(decay >= 0 && decay <= 1))
        return err_set(err, RC_INVAL, "ema: decay: %g is outside [0, 1]", decay);
    int64_t total = param_set_total(params);
    float *avg = mem_try_calloc((size_t)total + 1, sizeof(float));
    if (!avg)
        return err_set(err, RC_NOMEM, "no memory for the average of %jd parameters",
                       (intmax_t)total);
    struct ema *e = mem_calloc(1, sizeof(*e));
    *e = (struct ema){
        .params = params, .keep = (float)decay, .take = (float)(1 - decay), .avg = avg};
    *out = e;
    return RC_OK;
}

void ema_destroy(struct ema *e)
{
    if (!e)
        return;
    mem_free(e->avg);
    mem_free(e);
}

static void average(void *arg, size_t which, int64_t begin, int64_t end)
{
    struct ema *e = arg;
    float *avg = e->avg + e->params->begin[which];
    const float *p = e->params->at[which]->value;
    if (e->n == 0) {
        memcpy(avg + begin, p + begin, (size_t)(end - begin) * sizeof(float));
        return;
    }
    for (int64_t i = begin; i < end; i++)
        avg[i] = e->keep * avg[i] + e->take * p[i];
}

void ema_update(struct ema *e)
{
    assert(!e->swapped);
    param_set_for(e->params, average, e);
    e->n++;
}

static void exchange(void *arg, size_t which, int64_t begin, int64_t end)
{
    struct ema *e = arg;
    float *avg = e->avg + e->params->begin[which], *p = e->params->at[which]->value;
    for (int64_t i = begin; i < end; i++) {
        float t = avg[i];
        avg[i] = p[i];
        p[i] = t;
    }
}

void ema_swap(struct ema *e)
{
    if (e->n == 0)
        return;
    param_set_for(e->params, exchange, e);
    e->swapped = !e->swapped;
}

bool ema_swapped(const struct ema *e)
{
    return e->swapped;
}

void ema_save(const struct ema *e, const char *prefix, struct state *out)
{
    assert(!e->swapped);
    for (size_t i = 0; i < e->params->n; i++) {
        const struct param *p = e->params->at[i];
        state_add(out, STATE_F32, e->avg + e->params->begin[i], p->n, "%s%s", prefix,
                  p->name);
    }
    state_add(out, STATE_I64, &e->n, 1, "__n_averaged__");
}

static enum rc load(struct ema *e, const char *prefix, const struct state *in, bool take,
                    struct err *err)
{
    int64_t n = 0;
    enum rc rc = state_copy(in, "__n_averaged__", STATE_I64, &n, 1, err);
    if (rc == RC_OK && n < 0)
        rc = err_set(err, RC_FORMAT, "__n_averaged__ is %jd", (intmax_t)n);
    for (size_t i = 0; rc == RC_OK && i < e->params->n; i++) {
        const struct param *p = e->params->at[i];
        char *name = mem_printf("%s%s", prefix, p->name);
        const struct state_item *item;
        rc = state_expect(in, name, STATE_F32, p->n, &item, err);
        if (rc == RC_OK && take)
            memcpy(e->avg + e->params->begin[i], item->data,
                   (size_t)p->n * sizeof(float));
        mem_free(name);
    }
    if (rc == RC_OK && take)
        e->n = n;
    return rc;
}

enum rc ema_load(struct ema *e, const char *prefix, const struct state *in,
                 struct err *err)
{
    assert(!e->swapped);
    enum rc rc = load(e, prefix, in, false, err);
    if (rc == RC_OK)
        rc = load(e, prefix, in, true, err);
    return rc ? err_wrap(err, rc, "moving average") : RC_OK;
}
