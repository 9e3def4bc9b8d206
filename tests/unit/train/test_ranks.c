/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks of one model as threads of one process, against one process that is given the
 * rows of both as one batch.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "ckpt/ckpt.h"
#include "comm/threads.h"
#include "dist/replicated.h"
#include "rows.h"
#include "train/feeder.h"
#include "train/save.h"
#include "train/source.h"

#define WORLD 2
#define BATCH 32
#define STEPS 12
#define ROWS (WORLD * BATCH * STEPS)
/* One sum over all rows against two over half of them, in f32, over all steps. Dense
 * parameters move by plain gradient descent: an optimizer that divides by the size of a
 * gradient makes a step of a rounding error where the gradient is 0 by construction (the
 * bias before a softmax).
 */
#define NEAR 2e-5

struct run {
    const char *config, *input, *model_dir;
    struct comm *comm; /* NULL: one process */
    const struct lookup_ops *lookup;
    int64_t batch;
    bool own_input; /* all of it is this rank's */
    double losses[STEPS + 1];
    uint64_t steps, rows;
    enum rc rc;
    struct err err;
};

static enum rc train_all(struct run *r, struct train_session *s, struct diags *diags)
{
    struct arena a = {0};
    struct train_feeder *f = NULL;
    struct train_fed fed;
    struct train_feeder_conf conf = {.plan = s->plan, .epochs = 1};
    enum rc rc =
        train_source_conf(s->conf->data_config, s->plan, r->input, SOURCE_TRAIN, 1,
                          r->own_input ? NULL : r->comm, &a, &conf.data, &r->err);
    conf.data.batch_size = r->batch;
    if (!rc)
        rc = train_feeder_open(&conf, &f, diags, &r->err);
    while (!rc && !(rc = train_feeder_next(f, &fed, &r->err)) && fed.features)
        rc = train_session_train(s, fed.features, &r->losses[s->step], &r->err);
    train_feeder_close(f);
    arena_release(&a);
    return rc;
}

static void *run_main(void *arg)
{
    struct run *r = arg;
    struct conf conf = {0};
    struct diags diags = {0};
    struct train_session *s = NULL;
    struct train_session_options so = {
        .training = true, .seed = 3, .comm = r->comm, .lookup = r->lookup};
    rows_conf(r->config, &conf, &diags);
    r->rc = train_session_create(conf.data, &so, &s, &diags, &r->err);
    if (!r->rc)
        r->rc = train_all(r, s, &diags);
    if (r->rc)
        comm_abort(r->comm, &r->err);
    if (!r->rc)
        r->rc = ckpt_commit(train_session_save(s, r->model_dir, "", NULL), &r->err);
    r->steps = s ? s->step : 0;
    r->rows = s ? s->rows : 0;
    train_session_destroy(s);
    diags_release(&diags);
    conf_release(&conf);
    return NULL;
}

static void check_fine(const struct run *r)
{
    CHECK_INT(r->rc, RC_OK);
    CHECK_STR(r->err.msg, "");
    CHECK_INT(r->steps, STEPS);
    CHECK_INT(r->rows, ROWS);
}

static void run_ranks(struct run *runs)
{
    pthread_t threads[WORLD];
    struct comm_group *g = comm_group_create(WORLD, 60000);
    for (int i = 0; i < WORLD; i++) {
        struct comm_conf conf = {.rank = i, .world = WORLD, .group = g};
        CHECK(comm_open("threads", &conf, &runs[i].comm, &runs[i].err) == RC_OK);
    }
    comm_group_unref(g);
    for (int i = 0; i < WORLD; i++)
        pthread_create(&threads[i], NULL, run_main, &runs[i]);
    for (int i = 0; i < WORLD; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < WORLD; i++)
        comm_close(runs[i].comm);
}

