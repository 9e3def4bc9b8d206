/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with a known minimum, of the kinds that tuning meets: smooth, curved, rough,
 * mixed, conditional. functions.py holds the same for other optimizers.
 */
#ifndef BENCH_TUNE_FUNCTIONS_H
#define BENCH_TUNE_FUNCTIONS_H

#include "text/nni/space.h"

struct function {
    const char *name;
    const char *space; /* as JSON */
    double least;
    double (*f)(const struct nni_space *s, const double *x);
};

extern const struct function functions[];
extern const int n_functions;

#endif
