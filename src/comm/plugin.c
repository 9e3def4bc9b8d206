/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/plugin.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/plugin.h"
#include "comm/comm_private.h"

static const struct {
    const char *name, *library;
} plugins[] = {
#define COMM_PLUGIN(name, library, ranks) {#name, library},
#include "comm/comms.def"
};

/* What MPI loads in turn finds its symbols only among the global ones. */
static enum rc load(const char *name, const char *library, const struct comm_ops **out,
                    struct err *err)
{
    const void *found;
    char *what = mem_printf("comm '%s'", name);
    struct plugin_wanted wanted = {.what = what,
                                   .library = library,
                                   .symbol = COMM_PLUGIN_SYMBOL,
                                   .code = E2504,
                                   .global = true};
    enum rc rc = plugin_load(&wanted, &found, err);
    if (!rc)
        *out = ((const struct comm_plugin *)found)->ops;
    mem_free(what);
    return rc;
}

enum rc comm_plugin_find(const char *name, const struct comm_ops **out, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(plugins); i++)
        if (strcmp(plugins[i].name, name) == 0)
            return load(name, plugins[i].library, out, err);
    return err_coded(err, RC_NOTFOUND, E2504, "there is no comm '%s'", name);
}
