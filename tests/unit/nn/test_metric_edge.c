/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics at their edges: what has no value, what is refused, sampling, sorting. */
#include "nn/metric/metric.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "golden_text.h"
#include "nn/metric/bins.h"
#include "nn/metric/metric_private.h"
#include "nn/metric/pairs.h"
#include "nn/metric/sort.h"
#include "text/pipeline/pipeline.h"

static struct metric *metric_of(const char *text, struct written *w,
                                const struct metric_options *options)
{
    struct metric *m = NULL;
    struct err err = {0};
    static const struct metric_options usual = {.seed = 1};
    written_open(w, &pc_MetricConfig_def, text);
    CHECK(metric_create(w->msg, options ? options : &usual, &m, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    return m;
}

static const struct {
    const char *conf, *name, *empty;
    enum metric_wants wants;
} kinds[] = {
    {"auc {}", "auc", "no rows", METRIC_PROB},
    {"multiclass_auc {}", "multiclass_auc", "no rows", METRIC_PROBS},
    {"recall_at_k { top_k: 7 }", "recall@7", "no targets", METRIC_SCORES},
    {"mean_absolute_error {}", "mean_absolute_error", "no rows", METRIC_VALUE},
    {"mean_squared_error {}", "mean_squared_error", "no rows", METRIC_VALUE},
    {"accuracy {}", "accuracy", "no rows", METRIC_EITHER},
    {"grouped_auc { grouping_key: 'uid' }", "grouped_auc", "no rows", METRIC_PROB},
    {"xauc {}", "xauc", "fewer than two rows", METRIC_VALUE},
    {"xauc { in_batch: true }", "xauc", "no batch of two rows", METRIC_VALUE},
    {"grouped_xauc { grouping_key: 'uid' }", "grouped_xauc", "no rows", METRIC_VALUE},
    {"normalized_entropy {}", "normalized_entropy", "no rows", METRIC_PROB},
};

/* Bits of torch.linspace(0, 1, 200) where k / 199 rounds to another float32. */
static void thresholds_are_those_of_linspace(void)
{
    static const struct {
        int64_t k;
        float value;
    } known[] = {{3, 0x1.edfd6cp-7f},   {6, 0x1.edfd6cp-6f},   {12, 0x1.edfd6cp-5f},
                 {127, 0x1.46c0f8p-1f}, {148, 0x1.7cc8b0p-1f}, {182, 0x1.d442e6p-1f}};
    struct metric_bins b;
    struct err err = {0};
    CHECK(metric_bins_init(&b, 200, &err) == RC_OK);
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        CHECK(b.threshold[known[i].k] == known[i].value);
        CHECK(b.threshold[known[i].k] != (float)((double)known[i].k / 199));
    }
    CHECK(b.threshold[0] == 0.0f && b.threshold[199] == 1.0f);
    metric_bins_release(&b);
}

static void without_rows_there_is_no_value(void)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct written w;
        struct metric_value v = {.defined = true};
        struct metric *m = metric_of(kinds[i].conf, &w, NULL);
        float none[2] = {0};
        int64_t group = 0;
        int64_t width = kinds[i].wants == METRIC_PROBS ? 2 : 1;
        struct metric_rows rows = {
            .pred = none, .label = none, .group = &group, .width = width};
        CHECK_STR(metric_name(m), kinds[i].name);
        CHECK_INT(metric_wants(m), kinds[i].wants);
        bool grouped = strncmp(kinds[i].name, "grouped", 7) == 0;
        CHECK_STR(metric_grouping_key(m), grouped ? "uid" : NULL);
        CHECK(metric_compute(m, &v, NULL) == RC_OK);
        CHECK(!v.defined);
        CHECK_STR(v.why, kinds[i].empty);
        CHECK(metric_update(m, &rows, NULL) == RC_OK); /* a batch without rows */
        CHECK(metric_compute(m, &v, NULL) == RC_OK);
        CHECK(!v.defined);
        CHECK_STR(v.why, kinds[i].empty);
        metric_destroy(m);
        written_close(&w);
    }
}

