/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/assessor.h"

#include "space.h"

static struct assessor *open(struct text *a, const char *name, const char *args)
{
    struct assessor_conf conf = {
        .name = name, .args = text_open(a, args), .experiment = "test"};
    struct assessor *out = NULL;
    struct err err = {0};
    CHECK_INT(assessor_create(&conf, &out, &err), RC_OK);
    return out;
}

static void run(struct assessor *a, int64_t trial, const double *v, int n)
{
    for (int i = 0; i < n; i++)
        CHECK(assessor_report(a, trial, i, v[i]));
    assessor_end(a, trial, true);
}

static void below_the_median_is_stopped(void)
{
    struct text t;
    struct assessor *a = open(&t, "medianstop", "{\"optimize_mode\": \"maximize\"}");
    CHECK(assessor_report(a, 9, 0, -5)); /* nothing to compare with */
    run(a, 0, (double[]){1, 3}, 2);      /* averages 1, 2 */
    run(a, 1, (double[]){2, 4}, 2);      /* 2, 3 */
    run(a, 2, (double[]){3, 5}, 2);      /* 3, 4 */
    CHECK(assessor_report(a, 3, 0, 2));  /* the median itself is good enough */
    CHECK(assessor_report(a, 3, 1, 3));
    CHECK(assessor_report(a, 3, 2, 0)); /* nobody came that far */
    CHECK(!assessor_report(a, 4, 0, 1.9));
    CHECK(assessor_report(a, 5, 0, 9));
    CHECK(assessor_report(a, 5, 1, 0)); /* its best counts */
    assessor_destroy(a);
    text_close(&t);
}

static void less_is_better_when_minimising(void)
{
    struct text t;
    struct assessor *a = open(&t, "Medianstop", "{\"optimize_mode\": \"minimize\"}");
    for (int64_t i = 0; i < 4; i++)
        run(a, i, (double[]){4 - (double)i}, 1);
    CHECK(assessor_report(a, 4, 0, 3)); /* the upper median of 1 2 3 4 */
    CHECK(!assessor_report(a, 5, 0, 3.1));
    CHECK(!assessor_report(a, 6, 0, NAN));
    assessor_destroy(a);
    text_close(&t);
}

static void steps_before_the_start_are_not_judged(void)
{
    struct text t;
    struct assessor *a = open(&t, "Medianstop", "{\"start_step\": 3}");
    run(a, 0, (double[]){5, 5, 5}, 3);
    CHECK(assessor_report(a, 1, 0, 1));
    CHECK(assessor_report(a, 1, 1, 1));
    CHECK(!assessor_report(a, 1, 2, 1));
    assessor_destroy(a);
    text_close(&t);
}

static void a_gap_holds_back_what_follows(void)
{
    struct text t;
    struct assessor *a = open(&t, "Medianstop", "{}");
    run(a, 0, (double[]){5, 5}, 2);
    CHECK(assessor_report(a, 1, 1, 1)); /* step 0 is missing */
    CHECK(!assessor_report(a, 1, 0, 1));
    CHECK(assessor_report(a, 1, 2, 1)); /* over: nothing more is said */
    assessor_destroy(a);
    text_close(&t);
}

static void only_the_best_of_a_rung_go_on(void)
{
    struct text t;
    struct assessor *a =
        open(&t, "ASHA", "{\"min_resource\": \"2\", \"reduction_factor\": 2}");
    CHECK(assessor_report(a, 0, 0, 0)); /* step 1 of 2 */
    CHECK(assessor_report(a, 0, 1, 5)); /* first at rung 0 */
    CHECK(assessor_report(a, 1, 0, 0));
    CHECK(!assessor_report(a, 1, 1, 4)); /* second of two */
    CHECK(assessor_report(a, 2, 0, 0));
    CHECK(assessor_report(a, 2, 1, 6));
    CHECK(assessor_report(a, 2, 2, 6));
    CHECK(assessor_report(a, 2, 3, 7)); /* first at rung 1 (step 4) */
    CHECK(assessor_report(a, 0, 2, 5));
    CHECK(!assessor_report(a, 0, 3, 6)); /* 6 against 7 */
    CHECK(assessor_report(a, 3, 0, 0));
    CHECK(!assessor_report(a, 3, 1, NAN));
    assessor_destroy(a);
    text_close(&t);
}

static void brackets_are_dealt_by_trial(void)
{
    struct text t;
    struct assessor *a =
        open(&t, "HyperbandPruner", "{\"min_resource\": 1, \"max_resource\": \"9\"}");
    int stopped[3] = {0}, alive = 0;
    for (int64_t trial = 0; trial < 300; trial++) {
        double v = (double)((trial * 7919) % 300);
        int step = 0;
        while (step < 9 && assessor_report(a, trial, step, v))
            step++;
        if (step == 9)
            alive++;
        else
            stopped[step == 0 ? 0 : step == 2 ? 1 : 2]++;
    }
    CHECK(stopped[0] > 50); /* bracket 0 at its first step */
    CHECK(stopped[1] > 20); /* step 3 */
    CHECK(alive > 10 && alive < 200);
    assessor_destroy(a);
    text_close(&t);
}

static double rising(double top, int i)
{
    return top * (1 - exp(-0.25 * (double)(i + 1)));
}

static void a_curve_that_will_not_get_there_is_stopped(void)
{
    struct text t;
    struct assessor *a =
        open(&t, "Curvefitting", "{\"epoch_num\": 20, \"threshold\": 0.95}");
    for (int i = 0; i < 20; i++) /* nothing known yet: nothing is stopped */
        CHECK(assessor_report(a, 0, i, rising(0.9, i)));
    assessor_end(a, 0, true);
    int low = 0, high = 0;
    while (low < 20 && assessor_report(a, 1, low, rising(0.45, low)))
        low++;
    while (high < 20 && assessor_report(a, 2, high, rising(0.92, high)))
        high++;
    CHECK(low >= 5 && low < 20);
    CHECK_INT(high, 20);
    assessor_destroy(a);
    text_close(&t);
}

static void an_unknown_name_is_refused(void)
{
    struct assessor *a = NULL;
    struct err err = {0};
    CHECK_INT(assessor_create(&(struct assessor_conf){.name = "Mean"}, &a, &err),
              RC_UNSUPPORTED);
    CHECK_STR(err.msg, "no assessor 'Mean'");
    CHECK(!a);
}

static const struct tap_case cases[] = {
    TAP(below_the_median_is_stopped),
    TAP(less_is_better_when_minimising),
    TAP(steps_before_the_start_are_not_judged),
    TAP(a_gap_holds_back_what_follows),
    TAP(only_the_best_of_a_rung_go_on),
    TAP(brackets_are_dealt_by_trial),
    TAP(a_curve_that_will_not_get_there_is_stopped),
    TAP(an_unknown_name_is_refused),
};
TAP_MAIN(cases)
