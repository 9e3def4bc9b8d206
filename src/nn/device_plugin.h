/* SPDX-License-Identifier: Apache-2.0 */
/* nn/device_plugin.h - what a library that brings a device exports: DEVICE_PLUGIN_SYMBOL, a
 * struct nn_device_plugin, and nothing else that is visible (base/plugin.h).
 */
#ifndef NN_DEVICE_PLUGIN_H
#define NN_DEVICE_PLUGIN_H

#include "tensor/device.h"

#define DEVICE_PLUGIN_SYMBOL "trainyard_device_plugin"

struct nn_device_plugin {
    const char *version; /* TY_VERSION */
    const struct device_ops *ops;
};
extern const struct nn_device_plugin trainyard_device_plugin;

#endif
