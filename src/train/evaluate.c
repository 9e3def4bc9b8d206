/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "train/feeder.h"
#include "train/source.h"
#include "train/trainer.h"

#define TICK_NS (CLOCK_SECOND / 10)

/* RC_CANCELED when the tick says so. */
static enum rc tick_now(const struct train_evaluate_tick *tick, int64_t rows,
                        int64_t *last, struct err *err)
{
    int64_t now = clock_mono_ns();
    if (!tick || now - *last < TICK_NS)
        return RC_OK;
    *last = now;
    return tick->fn(tick->arg, rows) ? RC_OK : err_set(err, RC_CANCELED, "stopped");
}

static uint32_t most_batches(const struct train_session *s)
{
    const struct pc_EvalConfig *c = s->conf->eval_config;
    return c && c->has_num_steps ? c->num_steps : 0;
}

/* At most `most` batches; 0: all. */
static enum rc each_batch(struct train_session *s, struct train_score *score,
                          struct train_feeder *f, uint32_t most,
                          const struct train_evaluate_tick *tick, struct err *err)
{
    uint32_t n = 0;
    int64_t ticked = 0;
    for (;;) {
        struct train_fed fed;
        double loss = 0;
        enum rc rc = train_feeder_next(f, &fed, err);
        if (rc || !fed.features || (most && n++ == most))
            return rc;
        rc = train_session_forward(s, fed.features, true, &loss, err);
        if (!rc)
            rc = train_score_batch(score, s, fed.features, loss, err);
        if (rc)
            train_where_name(fed.where, err);
        if (!rc)
            rc = tick_now(tick, train_score_rows(score), &ticked, err);
        if (rc)
            return rc;
    }
}

static bool uses_average(const struct train_session *s)
{
    const struct pc_EvalConfig *c = s->conf->eval_config;
    return s->ema && (!c || !c->has_use_dense_ema || c->use_dense_ema);
}

static enum rc run_over(struct train_session *s, struct train_score *score,
                        const char *path, uint32_t most,
                        const struct train_evaluate_tick *tick, struct diags *diags,
                        struct err *err)
{
    struct arena a = {0};
    struct train_feeder *f = NULL;
    struct sampler_conf sampler;
    struct train_feeder_conf conf = {.plan = s->plan, .epochs = 1};
    if (train_source_sampler(s->conf->data_config, SOURCE_EVAL, s->options.seed,
                             &sampler))
        conf.sampler = &sampler;
    enum rc rc = train_source_conf(s->conf->data_config, s->plan, path, SOURCE_EVAL,
                                   s->options.seed, s->options.comm, &a, &conf.data, err);
    if (!rc)
        rc = train_feeder_open(&conf, &f, diags, err);
    if (!rc) {
        train_score_reset(score);
        if (uses_average(s))
            optim_ema_swap(s->ema);
        rc = each_batch(s, score, f, most, tick, err);
        if (uses_average(s))
            optim_ema_swap(s->ema);
    }
    train_feeder_close(f);
    arena_release(&a);
    if (!rc && train_score_rows(score) == 0)
        rc = err_coded(err, RC_INVAL, E1406, "no rows in '%s'", path);
    return rc ? err_wrap(err, rc, "evaluation") : RC_OK;
}

enum rc train_evaluate(struct train_session *s, struct train_score *score,
                       const char *path, const struct train_evaluate_tick *tick,
                       struct diags *diags, const struct train_score_line **lines,
                       size_t *n, struct err *err)
{
    enum rc rc = run_over(s, score, path ? path : s->conf->eval_input_path,
                          most_batches(s), tick, diags, err);
    return rc ? rc : train_score_lines(score, lines, n, err);
}

enum rc train_evaluate_try(struct train_session *s, struct train_score *score,
                           struct diags *diags, struct err *err)
{
    enum rc rc = run_over(s, score, s->conf->eval_input_path, 1, NULL, diags, err);
    train_score_reset(score);
    return rc;
}
