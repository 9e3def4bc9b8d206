/* SPDX-License-Identifier: Apache-2.0 */
/* Runs over shards: ranks are threads of one process. The same number of shards gives the
 * same bytes on any number of ranks and threads; and several shards train as one batch of
 * all their rows does.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "ckpt/ckpt.h"
#include "comm/threads.h"
#include "dist/sharded.h"
#include "rows.h"
#include "train/rounds.h"
#include "train/save.h"

#define WORLD_MAX 4
#define BATCH 32
#define STEPS 12
/* One sum over all rows against two over half of them, in f32, over all steps. Dense
 * parameters move by plain gradient descent: an optimizer that divides by the size of a
 * gradient makes a step of a rounding error where the gradient is 0 by construction (the
 * bias before a softmax).
 */
#define NEAR 2e-5

struct run {
    const char *config, *model_dir;
    const char *const *inputs; /* of each shard, when they have their own; else NULL */
    const char *input;
    struct comm *comm; /* NULL: one rank */
    int shards, threads;
    const int64_t *sizes; /* of each shard's batches, with `inputs` */
    bool resumes;
    uint64_t most; /* steps; 0: all */
    double losses[4 * STEPS];
    uint64_t steps, rows;
    enum rc rc;
    struct err err;
};

static enum rc save(struct run *r, struct train_session *s, struct train_rounds *rounds)
{
    struct buf position;
    buf_init(&position, 1 << 20);
    enum rc rc = rounds ? train_rounds_position(rounds, &position, &r->err) : RC_OK;
    struct ckpt_writer *w =
        train_session_save(s, r->model_dir, "", position.n ? buf_str(&position) : NULL);
    bool writes = comm_rank(r->comm) == 0;
    if (!rc && writes)
        rc = ckpt_commit(w, &r->err);
    if (!rc && r->shards > 1)
        rc = dist_sharded_serve(s->model->lookup, &r->err);
    if (!writes)
        ckpt_abort(w);
    buf_release(&position);
    return rc;
}

static enum rc resume(struct run *r, struct train_session *s, struct arena *a,
                      const char **position)
{
    struct ckpt *c = NULL;
    if (!r->resumes)
        return RC_OK;
    enum rc rc = ckpt_open(r->model_dir, 0, &c, NULL, &r->err);
    if (!rc)
        rc = train_session_resume(s, c, false, a, position, &r->err);
    ckpt_close(c);
    return rc;
}

static enum rc train_all(struct run *r, struct train_session *s, struct diags *diags)
{
    struct arena a = {0};
    struct train_rounds *rounds = NULL;
    struct train_round round;
    const char *position = NULL;
    enum rc rc = resume(r, s, &a, &position);
    struct train_rounds_conf conf = {.path = r->input,
                                     .use = SOURCE_TRAIN,
                                     .epochs = 1,
                                     .cursor = position,
                                     .positions = true};
    if (!rc)
        rc = train_rounds_open(s, &conf, &rounds, diags, &r->err);
    while (!rc && (!r->most || s->step < r->most)) {
        rc = train_rounds_next(rounds, 0, &round, &r->err);
        if (rc || !round.any)
            break;
        rc = train_session_train(s, &round.batch, &r->losses[s->step], &r->err);
    }
    if (!rc)
        rc = save(r, s, rounds);
    train_rounds_close(rounds);
    arena_release(&a);
    return rc;
}

/* Shards with data and batch sizes of their own, all on this rank. */
static enum rc train_uneven(struct run *r, struct train_session *s, struct diags *diags)
{
    struct arena a = {0};
    struct train_feeder *f[WORLD_MAX] = {0};
    enum rc rc = RC_OK;
    for (int i = 0; i < r->shards && !rc; i++) {
        struct train_feeder_conf conf = {.plan = s->plan, .epochs = 1};
        rc =
            train_source_conf(s->conf->data_config, s->plan, r->inputs[i], SOURCE_TRAIN,
                              1, (struct train_source_share){0}, &a, &conf.data, &r->err);
        conf.data.batch_size = r->sizes[i];
        if (!rc)
            rc = train_feeder_open(&conf, &f[i], diags, &r->err);
    }
    while (!rc) {
        const struct feature_batch *at[WORLD_MAX] = {0};
        int64_t rows[WORLD_MAX] = {0};
        for (int i = 0; i < r->shards && !rc; i++) {
            struct train_fed fed;
            rc = train_feeder_next(f[i], &fed, &r->err);
            at[i] = fed.features;
            rows[i] = at[i] ? at[i]->rows : 0;
        }
        if (rc || !at[0])
            break;
        struct train_session_batch b = {.at = at, .rows = rows};
        rc = train_session_train(s, &b, &r->losses[s->step], &r->err);
    }
    if (!rc)
        rc = save(r, s, NULL);
    for (int i = 0; i < r->shards; i++)
        train_feeder_close(f[i]);
    arena_release(&a);
    return rc;
}

