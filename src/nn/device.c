/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/device.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/plugin.h"
#include "nn/device_plugin.h"
#include "nn/executor.h"

static const struct device_ops *const devices[] = {
#define DEVICE(name, file, summary) &device_##name,
#include "nn/devices.def"
};

static const struct {
    const char *name, *library;
} plugins[] = {
#define DEVICE_PLUGIN(name, library, summary) {#name, library},
#include "nn/devices.def"
};

const char nn_device_names[] = ""
#define DEVICE(name, file, summary) "|" #name
#define DEVICE_PLUGIN(name, library, summary) "|" #name
#include "nn/devices.def"
    ;

const char nn_device_help[] = "device that computes the model"
#define DEVICE(name, file, summary) "; " #name ": " summary
#define DEVICE_PLUGIN(name, library, summary) "; " #name ": " summary
#include "nn/devices.def"
    ;

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
    return err_coded(err, RC_NOTFOUND, E2602, "there is no device '%s'; there are %s",
                     name, NN_DEVICE_NAMES);
}

static const char *missing_method(const struct executor_ops *e)
{
    const struct param_ops *p = e->params;
    const struct {
        const char *name;
        bool there;
    } methods[] = {
        {"has()", e->has},
        {"plan()", e->plan},
        {"release()", e->release},
        {"forward()", e->forward},
        {"backward()", e->backward},
        {"scale()", e->scale},
        {"codes() beside its coded()", !e->coded || e->codes},
        {"params", p},
        {"params.update()", p && p->update},
        {"params.norm()", p && p->norm},
        {"params.clamp()", p && p->clamp},
        {"params.multiply()", p && p->multiply},
        {"params.multiply_finite()", p && p->multiply_finite},
        {"params.average()", p && p->average},
        {"params.exchange()", p && p->exchange},
    };
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (!methods[i].there)
            return methods[i].name;
    return NULL;
}

enum rc nn_device_check(const struct device *d, struct err *err)
{
    const char *lacks = missing_method(d->ops->executor);
    if (!lacks)
        return RC_OK;
    return err_coded(err, RC_INVAL, E0011,
                     "device '%s': there is no executor.%s in the device's table",
                     d->ops->name, lacks);
}

const struct device *nn_device_default(void)
{
    static const struct device cpu = {.ops = &device_cpu};
    return &cpu;
}
