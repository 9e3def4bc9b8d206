/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with a known minimum, of the kinds that tuning meets: smooth, curved, rough,
 * mixed, conditional. functions.py and second.py hold the same for other
 * optimizers.
 */
#ifndef BENCH_TUNE_FUNCTIONS_H
#define BENCH_TUNE_FUNCTIONS_H

#include "text/nni/space.h"

struct function {
    const char *name;
    const char *space; /* as JSON */
    double least;
    double (*f)(const struct nni_space *s, const double *x);
    double noise; /* standard deviation of what a tuner sees around it */
};

extern const struct function functions[];
extern const int n_functions;
/* No setting of a tuner was chosen on these. */
extern const struct function second_functions[];
extern const int n_second_functions;

#endif
