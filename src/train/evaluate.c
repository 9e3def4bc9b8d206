/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over data without training. Of several shards each has its own score; they are
 * merged in the order of shards, so that the result does not depend on who had them.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "train/agree.h"
#include "train/rounds.h"
#include "train/trainer.h"

#define TICK_NS (CLOCK_SECOND / 10)

/* False when the tick says that it is enough. */
static bool tick_now(const struct train_evaluate_tick *tick, int64_t rows, int64_t *last)
{
    int64_t now = clock_mono_ns();
    if (!tick || now - *last < TICK_NS)
        return true;
    *last = now;
    return tick->fn(tick->arg, rows);
}

static uint32_t most_batches(const struct train_session *s)
{
    const struct pc_EvalConfig *c = s->conf->eval_config;
    return c && c->has_num_steps ? c->num_steps : 0;
}

/* A score for each shard of this rank, all of which become one in the end. */
struct scores {
    struct train_score *all;   /* the caller's; that of the only shard */
    struct train_score **each; /* [shards.n], of several shards; else NULL */
    int n;
};

static enum rc make_scores(const struct train_session *s, struct scores *x,
                           struct err *err)
{
    enum rc rc = RC_OK;
    if (s->shards.total <= 1)
        return RC_OK;
    x->n = s->shards.n;
    x->each = mem_calloc((size_t)x->n, sizeof(struct train_score *));
    for (int i = 0; i < x->n && !rc; i++)
        rc = train_score_create(s, false, &x->each[i], err);
    return rc;
}

static void release_scores(struct scores *x)
{
    for (int i = 0; x->each && i < x->n; i++)
        train_score_destroy(x->each[i]);
    mem_free(x->each);
}

static int64_t rows_seen(const struct scores *x)
{
    int64_t rows = train_score_rows(x->all);
    for (int i = 0; i < x->n; i++)
        rows += train_score_rows(x->each[i]);
    return rows;
}

/* The shards of all ranks, in their order. */
static enum rc merge_scores(const struct train_session *s, struct scores *x,
                            struct err *err)
{
    enum rc rc = RC_OK;
    if (comm_world(s->options.comm) > 1)
        return train_score_gather(x->all, x->each, s, err);
    for (int i = 0; i < x->n && !rc; i++)
        rc = train_score_merge(x->all, x->each[i], err);
    return rc;
}

/* Each shard of this rank in turn. Where tables are spread over ranks a rank that has no
 * batch helps the others with theirs: as many calls are made on each.
 */
static enum rc one_round(struct train_session *s, struct scores *x,
                         const struct train_rounds *r, const struct train_round *round,
                         struct err *err)
{
    int world = comm_world(s->options.comm), calls = s->shards.n;
    enum rc rc = RC_OK;
    if (world > 1)
        calls = (s->shards.total + world - 1) / world;
    for (int i = 0; i < calls && !rc; i++) {
        const struct feature_batch *b = i < s->shards.n ? round->batch.at[i] : NULL;
        double loss = 0;
        if (!b) {
            rc = world > 1 ? train_session_idle(s, err) : RC_OK;
            continue;
        }
        rc = train_session_forward(s, b, true, &loss, err);
        if (!rc)
            rc = train_score_batch(x->each ? x->each[i] : x->all, s, b, loss, err);
        if (rc)
            train_rounds_name(r, i, err);
    }
    return rc;
}

/* At most `most` batches of each shard; 0: all. */
static enum rc each_batch(struct train_session *s, struct scores *x,
                          struct train_rounds *r, uint32_t most,
                          const struct train_evaluate_tick *tick, struct err *err)
{
    uint32_t n = 0;
    int64_t ticked = 0;
    bool stop = false;
    for (;;) {
        struct train_round round;
        enum rc rc = train_rounds_next(r, stop ? ROUND_STOP : 0, &round, err);
        if (rc || !round.any || (most && n++ == most))
            return rc;
        if (round.asked & ROUND_STOP)
            return err_set(err, RC_CANCELED, "stopped");
        rc = one_round(s, x, r, &round, err);
        if (rc)
            return rc;
        stop = !tick_now(tick, rows_seen(x), &ticked);
        if (stop && comm_world(s->options.comm) == 1)
            return err_set(err, RC_CANCELED, "stopped");
    }
}

/* A pass that was cut short has not told yet. */
static void keep_outside(struct train_session *s, struct train_rounds *r)
{
    struct buf b;
    buf_init(&b, (size_t)1 << 24);
    train_rounds_outside(r, true, &b);
    if (!b.n)
        train_rounds_outside(r, false, &b);
    mem_free(s->outside);
    s->outside = mem_strdup(buf_str(&b));
    buf_release(&b);
}

static bool uses_average(const struct train_session *s)
{
    const struct pc_EvalConfig *c = s->conf->eval_config;
    return s->ema && (!c || !c->has_use_dense_ema || c->use_dense_ema);
}

/* All ranks read the same. */
static enum rc agree_on_data(const struct train_session *s, const struct train_rounds *r,
                             struct err *err)
{
    static const char *const names[] = {"evaluation data"};
    struct buf facts;
    if (comm_world(s->options.comm) == 1)
        return RC_OK;
    buf_init(&facts, 1 << 10);
    buf_printf(&facts, "%jd rows in %zu files (%016jx)%c", (intmax_t)train_rounds_rows(r),
               train_rounds_files(r), (uintmax_t)train_rounds_digest(r), 0);
    enum rc rc = train_agree(s->options.comm, names, 1, &facts, err);
    buf_release(&facts);
    return rc;
}

static enum rc run_over(struct train_session *s, struct train_score *score,
                        const char *path, uint32_t most,
                        const struct train_evaluate_tick *tick, struct diags *diags,
                        struct err *err)
{
    struct train_rounds *r = NULL;
    struct scores x = {.all = score};
    struct train_rounds_conf conf = {.path = path, .use = SOURCE_EVAL, .epochs = 1};
    enum rc rc = train_rounds_open(s, &conf, &r, diags, err);
    if (!rc)
        rc = agree_on_data(s, r, err);
    if (!rc)
        rc = make_scores(s, &x, err);
    if (!rc) {
        train_score_reset(score);
        if (uses_average(s))
            optim_ema_swap(s->ema);
        rc = each_batch(s, &x, r, most, tick, err);
        if (!rc) /* for the copies of the last batch */
            rc = graph_wait(s->model->graph, err);
        if (!rc)
            keep_outside(s, r);
        if (uses_average(s))
            optim_ema_swap(s->ema);
    }
    if (!rc)
        rc = merge_scores(s, &x, err);
    release_scores(&x);
    if (!rc && train_score_rows(score) == 0)
        rc = train_rounds_no_rows(r, path, err);
    train_rounds_close(r);
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
