/* SPDX-License-Identifier: Apache-2.0 */
/* ps_model.h - a model of one table and one dense parameter, for tests of parameter servers:
 * rows of two weights that start as 1, a parameter of `n` values that start as 2.
 */
#ifndef PS_MODEL_H
#define PS_MODEL_H

#include "base/mem.h"
#include "dist/ps_store.h"
#include "text/pipeline/pipeline.h"
#include "unit/nn/golden_text.h"

#define PS_ROWS 64
#define PS_DIM 2
#define PS_LR 0.5

struct ps_model {
    struct dist_ps_model model;
    struct param param, *params[1];
    struct written written;
};

static inline void ps_model_init(struct ps_model *m, int64_t n,
                                 enum embed_row_opt_kind kind, const char *optimizer)
{
    struct err err = {0};
    struct embed_table_conf t = {
        .name = "t",
        .rows = PS_ROWS,
        .dim = PS_DIM,
        .init = EMBED_CONST,
        .a = 1,
        .trainable = true,
        .opt = {.kind = kind, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}};
    *m = (struct ps_model){0};
    CHECK(lookup_create(NULL, &(struct lookup_conf){0}, &m->model.lookup, &err) == RC_OK);
    CHECK_INT(lookup_add_table(m->model.lookup, &t, &err), 0);
    m->param = (struct param){.name = "w",
                              .n_dims = 2,
                              .dims = {n, 1, 1},
                              .n = n,
                              .trainable = true,
                              .value = mem_calloc((size_t)n, sizeof(float)),
                              .grad = mem_calloc((size_t)n, sizeof(float))};
    for (int64_t i = 0; i < n; i++)
        m->param.value[i] = 2;
    m->params[0] = &m->param;
    m->model.params = m->params;
    m->model.n_params = 1;
    written_open(&m->written, &pc_DenseOptimizer_def, optimizer);
}

static inline void ps_model_release(struct ps_model *m)
{
    written_close(&m->written);
    lookup_destroy(m->model.lookup);
    mem_free(m->param.value);
    mem_free(m->param.grad);
}

static inline struct dist_ps_store *ps_model_store(struct ps_model *m,
                                                   struct dist_ps_job job, int server)
{
    struct err err = {0};
    struct dist_ps_store *s = NULL;
    struct dist_ps_store_conf c = {.job = job,
                                   .server = server,
                                   .model = m->model,
                                   .dense = m->written.msg,
                                   .rows = {.base = PS_LR}};
    CHECK(dist_ps_store_create(&c, &s, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    return s;
}

#endif
