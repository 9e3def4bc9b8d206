/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/gemm.h"

#include <string.h>

#include "base/mem.h"
#include "tensor/gemm_private.h"

static const struct gemm_ops *const backends[] = {&gemm_own, &gemm_ref};
static const struct gemm_ops *in_use = &gemm_own;

enum rc gemm_backend_use(const char *name, struct err *err)
{
    bool automatic = strcmp(name, "auto") == 0;
    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        if (!automatic && strcmp(backends[i]->name, name) != 0)
            continue;
        enum rc rc = backends[i]->load ? backends[i]->load(err) : RC_OK;
        if (rc && automatic)
            continue;
        if (!rc)
            in_use = backends[i];
        return rc;
    }
    return err_set(err, RC_INVAL, "no matrix product backend is named '%s'", name);
}

const char *gemm_backend(void)
{
    return in_use->name;
}

enum rc gemm_weight_create(int64_t out, int64_t in, enum gemm_precision precision,
                           bool backward, struct gemm_weight **result, struct err *err)
{
    struct gemm_weight *w = mem_calloc(1, sizeof(*w));
    *w = (struct gemm_weight){.ops = in_use,
                              .out = out,
                              .in = in,
                              .precision = precision,
                              .backward = backward};
    enum rc rc = w->ops->create(w, err);
    if (rc)
        mem_free(w);
    else
        *result = w;
    return rc;
}

void gemm_weight_destroy(struct gemm_weight *w)
{
    if (!w)
        return;
    w->ops->destroy(w);
    mem_free(w);
}

void gemm_pack(struct gemm_weight *w, const float *from)
{
    w->ops->pack(w, from);
}

void gemm_forward(const struct gemm_weight *w, struct view x, const float *bias,
                  enum gemm_act act, struct view y)
{
    w->ops->forward(w, x, bias, act, y);
}

void gemm_backward(const struct gemm_weight *w, struct view dy, bool add, struct view dx)
{
    w->ops->backward(w, dy, add, dx);
}

struct gradient {
    const struct gemm_weight *w;
    struct view dy, x;
    float *dw, *db;
};

static void gradient_units(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct gradient *g = arg;
    g->w->ops->gradient(g->w, g->dy, g->x, g->dw, g->db, begin, end);
}

void gemm_gradient(const struct gemm_weight *w, struct view dy, struct view x, float *dw,
                   float *db, struct pool *pool)
{
    struct gradient g = {w, dy, x, dw, db};
    pool_for(pool, w->out, GEMM_GRADIENT_UNITS, gradient_units, &g);
}
