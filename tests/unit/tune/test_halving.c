/* SPDX-License-Identifier: Apache-2.0 */
#include "space.h"

#define ONE "{\"x\": {\"_type\": \"uniform\", \"_value\": [0, 1]}}"

static int64_t budget_of(const struct tuner *t, int64_t trial)
{
    struct buf b;
    buf_init(&b, 1000);
    tuner_params(t, trial, &b);
    const char *at = strstr(buf_str(&b), "\"TRIAL_BUDGET\": ");
    int64_t v = at ? strtol(at + 16, NULL, 10) : -1;
    buf_release(&b);
    return v;
}

/* One trial at a time; every round of every bracket of one pass is (count, budget). */
static void check_rounds(const char *name, const char *args, const int64_t (*want)[2],
                         size_t n)
{
    struct space s;
    struct text a;
    space_open(&s, ONE);
    struct tuner *t = tuner_of(&s, name, text_open(&a, args), 1);
    for (size_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < want[i][0]; k++) {
            int64_t trial = -1;
            CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
            CHECK_INT(budget_of(t, trial), want[i][1]);
            double v = (double)k;
            tuner_tell(t, trial, &v, 0);
            tuner_end(t, trial);
            if (tap_failed) {
                printf("#   round %zu, trial %jd of %s %s\n", i, (intmax_t)k, name, args);
                goto out;
            }
        }
    }
out:
    tuner_destroy(t);
    text_close(&a);
    space_close(&s);
}

static void brackets_of_hyperband(void)
{
    static const int64_t r60[][2] = {{27, 2}, {9, 6},  {3, 20}, {1, 60}, {12, 6}, {4, 20},
                                     {1, 60}, {6, 20}, {2, 60}, {4, 60}, {27, 2}};
    static const int64_t r81[][2] = {{81, 1}, {27, 3}, {9, 9},  {3, 27}, {1, 81},
                                     {34, 3}, {11, 9}, {3, 27}, {1, 81}, {15, 9}};
    check_rounds("Hyperband", "{\"R\": 60, \"eta\": 3, \"exec_mode\": \"serial\"}", r60,
                 11);
    check_rounds("Hyperband", "{\"R\": 81}", r81, 10);
}

static void brackets_of_bohb(void)
{
    static const int64_t want[][2] = {{9, 1}, {3, 3}, {1, 9}, {5, 3},
                                      {1, 9}, {3, 9}, {9, 1}};
    check_rounds("BOHB", "{\"min_budget\": 1, \"max_budget\": 9}", want, 7);
}

static void ids_name_bracket_round_and_configuration(void)
{
    struct space s;
    struct text a;
    char id[TUNER_ID_SIZE];
    space_open(&s, ONE);
    struct tuner *t =
        tuner_of(&s, "Hyperband", text_open(&a, "{\"R\": 3, \"eta\": 3}"), 1);
    int64_t trial = -1, best = -1;
    for (int64_t k = 0; k < 3; k++) {
        CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
        double v = k == 1;
        tuner_tell(t, trial, &v, 0);
        tuner_end(t, trial);
        best = k == 1 ? trial : best;
    }
    tuner_param_id(t, best, id);
    CHECK_STR(id, "\"0-1_0_1\"");
    CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
    tuner_param_id(t, trial, id);
    CHECK_STR(id, "\"0-1_1_1\"");
    CHECK(tuner_history(t)->trials.at[trial].x[0] ==
          tuner_history(t)->trials.at[best].x[0]);
    tuner_destroy(t);
    text_close(&a);
    space_close(&s);
}

static void a_trial_without_a_result_is_not_promoted(void)
{
    struct space s;
    struct text a;
    space_open(&s, ONE);
    struct tuner *t =
        tuner_of(&s, "Hyperband",
                 text_open(&a, "{\"R\": 9, \"eta\": 3, \"exec_mode\": \"serial\"}"), 1);
    int64_t trial = -1, ran = -1;
    for (int64_t k = 0; k < 9; k++) {
        CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
        if (k == 5) { /* an intermediate result is a result */
            tuner_report(t, trial, 0, 1.0);
            ran = trial;
        }
        tuner_end(t, trial);
    }
    CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
    CHECK(tuner_history(t)->trials.at[trial].x[0] ==
          tuner_history(t)->trials.at[ran].x[0]);
    CHECK_INT(budget_of(t, trial), 3);
    int64_t other = -1;
    CHECK_INT(tuner_ask(t, &other), TUNER_WAITS);
    CHECK_INT(tuner_ask(t, &other), TUNER_WAITS);
    tuner_end(t, trial); /* nothing is left to promote: the next bracket opens */
    CHECK_INT(tuner_ask(t, &other), TUNER_GIVES);
    CHECK_INT(budget_of(t, other), 3);
    tuner_destroy(t);
    text_close(&a);
    space_close(&s);
}

static const struct tap_case cases[] = {
    TAP(brackets_of_hyperband),
    TAP(brackets_of_bohb),
    TAP(ids_name_bracket_round_and_configuration),
    TAP(a_trial_without_a_result_is_not_promoted),
};
TAP_MAIN(cases)