static void *run_main(void *arg)
{
    struct run *r = arg;
    struct conf conf = {0};
    struct diags diags = {0};
    struct pool *pool = NULL;
    struct train_session *s = NULL;
    struct train_session_options so = {
        .training = true, .seed = 3, .comm = r->comm, .shards = r->shards};
    rows_conf(r->config, &conf, &diags);
    r->rc = pool_create(r->threads ? r->threads : 1, &pool, &r->err);
    so.pool = pool;
    if (!r->rc)
        r->rc = train_session_create(conf.data, &so, &s, &diags, &r->err);
    if (!r->rc)
        r->rc = r->inputs ? train_uneven(r, s, &diags) : train_all(r, s, &diags);
    if (r->rc)
        comm_abort(r->comm, &r->err);
    r->steps = s ? s->step : 0;
    r->rows = s ? s->rows : 0;
    train_session_destroy(s);
    pool_destroy(pool);
    diags_release(&diags);
    conf_release(&conf);
    return NULL;
}

static void check_fine(const struct run *r, uint64_t steps, uint64_t rows)
{
    CHECK_INT(r->rc, RC_OK);
    CHECK_STR(r->err.msg, "");
    CHECK_INT(r->steps, steps);
    CHECK_INT(r->rows, rows);
}

static void run_ranks(struct run *runs, int world)
{
    pthread_t threads[WORLD_MAX];
    struct comm_group *g = comm_group_create(world, 60000);
    for (int i = 0; i < world; i++) {
        struct comm_conf conf = {.rank = i, .world = world, .group = g};
        CHECK(comm_open("threads", &conf, &runs[i].comm, &runs[i].err) == RC_OK);
    }
    comm_group_unref(g);
    for (int i = 0; i < world; i++)
        pthread_create(&threads[i], NULL, run_main, &runs[i]);
    for (int i = 0; i < world; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < world; i++)
        comm_close(runs[i].comm);
}

