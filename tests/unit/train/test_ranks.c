/* SPDX-License-Identifier: Apache-2.0 */
/* Runs over shards: ranks are threads of one process. The same number of shards gives the
 * same bytes on any number of ranks and threads; and several shards train as one batch of
 * all their rows does.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "ckpt/ckpt.h"
#include "comm/threads.h"
#include "dist/sharded.h"
#include "rows.h"
#include "train/placement.h"
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
    int shards, threads, local;
    bool half; /* vectors travel as bf16 */
    struct dist_traffic traffic;
    bool places;          /* tables lie as the config says */
    const char *whole;    /* a table whose rows stay whole, as the placement says */
    enum dist_kind kind;  /* of the first table */
    const int64_t *sizes; /* of each shard's batches, with `inputs` */
    bool resumes;
    uint64_t most;  /* steps; 0: all */
    int64_t passes; /* over the rows; 0: one */
    bool no_room;   /* on the disk, for this rank */
    pthread_t self;
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

/* With several ranks the next batch is drawn while one is worked on. */
static const struct feature_batch *const *look_ahead(void *arg)
{
    const struct feature_batch *const *at = NULL;
    train_rounds_ahead(arg, 0, &at);
    return at;
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
                                     .epochs = r->passes ? r->passes : 1,
                                     .cursor = position,
                                     .positions = true};
    if (!rc)
        rc = train_rounds_open(s, &conf, &rounds, diags, &r->err);
    s->ahead = (struct train_session_ahead){.fn = look_ahead, .arg = rounds};
    while (!rc && (!r->most || s->step < r->most)) {
        rc = train_rounds_next(rounds, 0, &round, &r->err);
        if (rc || (!round.any && round.over))
            break;
        if (!round.any)
            continue;
        rc = train_session_train(s, &round.batch, &r->losses[s->step], &r->err);
    }
    if (!rc)
        rc = save(r, s, rounds);
    train_session_quit(s);
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

/* Where the config and an earlier plan in model_dir want the tables. */
static enum rc place(struct run *r, struct train_session *s)
{
    struct train_placement p = {0};
    struct train_pins pins = {0};
    if (!r->places || comm_world(r->comm) == 1)
        return RC_OK;
    enum rc rc = train_pins_read(r->model_dir, false, &pins, &r->err);
    if (!rc)
        rc = train_placement_apply(s, &pins, &p, &r->whole, &r->err);
    r->kind = p.plan.n ? p.plan.at[0].kind : DIST_KINDS;
    train_placement_release(&p);
    train_pins_release(&pins);
    return rc;
}

static void *run_main(void *arg)
{
    struct run *r = arg;
    struct conf conf = {0};
    struct diags diags = {0};
    struct pool *pool = NULL;
    struct train_session *s = NULL;
    struct train_session_options so = {.training = true,
                                       .seed = 3,
                                       .comm = r->comm,
                                       .local = r->local,
                                       .half_wire = r->half,
                                       .shards = r->shards};
    r->self = pthread_self();
    rows_conf(r->config, &conf, &diags);
    r->rc = pool_create(r->threads ? r->threads : 1, &pool, &r->err);
    so.pool = pool;
    if (!r->rc)
        r->rc = train_session_create(conf.data, &so, &s, &diags, &r->err);
    if (!r->rc)
        r->rc = place(r, s);
    if (!r->rc)
        r->rc = r->inputs ? train_uneven(r, s, &diags) : train_all(r, s, &diags);
    if (r->rc)
        comm_abort(r->comm, &r->err);
    r->steps = s ? s->step : 0;
    r->traffic = s ? train_session_traffic(s) : (struct dist_traffic){0};
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
static void same_after_passes(const char *config, int shards, int64_t rows,
                              int64_t passes, uint64_t steps)
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
                                    .passes = passes,
                                    .threads = 1 + world % 3};
        run_ranks(ranks, world);
        for (int i = 0; i < world; i++) {
            check_fine(&ranks[i], steps, (uint64_t)(rows * passes));
            for (uint64_t step = 0; step < steps; step++)
                CHECK(ranks[i].losses[step] == ranks[0].losses[step]);
        }
        if (world > 1)
            compare("w1", dirs[world], true);
    }
    leave_temp(top);
}

static void same_on_any_ranks(const char *config, int shards, int64_t rows,
                              uint64_t steps)
{
    same_after_passes(config, shards, rows, 1, steps);
}

