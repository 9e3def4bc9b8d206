/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup that counts what goes through it, around the local one: a whole run, with
 * checkpoints and a resume, on it and without it; and on a device that queues.
 */
#include <stdlib.h>
#include <unistd.h>

#include "ckpt/ckpt.h"
#include "device_copies.h"
#include "dist/sharded.h"
#include "embed/lookup_wrap.h"
#include "rows.h"
#include "train/trainer.h"

#define ROWS 500
#define BATCH 32 /* of the config */
#define PASS ((ROWS + BATCH - 1) / BATCH)

static const struct device *device; /* of the next runs; NULL: the CPU */
static int shards;                  /* of them */
static struct {
    int64_t created, prepared, trained, forwards, updates, snapshots, restores, rows;
} counts;

struct counter {
    struct lookup_wrap wrap;
};

static enum rc count_prepare(struct lookup *l, const struct embed_slot_ids *ids,
                             bool training, struct err *err)
{
    counts.prepared++;
    counts.trained += training;
    counts.rows += ids[0].rows;
    return lookup_prepare(lookup_inner(l), ids, training, err);
}

static enum rc count_forward(struct lookup *l, const struct view *outputs,
                             struct err *err)
{
    counts.forwards++;
    return lookup_forward(lookup_inner(l), outputs, err);
}

static enum rc count_update(struct lookup *l, const struct view *grads,
                            const struct embed_row_step *step, struct err *err)
{
    counts.updates++;
    return lookup_update(lookup_inner(l), grads, step, err);
}

static enum rc count_snapshot(struct lookup *l, int table, bool whole,
                              struct lookup_snapshot **out, struct err *err)
{
    counts.snapshots++;
    return lookup_snapshot(lookup_inner(l), table, whole, out, err);
}

static enum rc count_restore(struct lookup *l, int table,
                             const struct lookup_image *image, struct err *err)
{
    counts.restores++;
    return lookup_restore(lookup_inner(l), table, image, err);
}

static void counter_destroy(struct lookup *l)
{
    lookup_wrap_release((struct lookup_wrap *)l);
    mem_free(l);
}

static enum rc counter_create(const struct lookup_conf *conf, struct lookup **out,
                              struct err *err);

static const struct lookup_ops counter_ops = {
    .name = "counter", .summary = "counts calls and rows", .create = counter_create};

static enum rc counter_create(const struct lookup_conf *conf, struct lookup **out,
                              struct err *err)
{
    struct lookup *inner = NULL;
    enum rc rc = lookup_create(NULL, conf, &inner, err);
    if (rc)
        return rc;
    struct counter *c = mem_calloc(1, sizeof(*c));
    lookup_wrap_init(&c->wrap, &counter_ops, inner);
    c->wrap.ops.destroy = counter_destroy;
    c->wrap.ops.prepare = count_prepare;
    c->wrap.ops.forward = count_forward;
    c->wrap.ops.update = count_update;
    c->wrap.ops.snapshot = count_snapshot;
    c->wrap.ops.restore = count_restore;
    counts.created++;
    *out = &c->wrap.lookup;
    return RC_OK;
}

struct stopper {
    uint64_t at; /* steps before it stops; 0: never */
    uint64_t seen;
};

static bool stop_now(void *arg)
{
    struct stopper *s = arg;
    return s->at && s->seen++ >= s->at;
}

