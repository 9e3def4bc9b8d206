/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/assessor.h"

#include <math.h>
#include <string.h>

#include "text/nni/algo.h"
#include "tune/args.h"
#include "tune/assessor_private.h"

#define STEPS_MAX 10000000 /* a step beyond this is a mistake, not a result */

static const struct {
    const char *name;
    const struct assessor_ops *ops;
} assessors[] = {
#define ALGO(role, symbol, file, name, ...) ALGO_##role(symbol, name)
#define ALGO_ELSEWHERE(role, name, alias)
#define ALGO_ASSESSOR(symbol, name) {name, &assessor_##symbol},
#define ALGO_TUNER(symbol, name)
#include "text/nni/algos.def"
#undef ALGO
#undef ALGO_ELSEWHERE
#undef ALGO_ASSESSOR
#undef ALGO_TUNER
};

enum rc assessor_create(const struct assessor_conf *conf, struct assessor **out,
                        struct err *err)
{
    const struct nni_algo *algo = nni_algo_find(NNI_ASSESSOR, conf->name);
    const struct assessor_ops *ops = NULL;
    for (size_t i = 0; algo && i < ARRAY_LEN(assessors); i++)
        if (strcmp(assessors[i].name, algo->name) == 0)
            ops = assessors[i].ops;
    if (!ops)
        return err_coded(err, RC_UNSUPPORTED, E4001, "no assessor '%s'", conf->name);
    struct assessor *a = mem_calloc(1, sizeof(*a));
    a->ops = ops;
    a->args = nni_args_bind(algo, conf->args, &a->arena);
    a->experiment = arena_strdup(&a->arena, conf->experiment ? conf->experiment : "");
    a->minimize = !tune_args_maximize(algo, a->args);
    if (ops->create)
        a->self = ops->create(a);
    *out = a;
    return RC_OK;
}

void assessor_destroy(struct assessor *a)
{
    if (!a)
        return;
    if (a->ops->destroy)
        a->ops->destroy(a->self);
    for (size_t i = 0; i < a->courses.n; i++)
        VEC_RELEASE(&a->courses.at[i].values);
    VEC_RELEASE(&a->courses);
    arena_release(&a->arena);
    mem_free(a);
}

static struct assessor_course *course_of(struct assessor *a, int64_t trial)
{
    if (trial < 0)
        return NULL;
    while ((int64_t)a->courses.n <= trial)
        VEC_PUSH(&a->courses, ((struct assessor_course){0}));
    return &a->courses.at[trial];
}

/* What is not a number is kept as the worst there is: NAN marks a step still to come. */
static void assessor_put(struct assessor_course *c, int64_t step, double value)
{
    while ((int64_t)c->values.n <= step)
        VEC_PUSH(&c->values, NAN);
    if (isnan(c->values.at[step]))
        c->values.at[step] = isnan(value) ? -INFINITY : value;
}

bool assessor_report(struct assessor *a, int64_t trial, int64_t step, double value)
{
    struct assessor_course *c = course_of(a, trial);
    if (!c || c->over || step < 0 || step > STEPS_MAX)
        return true;
    assessor_put(c, step, a->minimize ? -value : value);
    while (c->judged < c->values.n && !isnan(c->values.at[c->judged])) {
        c->judged++;
        if (!a->ops->judge(a, c, trial)) {
            c->over = true;
            return false;
        }
    }
    return true;
}

void assessor_end(struct assessor *a, int64_t trial, bool ok)
{
    struct assessor_course *c = course_of(a, trial);
    if (!c || c->over)
        return;
    c->over = true;
    if (a->ops->ended)
        a->ops->ended(a, c, ok);
}
