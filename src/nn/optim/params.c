/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/optim/params.h"

#include <math.h>

#include "base/mem.h"
#include "nn/device.h"
#include "nn/executor.h"

enum rc optim_param_set_init(struct optim_param_set *s, struct param *const *params,
                             size_t n, struct pool *pool, struct err *err)
{
    *s = (struct optim_param_set){.pool = pool, .device = nn_device_default()};
    if (n && params[0]->device)
        s->device = params[0]->device;
    s->ops = s->device->ops->executor->params;
    s->at = mem_alloc((n + 1) * sizeof(*s->at));
    s->begin = mem_calloc(n + 1, sizeof(*s->begin));
    for (size_t i = 0; i < n; i++) {
        if (!params[i]->trainable)
            continue;
        s->begin[s->n + 1] = s->begin[s->n] + params[i]->n;
        s->at[s->n++] = params[i];
    }
    int64_t chunks = pool_chunks(param_set_total(s), PARAM_GRAIN);
    s->parts = mem_try_calloc((size_t)chunks + 1, sizeof(*s->parts));
    if (!s->parts) {
        optim_param_set_release(s);
        return err_set(err, RC_NOMEM, "no memory for the sums of %jd parts",
                       (intmax_t)chunks);
    }
    return RC_OK;
}

void optim_param_set_release(struct optim_param_set *s)
{
    mem_free(s->at);
    mem_free(s->begin);
    mem_free(s->parts);
    *s = (struct optim_param_set){0};
}

/* The parameter that holds element `at`. */
static size_t param_at(const struct optim_param_set *s, int64_t at)
{
    size_t low = 0, high = s->n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (s->begin[mid] <= at)
            low = mid;
        else
            high = mid;
    }
    return low;
}

struct walk {
    const struct optim_param_set *set;
    param_fn *fn;
    param_part_fn *part;
    enum param_join how;
    void *arg;
};

static double join(enum param_join how, double a, double b)
{
    if (how == PARAM_SUM)
        return a + b;
    return isnan(a) || a > b ? a : b;
}

static void walk_chunk(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct walk *w = arg;
    const struct optim_param_set *s = w->set;
    double all = 0;
    for (size_t i = param_at(s, begin); i < s->n && s->begin[i] < end; i++) {
        int64_t from = begin > s->begin[i] ? begin - s->begin[i] : 0;
        int64_t to = (end < s->begin[i + 1] ? end : s->begin[i + 1]) - s->begin[i];
        if (from >= to)
            continue; /* it has no elements */
        if (w->fn)
            w->fn(w->arg, i, from, to);
        else
            all = join(w->how, all, w->part(w->arg, i, from, to));
    }
    if (w->part)
        s->parts[chunk] = all;
}

void optim_param_set_for(const struct optim_param_set *s, param_fn *fn, void *arg)
{
    struct walk w = {.set = s, .fn = fn, .arg = arg};
    pool_for(s->pool, param_set_total(s), PARAM_GRAIN, walk_chunk, &w);
}

double optim_param_set_join(const struct optim_param_set *s, enum param_join how,
                            param_part_fn *fn, void *arg)
{
    struct walk w = {.set = s, .part = fn, .how = how, .arg = arg};
    double all = 0;
    pool_for(s->pool, param_set_total(s), PARAM_GRAIN, walk_chunk, &w);
    for (int64_t i = 0; i < pool_chunks(param_set_total(s), PARAM_GRAIN); i++)
        all = join(how, all, s->parts[i]);
    return all;
}
