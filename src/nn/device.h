/* SPDX-License-Identifier: Apache-2.0 */
/* nn/device.h - the devices there are. */
#ifndef NN_DEVICE_H
#define NN_DEVICE_H

#include "tensor/device.h"

#define DEVICE(name, file, summary) extern const struct device_ops device_##name;
#include "nn/devices.def"

/* For an option: "cpu|cuda", and what each is. */
extern const char nn_device_names[], nn_device_help[];
#define NN_DEVICE_NAMES (nn_device_names + 1) /* behind the first | */

/* Whether its executor has all methods: RC_INVAL E0011. */
enum rc nn_device_check(const struct device *d, struct err *err) MUST_CHECK;

/* RC_NOTFOUND, RC_UNSUPPORTED (E2602): there is none of that name, or the library that
 * brings it cannot be loaded.
 */
enum rc nn_device_find(const char *name, const struct device_ops **out,
                       struct err *err) MUST_CHECK;
/* The one that is there without being opened, and that NULL stands for. */
const struct device *nn_device_default(void);

#endif
