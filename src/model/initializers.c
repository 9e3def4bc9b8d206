/* SPDX-License-Identifier: Apache-2.0 */
/* Initial values of dense parameters by their names, in the words that tables have for
 * theirs. Fan in is the width of a matrix' rows; a vector has its length for both.
 */
#include <math.h>

#include "base/mem.h"
#include "model/parts.h"
#include "nn/optim/pattern.h"

/* A cut far out cuts nothing; else it is one at two deviations. */
static bool cut_of(const struct embed_table_conf *t, const char *text,
                   struct nn_init *out, struct err *err)
{
    double lo = (t->a - t->lo) / t->b, hi = (t->hi - t->a) / t->b;
    if (lo >= 6 && hi >= 6)
        out->kind = INIT_NORMAL;
    else if (fabs(lo - 2) > 1e-6 || fabs(hi - 2) > 1e-6) {
        err_set(err, RC_UNSUPPORTED,
                "init_fn '%s': a dense parameter is cut off at two deviations", text);
        return false;
    }
    return true;
}

static bool init_of(const struct param *p, const char *text, struct nn_init *out,
                    struct err *err)
{
    struct embed_table_conf like = {.rows = p->dims[0],
                                    .dim = p->n_dims > 1 ? p->n / p->dims[0] : p->n};
    static const enum nn_init_kind kinds[] = {[EMBED_UNIFORM] = INIT_UNIFORM,
                                              [EMBED_NORMAL] = INIT_NORMAL,
                                              [EMBED_CONST] = INIT_CONST,
                                              [EMBED_TRUNCATED] = INIT_TRUNCATED};
    if (!part_table_init(text, &like, err))
        return false;
    *out = (struct nn_init){.kind = kinds[like.init], .a = like.a, .b = like.b};
    if (like.init == EMBED_TRUNCATED)
        return cut_of(&like, text, out, err);
    return true;
}

static enum rc apply(struct model *m, const struct pc_ParameterInit *c, bool *taken,
                     struct err *err)
{
    struct optim_pattern *pattern = NULL;
    size_t n;
    struct param *const *params = graph_params(m->graph, &n);
    enum rc rc = optim_pattern_create(c->regex_pattern, &pattern, err);
    for (size_t i = 0; !rc && i < n; i++) {
        bool match = false;
        if (taken[i] || !params[i]->trainable)
            continue;
        rc = optim_pattern_match(pattern, params[i]->name, &match, err);
        if (!rc && match && !init_of(params[i], c->init_fn, &params[i]->init, err))
            rc = RC_INVAL;
        taken[i] = match;
    }
    optim_pattern_destroy(pattern);
    return rc;
}

enum rc part_initializers(struct model *m, struct err *err)
{
    const struct pc_ModelConfig *c = m->conf->model_config;
    size_t n;
    enum rc rc = RC_OK;
    if (c->n_initializers == 0)
        return RC_OK;
    graph_params(m->graph, &n);
    bool *taken = mem_calloc(n + 1, sizeof(*taken));
    for (int64_t i = 0; !rc && i < c->n_initializers; i++)
        rc = apply(m, c->initializers[i], taken, err);
    mem_free(taken);
    return rc;
}
