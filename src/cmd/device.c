/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/device.h"

enum rc cmd_device_open(const char *name, struct device **out, struct err *err)
{
    const struct device_ops *ops;
    *out = NULL;
    enum rc rc = nn_device_find(name, &ops, err);
    if (rc || ops == nn_device_default()->ops)
        return rc;
    return device_open(ops, out, err);
}
