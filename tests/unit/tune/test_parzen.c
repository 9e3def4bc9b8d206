/* SPDX-License-Identifier: Apache-2.0 */
/* Values of NNI's own estimator. */
#include "tune/parzen.h"

#include "base/mem.h"
#include "tap.h"
#include "tune/algo/tpe.h"
#include "tune/normal.h"

static void old_results_weigh_less(void)
{
    double w[30];
    parzen_weights(30, 25, w);
    static const double want[] = {0.0333333333, 0.275, 0.5166666667, 0.7583333333, 1};
    for (int i = 0; i < 5; i++)
        CHECK_NEAR(w[i], want[i], 1e-9);
    for (int i = 5; i < 30; i++)
        CHECK(w[i] == 1);
    parzen_weights(26, 25, w);
    CHECK_NEAR(w[0], 0.0384615385, 1e-9);
    CHECK(w[1] == 1 && w[25] == 1);
    parzen_weights(25, 25, w);
    CHECK(w[0] == 1 && w[24] == 1);
}

static void fit(struct parzen *p, const double *v, int64_t n, double low, double high)
{
    double w[8];
    parzen_weights(n, 25, w);
    parzen_fit(p, v, w, n, 1, 0.5, 1, low, high);
}

static void check_row(const double *got, const double *want, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_NEAR(got[i], want[i], 1e-12);
}

static void kernels_are_as_wide_as_the_gaps(void)
{
    struct parzen p;
    fit(&p, (double[]){.2, .9, .4}, 3, 0, 1);
    check_row(p.mu, (double[]){.2, .4, .5, .9}, 4);
    check_row(p.sigma, (double[]){.2, .2, 1, .4}, 4);
    check_row(p.weight, (double[]){.25, .25, .25, .25}, 4);
    parzen_release(&p);
    fit(&p, (double[]){.8}, 1, 0, 1);
    check_row(p.mu, (double[]){.5, .8}, 2);
    check_row(p.sigma, (double[]){1, .5}, 2);
    check_row(p.weight, (double[]){.5, .5}, 2);
    parzen_release(&p);
    fit(&p, NULL, 0, 0, 1);
    CHECK(p.n == 1 && p.mu[0] == .5 && p.sigma[0] == 1);
    parzen_release(&p);
}

static void densities_agree_with_nni(void)
{
    static const double at[] = {0, .25, .5, 1};
    static const double bounded[] = {-0.3770860225, 0.3842146701, 0.2024059074,
                                     -0.730993221};
    static const double open[] = {-0.7385510561, 0.0227496365, -0.1590591263,
                                  -1.0924582547};
    struct parzen p;
    fit(&p, (double[]){.2, .9, .4}, 3, 0, 1);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(parzen_log_pdf(&p, at[i]), bounded[i], 1e-9);
    parzen_release(&p);
    fit(&p, (double[]){.2, .9, .4}, 3, -INFINITY, INFINITY);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(parzen_log_pdf(&p, at[i]), open[i], 1e-9);
    parzen_release(&p);
}

static void draws_stay_within_the_bounds(void)
{
    struct parzen p;
    struct rng r;
    rng_init(&r, 1, 2, 3, 4);
    fit(&p, (double[]){0, 1, .01}, 3, 0, 1);
    for (int i = 0; i < 1000; i++) {
        double v = parzen_draw(&p, &r);
        CHECK(v >= 0 && v <= 1);
    }
    parzen_release(&p);
}

static void the_number_of_good_results_follows_the_root(void)
{
    struct tpe_settings s = {.gamma = .25, .forget = 25};
    static const int64_t rows[][2] = {{1, 1},   {16, 1},  {17, 2},   {64, 2},    {65, 3},
                                      {144, 3}, {400, 5}, {1000, 8}, {10000, 25}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CHECK_INT(tpe_good(&s, rows[i][0]), rows[i][1]);
    s.by_share = true;
    s.good_most = 25;
    CHECK_INT(tpe_good(&s, 11), 2);
    CHECK_INT(tpe_good(&s, 1000), 25);
}

static void quantiles_invert_the_distribution(void)
{
    CHECK_NEAR(tune_normal_quantile(0.975), 1.959963984540054, 1e-13);
    CHECK_NEAR(tune_normal_quantile(0.25), -0.6744897501960817, 1e-13);
    CHECK_NEAR(tune_normal_quantile(1e-10), -6.361340902404056, 1e-9);
    CHECK(tune_normal_quantile(0.5) == 0 || fabs(tune_normal_quantile(0.5)) < 1e-15);
    CHECK(tune_normal_quantile(0) == -INFINITY && tune_normal_quantile(1) == INFINITY);
    CHECK_NEAR(tune_normal_log_mass(0, 1, -1.959963984540054, 1.959963984540054),
               log(.95), 1e-12);
    CHECK_NEAR(tune_normal_log_mass(0, 1, 9, 10), -43.628, 1e-2);
}

static const struct tap_case cases[] = {
    TAP(old_results_weigh_less),
    TAP(kernels_are_as_wide_as_the_gaps),
    TAP(densities_agree_with_nni),
    TAP(draws_stay_within_the_bounds),
    TAP(the_number_of_good_results_follows_the_root),
    TAP(quantiles_invert_the_distribution),
};
TAP_MAIN(cases)
