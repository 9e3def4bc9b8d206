/* SPDX-License-Identifier: Apache-2.0 */
/* What all built-in tuners share: the table of them from text/nni/algos.def, arguments,
 * seed, history, and the points issued so far. An algorithm is a struct tuner_ops and
 * sees losses only, smaller is better; signs are turned here. Each ask gets random
 * numbers from a stream of its own, made of the seed and the number of the ask, so an ask
 * can be worked out again. Replay does that for algorithms with a state and compares,
 * while a pure one is just given the point. One that must not repeat itself gets an
 * unseen point instead, or ends.
 */
#include "tune/tuner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/nni/algo.h"
#include "text/nni/nni.h"
#include "tune/args.h"
#include "tune/tuner_private.h"

enum { STREAM_ASK = 0x7475, STREAM_OWN = 0x7476 };

static const struct {
    const char *name;
    const struct tuner_ops *ops;
} tuners[] = {
#define ALGO(role, symbol, file, name, ...) ALGO_##role(symbol, name)
#define ALGO_ELSEWHERE(role, name, alias)
#define ALGO_TUNER(symbol, name) {name, &tuner_##symbol},
#define ALGO_ASSESSOR(symbol, name)
#include "text/nni/algos.def"
#undef ALGO
#undef ALGO_ELSEWHERE
#undef ALGO_TUNER
#undef ALGO_ASSESSOR
};

static const struct tuner_ops *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(tuners); i++)
        if (strcmp(tuners[i].name, name) == 0)
            return tuners[i].ops;
    return NULL;
}

enum rc tuner_create(const struct tuner_conf *conf, struct tuner **out, struct err *err)
{
    const struct nni_algo *algo = nni_algo_find(NNI_TUNER, conf->name);
    const struct tuner_ops *ops = algo ? find(algo->name) : NULL;
    if (!ops)
        return err_coded(err, RC_UNSUPPORTED, E4001, "no tuner '%s'", conf->name);
    struct tuner *t = mem_calloc(1, sizeof(*t));
    t->ops = ops;
    t->name = algo->name;
    t->args = nni_args_bind(algo, conf->args, &t->arena);
    t->seed = conf->seed;
    const int64_t *seed = tune_args_find(algo, t->args, "seed");
    if (seed)
        t->seed = (uint64_t)*seed;
    if (conf->checkpoint_dir)
        t->checkpoint_dir = arena_strdup(&t->arena, conf->checkpoint_dir);
    int64_t n = conf->n_objectives > 1 ? conf->n_objectives : 1;
    t->maximize[0] = tune_args_maximize(algo, t->args);
    for (int64_t i = 0; i < conf->n_objectives; i++)
        t->maximize[i] = conf->maximize[i];
    t->n_asks = conf->asked;
    tune_history_init(&t->history, conf->space, n);
    tune_seen_init(&t->seen, conf->space);
    if (ops->create)
        t->self = ops->create(t);
    *out = t;
    return RC_OK;
}

void tuner_destroy(struct tuner *t)
{
    if (!t)
        return;
    if (t->ops->destroy)
        t->ops->destroy(t->self);
    tune_history_release(&t->history);
    tune_seen_release(&t->seen);
    arena_release(&t->arena);
    mem_free(t);
}

void tuner_rng(const struct tuner *t, uint64_t what, uint64_t row, struct rng *r)
{
    rng_init(r, t->seed, STREAM_OWN, what, row);
}

/* What comes next, into x. */
static enum tuner_answer tuner_think(struct tuner *t, double *x)
{
    struct rng r;
    rng_init(&r, t->seed, STREAM_ASK, (uint64_t)t->n_asks, 0);
    enum tuner_answer answer = t->ops->ask(t, &r, x);
    if (answer == TUNER_GIVES && t->ops->no_repeats && tune_seen_has(&t->seen, x) &&
        !tune_seen_unseen(&t->seen, x))
        answer = TUNER_ENDS;
    return answer;
}

static int64_t tuner_issue(struct tuner *t, const double *x)
{
    t->n_asks++;
    tune_seen_add(&t->seen, x);
    int64_t trial = tune_history_add(&t->history, x);
    if (t->ops->issued)
        t->ops->issued(t, trial);
    return trial;
}

