/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of losses against values that NumPy gave for the same formula. */
#include "train/pareto.h"

#include <math.h>

#include "tap.h"

static void weights_are_those_of_the_formula(void)
{
    static const struct {
        size_t n;
        double gram[9], least[3], want[3];
    } cases[] = {
        {2,
         {6.948594, -1.034248, -1.034248, 3.021948},
         {0, 0},
         {0.3369202755236754, 0.6630797244763248}},
        {2,
         {6.210662, 0.621308, 0.621308, 20.120676},
         {0.2, 0.1},
         {0.7772164720068251, 0.22278352799317502}},
        {3,
         {4.759435, 1.062616, -7.390993, 1.062616, 6.276314, 9.423208, -7.390993,
          9.423208, 63.417632},
         {0.1, 0, 0.3},
         {0.6186466206398542, 0.0813533793601459, 0.3}},
        {2, {4, 3, 3, 9}, {0, 0}, {6.0 / 7, 1.0 / 7}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double w[3];
        train_pareto_solve(cases[i].gram, cases[i].least, cases[i].n, w);
        for (size_t k = 0; k < cases[i].n; k++)
            CHECK_NEAR(w[k], cases[i].want[k], 1e-9);
    }
}

/* Tasks that pull the same way cannot be told apart: each counts the same. */
static void equal_gradients_share(void)
{
    double w[2], gram[] = {2, 2, 2, 2}, zero[] = {0, 0, 0, 0};
    train_pareto_solve(gram, (double[]){0, 0.5}, 2, w);
    CHECK_NEAR(w[0], 0.25, 1e-9);
    CHECK_NEAR(w[1], 0.75, 1e-9);
    train_pareto_solve(zero, (double[]){0, 0}, 2, w);
    CHECK_NEAR(w[0], 0.5, 1e-9);
}

static const struct tap_case cases[] = {
    TAP(weights_are_those_of_the_formula),
    TAP(equal_gradients_share),
};
TAP_MAIN(cases)
