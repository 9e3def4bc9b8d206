/* SPDX-License-Identifier: Apache-2.0 */
/* Every metric against brute force, alone, merged and restored. */
#include "nn/metric/metric.h"

#include "golden_text.h"
#include "text/pipeline/pipeline.h"

/* Sums are formed in another order than the reference's. */
#define TOLERANCE 1e-12

struct sample {
    const char *kind;
    struct written conf;
    int64_t n, width, n_batches, n_values;
    const float *pred, *label;
    int64_t *group;
    const double *batches, *values;
};

static void sample_open(struct sample *s, struct golden *g)
{
    int64_t n_group = 0, n_pred = 0;
    *s = (struct sample){.kind = golden_text(g, "kind")};
    s->width = (int64_t)golden_num(g, "width");
    s->pred = golden_floats(g, "pred", &n_pred);
    s->label = golden_floats(g, "label", &s->n);
    CHECK_INT(n_pred, s->n * s->width);
    s->batches = golden_nums(g, "batches", &s->n_batches);
    s->values = golden_nums(g, "value", &s->n_values);
    const double *group = golden_nums(g, "group", &n_group);
    if (group) {
        s->group = arena_alloc(&g->arena, (size_t)n_group * sizeof(int64_t) + 1);
        for (int64_t i = 0; i < n_group; i++)
            s->group[i] = (int64_t)group[i];
    }
    bool train = strcmp(s->kind, "train") == 0;
    written_open(&s->conf, train ? &pc_TrainMetricConfig_def : &pc_MetricConfig_def,
                 golden_text(g, "conf"));
}

static struct metric *sample_metric(const struct sample *s)
{
    struct metric *m = NULL;
    struct err err = {0};
    struct metric_options options = {.seed = 3};
    enum rc rc = strcmp(s->kind, "train") == 0
                     ? metric_create_train(s->conf.msg, &options, &m, &err)
                 : strcmp(s->kind, "exact") == 0
                     ? metric_create_exact_auc(&options, &m, &err)
                     : metric_create(s->conf.msg, &options, &m, &err);
    CHECK(rc == RC_OK);
    CHECK_STR(err.msg, "");
    return m;
}

/* Rows of batch number b. */
static struct metric_rows sample_rows(const struct sample *s, int64_t b)
{
    int64_t at = 0;
    for (int64_t i = 0; i < b; i++)
        at += (int64_t)s->batches[i];
    return (struct metric_rows){.n = (int64_t)s->batches[b],
                                .pred = s->pred + at * s->width,
                                .width = s->width,
                                .label = s->label + at,
                                .group = s->group ? s->group + at : NULL};
}

static void feed(struct metric *m, const struct sample *s, int64_t b)
{
    struct err err = {0};
    struct metric_rows rows = sample_rows(s, b);
    CHECK(metric_update(m, &rows, &err) == RC_OK);
    CHECK_STR(err.msg, "");
}

/* The value, NaN when there is none; then it must say why. */
static double value_of(const struct metric *m)
{
    struct metric_value v = {0};
    CHECK(metric_compute(m, &v, NULL) == RC_OK);
    CHECK(v.defined ? isfinite(v.value) : v.why && *v.why);
    return v.defined ? v.value : (double)NAN;
}

static void check_value(const char *what, const struct golden *g, double got, double want)
{
    bool same = isnan(want) ? isnan(got) : fabs(got - want) <= TOLERANCE;
    if (!same)
        printf("# %s: %s: got %.17g, want %.17g\n", g->name, what, got, want);
    CHECK(same);
}

static void values_are_those_of_brute_force(void)
{
    struct golden g;
    int n_cases = 0;
    if (!golden_open(&g, "metric.txt"))
        return;
    while (golden_next(&g)) {
        struct sample s;
        sample_open(&s, &g);
        struct metric *m = sample_metric(&s);
        for (int64_t b = 0; b < s.n_batches; b++) {
            feed(m, &s, b);
            if (s.n_values > 1)
                check_value("after a batch", &g, value_of(m), s.values[b]);
        }
        check_value("at the end", &g, value_of(m), s.values[s.n_values - 1]);
        /* Once more: nothing is left of the first time. */
        metric_reset(m);
        CHECK(isnan(value_of(m)));
        for (int64_t b = 0; b < s.n_batches; b++)
            feed(m, &s, b);
        check_value("after a reset", &g, value_of(m), s.values[s.n_values - 1]);
        metric_destroy(m);
        written_close(&s.conf);
        n_cases++;
    }
    CHECK_INT(n_cases, 59);
    golden_close(&g);
}

