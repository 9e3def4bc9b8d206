/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fronts.h"

#include <string.h>

static const struct front fronts[] = {
#define FRONT(name, title, run) {#name, title, run},
#include "cmd/fronts.def"
#undef FRONT
};

const struct front *front_find(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    const char *name = slash ? slash + 1 : argv0;
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++)
        if (strcmp(fronts[i].name, name) == 0)
            return &fronts[i];
    return NULL;
}

enum rc front_run(const struct front *f, int argc, char *const *argv, struct err *err)
{
    if (f->run)
        return f->run(argc, argv, err);
    return err_coded(err, RC_UNSUPPORTED, E0607,
                     "the command line of %s is not part of trainyard " TY_VERSION " yet",
                     f->title);
}