/* The batch that was looked at ahead of the end of a pass has no rows and is left out. */
static void several_passes_have_the_same_bytes_on_any_ranks(void)
{
    same_after_passes(rows_deepfm, 4, 4 * BATCH * 2 + 7, 3, 9);
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

#define TWO_TASKS(words)                                                         \
    ROWS_COMMON("7")                                                             \
    "model_config { " words "\n"                                                 \
    "  feature_groups { group_name: \"deep\" group_type: DEEP\n"                 \
    "    feature_names: [\"u\", \"i\", \"p\"] }\n"                               \
    "  simple_multi_task {\n"                                                    \
    "    task_towers { tower_name: \"a\" label_name: \"clk\"\n"                  \
    "      mlp { hidden_units: [16, 8] } losses { binary_cross_entropy {} } }\n" \
    "    task_towers { tower_name: \"b\" label_name: \"clk\"\n"                  \
    "      mlp { hidden_units: [4] } losses { binary_cross_entropy {} } } } }\n"

/* Each shard weighs its losses by its own gradients. */
static void pareto_weights_have_the_same_bytes_on_any_ranks(void)
{
    static const char pareto[] = TWO_TASKS("use_pareto_loss_weight: true");
    static const char plain[] = TWO_TASKS("");
    same_on_any_ranks(pareto, 3, 3 * BATCH * 4 + 4, 5);
    char *top = enter_temp();
    write_rows("rows.csv", 3 * BATCH * 4);
    struct run with = {
        .config = pareto, .input = "rows.csv", .model_dir = "with", .shards = 3};
    struct run without = {
        .config = plain, .input = "rows.csv", .model_dir = "without", .shards = 3};
    run_main(&with);
    run_main(&without);
    CHECK(with.losses[0] == without.losses[0]);
    CHECK(with.losses[2] != without.losses[2]);
    leave_temp(top);
}

/* Rows of 256 values, so that columns are cut; shared by a pooled use, one by mean and a
 * sequence.
 */
#define PLACED                                                                            \
    "model_dir: \"m\"\n"                                                                  \
    "train_config { num_epochs: 2 save_checkpoints_steps: 7 save_checkpoints_epochs: 0\n" \
    "  sparse_optimizer { %s { lr: 0.05 } constant_learning_rate {} }\n"                  \
    "  dense_optimizer { sgd_optimizer { lr: 0.1 } constant_learning_rate {} }\n"         \
    "  global_embedding_constraints { sharding_types: \"%s\" } }\n"                       \
    "data_config { batch_size: 32 dataset_type: CsvDataset with_header: true\n"           \
    "  delimiter: \"|\" fg_mode: FG_DAG label_fields: \"clk\"\n"                          \
    "  input_fields { input_name: \"clk\" input_type: INT64 }\n"                          \
    "  input_fields { input_name: \"u\" input_type: STRING }\n"                           \
    "  input_fields { input_name: \"i\" input_type: INT64 }\n"                            \
    "  input_fields { input_name: \"tags\" input_type: STRING }\n"                        \
    "  input_fields { input_name: \"click__i\" input_type: STRING } }\n"                  \
    "feature_configs { id_feature { feature_name: \"i\" expression: \"item:i\"\n"         \
    "  num_buckets: 200 embedding_dim: 256 embedding_name: \"item\" %s } }\n"             \
    "feature_configs { id_feature { feature_name: \"u\" expression: \"user:u\"\n"         \
    "  hash_bucket_size: 500 embedding_dim: 384 %s } }\n"                                 \
    "feature_configs { id_feature { feature_name: \"tags\" expression: \"user:tags\"\n"   \
    "  weighted: true separator: \",\" embedding_dim: 8 pooling: \"mean\"\n"              \
    "  hash_bucket_size: 50 } }\n"                                                        \
    "feature_configs { sequence_feature { sequence_name: \"click\" sequence_length: 6\n"  \
    "  sequence_delim: \";\" features { id_feature { feature_name: \"i\" expression: "    \
    "\"item:i\"\n"                                                                        \
    "    num_buckets: 200 embedding_dim: 256 embedding_name: \"item\" %s } } } }\n"       \
    "model_config {\n"                                                                    \
    "  feature_groups { group_name: \"deep\" group_type: DEEP\n"                          \
    "    feature_names: [\"u\", \"i\", \"tags\"] }\n"                                     \
    "  feature_groups { group_name: \"seq\" group_type: SEQUENCE\n"                       \
    "    feature_names: [\"i\", \"click__i\"] }\n"                                        \
    "  multi_tower_din { towers { input: \"deep\" mlp { hidden_units: [16, 8] } }\n"      \
    "    din_towers { input: \"seq\" attn_mlp { hidden_units: [8] } }\n"                  \
    "    final { hidden_units: 8 } }\n"                                                   \
    "  losses { binary_cross_entropy {} } metrics { auc {} } }\n"

static char *placed(const char *optimizer, const char *kind, const char *type)
{
    return mem_printf(PLACED, optimizer, kind, type, type, type);
}

/* Four shards on one process; on four ranks of two hosts, with tables cut as `kind` says;
 * which then go on on three, where a grid has one host.
 */
static void same_wherever_tables_lie(const char *optimizer, const char *kind,
                                     const char *type, enum dist_kind want, bool whole)
{
    char *top = enter_temp(), *config = placed(optimizer, kind, type);
    write_rows("rows.csv", 4 * BATCH * 6 + 9);
    struct run one = {
        .config = config, .input = "rows.csv", .model_dir = "one", .shards = 4};
    run_main(&one);
    check_fine(&one, 7, 4 * BATCH * 6 + 9);
    for (int world = 4; world >= 3; world--) {
        struct run ranks[WORLD_MAX] = {0};
        for (int i = 0; i < world; i++)
            ranks[i] = (struct run){.config = config,
                                    .input = "rows.csv",
                                    .model_dir = "parts",
                                    .shards = 4,
                                    .local = world == 4 ? 2 : 3,
                                    .threads = 1 + i % 2,
                                    .places = true,
                                    .resumes = world < 4,
                                    .most = world == 4 ? 4 : 7};
        run_ranks(ranks, world);
        for (int i = 0; i < world; i++) {
            check_fine(&ranks[i], ranks[i].most, world == 4 ? 4 * 4 * BATCH : one.rows);
            CHECK_INT(ranks[i].kind, want);
            CHECK_INT(ranks[i].whole != NULL, whole);
        }
    }
    compare("one", "parts", true);
    mem_free(config);
    leave_temp(top);
}

static void tables_cut_in_any_way_have_the_same_bytes(void)
{
    for (int kind = 0; kind < DIST_KINDS; kind++)
        same_wherever_tables_lie("adagrad_optimizer", dist_kind_name(kind), "", kind,
                                 false);
}

static void columns_with_two_moments_in_16_bits_have_the_same_bytes(void)
{
    static const enum dist_kind kinds[] = {DIST_COLUMN_WISE, DIST_GRID,
                                           DIST_DATA_PARALLEL};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        same_wherever_tables_lie("adam_optimizer", dist_kind_name(kinds[i]),
                                 "data_type: \"FP16\"", kinds[i], false);
}

static void rows_stay_whole_where_the_optimizer_looks_at_all_of_them(void)
{
    same_wherever_tables_lie("rowwise_adagrad_optimizer", "column_wise", "",
                             DIST_TABLE_WISE, true);
    same_wherever_tables_lie("rowwise_adagrad_optimizer", "grid_shard", "", DIST_ROW_WISE,
                             true);
}

/* A table that was data parallel stays so; with the word of the user, every kind stays. */
static void a_plan_that_was_written_is_read_again(void)
{
    struct err err = {0};
    struct train_pins pins = {0};
    char *top = enter_temp();
    static const char text[] =
        "{\"model.ebc\": {\"a\": {\"sharding_type\": \"data_parallel\", \"ranks\": [0]},"
        "\"b\": {\"sharding_type\": \"grid_shard\"}}}";
    CHECK(fs_mkdirs("m/model.ckpt-7", 0755, &err) == RC_OK);
    CHECK(train_pins_read("m", true, &pins, &err) == RC_OK && pins.at.n == 0);
    CHECK(fs_write("m/plan", text, sizeof(text) - 1, 0644, &err) == RC_OK);
    CHECK(train_pins_read("m/model.ckpt-7", false, &pins, &err) == RC_OK);
    CHECK_INT(train_pins_find(&pins, "model.ebc.embedding_bags.a.weight"),
              DIST_DATA_PARALLEL);
    CHECK_INT(train_pins_find(&pins, "model.ebc.embeddings.b.weight"), DIST_KINDS);
    train_pins_release(&pins);
    CHECK(train_pins_read("m", true, &pins, &err) == RC_OK);
    CHECK_INT(train_pins_find(&pins, "model.ebc.embeddings.b.weight"), DIST_GRID);
    train_pins_release(&pins);
    CHECK(fs_write("m/plan", "{\"x\": {\"a\": {}}}", 16, 0644, &err) == RC_OK);
    CHECK_INT(train_pins_read("m", true, &pins, &err), RC_FORMAT);
    CHECK_STR(err.msg,
              "plan of tables 'm/plan': table 'a': sharding_type '' is none that "
              "exists");
    leave_temp(top);
}

/* Rounded where they would travel, whether or not they do. */
static void a_narrow_wire_has_the_same_bytes_on_any_ranks(void)
{
    static const char *const kinds[] = {"row_wise", "data_parallel", "column_wise"};
    char *top = enter_temp();
    write_rows("rows.csv", 4 * BATCH * 3);
    char *config = placed("adagrad_optimizer", kinds[0], "");
    struct run one = {.config = config,
                      .input = "rows.csv",
                      .model_dir = "one",
                      .half = true,
                      .shards = 4},
               wide = one;
    run_main(&one);
    check_fine(&one, 3, 4 * BATCH * 3);
    wide.half = false;
    wide.model_dir = "wide";
    run_main(&wide);
    CHECK(wide.losses[2] != one.losses[2]);
    CHECK_NEAR(wide.losses[2], one.losses[2], 1e-2);
    mem_free(config);
    for (int i = 0; i < 3; i++) {
        struct run ranks[WORLD_MAX] = {0};
        char *dir = mem_printf("parts%d", i);
        config = placed("adagrad_optimizer", kinds[i], "");
        for (int r = 0; r < i + 2; r++)
            ranks[r] = (struct run){.config = config,
                                    .input = "rows.csv",
                                    .model_dir = dir,
                                    .half = true,
                                    .places = true,
                                    .shards = 4};
        run_ranks(ranks, i + 2);
        check_fine(&ranks[0], 3, 4 * BATCH * 3);
        compare("one", dir, true);
        mem_free(config);
        mem_free(dir);
    }
    leave_temp(top);
}

/* With one shard per rank: distinct ids, vectors and sums once, and little more. */
static void ranks_send_little_more_than_they_must(void)
{
    char *top = enter_temp(), *config = placed("adagrad_optimizer", "row_wise", "");
    write_rows("rows.csv", 2 * BATCH * 6);
    struct run ranks[2][2] = {0};
    for (int half = 0; half < 2; half++) {
        for (int r = 0; r < 2; r++)
            ranks[half][r] = (struct run){.config = config,
                                          .input = "rows.csv",
                                          .model_dir = half ? "half" : "m",
                                          .half = half,
                                          .shards = 2};
        run_ranks(ranks[half], 2);
        for (int r = 0; r < 2; r++) {
            struct dist_traffic t = ranks[half][r].traffic;
            printf("# sent %jd of at least %jd bytes\n", (intmax_t)t.sent,
                   (intmax_t)t.least);
            CHECK(t.least > 100000 && t.sent >= t.least &&
                  t.sent < t.least + t.least / 20);
        }
    }
    CHECK(ranks[1][0].traffic.sent < ranks[0][0].traffic.sent * 3 / 4);
    mem_free(config);
    leave_temp(top);
}

/* Shards with the very same rows: two of a rank get a vector together. */
static void a_rank_gets_a_vector_once_for_all_its_shards(void)
{
    char *top = enter_temp(), *config = placed("adagrad_optimizer", "row_wise", "");
    struct run ranks[2] = {0};
    double more = 0, floats = 0;
    int64_t rows[4 * BATCH * 3];
    for (int64_t i = 0; i < 4 * BATCH * 3; i++)
        rows[i] = i % (BATCH * 3);
    rows_write("rows.csv", rows, 4 * BATCH * 3);
    for (int r = 0; r < 2; r++)
        ranks[r] = (struct run){
            .config = config, .input = "rows.csv", .model_dir = "m", .shards = 4};
    run_ranks(ranks, 2);
    for (int r = 0; r < 2; r++) {
        struct dist_traffic t = ranks[r].traffic;
        check_fine(&ranks[r], 3, 4 * BATCH * 3);
        CHECK(t.sent > t.least);
        more += (double)(t.sent - t.least);
        floats += (double)t.floats;
    }
    /* Of four shards' vectors the other rank keeps half. Sums of the second shard, a quarter
     * of all, travel beside what must; its vectors, another quarter, do not.
     */
    printf("# %.0f bytes more than must be, %.0f of vectors\n", more, floats * 4);
    CHECK(more > 0.2 * floats * 4 && more < 0.5 * floats * 4);
    mem_free(config);
    leave_temp(top);
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

/* Each about as much of the tables. */
static void all_ranks_write_a_checkpoint(void)
{
    char *top = enter_temp(), *config = placed("adagrad_optimizer", "table_wise", "");
    write_rows("rows.csv", 4 * BATCH * 3);
    struct run one = {
        .config = config, .input = "rows.csv", .model_dir = "one", .shards = 4};
    run_main(&one);
    CHECK_INT(one.traffic.written, 0); /* nobody to share it with */
    for (int world = 2; world <= 4; world++) {
        struct run ranks[WORLD_MAX] = {0};
        char *dir = mem_printf("w%d", world);
        int64_t all = 0;
        for (int r = 0; r < world; r++)
            ranks[r] = (struct run){.config = config,
                                    .input = "rows.csv",
                                    .model_dir = dir,
                                    .places = true,
                                    .shards = 4};
        run_ranks(ranks, world);
        for (int r = 0; r < world; r++)
            all += ranks[r].traffic.written;
        CHECK(all > 2 * (200 * 256 + 500 * 384) * 4);
        for (int r = 0; r < world; r++) {
            printf("# rank %d of %d wrote %jd of %jd bytes\n", r, world,
                   (intmax_t)ranks[r].traffic.written, (intmax_t)all);
            CHECK(ranks[r].traffic.written > all / world / 2 &&
                  ranks[r].traffic.written < all / world * 2);
        }
        compare("one", dir, true);
        mem_free(dir);
    }
    mem_free(config);
    leave_temp(top);
}

static int no_room(void *arg, enum fs_call call)
{
    const struct run *r = arg;
    return call == FS_WRITE && pthread_equal(pthread_self(), r->self) ? ENOSPC : 0;
}

static void a_rank_that_cannot_write_ends_the_others(void)
{
    char *top = enter_temp(), *config = placed("adagrad_optimizer", "row_wise", "");
    struct err err = {0};
    int64_t step = 0;
    write_rows("rows.csv", 2 * BATCH * 3);
    struct run ranks[2];
    for (int r = 0; r < 2; r++)
        ranks[r] = (struct run){
            .config = config, .input = "rows.csv", .model_dir = "m", .shards = 2};
    fs_set_hook(no_room, &ranks[1]);
    run_ranks(ranks, 2);
    fs_set_hook(NULL, NULL);
    CHECK_INT(ranks[1].rc, RC_IO);
    CHECK_HAS(ranks[1].err.msg, ".ty-");
    CHECK_HAS(ranks[1].err.msg, "cannot write: No space left on device");
    CHECK_INT(ranks[0].err.code, E2501);
    CHECK_HAS(ranks[0].err.msg, "rank 1 of 2 gave up: ");
    CHECK_HAS(ranks[0].err.msg, "No space left on device");
    CHECK(ckpt_latest("m", &step, &err) == RC_OK && step == -1);
    mem_free(config);
    leave_temp(top);
}

static const struct tap_case cases[] = {
    TAP(deepfm_with_keys_has_the_same_bytes_on_any_ranks),
    TAP(din_has_the_same_bytes_on_any_ranks),
    TAP(pareto_weights_have_the_same_bytes_on_any_ranks),
    TAP(several_passes_have_the_same_bytes_on_any_ranks),
    TAP(seven_shards_have_the_same_bytes_on_any_ranks),
    TAP(batch_norm_and_dropout_have_the_same_bytes_on_any_ranks),
    TAP(tables_cut_in_any_way_have_the_same_bytes),
    TAP(columns_with_two_moments_in_16_bits_have_the_same_bytes),
    TAP(rows_stay_whole_where_the_optimizer_looks_at_all_of_them),
    TAP(a_plan_that_was_written_is_read_again),
    TAP(a_narrow_wire_has_the_same_bytes_on_any_ranks),
    TAP(ranks_send_little_more_than_they_must),
    TAP(a_rank_gets_a_vector_once_for_all_its_shards),
    TAP(two_shards_of_deepfm_train_as_one_batch),
    TAP(two_shards_of_din_train_as_one_batch),
    TAP(uneven_shards_train_as_one_batch),
    TAP(a_run_goes_on_with_another_number_of_ranks),
    TAP(a_rank_that_fails_ends_the_others),
    TAP(all_ranks_write_a_checkpoint),
    TAP(a_rank_that_cannot_write_ends_the_others),
};
TAP_MAIN(cases)
