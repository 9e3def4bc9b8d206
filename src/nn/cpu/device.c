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
    return nn_cpu_find(op) != NULL;
}

const struct executor_ops nn_cpu_executor = {
    .has = has_op,
    .plan = nn_cpu_arrange,
    .release = nn_cpu_release,
    .rows = nn_cpu_new_rows,
    .forward = nn_cpu_run_forward,
    .backward = nn_cpu_run_backward,
    .scale = nn_cpu_scale_rows,
    .coded = nn_cpu_accept_codes,
    .codes = nn_cpu_set_codes,
    .alike = true,
    .params = &nn_cpu_params,
};

const struct device_ops device_cpu = {
    .name = "cpu",
    .host_visible = true,
    .alloc = host_alloc,
    .free = host_free,
    .copy = host_copy,
    .fill = host_fill,
    .synchronise = host_synchronise,
    .executor = &nn_cpu_executor,
};
