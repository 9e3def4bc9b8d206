/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/args.h"

#include <string.h>

const void *tune_args_find(const struct nni_algo *algo, const void *args,
                           const char *name)
{
    const struct field_def *f = schema_field(algo->args, name);
    if (!f || (f->has && !*((const bool *)args + f->has) && !f->init))
        return NULL;
    return (const char *)args + f->at;
}

bool tune_args_maximize(const struct nni_algo *algo, const void *args)
{
    const char *const *word = tune_args_find(algo, args, "optimize_mode");
    return !word || !*word || !**word || strcmp(*word, "maximize") == 0;
}
