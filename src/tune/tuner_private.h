/* SPDX-License-Identifier: Apache-2.0 */
/* How a tuner is made: one file in tune/algo and one row in text/nni/algos.def. */
#ifndef TUNE_TUNER_PRIVATE_H
#define TUNE_TUNER_PRIVATE_H

#include "tune/point.h"
#include "tune/seen.h"
#include "tune/tuner.h"

struct tuner_ops {
    /* The state of its own from `t->args` (bound, of the struct in NNI's register); may
     * be NULL. */
    void *(*create)(struct tuner *t);
    void (*destroy)(void *self);
    /* The next point into `x`, with randomness from `r` alone. */
    enum tuner_answer (*ask)(struct tuner *t, struct rng *r, double *x);
    /* After the trial of the last ask has its number, and after results and ends; all
     * may be NULL. */
    void (*issued)(struct tuner *t, int64_t trial);
    void (*report)(struct tuner *t, int64_t trial, int64_t step, double loss);
    void (*told)(struct tuner *t, int64_t trial);
    void (*ended)(struct tuner *t, int64_t trial, bool ok);
    void (*imported)(struct tuner *t, int64_t trial);
    /* What it adds to the parameters (", \"TRIAL_BUDGET\": 20"), or all of them. */
    void (*extra)(const struct tuner *t, int64_t trial, bool first, struct buf *out);
    void (*print)(const struct tuner *t, int64_t trial, struct buf *out);
    void (*param_id)(const struct tuner *t, int64_t trial, char out[TUNER_ID_SIZE]);
    /* The user's form back to a point; NULL: tune_point_read(). */
    enum rc (*read)(const struct tuner *t, const struct node *params, double *x,
                    struct err *err);
    /* The best of the finished trials, of which there is one; NULL: the least loss. Leaves no
     * trace that an ask could see. */
    int64_t (*best)(struct tuner *t);
    bool pure;       /* ask() looks at the history alone and changes nothing */
    bool no_repeats; /* ask again, then go by the grid, rather than issue a set twice */
};

#define ALGO(role, symbol, ...) ALGO_##role(symbol)
#define ALGO_ELSEWHERE(role, name, alias)
#define ALGO_TUNER(symbol) extern const struct tuner_ops tuner_##symbol;
#define ALGO_ASSESSOR(symbol)
#include "text/nni/algos.def"
#undef ALGO
#undef ALGO_ELSEWHERE
#undef ALGO_TUNER
#undef ALGO_ASSESSOR

struct tuner {
    const struct tuner_ops *ops;
    const char *name; /* of the register */
    const void *args;
    const char *checkpoint_dir; /* or NULL */
    uint64_t seed;
    int64_t n_asks; /* that gave something */
    bool maximize[TUNE_OBJECTIVES_MAX];
    struct tune_history history;
    struct tune_seen seen;
    struct arena arena;
    void *self;
};

/* Randomness of use `what` that does not belong to one ask, such as a first population.
 */
void tuner_rng(const struct tuner *t, uint64_t what, uint64_t row, struct rng *r);

#endif