static struct ckpt *open_last(const char *model_dir)
{
    struct err err = {0};
    struct ckpt *c = NULL;
    char *dir = ckpt_dir(model_dir, STEPS - 1);
    CHECK(ckpt_open(dir, 0, &c, NULL, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    mem_free(dir);
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
    CHECK(a && b && ckpt_count(a) == ckpt_count(b) && ckpt_count(a) > 20);
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

/* Ranks read stretches of the input; one process reads batches of both in turn. */
static void write_inputs(void)
{
    int64_t rows[ROWS], n = 0;
    for (int64_t i = 0; i < ROWS; i++)
        rows[i] = i;
    rows_write("ranks.csv", rows, ROWS);
    for (int64_t step = 0; step < STEPS; step++)
        for (int64_t rank = 0; rank < WORLD; rank++)
            for (int64_t i = 0; i < BATCH; i++)
                rows[n++] = rank * STEPS * BATCH + step * BATCH + i;
    rows_write("one.csv", rows, ROWS);
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

static void ranks_against_one(const char *config)
{
    char *top = enter_temp();
    write_inputs();
    struct run one = {
        .config = config, .input = "one.csv", .model_dir = "one", .batch = WORLD * BATCH};
    struct run ranks[WORLD];
    static const char *const dirs[WORLD] = {"rank0", "rank1"};
    for (int i = 0; i < WORLD; i++)
        ranks[i] = (struct run){
            .config = config, .input = "ranks.csv", .model_dir = dirs[i], .batch = BATCH};
    run_main(&one);
    run_ranks(ranks);
    check_fine(&one);
    for (int i = 0; i < WORLD; i++) {
        check_fine(&ranks[i]);
        for (int step = 0; step < STEPS; step++) {
            CHECK(ranks[i].losses[step] == ranks[0].losses[step]);
            CHECK_NEAR(ranks[i].losses[step], one.losses[step], NEAR);
        }
    }
    compare("rank0", "rank1", true);
    compare("one", "rank0", false);
    leave_temp(top);
}

static void two_ranks_of_deepfm_train_as_one_process(void)
{
    ranks_against_one(rows_deepfm);
}

static void two_ranks_of_din_train_as_one_process(void)
{
    ranks_against_one(rows_din);
}

/* Batches of 20 and of 44 rows: means are over the 64 of both. */
static void ranks_with_uneven_batches_train_as_one_process(void)
{
    static const int64_t sizes[WORLD] = {20, WORLD * BATCH - 20};
    static const char *const dirs[WORLD] = {"rank0", "rank1"};
    static const char *const inputs[WORLD] = {"a.csv", "b.csv"};
    char *top = enter_temp();
    int64_t all[ROWS], own[WORLD][ROWS], n = 0, counts[WORLD] = {0};
    for (int64_t step = 0; step < STEPS; step++)
        for (int r = 0; r < WORLD; r++)
            for (int64_t i = 0; i < sizes[r]; i++, n++)
                all[n] = own[r][counts[r]++] = n;
    rows_write("one.csv", all, ROWS);
    struct run one = {.config = rows_din,
                      .input = "one.csv",
                      .model_dir = "one",
                      .batch = WORLD * BATCH};
    struct run ranks[WORLD];
    for (int r = 0; r < WORLD; r++) {
        rows_write(inputs[r], own[r], counts[r]);
        ranks[r] = (struct run){.config = rows_din,
                                .input = inputs[r],
                                .model_dir = dirs[r],
                                .batch = sizes[r],
                                .own_input = true};
    }
    run_main(&one);
    run_ranks(ranks);
    check_fine(&one);
    for (int r = 0; r < WORLD; r++)
        check_fine(&ranks[r]);
    compare("rank0", "rank1", true);
    compare("one", "rank0", false);
    leave_temp(top);
}

/* What `self` gives is what no comm at all gives, byte for byte. */
static void one_rank_changes_no_byte(void)
{
    char *top = enter_temp();
    struct err err = {0};
    struct run a = {
        .config = rows_deepfm, .input = "one.csv", .model_dir = "a", .batch = 2 * BATCH};
    struct run b = a;
    write_inputs();
    b.model_dir = "b";
    b.lookup = &lookup_replicated_ops;
    CHECK(comm_open("self", &(struct comm_conf){.world = 1}, &b.comm, &err) == RC_OK);
    run_main(&a);
    run_main(&b);
    check_fine(&a);
    check_fine(&b);
    compare("a", "b", true);
    comm_close(b.comm);
    leave_temp(top);
}

/* A rank whose rows cannot be read ends the others, with its reason. */
static void a_rank_that_fails_ends_the_others(void)
{
    char *top = enter_temp();
    write_inputs();
    struct run ranks[WORLD];
    for (int i = 0; i < WORLD; i++)
        ranks[i] = (struct run){.config = rows_din,
                                .input = i ? "nothing.csv" : "ranks.csv",
                                .model_dir = "m",
                                .lookup = &lookup_replicated_ops,
                                .batch = BATCH};
    run_ranks(ranks);
    CHECK_INT(ranks[1].rc, RC_NOTFOUND);
    CHECK_INT(ranks[0].rc, RC_IO);
    CHECK_INT(ranks[0].err.code, E2501);
    CHECK_HAS(ranks[0].err.msg, "step 0: rank 1 of 2 gave up: ");
    CHECK_HAS(ranks[0].err.msg, "nothing.csv");
    leave_temp(top);
}

static const struct tap_case cases[] = {
    TAP(two_ranks_of_deepfm_train_as_one_process),
    TAP(two_ranks_of_din_train_as_one_process),
    TAP(ranks_with_uneven_batches_train_as_one_process),
    TAP(one_rank_changes_no_byte),
    TAP(a_rank_that_fails_ends_the_others),
};
TAP_MAIN(cases)
