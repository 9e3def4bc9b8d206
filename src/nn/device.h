/* SPDX-License-Identifier: Apache-2.0 */
/* nn/device.h - the devices there are. */
#ifndef NN_DEVICE_H
#define NN_DEVICE_H

#include "tensor/device.h"

#define DEVICE(name) extern const struct device_ops device_##name;
#include "nn/devices.def"
#undef DEVICE

const struct device_ops *nn_device_find(const char *name); /* NULL when unknown */
/* The one that is there without being opened, and that NULL stands for. */
const struct device *nn_device_default(void);

#endif
