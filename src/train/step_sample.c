/* SPDX-License-Identifier: Apache-2.0 */
/* The sampled session has two shards in one process: a batch of each is what a rank has, and
 * goes the way of many ranks but for the messages. Times are those of the processor, so that
 * who else uses the machine does not count.
 */
#include "train/step_sample.h"

#include <time.h>

#include "train/rounds.h"

#define SHARDS 2
#define WARM 6 /* steps that fill rows and caches */
#define MOST 30
#define LEAST 4

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct sums {
    double best, rows;
    int64_t steps;
    struct dist_traffic from;
};

/* One step; those behind the first few count. */
static enum rc run_step(struct train_session *s, const struct train_round *round,
                        struct sums *to, struct err *err)
{
    double loss = 0, start = cpu_seconds();
    int64_t rows = round->batch.rows[0] + round->batch.rows[1];
    enum rc rc = train_session_train(s, &round->batch, &loss, err);
    double took = cpu_seconds() - start;
    if (s->step == WARM)
        to->from = train_session_traffic(s);
    if (rc || s->step <= WARM)
        return rc;
    if (to->steps == 0 || took / (double)rows < to->best)
        to->best = took / (double)rows;
    to->rows += (double)rows;
    to->steps++;
    return RC_OK;
}

static void give(const struct train_session *s, const struct sums *from,
                 struct dist_scale_step *out)
{
    struct dist_traffic now = train_session_traffic(s);
    double batches = (double)(from->steps * SHARDS);
    out->rows = from->rows / batches;
    out->seconds = from->best * out->rows;
    out->ids = (double)(now.ids - from->from.ids) / batches;
    out->floats = (double)(now.floats - from->from.floats) / batches;
    out->dense = (double)now.dense;
}

static enum rc sample(struct train_session *s, struct dist_scale_step *out,
                      struct diags *diags, struct err *err)
{
    struct train_rounds *rounds = NULL;
    struct train_round round;
    struct sums sums = {0};
    struct train_rounds_conf conf = {
        .path = s->conf->train_input_path, .use = SOURCE_TRAIN, .epochs = 0};
    enum rc rc = train_rounds_open(s, &conf, &rounds, diags, err);
    while (!rc && s->step < WARM + MOST) {
        rc = train_rounds_next(rounds, 0, &round, err);
        if (!rc && round.any)
            rc = run_step(s, &round, &sums, err);
    }
    train_rounds_close(rounds);
    if (!rc && sums.steps < LEAST)
        rc = err_set(err, RC_INVAL, "--simulate: the data is too short for %d steps",
                     WARM + LEAST);
    if (!rc)
        give(s, &sums, out);
    return rc;
}

enum rc train_step_sample(const struct pc_EasyRecConfig *conf,
                          struct dist_scale_step *out, struct diags *diags,
                          struct err *err)
{
    struct pool *pool = NULL;
    struct train_session *s = NULL;
    struct train_session_options so = {.seed = 1, .training = true, .shards = SHARDS};
    enum rc rc = pool_create(1, &pool, err);
    so.pool = pool;
    if (!rc)
        rc = train_session_create(conf, &so, &s, diags, err);
    if (!rc)
        rc = sample(s, out, diags, err);
    train_session_destroy(s);
    pool_destroy(pool);
    return rc;
}