/* torchmetrics gives 0 where every score is 1: its curve has no point (0, 0). */
static void scores_that_no_threshold_tells_apart_are_said(void)
{
    static const struct {
        float score[4];
        double auc;
        const char *why;
    } rows[] = {
        {{0.3f, 0.3f, 0.3f, 0.3f}, 0.5, "no threshold lies between any two"},
        {{0.3001f, 0.3f, 0.3f, 0.3002f}, 0.5, "no threshold lies between any two"},
        {{1, 1, 1, 1}, 0, "every score is 1"},
        {{0.3f, 0.6f, 0.3f, 0.6f}, 1, NULL}};
    float label[] = {0, 1, 0, 1};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct written w;
        struct metric_value v;
        struct metric *m = metric_of("auc {}", &w, NULL);
        struct metric_rows r = {
            .pred = rows[i].score, .label = label, .n = 4, .width = 1};
        CHECK(metric_update(m, &r, NULL) == RC_OK);
        CHECK(metric_compute(m, &v, NULL) == RC_OK);
        CHECK(v.defined && v.value == rows[i].auc);
        CHECK(rows[i].why ? v.why && str_starts(v.why, rows[i].why) : !v.why);
        metric_destroy(m);
        written_close(&w);
    }
}

static void nan_is_an_error_that_names_the_row(void)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct written w;
        struct err err = {0};
        char want[100];
        struct metric_value v;
        float pred[6] = {0.1f, 0.9f, 0.5f, 0.5f, NAN, 0.3f};
        float label[3] = {0, 1, 0};
        int64_t group[3] = {0};
        struct metric *m = metric_of(kinds[i].conf, &w, NULL);
        int64_t width = kinds[i].wants == METRIC_PROBS ? 2 : 1;
        struct metric_rows rows = {.n = 3,
                                   .pred = width == 2 ? pred : pred + 2,
                                   .label = label,
                                   .group = group,
                                   .width = width};
        CHECK(metric_update(m, &rows, &err) == RC_INVAL);
        snprintf(want, sizeof(want), "%s: row 2: the prediction is NaN", kinds[i].name);
        CHECK_STR(err.msg, want);
        pred[4] = 0.1f;
        label[1] = NAN;
        CHECK(metric_update(m, &rows, &err) == RC_INVAL);
        snprintf(want, sizeof(want), "%s: row 1: the label is NaN", kinds[i].name);
        CHECK_STR(err.msg, want);
        CHECK(metric_compute(m, &v, NULL) == RC_OK);
        CHECK(!v.defined);
        metric_destroy(m);
        written_close(&w);
    }
}

static void rows_that_do_not_fit_are_refused(void)
{
    static const struct {
        const char *conf;
        float pred[4], label[2];
        int64_t width;
        bool group;
        const char *msg;
    } bad[] = {
        {"auc {}", {0}, {0, 0.5f}, 1, false, "auc: row 1: label 0.5 is neither 0 nor 1"},
        {"auc {}", {0}, {0}, 2, false, "auc: 2 predictions per row, not 1"},
        {"auc {}", {0}, {0}, 0, false, "auc: 0 predictions per row, not 1"},
        {"grouped_auc { grouping_key: 'uid' }",
         {0},
         {0},
         1,
         false,
         "grouped_auc: there are no ids of 'uid' to group by"},
        {"grouped_auc { grouping_key: 'uid' }",
         {0},
         {2},
         1,
         true,
         "grouped_auc: row 0: label 2 is neither 0 nor 1"},
        {"multiclass_auc {}",
         {0},
         {0},
         1,
         false,
         "multiclass_auc: 1 predictions per row, not one per class"},
        {"multiclass_auc {}",
         {0},
         {1, 2},
         2,
         false,
         "multiclass_auc: row 1: label 2 is none of 0 to 1"},
        {"multiclass_auc {}",
         {0, INFINITY},
         {1, 0},
         2,
         false,
         "multiclass_auc: row 0: the prediction is infinite"},
        {"accuracy {}",
         {0},
         {0, 0.5f},
         2,
         false,
         "accuracy: row 1: label 0.5 is none of 0 to 1"},
        {"accuracy {}",
         {0},
         {0, -1},
         1,
         false,
         "accuracy: row 1: label -1 is neither 0 nor 1"},
        {"recall_at_k {}",
         {0},
         {-1, -2},
         2,
         false,
         "recall@5: row 1: label -2 is none of -1 to 1"},
        {"normalized_entropy {}",
         {0, 1.5f},
         {0},
         1,
         false,
         "normalized_entropy: row 1: prediction 1.5 is outside [0, 1]"},
        {"normalized_entropy {}",
         {0},
         {0, 2},
         1,
         false,
         "normalized_entropy: row 1: label 2 is outside [0, 1]"},
    };
    static const int64_t group[2] = {0};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct written w;
        struct err err = {0};
        struct metric *m = metric_of(bad[i].conf, &w, NULL);
        struct metric_rows rows = {.n = 2,
                                   .pred = bad[i].pred,
                                   .width = bad[i].width,
                                   .label = bad[i].label,
                                   .group = bad[i].group ? group : NULL};
        CHECK(metric_update(m, &rows, &err) == RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        metric_destroy(m);
        written_close(&w);
    }
}

