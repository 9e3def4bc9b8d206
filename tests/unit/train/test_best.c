/* SPDX-License-Identifier: Apache-2.0 */
#include "train/best.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static bool take(struct train_best *b, int64_t step, const char *name, double value)
{
    const struct train_score_line lines[] = {
        {.name = "accuracy", .defined = true, .value = 0.5},
        {.name = name, .defined = true, .value = value},
        {.name = "loss", .defined = true, .value = 1.0 / (double)(step + 1)}};
    return train_best_take(b, step, lines, 3);
}

static void the_first_of_equals_is_the_best(void)
{
    struct train_best b;
    train_best_init(&b, NULL);
    CHECK(take(&b, 10, "auc", 0.6));
    CHECK(!take(&b, 20, "auc", 0.6));
    CHECK(!take(&b, 30, "auc", 0.5));
    CHECK_INT(b.step, 10);
    CHECK_INT(b.since, 2);
    CHECK(take(&b, 40, "auc", 0.7));
    CHECK_INT(b.since, 0);
}

static void without_a_setting_a_metric_is_found(void)
{
    struct train_best b;
    train_best_init(&b, NULL);
    CHECK(take(&b, 0, "auc_ctr", 0.6));
    CHECK_STR(b.metric, "auc_ctr");
    train_best_init(&b, NULL);
    CHECK(take(&b, 0, "mse", 3)); /* none to be trusted: the loss, smaller is better */
    CHECK_STR(b.metric, "loss");
    CHECK(take(&b, 1, "mse", 3));
    CHECK_INT(b.step, 1);
}

static void the_config_says_which_and_in_which_direction(void)
{
    struct train_best b;
    struct pc_ExportConfig c = {.has_best_exporter_metric = true,
                                .best_exporter_metric = "mse",
                                .metric_larger_is_better = false};
    train_best_init(&b, &c);
    CHECK(take(&b, 0, "mse", 3));
    CHECK(take(&b, 1, "mse", 2));
    CHECK(!take(&b, 2, "auc", 0.9)); /* the metric is not there */
    CHECK_INT(b.step, 1);
}

static void undefined_is_never_the_best(void)
{
    struct train_best b;
    const struct train_score_line lines[] = {{.name = "auc", .why = "one class"}};
    train_best_init(&b, NULL);
    CHECK(!train_best_take(&b, 0, lines, 1));
    CHECK(!b.found);
}

static void results_are_read_as_far_as_they_count(void)
{
    static const char text[] = "{\"global_step\": 5, \"auc\": 0.5, \"loss\": 1}\n"
                               "{\"global_step\": 10, \"auc\": 0.7, \"loss\": 1}\n"
                               "no JSON\n"
                               "{\"global_step\": 15, \"auc\": null, \"loss\": 1}\n"
                               "{\"global_step\": 20, \"auc\": 0.9, \"loss\": 1}\n"
                               "{\"global_step\": 25, \"au";
    char *dir = NULL;
    struct buf kept;
    struct train_best b;
    CHECK(fs_temp_dir("best", &dir, NULL) == RC_OK);
    char *path = fs_join(dir, TRAIN_RESULTS);
    CHECK(fs_write(path, text, sizeof(text) - 1, 0644, NULL) == RC_OK);
    train_best_init(&b, NULL);
    buf_init(&kept, 10000);
    CHECK(train_best_read(&b, dir, 15, &kept, NULL) == RC_OK);
    CHECK_INT(b.step, 10);
    CHECK_INT(b.since, 0); /* the last one has no value, which is no reason to stop */
    CHECK_INT(b.last_step, 15);
    CHECK_STR(buf_str(&kept), "{\"global_step\": 5, \"auc\": 0.5, \"loss\": 1}\n"
                              "{\"global_step\": 10, \"auc\": 0.7, \"loss\": 1}\n"
                              "{\"global_step\": 15, \"auc\": null, \"loss\": 1}\n");
    train_best_init(&b, NULL);
    CHECK(train_best_read(&b, "/no/such/dir", 15, NULL, NULL) == RC_OK);
    CHECK(!b.found);
    buf_release(&kept);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(path);
    mem_free(dir);
}

static const struct tap_case cases[] = {
    TAP(the_first_of_equals_is_the_best),
    TAP(without_a_setting_a_metric_is_found),
    TAP(the_config_says_which_and_in_which_direction),
    TAP(undefined_is_never_the_best),
    TAP(results_are_read_as_far_as_they_count),
};
TAP_MAIN(cases)
