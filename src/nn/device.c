/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/device.h"

#include <string.h>

#include "base/compiler.h"

static const struct device_ops *const devices[] = {
#define DEVICE(name) &device_##name,
#include "nn/devices.def"
#undef DEVICE
};

const struct device_ops *nn_device_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        if (strcmp(devices[i]->name, name) == 0)
            return devices[i];
    return NULL;
}

const struct device *nn_device_default(void)
{
    static const struct device cpu = {.ops = &device_cpu};
    return &cpu;
}
