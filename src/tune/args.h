/* SPDX-License-Identifier: Apache-2.0 */
/* tune/args.h - arguments that many algorithms have, wherever they stand in their table.
 */
#ifndef TUNE_ARGS_H
#define TUNE_ARGS_H

#include <stdbool.h>

#include "text/nni/algo.h"

/* The value of argument `name` in the bound struct `args`; NULL: not there, or neither
 * given nor with a default.
 */
const void *tune_args_find(const struct nni_algo *algo, const void *args,
                           const char *name);
/* Whether larger results are better; also when the table does not say. */
bool tune_args_maximize(const struct nni_algo *algo, const void *args);

#endif
