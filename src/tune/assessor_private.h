/* SPDX-License-Identifier: Apache-2.0 */
/* How an assessor is made: one file in tune/assess and one row in text/nni/algos.def. */
#ifndef TUNE_ASSESSOR_PRIVATE_H
#define TUNE_ASSESSOR_PRIVATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "tune/assessor.h"

struct assessor_course {
    VEC(double) values; /* of steps 0, 1, ... without gaps; NAN until one comes */
    size_t judged;      /* steps that judge() has seen */
    bool over;
    int64_t rung; /* for successive halving */
};

struct assessor_ops {
    void *(*create)(struct assessor *a); /* may be NULL */
    void (*destroy)(void *self);
    /* The first c->judged values of the trial are known; false: stop it. Values are to be
     * made large. */
    bool (*judge)(struct assessor *a, struct assessor_course *c, int64_t trial);
    void (*ended)(struct assessor *a, struct assessor_course *c,
                  bool ok); /* may be NULL */
};

#define ALGO(role, symbol, ...) ALGO_##role(symbol)
#define ALGO_ELSEWHERE(role, name, alias)
#define ALGO_ASSESSOR(symbol) extern const struct assessor_ops assessor_##symbol;
#define ALGO_TUNER(symbol)
#include "text/nni/algos.def"
#undef ALGO
#undef ALGO_ELSEWHERE
#undef ALGO_ASSESSOR
#undef ALGO_TUNER

struct assessor {
    const struct assessor_ops *ops;
    const void *args;
    const char *experiment;
    bool minimize;
    VEC(struct assessor_course) courses; /* by trial */
    struct arena arena;
    void *self;
};

#endif