enum tuner_answer tuner_ask(struct tuner *t, int64_t *trial)
{
    double *x = mem_calloc((size_t)t->history.space->n + 1, sizeof(*x));
    enum tuner_answer answer = tuner_think(t, x);
    if (answer == TUNER_GIVES)
        *trial = tuner_issue(t, x);
    mem_free(x);
    return answer;
}

static bool same_point(const double *a, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

enum rc tuner_replay(struct tuner *t, const double *x, int64_t *trial, struct err *err)
{
    enum rc rc = RC_OK;
    double *mine = mem_calloc((size_t)t->history.space->n + 1, sizeof(*mine));
    if (!t->ops->pure && (tuner_think(t, mine) != TUNER_GIVES ||
                          !same_point(mine, x, t->history.space->n)))
        rc =
            err_coded(err, RC_FORMAT, E4002,
                      "trial %jd has parameters that the tuner '%s' would not have given "
                      "with this seed and these results",
                      (intmax_t)t->history.trials.n, t->name);
    else
        *trial = tuner_issue(t, x);
    mem_free(mine);
    return rc;
}

void tuner_params(const struct tuner *t, int64_t trial, struct buf *out)
{
    if (t->ops->print) {
        t->ops->print(t, trial, out);
        return;
    }
    buf_putc(out, '{');
    size_t before = out->n;
    tune_point_print(t->history.space, t->history.trials.at[trial].x, out);
    if (t->ops->extra)
        t->ops->extra(t, trial, out->n == before, out);
    buf_putc(out, '}');
}

void tuner_param_id(const struct tuner *t, int64_t trial, char out[TUNER_ID_SIZE])
{
    if (t->ops->param_id)
        t->ops->param_id(t, trial, out);
    else
        snprintf(out, TUNER_ID_SIZE, "%jd", (intmax_t)trial);
}

void tuner_report(struct tuner *t, int64_t trial, int64_t step, double value)
{
    if (t->ops->report && trial >= 0 && trial < (int64_t)t->history.trials.n)
        t->ops->report(t, trial, step, t->maximize[0] ? -value : value);
}

static void losses_of(const struct tuner *t, const double *values, double *losses)
{
    for (int64_t i = 0; i < t->history.n_objectives; i++)
        losses[i] = t->maximize[i] ? -values[i] : values[i];
}

void tuner_tell(struct tuner *t, int64_t trial, const double *values, double violation)
{
    double losses[TUNE_OBJECTIVES_MAX];
    losses_of(t, values, losses);
    if (tune_history_tell(&t->history, trial, losses, violation) && t->ops->told)
        t->ops->told(t, trial);
}

void tuner_end(struct tuner *t, int64_t trial)
{
    if (trial < 0 || trial >= (int64_t)t->history.trials.n)
        return;
    tune_history_end(&t->history, trial);
    if (t->ops->ended)
        t->ops->ended(t, trial, t->history.trials.at[trial].state == TRIAL_DONE);
}

enum rc tuner_import(struct tuner *t, const struct node *params, const double *values,
                     double violation, struct err *err)
{
    double *x = mem_calloc((size_t)t->history.space->n + 1, sizeof(*x));
    enum rc rc = t->ops->read ? t->ops->read(t, params, x, err)
                              : tune_point_read(t->history.space, params, x, err);
    if (!rc) {
        double losses[TUNE_OBJECTIVES_MAX];
        losses_of(t, values, losses);
        tune_seen_add(&t->seen, x);
        int64_t trial = tune_history_add(&t->history, x);
        tune_history_tell(&t->history, trial, losses, violation);
        if (t->ops->imported)
            t->ops->imported(t, trial);
    }
    mem_free(x);
    return rc;
}

int64_t tuner_best(struct tuner *t)
{
    if (t->history.by_loss.n == 0)
        return -1;
    return t->ops->best ? t->ops->best(t) : t->history.by_loss.at[0];
}

const struct tune_history *tuner_history(const struct tuner *t)
{
    return &t->history;
}

bool tuner_maximizes(const struct tuner *t, int64_t objective)
{
    return t->maximize[objective];
}

uint64_t tuner_seed(const struct tuner *t)
{
    return t->seed;
}