/* The first batches in one metric, the others in a second that is merged behind it. */
static void parts_merge_to_the_whole(void)
{
    struct golden g;
    if (!golden_open(&g, "metric.txt"))
        return;
    while (golden_next(&g)) {
        struct sample s;
        sample_open(&s, &g);
        if (strcmp(s.kind, "train") != 0) {
            struct metric *a = sample_metric(&s), *b = sample_metric(&s);
            for (int64_t i = 0; i < s.n_batches; i++)
                feed(i == 0 ? a : b, &s, i);
            CHECK(metric_merge(a, b, NULL) == RC_OK);
            check_value("merged", &g, value_of(a), s.values[0]);
            /* What has seen nothing adds nothing. */
            metric_reset(b);
            CHECK(metric_merge(a, b, NULL) == RC_OK);
            CHECK(metric_merge(b, a, NULL) == RC_OK);
            check_value("merged with nothing", &g, value_of(a), s.values[0]);
            check_value("nothing merged with", &g, value_of(b), s.values[0]);
            metric_destroy(a);
            metric_destroy(b);
        }
        written_close(&s.conf);
    }
    golden_close(&g);
}

/* Saved after the first batch and loaded into another, which goes on: the same bits. */
static void a_restored_metric_goes_on_exactly(void)
{
    struct golden g;
    if (!golden_open(&g, "metric.txt"))
        return;
    while (golden_next(&g)) {
        struct sample s;
        struct nn_state saved = {0}, none = {0};
        sample_open(&s, &g);
        struct metric *a = sample_metric(&s), *b = sample_metric(&s);
        feed(a, &s, 0);
        metric_save(a, "metric.x.", &saved);
        for (size_t i = 0; i < saved.items.n; i++)
            CHECK(str_starts(saved.items.at[i].name, "metric.x."));
        feed(b, &s, 0); /* is forgotten */
        CHECK(metric_load(b, "metric.x.", &saved, NULL) == RC_OK);
        for (int64_t i = 1; i < s.n_batches; i++) {
            feed(a, &s, i);
            feed(b, &s, i);
        }
        double x = value_of(a), y = value_of(b);
        CHECK(memcmp(&x, &y, sizeof(x)) == 0);
        CHECK(metric_load(b, "metric.x.", &none, NULL) == RC_NOTFOUND);
        CHECK(isnan(value_of(b)));
        nn_state_release(&saved);
        metric_destroy(a);
        metric_destroy(b);
        written_close(&s.conf);
    }
    golden_close(&g);
}

/* Every item of a saved state in turn is cut short or of another type. */
static void a_damaged_state_is_refused(void)
{
    struct golden g;
    if (!golden_open(&g, "metric.txt"))
        return;
    while (golden_next(&g)) {
        struct sample s;
        struct nn_state saved = {0};
        sample_open(&s, &g);
        struct metric *m = sample_metric(&s);
        feed(m, &s, 0);
        metric_save(m, "", &saved);
        for (size_t i = 0; i < saved.items.n; i++) {
            struct nn_state_item good = saved.items.at[i];
            struct metric *other = sample_metric(&s);
            bool free_length = strcmp(s.kind, "exact") == 0;
            saved.items.at[i].n--;
            if (good.n > 0 && !free_length)
                CHECK(metric_load(other, "", &saved, NULL) == RC_FORMAT);
            saved.items.at[i] = good;
            saved.items.at[i].type = good.type == STATE_F64 ? STATE_F32 : STATE_F64;
            CHECK(metric_load(other, "", &saved, NULL) == RC_FORMAT);
            saved.items.at[i] = good;
            CHECK(isnan(value_of(other)));
            metric_destroy(other);
        }
        nn_state_release(&saved);
        metric_destroy(m);
        written_close(&s.conf);
    }
    golden_close(&g);
}

/* Data allocations fail one after the other; nothing is lost or counted twice. */
static void short_memory_is_reported(void)
{
    struct golden g;
    if (!golden_open(&g, "metric.txt"))
        return;
    while (golden_next(&g)) {
        struct sample s;
        sample_open(&s, &g);
        int64_t live = mem_live();
        for (int64_t n = 1; n < 50; n++) {
            struct metric *m = NULL;
            struct metric_options options = {.seed = 3};
            struct metric_value v = {0};
            mem_fail_at(n);
            enum rc rc = strcmp(s.kind, "train") == 0
                             ? metric_create_train(s.conf.msg, &options, &m, NULL)
                         : strcmp(s.kind, "exact") == 0
                             ? metric_create_exact_auc(&options, &m, NULL)
                             : metric_create(s.conf.msg, &options, &m, NULL);
            for (int64_t b = 0; rc == RC_OK && b < s.n_batches; b++) {
                struct metric_rows rows = sample_rows(&s, b);
                rc = metric_update(m, &rows, NULL);
            }
            if (rc == RC_OK)
                rc = metric_compute(m, &v, NULL);
            mem_fail_at(0);
            metric_destroy(m);
            CHECK(rc == RC_OK || rc == RC_NOMEM);
            CHECK_INT(mem_live(), live);
            if (rc == RC_OK)
                break;
            CHECK(n < 49);
        }
        written_close(&s.conf);
    }
    golden_close(&g);
}

static const struct tap_case cases[] = {
    TAP(values_are_those_of_brute_force),   TAP(parts_merge_to_the_whole),
    TAP(a_restored_metric_goes_on_exactly), TAP(a_damaged_state_is_refused),
    TAP(short_memory_is_reported),
};
TAP_MAIN(cases)
