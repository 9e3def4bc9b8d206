/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/device.h"

#include <string.h>

#include "nn/device.h"

enum rc cmd_device_open(const char *name, struct device **out, struct err *err)
{
    const struct device_ops *ops;
    *out = NULL;
    if (strcmp(name, "cpu") == 0)
        return RC_OK;
    enum rc rc = nn_device_find(name, &ops, err);
    return rc ? rc : device_open(ops, out, err);
}