static void train(const char *text, const char *model_dir,
                  const struct lookup_ops *lookup, uint64_t stop, bool resume)
{
    struct conf conf = {0};
    struct diags diags = {0};
    struct err err = {0};
    struct train_result result;
    struct stopper stopper = {.at = stop};
    char *with_paths = mem_printf("train_input_path: \"rows.csv\" %s", text);
    rows_conf(with_paths, &conf, &diags);
    ((struct pc_EasyRecConfig *)conf.data)->model_dir = model_dir;
    struct train_options o = {.conf = &conf,
                              .threads = 1,
                              .seed = 9,
                              .resume = resume,
                              .lookup = lookup,
                              .device = device,
                              .shards = shards,
                              .watch = {.arg = &stopper, .stop = stop_now}};
    CHECK_INT(train_run(&o, &result, &diags, &err), RC_OK);
    CHECK_STR(err.msg, "");
    CHECK_INT(result.end, stop ? TRAIN_STOPPED : TRAIN_DONE);
    train_result_release(&result);
    diags_release(&diags);
    conf_release(&conf);
    mem_free(with_paths);
}

/* Every tensor of the last checkpoint. */
static void check_same(const char *a_dir, const char *b_dir)
{
    struct ckpt *c[2] = {NULL, NULL};
    const char *const dirs[2] = {a_dir, b_dir};
    for (int i = 0; i < 2; i++) {
        struct err err = {0};
        CHECK(ckpt_open(dirs[i], 0, &c[i], NULL, &err) == RC_OK);
        CHECK_STR(err.msg, "");
    }
    CHECK(c[0] && c[1] && ckpt_count(c[0]) == ckpt_count(c[1]) && ckpt_count(c[0]) > 20);
    for (size_t i = 0; c[0] && c[1] && i < ckpt_count(c[0]); i++) {
        const struct ckpt_st_tensor *x = ckpt_at(c[0], i), *y = ckpt_find(c[1], x->name);
        CHECK(y && x->bytes == y->bytes && x->type == y->type &&
              memcmp(x->data, y->data, (size_t)x->bytes) == 0);
    }
    ckpt_close(c[0]);
    ckpt_close(c[1]);
}