static struct ckpt *open_last(const char *model_dir)
{
    struct err err = {0};
    struct ckpt *c = NULL;
    CHECK(ckpt_open(model_dir, 0, &c, NULL, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    return c;
}

/* The largest difference of two tensors of floats, relative to 1 and to their size. */
static double distance(const struct ckpt_st_tensor *a, const struct ckpt_st_tensor *b)
{
    double most = 0;
    for (int64_t i = 0; i < a->bytes / (int64_t)sizeof(float); i++) {
        float x, y;
        memcpy(&x, a->data + (size_t)i * sizeof(x), sizeof(x));
        memcpy(&y, b->data + (size_t)i * sizeof(y), sizeof(y));
        double d = fabs((double)x - (double)y) / (1 + fabs((double)x));
        most = d > most || isnan(d) ? d : most;
    }
    return most;
}

/* Every tensor of `a` is in `b`: the same bytes, or within NEAR. */
static void compare(const char *a_dir, const char *b_dir, bool exact)
{
    struct ckpt *a = open_last(a_dir), *b = open_last(b_dir);
    CHECK(a && b && ckpt_count(a) == ckpt_count(b) && ckpt_count(a) > 15);
    for (size_t i = 0; a && b && i < ckpt_count(a); i++) {
        const struct ckpt_st_tensor *x = ckpt_at(a, i), *y = ckpt_find(b, x->name);
        bool same =
            y && x->bytes == y->bytes && memcmp(x->data, y->data, (size_t)x->bytes) == 0;
        bool near =
            y && x->bytes == y->bytes && x->type == ST_F32 && distance(x, y) <= NEAR;
        CHECK(same || (!exact && near));
        if (!same && (exact || !near))
            printf("# %s differs by %g\n", x->name, y ? distance(x, y) : -1.0);
    }
    ckpt_close(a);
    ckpt_close(b);
}

static char *enter_temp(void)
{
    struct err err = {0};
    char *top = NULL;
    CHECK(fs_temp_dir("trainyard-ranks", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    return top;
}

static void leave_temp(char *top)
{
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

static void write_rows(const char *path, int64_t n)
{
    int64_t rows[4096];
    for (int64_t i = 0; i < n; i++)
        rows[i] = i;
    rows_write(path, rows, n);
}

/* `shards` on 1 to 4 ranks, with 1 to 3 threads each: the same bytes. */
static void same_on_any_ranks(const char *config, int shards, int64_t rows,
                              uint64_t steps)
{
    static const char *const dirs[] = {"", "w1", "w2", "w3", "w4"};
    char *top = enter_temp();
    write_rows("rows.csv", rows);
    for (int world = 1; world <= WORLD_MAX && world <= shards; world++) {
        struct run ranks[WORLD_MAX] = {0};
        for (int i = 0; i < world; i++)
            ranks[i] = (struct run){.config = config,
                                    .input = "rows.csv",
                                    .model_dir = dirs[world],
                                    .shards = shards,
                                    .threads = 1 + world % 3};
        run_ranks(ranks, world);
        for (int i = 0; i < world; i++) {
            check_fine(&ranks[i], steps, (uint64_t)rows);
            for (uint64_t step = 0; step < steps; step++)
                CHECK(ranks[i].losses[step] == ranks[0].losses[step]);
        }
        if (world > 1)
            compare("w1", dirs[world], true);
    }
    leave_temp(top);
}

static void deepfm_with_keys_has_the_same_bytes_on_any_ranks(void)
{
    same_on_any_ranks(rows_deepfm, 4, 4 * BATCH * 6 + 7, 7);
}

static void din_has_the_same_bytes_on_any_ranks(void)
{
    same_on_any_ranks(rows_din, 4, 4 * BATCH * 6, 6);
}

/* Shards are dealt unevenly, and the last batch is short. */
static void seven_shards_have_the_same_bytes_on_any_ranks(void)
{
    same_on_any_ranks(rows_din, 7, 7 * BATCH * 2 + 40, 3);
}

static const char rows_random[] = ROWS_COMMON(
    "7") "model_config {\n"
         "  feature_groups { group_name: \"deep\" group_type: DEEP\n"
         "    feature_names: [\"u\", \"i\", \"p\"] }\n"
         "  multi_tower { towers { input: \"deep\"\n"
         "      mlp { hidden_units: [16, 8] use_bn: true dropout_ratio: 0.2 } }\n"
         "    final { hidden_units: 8 } }\n"
         "  losses { binary_cross_entropy {} } metrics { auc {} } }\n";

static void batch_norm_and_dropout_have_the_same_bytes_on_any_ranks(void)
{
    same_on_any_ranks(rows_random, 3, 3 * BATCH * 6 + 4, 7);
}

/* Batches of each shard in turn are the batches of one shard with all rows. */
static void write_inputs(void)
{
    int64_t all[2 * BATCH * STEPS], n = 0;
    for (int64_t i = 0; i < 2 * BATCH * STEPS; i++)
        all[i] = i;
    rows_write("shards.csv", all, 2 * BATCH * STEPS);
    for (int64_t step = 0; step < STEPS; step++)
        for (int64_t shard = 0; shard < 2; shard++)
            for (int64_t i = 0; i < BATCH; i++)
                all[n++] = shard * STEPS * BATCH + step * BATCH + i;
    rows_write("one.csv", all, n);
}

static void shards_against_one(const char *config)
{
    char *top = enter_temp();
    write_inputs();
    struct run one = {.config = config,
                      .inputs = (const char *const[]){"one.csv"},
                      .sizes = (const int64_t[]){2 * BATCH},
                      .model_dir = "one",
                      .shards = 1};
    struct run two = {
        .config = config, .input = "shards.csv", .model_dir = "two", .shards = 2};
    run_main(&one);
    run_main(&two);
    check_fine(&one, STEPS, 2 * BATCH * STEPS);
    check_fine(&two, STEPS, 2 * BATCH * STEPS);
    for (int step = 0; step < STEPS; step++)
        CHECK_NEAR(two.losses[step], one.losses[step], NEAR);
    compare("one", "two", false);
    leave_temp(top);
}

static void two_shards_of_deepfm_train_as_one_batch(void)
{
    shards_against_one(rows_deepfm);
}

static void two_shards_of_din_train_as_one_batch(void)
{
    shards_against_one(rows_din);
}

/* Batches of 20 and of 44 rows: each row counts the same. */
static void uneven_shards_train_as_one_batch(void)
{
    static const int64_t sizes[2] = {20, 2 * BATCH - 20};
    static const char *const inputs[2] = {"a.csv", "b.csv"};
    char *top = enter_temp();
    int64_t all[2 * BATCH * STEPS], own[2][2 * BATCH * STEPS], n = 0, counts[2] = {0};
    for (int64_t step = 0; step < STEPS; step++)
        for (int r = 0; r < 2; r++)
            for (int64_t i = 0; i < sizes[r]; i++, n++)
                all[n] = own[r][counts[r]++] = n;
    rows_write("one.csv", all, n);
    for (int r = 0; r < 2; r++)
        rows_write(inputs[r], own[r], counts[r]);
    struct run one = {.config = rows_din,
                      .inputs = (const char *const[]){"one.csv"},
                      .sizes = (const int64_t[]){2 * BATCH},
                      .model_dir = "one",
                      .shards = 1};
    struct run two = {.config = rows_din,
                      .inputs = inputs,
                      .sizes = sizes,
                      .model_dir = "two",
                      .shards = 2};
    run_main(&one);
    run_main(&two);
    check_fine(&one, STEPS, 2 * BATCH * STEPS);
    check_fine(&two, STEPS, 2 * BATCH * STEPS);
    compare("one", "two", false);
    leave_temp(top);
}

/* Started on three ranks, ended on two, then on one. */
static void a_run_goes_on_with_another_number_of_ranks(void)
{
    char *top = enter_temp();
    write_rows("rows.csv", 3 * BATCH * 9);
    struct run whole = {
        .config = rows_deepfm, .input = "rows.csv", .model_dir = "whole", .shards = 3};
    run_main(&whole);
    check_fine(&whole, 9, 3 * BATCH * 9);
    for (int world = 3; world >= 1; world--) {
        struct run ranks[WORLD_MAX] = {0};
        for (int i = 0; i < world; i++)
            ranks[i] = (struct run){.config = rows_deepfm,
                                    .input = "rows.csv",
                                    .model_dir = "parts",
                                    .shards = 3,
                                    .resumes = world < 3,
                                    .most = 3 * (uint64_t)(4 - world)};
        run_ranks(ranks, world);
        for (int i = 0; i < world; i++)
            check_fine(&ranks[i], ranks[i].most, ranks[i].most * 3 * BATCH);
    }
    compare("whole", "parts", true);
    leave_temp(top);
}

/* A rank whose rows cannot be read ends the others, with its reason. */
static void a_rank_that_fails_ends_the_others(void)
{
    char *top = enter_temp();
    write_rows("rows.csv", 2 * BATCH * STEPS);
    struct run ranks[2];
    for (int i = 0; i < 2; i++)
        ranks[i] = (struct run){.config = rows_din,
                                .input = i ? "nothing.csv" : "rows.csv",
                                .model_dir = "m",
                                .shards = 2};
    run_ranks(ranks, 2);
    CHECK_INT(ranks[1].rc, RC_NOTFOUND);
    CHECK_INT(ranks[0].rc, RC_IO);
    CHECK_INT(ranks[0].err.code, E2501);
    CHECK_HAS(ranks[0].err.msg, "rank 1 of 2 gave up: ");
    CHECK_HAS(ranks[0].err.msg, "nothing.csv");
    leave_temp(top);
}

static const struct tap_case cases[] = {
    TAP(deepfm_with_keys_has_the_same_bytes_on_any_ranks),
    TAP(din_has_the_same_bytes_on_any_ranks),
    TAP(seven_shards_have_the_same_bytes_on_any_ranks),
    TAP(batch_norm_and_dropout_have_the_same_bytes_on_any_ranks),
    TAP(two_shards_of_deepfm_train_as_one_batch),
    TAP(two_shards_of_din_train_as_one_batch),
    TAP(uneven_shards_train_as_one_batch),
    TAP(a_run_goes_on_with_another_number_of_ranks),
    TAP(a_rank_that_fails_ends_the_others),
};
TAP_MAIN(cases)
