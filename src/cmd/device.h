/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/device.h - the device that --device names. */
#ifndef CMD_DEVICE_H
#define CMD_DEVICE_H

#include "base/err.h"
#include "nn/device.h"

/* The option, of a struct with a member `device`: all of nn/devices.def. */
#define CMD_DEVICE_OPT(T) OPT_CHOICE(T, device, "cpu", NN_DEVICE_NAMES, nn_device_help)

/* *out is the caller's, to device_close() behind everything that used it; NULL for the
 * one that needs no opening, the CPU.
 * RC_NOTFOUND, RC_UNSUPPORTED: E2602.
 */
enum rc cmd_device_open(const char *name, struct device **out,
                        struct err *err) MUST_CHECK;

#endif