static void write_rows(void)
{
    int64_t rows[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        rows[i] = i;
    rows_write("rows.csv", rows, ROWS);
}

static void whole_run(const char *text, int tables)
{
    struct err err = {0};
    char *top = NULL;
    CHECK(fs_temp_dir("trainyard-lookup", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    write_rows();
    train(text, "plain", NULL, 0, false);
    memset(&counts, 0, sizeof(counts));
    train(text, "counted", &counter_ops, 0, false);
    CHECK_INT(counts.created, 1);
    CHECK_INT(counts.trained, 2 * PASS);
    CHECK_INT(counts.prepared, 2 * PASS);
    CHECK_INT(counts.forwards, 2 * PASS);
    CHECK_INT(counts.updates, 2 * PASS);
    CHECK_INT(counts.rows, 2 * ROWS);
    CHECK_INT(counts.restores, 0);
    CHECK_INT(counts.snapshots,
              tables * (2 * PASS / 7 + 1)); /* every 7 steps, at the end */
    check_same("plain", "counted");
    memset(&counts, 0, sizeof(counts));
    train(text, "resumed", &counter_ops, 10, false);
    CHECK_INT(counts.trained, 10);
    train(text, "resumed", &counter_ops, 0, true);
    CHECK_INT(counts.created, 2);
    CHECK_INT(counts.trained, 2 * PASS);
    CHECK_INT(counts.restores, tables);
    check_same("plain", "resumed");
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

static void a_run_of_deepfm_goes_through_the_lookup_alone(void)
{
    whole_run(rows_deepfm, 5);
}

static void a_run_of_din_goes_through_the_lookup_alone(void)
{
    whole_run(rows_din, 3);
}

/* Both shards of a step are one batch of the lookup inside. */
static void a_run_of_two_shards_goes_through_the_lookup_that_it_is_given(void)
{
    struct err err = {0};
    char *top = NULL;
    CHECK(fs_temp_dir("trainyard-lookup", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    write_rows();
    shards = 2;
    train(rows_deepfm, "plain", NULL, 0, false);
    memset(&counts, 0, sizeof(counts));
    train(rows_deepfm, "counted", &counter_ops, 0, false);
    CHECK_INT(counts.created, 1);
    CHECK_INT(counts.trained, 2 * ((ROWS + 2 * BATCH - 1) / (2 * BATCH)));
    CHECK_INT(counts.updates, counts.trained);
    CHECK(counts.snapshots > 0);
    check_same("plain", "counted");
    train(rows_deepfm, "resumed", &counter_ops, 10, false);
    train(rows_deepfm, "resumed", &counter_ops, 0, true);
    CHECK_INT(counts.restores, 5);
    check_same("plain", "resumed");
    shards = 0;
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

static enum rc create_on_device(const struct lookup_conf *conf, struct lookup **out,
                                struct err *err)
{
    enum rc rc = counter_create(conf, out, err);
    if (!rc)
        ((struct lookup_wrap *)*out)->ops.on_device = true;
    return rc;
}

static void a_lookup_on_a_device_is_refused_for_two_shards(void)
{
    static const struct lookup_ops on_device = {.name = "card",
                                                .create = create_on_device};
    struct lookup *l = NULL;
    struct err err = {0};
    struct lookup_conf conf = {.inner = &on_device};
    CHECK_INT(lookup_create(&dist_sharded_ops, &conf, &l, &err), RC_UNSUPPORTED);
    CHECK_STR(err.msg, "lookup 'counter' gives vectors in the memory of a device; those "
                       "of several shards are put together by the host");
    CHECK(l == NULL);
}

/* Its losses are there only when the step has waited for them. */
static void a_run_on_a_device_that_queues_gives_the_same_bytes(void)
{
    struct device *copies = NULL;
    struct err err = {0};
    char *top = NULL;
    CHECK(fs_temp_dir("trainyard-device", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    write_rows();
    train(rows_din, "plain", NULL, 0, false);
    CHECK(device_open(&device_copies, &copies, &err) == RC_OK);
    device = copies;
    train(rows_din, "queued", NULL, 0, false);
    check_same("plain", "queued");
    train(rows_din, "resumed", NULL, 10, false);
    train(rows_din, "resumed", NULL, 0, true);
    check_same("plain", "resumed");
    device = NULL;
    device_close(copies);
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

/* What failed in the queue ends the run with what the device says. */
static void a_step_whose_queue_fails_is_named(void)
{
    struct device *copies = NULL;
    struct conf conf = {0};
    struct diags diags = {0};
    struct err err = {0};
    struct train_result result;
    char *top = NULL;
    CHECK(fs_temp_dir("trainyard-device", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    write_rows();
    CHECK(device_open(&device_copies, &copies, &err) == RC_OK);
    ((struct copies *)copies->state)->fault = "the device fell off the bus";
    char *with_paths = mem_printf("train_input_path: \"rows.csv\" %s", rows_din);
    rows_conf(with_paths, &conf, &diags);
    struct train_options o = {.conf = &conf, .threads = 1, .device = copies};
    CHECK_INT(train_run(&o, &result, &diags, &err), RC_IO);
    CHECK_STR(err.msg, "step 0: the device fell off the bus");
    train_result_release(&result);
    diags_release(&diags);
    conf_release(&conf);
    mem_free(with_paths);
    device_close(copies);
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

static void lookups_are_found_by_name(void)
{
    CHECK(lookup_find("local") == &lookup_local_ops);
    CHECK(lookup_find("nowhere") == NULL);
}

static const struct tap_case cases[] = {
    TAP(a_run_of_deepfm_goes_through_the_lookup_alone),
    TAP(a_run_of_din_goes_through_the_lookup_alone),
    TAP(a_run_of_two_shards_goes_through_the_lookup_that_it_is_given),
    TAP(a_lookup_on_a_device_is_refused_for_two_shards),
    TAP(a_run_on_a_device_that_queues_gives_the_same_bytes),
    TAP(a_step_whose_queue_fails_is_named),
    TAP(lookups_are_found_by_name),
};
TAP_MAIN(cases)
