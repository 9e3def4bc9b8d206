/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/grid.h"

#include "space.h"
#include "tune/point.h"

/* The first points of a grid, one number per parameter, against the rows of `want`. */
static void check_grid(const char *space, const double *want, int n_rows, bool ends)
{
    struct space s;
    space_open(&s, space);
    struct tune_grid *g = tune_grid_create(&s.space);
    double x[8];
    int before = tap_failed;
    for (int i = 0; i < n_rows; i++) {
        CHECK(tune_grid_next(g, x));
        for (int64_t k = 0; k < s.space.n; k++) {
            const struct nni_param *p = &s.space.at[k];
            double v = x[k];
            if (!isnan(v) && p->type == NNI_CHOICE)
                (void)node_number(p->options[(int64_t)x[k]], &v);
            else if (!isnan(v))
                v = tune_point_user(p, x[k]);
            double w = want[i * s.space.n + k];
            CHECK(isnan(w) ? isnan(v) : fabs(v - w) < 5e-5);
        }
        if (tap_failed > before) {
            printf("#   at point %d of %s\n", i, space);
            break;
        }
    }
    if (ends)
        CHECK(!tune_grid_next(g, x));
    tune_grid_destroy(g);
    space_close(&s);
}

static void a_range_is_halved_and_halved_again(void)
{
    static const double want[] = {.5, .25, .75, .125, .375, .625, .875, .0625, .1875};
    check_grid("{\"x\": {\"_type\": \"uniform\", \"_value\": [0, 1]}}", want, 9, false);
}

static void steps_run_out(void)
{
    static const double want[] = {5, 2.5, 7.5, 0, 10};
    check_grid("{\"x\": {\"_type\": \"quniform\", \"_value\": [0, 10, 2.5]}}", want, 5,
               true);
}

static void the_last_parameter_varies_fastest(void)
{
    static const double want[] = {5, 0,      2, 7, 0,     2, 5, 0,     3, 5, -.6745, 2,
                                  5, -.6745, 3, 5, .6745, 2, 5, .6745, 3, 7, 0,      3};
    check_grid(
        "{\"x\": {\"_type\": \"choice\", \"_value\": [5, 7]}, \"y\": {\"_type\": "
        "\"normal\", \"_value\": [0, 1]}, \"z\": {\"_type\": \"quniform\", \"_value\": "
        "[2, 3, 1]}}",
        want, 8, false);
}

static void logarithms_are_halved_as_such(void)
{
    static const double want[] = {.1,     1, .1,     2, .03162, 1,
                                  .03162, 2, .31623, 1, .31623, 2};
    check_grid(
        "{\"u\": {\"_type\": \"loguniform\", \"_value\": [0.01, 1]}, \"n\": {\"_type\": "
        "\"randint\", \"_value\": [1, 3]}}",
        want, 6, false);
}

static void branches_are_walked_to_their_depth(void)
{
    struct space s;
    space_open(
        &s, "{\"a\": {\"_type\": \"choice\", \"_value\": [{\"_name\": \"p\", \"b\": "
            "{\"_type\": \"choice\", \"_value\": [{\"_name\": \"q\", \"c\": {\"_type\": "
            "\"randint\", \"_value\": [0, 3]}}, {\"_name\": \"r\"}]}}, {\"_name\": "
            "\"s\"}]}, \"d\": {\"_type\": \"randint\", \"_value\": [0, 2]}}");
    struct tune_grid *g = tune_grid_create(&s.space);
    double x[4];
    int n = 0;
    while (n < 100 && tune_grid_next(g, x))
        n++;
    CHECK_INT(n, (3 + 1 + 1) * 2);
    tune_grid_destroy(g);
    space_close(&s);
}

static const struct tap_case cases[] = {
    TAP(a_range_is_halved_and_halved_again), TAP(steps_run_out),
    TAP(the_last_parameter_varies_fastest),  TAP(logarithms_are_halved_as_such),
    TAP(branches_are_walked_to_their_depth),
};
TAP_MAIN(cases)
