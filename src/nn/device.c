/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/device.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/plugin.h"
#include "nn/device_plugin.h"

static const struct device_ops *const devices[] = {
#define DEVICE(name) &device_##name,
#include "nn/devices.def"
};

static const struct {
    const char *name, *library;
} plugins[] = {
#define DEVICE_PLUGIN(name, library) {#name, library},
#include "nn/devices.def"
};

static enum rc load(const char *name, const char *library, const struct device_ops **out,
                    struct err *err)
{
    const void *found;
    char *what = mem_printf("device '%s'", name);
    struct plugin_wanted wanted = {
        .what = what, .library = library, .symbol = DEVICE_PLUGIN_SYMBOL, .code = E2602};
    enum rc rc = plugin_load(&wanted, &found, err);
    if (!rc)
        *out = ((const struct nn_device_plugin *)found)->ops;
    mem_free(what);
    return rc;
}

enum rc nn_device_find(const char *name, const struct device_ops **out, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        if (strcmp(devices[i]->name, name) == 0) {
            *out = devices[i];
            return RC_OK;
        }
    for (size_t i = 0; i < ARRAY_LEN(plugins); i++)
        if (strcmp(plugins[i].name, name) == 0)
            return load(name, plugins[i].library, out, err);
    return err_coded(err, RC_NOTFOUND, E2602, "there is no device '%s'", name);
}

const struct device *nn_device_default(void)
{
    static const struct device cpu = {.ops = &device_cpu};
    return &cpu;
}
