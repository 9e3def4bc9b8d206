/* SPDX-License-Identifier: Apache-2.0 */
/* A backend whose table has a hole: local's methods, but no prepare(), port(), start() and clean(). */
#include "backend/backend.h"
#include "backend/capacity.h"
#include "backend/process.h"

const struct backend_ops backend_lacking = {
    .name = "lacking",
    .host_files = true,
    .processes = true,
    .probe = backend_capacity_probe_view,
    .address = backend_process_address,
    .reattach = backend_process_reattach,
    .poll = backend_process_poll,
    .signal = backend_process_signal,
    .release = backend_process_release,
};
