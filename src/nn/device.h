/* SPDX-License-Identifier: Apache-2.0 */
/* nn/device.h - the devices there are. */
#ifndef NN_DEVICE_H
#define NN_DEVICE_H

#include "tensor/device.h"

#define DEVICE(name) extern const struct device_ops device_##name;
#include "nn/devices.def"

/* RC_NOTFOUND, RC_UNSUPPORTED (E2602): there is none of that name, or the library that
 * brings it cannot be loaded.
 */
enum rc nn_device_find(const char *name, const struct device_ops **out,
                       struct err *err) MUST_CHECK;
/* The one that is there without being opened, and that NULL stands for. */
const struct device *nn_device_default(void);

#endif
