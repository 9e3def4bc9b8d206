/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/point.h"

#include "space.h"

#define NESTED                                                                                  \
    "{\"a\": {\"_type\": \"choice\", \"_value\": [{\"_name\": \"none\"}, {\"_name\": \"conv\"," \
    " \"n\": {\"_type\": \"randint\", \"_value\": [8, 65]}, \"act\": {\"_type\": \"choice\","   \
    " \"_value\": [{\"_name\": \"relu\"}, {\"_name\": \"leaky\", \"slope\": {\"_type\":"        \
    " \"uniform\", \"_value\": [0, 1]}}]}}]}, \"lr\": {\"_type\": \"loguniform\","              \
    " \"_value\": [0.0001, 10]}}"

static void check_form(const struct space *s, const double *x, const char *want)
{
    struct buf b;
    buf_init(&b, 10000);
    tune_point_print(&s->space, x, &b);
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
}

static void nested_choices_print_what_is_active(void)
{
    struct space s;
    space_open(&s, NESTED);
    CHECK_INT(s.space.n, 5);
    const double none[] = {0, NAN, NAN, NAN, 0};
    const double conv[] = {1, 24, 0, NAN, 0};
    const double leaky[] = {1, 0, 1, 0.25, 0};
    check_form(&s, none, "\"a\": {\"_name\": \"none\"}, \"lr\": 1.0");
    check_form(&s, conv,
               "\"a\": {\"_name\": \"conv\", \"n\": 32, \"act\": {\"_name\": \"relu\"}}, "
               "\"lr\": 1.0");
    check_form(&s, leaky,
               "\"a\": {\"_name\": \"conv\", \"n\": 8, \"act\": {\"_name\": \"leaky\", "
               "\"slope\": 0.25}}, \"lr\": 1.0");
    space_close(&s);
}

static void steps_are_products_and_stay_in_their_bounds(void)
{
    static const struct {
        const char *value;
        double in, out;
    } rows[] = {
        {"[2, 10, 5]", 2.1, 2},   {"[2, 10, 5]", 7.4, 5},   {"[2, 10, 5]", 9.9, 10},
        {"[0, 10, 2.5]", 3.8, 5}, {"[0, 10, 2.5]", 1.2, 0}, {"[0, 1, 0.1]", 0.3, 3 * 0.1},
        {"[0, 10, 1]", 2.5, 2},   {"[0, 10, 1]", 3.5, 4},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct space s;
        char text[100];
        snprintf(text, sizeof(text), "{\"x\": {\"_type\": \"quniform\", \"_value\": %s}}",
                 rows[i].value);
        space_open(&s, text);
        CHECK(tune_point_user(&s.space.at[0], rows[i].in) == rows[i].out);
        space_close(&s);
    }
}

static void whole_numbers_of_real_types_print_as_reals(void)
{
    struct space s;
    space_open(&s, "{\"q\": {\"_type\": \"quniform\", \"_value\": [0, 10, 1]}, \"i\": "
                   "{\"_type\": \"randint\", \"_value\": [0, 4]}, \"c\": {\"_type\": "
                   "\"choice\", \"_value\": [1, 2.0, \"x\", [1, {\"y\": null}]]}}");
    const double x[] = {5.2, 3, 1}, y[] = {1e-3, 0, 3};
    check_form(&s, x, "\"q\": 5.0, \"i\": 3, \"c\": 2.0");
    check_form(&s, y, "\"q\": 0.0, \"i\": 0, \"c\": [1, {\"y\": null}]");
    space_close(&s);
}