static void settings_are_checked(void)
{
    static const struct {
        const char *conf, *msg;
    } bad[] = {
        {"", "no metric is named"},
        {"auc { thresholds: 1 }", "auc: thresholds: 1 is outside [2, 16777216]"},
        {"multiclass_auc { thresholds: 4000000000 }",
         "multiclass_auc: thresholds: 4000000000 is outside [2, 16777216]"},
        {"recall_at_k { top_k: 0 }", "recall_at_k: top_k must be above 0"},
        {"accuracy { top_k: 0 }", "accuracy: top_k must be above 0"},
        {"grouped_auc {}", "grouped_auc: there is no grouping_key"},
        {"grouped_xauc { grouping_key: 'u' max_pairs_per_group: 0 }",
         "grouped_xauc: max_pairs_per_group must be above 0"},
        {"xauc { sample_ratio: 0 }", "xauc: sample_ratio: 0 is outside (0, 1]"},
        {"normalized_entropy { eta: 0.5 }",
         "normalized_entropy: eta: 0.5 is outside [0, 0.5)"},
    };
    struct metric_options options = {0};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct written w;
        struct metric *m = NULL;
        struct err err = {0};
        written_open(&w, &pc_MetricConfig_def, bad[i].conf);
        int64_t live = mem_live();
        CHECK(metric_create(w.msg, &options, &m, &err) == RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        CHECK_INT(mem_live(), live);
        written_close(&w);
    }
    static const struct {
        const char *conf, *msg;
    } train[] = {
        {"", "no metric is named"},
        {"auc { thresholds: 0 }", "auc: thresholds: 0 is outside [2, 16777216]"},
        {"auc {} decay_step: 0", "auc: decay_step must be above 0"},
        {"recall_at_k {} decay_rate: 1.5", "recall@5: decay_rate: 1.5 is outside [0, 1]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(train); i++) {
        struct written w;
        struct metric *m = NULL;
        struct err err = {0};
        written_open(&w, &pc_TrainMetricConfig_def, train[i].conf);
        int64_t live = mem_live();
        CHECK(metric_create_train(w.msg, &options, &m, &err) == RC_INVAL);
        CHECK_STR(err.msg, train[i].msg);
        CHECK_INT(mem_live(), live);
        written_close(&w);
    }
}

static void only_metrics_of_the_same_settings_merge(void)
{
    static const struct {
        const char *a, *b, *msg;
    } bad[] = {
        {"auc {}", "xauc {}", "auc: cannot be merged with xauc"},
        {"auc {}", "auc { thresholds: 100 }",
         "auc: 200 thresholds cannot be merged with 100"},
        {"recall_at_k {}", "recall_at_k { top_k: 2 }",
         "recall@5: cannot be merged with recall@2"},
        {"accuracy {}", "accuracy { threshold: 0.25 }",
         "accuracy: other settings cannot be merged"},
        {"xauc {}", "xauc { max_pairs: 7 }", "xauc: other settings cannot be merged"},
        {"multiclass_auc {}", "multiclass_auc { average: 'weighted' }",
         "multiclass_auc: other settings cannot be merged"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct written w, v;
        struct err err = {0};
        struct metric *a = metric_of(bad[i].a, &w, NULL);
        struct metric *b = metric_of(bad[i].b, &v, NULL);
        CHECK(metric_merge(a, b, &err) == RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        metric_destroy(a);
        metric_destroy(b);
        written_close(&w);
        written_close(&v);
    }
}

static void the_number_of_kept_rows_is_bounded(void)
{
    static const char *const confs[] = {"grouped_auc { grouping_key: 'uid' }", "xauc {}",
                                        "grouped_xauc { grouping_key: 'uid' }", NULL};
    float pred[4] = {0.1f, 0.2f, 0.3f, 0.4f}, label[4] = {0, 1, 0, 1};
    int64_t group[4] = {0};
    struct metric_options options = {.max_rows = 5};
    for (size_t i = 0; i < ARRAY_LEN(confs); i++) {
        struct written w;
        struct metric *m = NULL;
        struct err err = {0};
        char want[80];
        written_open(&w, &pc_MetricConfig_def, confs[i] ? confs[i] : "");
        CHECK((confs[i] ? metric_create(w.msg, &options, &m, NULL)
                        : metric_create_exact_auc(&options, &m, NULL)) == RC_OK);
        struct metric_rows rows = {
            .n = 4, .pred = pred, .width = 1, .label = label, .group = group};
        CHECK(metric_update(m, &rows, NULL) == RC_OK);
        CHECK(metric_update(m, &rows, &err) == RC_NOMEM);
        snprintf(want, sizeof(want), "%s: more than ", metric_name(m));
        CHECK_HAS(err.msg, want);
        CHECK_HAS(err.msg, " rows would have to be kept");
        rows.n = 1; /* there was room for one */
        CHECK(metric_update(m, &rows, NULL) == RC_OK);
        metric_destroy(m);
        written_close(&w);
    }
}

/* A window in which labels are all alike leaves the average as it was. */
static void a_moving_average_passes_over_windows_without_value(void)
{
    struct written w;
    struct metric *m = NULL;
    struct metric_value v;
    float pred[2] = {0.25f, 0.75f}, label[2] = {0, 1}, targets[2] = {-1, -1};
    struct metric_options options = {0};
    written_open(&w, &pc_TrainMetricConfig_def,
                 "recall_at_k { top_k: 1 } decay_rate: 0.5 decay_step: 1");
    CHECK(metric_create_train(w.msg, &options, &m, NULL) == RC_OK);
    CHECK_STR(metric_name(m), "recall@1");
    CHECK_INT(metric_wants(m), METRIC_SCORES);
    CHECK(metric_compute(m, &v, NULL) == RC_OK && !v.defined);
    CHECK_STR(v.why, "fewer batches than decay_step so far");
    struct metric_rows rows = {.n = 1, .pred = pred, .width = 2, .label = label + 1};
    CHECK(metric_update(m, &rows, NULL) == RC_OK);
    CHECK(metric_compute(m, &v, NULL) == RC_OK && v.defined && v.value == 1);
    rows.label = targets;
    CHECK(metric_update(m, &rows, NULL) == RC_OK);
    CHECK(metric_compute(m, &v, NULL) == RC_OK && v.defined && v.value == 1);
    rows.label = label;
    CHECK(metric_update(m, &rows, NULL) == RC_OK);
    CHECK(metric_compute(m, &v, NULL) == RC_OK && v.defined && v.value == 0.5);
    metric_destroy(m);
    written_close(&w);
}

static void moving_averages_merge_as_far_as_they_can(void)
{
    struct written w;
    struct metric *a = NULL, *b = NULL;
    struct metric_value v;
    struct err err = {0};
    struct metric_options options = {0};
    float pred[4] = {0.1f, 0.6f, 0.4f, 0.8f}, label[4] = {0, 1, 1, 0};
    struct metric_rows first = {.n = 2, .pred = pred, .width = 1, .label = label};
    struct metric_rows second = {
        .n = 2, .pred = pred + 2, .width = 1, .label = label + 2};
    written_open(&w, &pc_TrainMetricConfig_def, "auc {} decay_step: 1");
    CHECK(metric_create_train(w.msg, &options, &a, NULL) == RC_OK);
    CHECK(metric_create_train(w.msg, &options, &b, NULL) == RC_OK);
    CHECK(metric_update(a, &first, NULL) == RC_OK);
    CHECK(metric_update(b, &second, NULL) == RC_OK);
    CHECK(metric_merge(a, b, NULL) == RC_OK);
    CHECK(metric_compute(a, &v, NULL) == RC_OK && v.value == 0.5);
    metric_destroy(a);
    metric_destroy(b);
    written_close(&w);
    written_open(&w, &pc_TrainMetricConfig_def, "accuracy {} decay_step: 2");
    CHECK(metric_create_train(w.msg, &options, &a, NULL) == RC_OK);
    CHECK(metric_create_train(w.msg, &options, &b, NULL) == RC_OK);
    CHECK(metric_update(a, &first, NULL) == RC_OK);
    CHECK(metric_update(b, &second, NULL) == RC_OK);
    CHECK(metric_merge(a, b, NULL) == RC_OK); /* windows, not yet averages */
    CHECK(metric_update(b, &second, NULL) == RC_OK);
    CHECK(metric_merge(a, b, &err) == RC_UNSUPPORTED);
    CHECK_STR(err.msg, "accuracy: moving averages cannot be merged");
    metric_destroy(a);
    metric_destroy(b);
    written_close(&w);
}

#define MANY 3000

/* A sample of pairs is the same for a seed, and near the truth. */
static void sampled_pairs_estimate_all_pairs(void)
{
    static float pred[MANY], label[MANY];
    static int64_t group[MANY];
    static const char *const confs[] = {
        "xauc { max_pairs: 20000 }", "xauc { sample_ratio: 0.004 }",
        "grouped_xauc { grouping_key: 'u' max_pairs_per_group: 7000 }"};
    struct rng rng;
    uint64_t right = 0;
    struct metric_pairs pairs = {0};
    rng_init(&rng, 8, 0, 0, 0);
    for (int i = 0; i < MANY; i++) {
        label[i] = rng_f32(&rng);
        pred[i] = label[i] + 0.5f * (float)rng_normal(&rng);
        group[i] = i % 3;
    }
    CHECK(metric_pairs_count(&pairs, pred, label, MANY, &right, NULL) == RC_OK);
    double truth = (double)right / (double)metric_pairs_total(MANY);
    CHECK(truth > 0.6 && truth < 0.9);
    for (size_t i = 0; i < ARRAY_LEN(confs); i++) {
        double values[3];
        for (int k = 0; k < 3; k++) {
            struct written w;
            struct metric_value v = {0};
            struct metric_options options = {.seed = k == 2 ? 6 : 5};
            struct metric *m = metric_of(confs[i], &w, &options);
            struct metric_rows rows = {
                .n = MANY, .pred = pred, .width = 1, .label = label, .group = group};
            CHECK(metric_update(m, &rows, NULL) == RC_OK);
            CHECK(metric_compute(m, &v, NULL) == RC_OK && v.defined);
            values[k] = v.value;
            metric_destroy(m);
            written_close(&w);
        }
        CHECK(values[0] == values[1]);
        CHECK(values[0] != values[2]);
        CHECK_NEAR(values[0], truth, 0.02); /* six deviations of 18000 draws */
    }
    metric_pairs_release(&pairs);
}

/* So many draws that counting all pairs is cheaper. */
static void a_large_sample_becomes_a_count(void)
{
    static float pred[MANY], label[MANY];
    struct rng rng;
    uint64_t right = 0;
    struct metric_pairs pairs = {0};
    struct written w;
    struct metric_value v = {0};
    rng_init(&rng, 9, 0, 0, 0);
    for (int i = 0; i < MANY; i++) {
        label[i] = floorf(8 * rng_f32(&rng));
        pred[i] = floorf(8 * rng_f32(&rng));
    }
    CHECK(metric_pairs_count(&pairs, pred, label, MANY, &right, NULL) == RC_OK);
    struct metric *m = metric_of("xauc { sample_ratio: 0.5 }", &w, NULL);
    struct metric_rows rows = {.n = MANY, .pred = pred, .width = 1, .label = label};
    CHECK(metric_update(m, &rows, NULL) == RC_OK);
    CHECK(metric_compute(m, &v, NULL) == RC_OK);
    CHECK(v.value == (double)right / (double)metric_pairs_total(MANY));
    metric_destroy(m);
    metric_pairs_release(&pairs);
    written_close(&w);
}

static void pairs_are_numbered_without_gaps(void)
{
    uint64_t f = 0;
    for (int64_t b = 1; b < 60; b++)
        for (int64_t a = 0; a < b; a++, f++) {
            int64_t i, j;
            metric_pairs_at(f, &i, &j);
            CHECK_INT(i, a);
            CHECK_INT(j, b);
        }
    /* Where a double cannot tell neighbours apart. */
    uint64_t n = (uint64_t)1 << 31;
    for (uint64_t b = n - 2; b < n; b++) {
        int64_t i, j;
        metric_pairs_at(b * (b - 1) / 2, &i, &j);
        CHECK(i == 0 && j == (int64_t)b);
        metric_pairs_at(b * (b + 1) / 2 - 1, &i, &j);
        CHECK(i == (int64_t)b - 1 && j == (int64_t)b);
    }
}

static void floats_keep_their_order_as_keys(void)
{
    static const float ascending[] = {-INFINITY, -3e38f, -1,   -1e-40f, 0,
                                      1e-40f,    0.5f,   1.5f, 3e38f,   INFINITY};
    for (size_t i = 1; i < ARRAY_LEN(ascending); i++)
        CHECK(metric_sort_key(ascending[i - 1]) < metric_sort_key(ascending[i]));
    CHECK(metric_sort_key(-0.0f) == metric_sort_key(0.0f));
}

static void sorts_sort(void)
{
    enum { N = 1000 };
    static uint32_t keys[N], spare[N], counted[N];
    static struct metric_sort_row rows[N], rows_spare[N];
    struct rng rng;
    rng_init(&rng, 10, 0, 0, 0);
    for (int n = 0; n <= N; n = n * 2 + 1) {
        int64_t pairs = 0;
        for (int i = 0; i < n; i++) {
            keys[i] = counted[i] = rng_u32(&rng) >> (i % 3 * 11);
            rows[i] = (struct metric_sort_row){rng_u64(&rng) % 7 << 40, rng_u32(&rng)};
        }
        for (int j = 0; j < n; j++)
            for (int i = 0; i < j; i++)
                pairs += counted[i] < counted[j];
        metric_sort_u32(keys, spare, n);
        metric_sort_rows(rows, rows_spare, n);
        for (int i = 1; i < n; i++) {
            CHECK(keys[i - 1] <= keys[i]);
            CHECK(rows[i - 1].first < rows[i].first ||
                  (rows[i - 1].first == rows[i].first &&
                   rows[i - 1].second <= rows[i].second));
        }
        CHECK_INT(metric_sort_count_pairs(counted, spare, n), pairs);
    }
}

/* A metric that does one thing wrong. */
static const char *odd_fault;
static double odd_value;

static enum rc odd_answer(const char *function)
{
    size_t n = strlen(function);
    if (!odd_fault || strncmp(odd_fault, function, n) != 0)
        return RC_OK;
    return odd_fault[n] == '!' ? (enum rc)4 : RC_IO;
}

static enum rc odd_init(struct metric *m, const struct msg *conf, struct err *err)
{
    return odd_answer("init");
}

static void odd_reset(struct metric *m)
{
}

static enum rc odd_update(struct metric *m, const struct metric_rows *rows,
                          struct err *err)
{
    return odd_answer("update");
}

static enum rc odd_merge(struct metric *m, const struct metric *from, struct err *err)
{
    return odd_answer("merge");
}

static enum rc odd_compute(const struct metric *m, struct metric_value *out,
                           struct err *err)
{
    if (odd_value != 0)
        *out = metric_number(odd_value);
    return odd_answer("compute");
}

static enum rc odd_load(struct metric *m, const char *prefix, const struct nn_state *in,
                        struct err *err)
{
    return odd_answer("load");
}

static const struct metric_ops odd_ops = {.name = "odd",
                                          .size = sizeof(struct metric),
                                          .wants = METRIC_PROB,
                                          .init = odd_init,
                                          .reset = odd_reset,
                                          .update = odd_update,
                                          .merge = odd_merge,
                                          .compute = odd_compute,
                                          .load = odd_load};

static enum rc use_odd(struct err *err)
{
    struct metric *m = NULL;
    struct metric_value v;
    const float one = 1;
    struct nn_state none = {0};
    struct metric_rows rows = {.n = 1, .pred = &one, .label = &one, .width = 1};
    enum rc rc = metric_make(&odd_ops, NULL, &(struct metric_options){0}, &m, err);
    if (!rc)
        rc = metric_update(m, &rows, err);
    if (!rc)
        rc = metric_merge(m, m, err);
    if (!rc)
        rc = metric_compute(m, &v, err);
    if (!rc)
        rc = metric_load(m, "", &none, err);
    metric_destroy(rc && !strncmp(odd_fault, "init", 4) ? NULL : m);
    return rc;
}

static void a_metric_that_fails_without_a_word_is_named(void)
{
    static const char *const functions[] = {"init", "update", "merge", "compute", "load"};
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        struct err err = {0};
        char said[100];
        odd_fault = functions[i];
        snprintf(said, sizeof(said), "metric 'odd': %s() failed without a message (i/o)",
                 functions[i]);
        CHECK_INT(use_odd(&err), RC_IO);
        CHECK_STR(err.msg, said);
        CHECK_INT(err.code, E0010);
    }
    struct err err = {0};
    odd_fault = "update!";
    CHECK_INT(use_odd(&err), RC_INVAL);
    CHECK_STR(err.msg, "metric 'odd': update() answered 4, which is not an error code");
    odd_fault = NULL;
    CHECK_INT(use_odd(&err), RC_OK);
}

static void a_value_that_is_nan_has_no_sign_and_none_has_a_reason(void)
{
    struct metric *m = NULL;
    struct metric_value v;
    struct err err = {0};
    CHECK(metric_make(&odd_ops, NULL, &(struct metric_options){0}, &m, &err) == RC_OK);
    odd_value = -(double)NAN;
    CHECK(metric_compute(m, &v, &err) == RC_OK);
    CHECK(v.defined && isnan(v.value) && !signbit(v.value));
    odd_value = 0;
    CHECK(metric_compute(m, &v, &err) == RC_OK);
    CHECK(!v.defined && v.why && v.why[0]);
    metric_destroy(m);
}

static const struct tap_case cases[] = {
    TAP(a_metric_that_fails_without_a_word_is_named),
    TAP(a_value_that_is_nan_has_no_sign_and_none_has_a_reason),
    TAP(thresholds_are_those_of_linspace),
    TAP(without_rows_there_is_no_value),
    TAP(scores_that_no_threshold_tells_apart_are_said),
    TAP(nan_is_an_error_that_names_the_row),
    TAP(rows_that_do_not_fit_are_refused),
    TAP(settings_are_checked),
    TAP(only_metrics_of_the_same_settings_merge),
    TAP(the_number_of_kept_rows_is_bounded),
    TAP(a_moving_average_passes_over_windows_without_value),
    TAP(moving_averages_merge_as_far_as_they_can),
    TAP(sampled_pairs_estimate_all_pairs),
    TAP(a_large_sample_becomes_a_count),
    TAP(pairs_are_numbered_without_gaps),
    TAP(floats_keep_their_order_as_keys),
    TAP(sorts_sort),
};
TAP_MAIN(cases)
