/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/device.h - the device that --device names. */
#ifndef CMD_DEVICE_H
#define CMD_DEVICE_H

#include "base/err.h"
#include "tensor/device.h"

/* For OPT_CHOICE. */
#define CMD_DEVICES "cpu|cuda"
#define CMD_DEVICE_HELP \
    "what computes the model: the CPU, or the first NVIDIA card that is visible"

/* *out is the caller's, to device_close() behind everything that used it; NULL for the CPU.
 * RC_NOTFOUND, RC_UNSUPPORTED: E2602.
 */
enum rc cmd_device_open(const char *name, struct device **out,
                        struct err *err) MUST_CHECK;

#endif