static void forms_read_back(void)
{
    struct space s;
    struct text t;
    struct err err = {0};
    double x[5];
    space_open(&s, NESTED);
    CHECK_INT(tune_point_read(
                  &s.space,
                  text_open(&t, "{\"lr\": 0.001, \"a\": {\"_name\": \"conv\", \"n\": 32,"
                                " \"act\": {\"_name\": \"leaky\", \"slope\": 0.5}},"
                                " \"TRIAL_BUDGET\": 3}"),
                  x, &err),
              RC_OK);
    CHECK(x[0] == 1 && x[1] == 24 && x[2] == 1 && x[3] == 0.5 && x[4] == log(0.001));
    text_close(&t);
    static const struct {
        const char *params, *msg;
    } rows[] = {
        {"{\"lr\": 0.1}", "parameter 'a' is missing"},
        {"{\"a\": {\"_name\": \"none\"}}", "parameter 'lr' is missing"},
        {"{\"a\": {\"_name\": \"pool\"}, \"lr\": 0.1}",
         "parameter 'a': {\"_name\": \"pool\"} is not a value of its choice"},
        {"{\"a\": {\"_name\": \"none\"}, \"lr\": \"0.1\"}",
         "parameter 'lr': \"0.1\" is not a value of its loguniform"},
        {"{\"a\": {\"_name\": \"none\"}, \"lr\": -1}",
         "parameter 'lr': -1 is not a value of its loguniform"},
        {"{\"a\": {\"_name\": \"conv\", \"n\": 65, \"act\": {\"_name\": \"relu\"}}, \"lr\": 1}",
         "parameter 'a/conv/n': 65 is not a value of its randint"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_INT(tune_point_read(&s.space, text_open(&t, rows[i].params), x, &err),
                  RC_INVAL);
        CHECK_STR(err.msg, rows[i].msg);
        text_close(&t);
    }
    space_close(&s);
}

static void a_change_above_redraws_what_is_below(void)
{
    struct space s;
    space_open(&s, NESTED);
    double x[] = {0, NAN, NAN, NAN, log(0.001)};
    struct rng r;
    rng_init(&r, 1, 2, 3, 4);
    tune_point_change(&s.space, 0, 1, &r, x);
    CHECK(x[0] == 1 && x[1] >= 0 && x[1] < 57 && !isnan(x[2]));
    CHECK(isnan(x[3]) == (x[2] != 1));
    CHECK(x[4] == log(0.001));
    tune_point_change(&s.space, 0, 0, &r, x);
    CHECK(x[0] == 0 && isnan(x[1]) && isnan(x[2]) && isnan(x[3]));
    space_close(&s);
}

/* Both ends of many ranges, in the tuner's scale: exp(log(0.1)) is above 0.1. */
static void ends_of_a_range_are_within_it(void)
{
    static const char *const types[] = {"uniform", "loguniform"};
    struct rng r;
    rng_init(&r, 5, 6, 7, 8);
    for (int k = 0; k < 2000; k++) {
        struct space s;
        char text[200];
        double low = exp(-12 + 20 * rng_f64(&r)), high = low * (1 + 1e4 * rng_f64(&r));
        if (k == 0) {
            low = 1e-4;
            high = 0.1;
        }
        snprintf(text, sizeof(text),
                 "{\"x\": {\"_type\": \"%s\", \"_value\": [%.17g, %.17g]}}",
                 types[k == 0 || k % 2], low, high);
        space_open(&s, text);
        const struct nni_param *p = &s.space.at[0];
        for (int i = 0; i < 4; i++) {
            double at[] = {p->low, p->high, nextafter(p->low, -INFINITY),
                           nextafter(p->high, INFINITY)};
            double v = tune_point_user(p, at[i]);
            CHECK(v >= low && v <= high);
        }
        space_close(&s);
    }
}

static const struct tap_case cases[] = {
    TAP(nested_choices_print_what_is_active),
    TAP(steps_are_products_and_stay_in_their_bounds),
    TAP(whole_numbers_of_real_types_print_as_reals),
    TAP(forms_read_back),
    TAP(a_change_above_redraws_what_is_below),
    TAP(ends_of_a_range_are_within_it),
};
TAP_MAIN(cases)
