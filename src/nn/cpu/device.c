/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: the reference for all others. Its memory is the host's, and every
 * call is done when it returns.
 */
#include "nn/device.h"

#include <string.h>

#include "base/mem.h"
#include "nn/cpu/cpu_private.h"

static void *host_alloc(const struct device *d, size_t bytes)
{
    return mem_try_large(bytes, 1);
}

static void host_free(const struct device *d, void *at)
{
    mem_free(at);
}

static void host_copy(const struct device *d, void *to, const void *from, size_t bytes,
                      enum device_way way)
{
    memcpy(to, from, bytes);
}

static void host_fill(const struct device *d, void *at, int byte, size_t bytes)
{
    memset(at, byte, bytes);
}

static enum rc host_synchronise(const struct device *d, struct err *err)
{
    return RC_OK;
}

static bool has_op(const struct op *op)
{
    return cpu_find(op) != NULL;
}

const struct executor_ops cpu_executor = {
    .has = has_op,
    .plan = cpu_arrange,
    .release = cpu_release,
    .rows = cpu_new_rows,
    .forward = cpu_run_forward,
    .backward = cpu_run_backward,
    .scale = cpu_scale_rows,
    .coded = cpu_accept_codes,
    .codes = cpu_set_codes,
    .params = &cpu_params,
};

const struct device_ops device_cpu = {
    .name = "cpu",
    .host_visible = true,
    .alloc = host_alloc,
    .free = host_free,
    .copy = host_copy,
    .fill = host_fill,
    .synchronise = host_synchronise,
    .executor = &cpu_executor,
};
