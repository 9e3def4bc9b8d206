/* SPDX-License-Identifier: Apache-2.0 */
/* The first worker is the Master, the others are Workers. The operator gives each a Service of its
 * own name, and the variables of torchrun (PET_*); ours are set behind them.
 */
#include <stdio.h>

#include "backend/pods_objects.h"
#include "backend/pods_template.h"

static void pytorchjob_host(const struct backend_job *j, const char *name, int64_t worker,
                            char out[PODS_HOST_SIZE])
{
    if (worker)
        snprintf(out, PODS_HOST_SIZE, "%s-worker-%jd", name, (intmax_t)worker - 1);
    else
        snprintf(out, PODS_HOST_SIZE, "%s-master-0", name);
}

static void pytorchjob_put_spec(struct json_out *o, const struct pods_make *m)
{
    const char *name = pods_kind_pytorchjob.container;
    struct pods_template master = {.container = name, .worker = 0};
    struct pods_template other = {
        .container = name, .worker = -1, .index_field = PODS_REPLICA_INDEX, .first = 1};
    json_put_str(o, "nprocPerNode", "1"); /* what torchrun starts is the command's */
    pods_run_policy_put(o, false);
    json_open(o, "pytorchReplicaSpecs", '{');
    pods_replicas_put(o, m, "Master", 1, &master);
    if (m->n > 1)
        pods_replicas_put(o, m, "Worker", (int64_t)m->n - 1, &other);
    json_close(o, '}');
}

const struct pods_kind pods_kind_pytorchjob = {
    .name = "pytorchjob",
    .container = "pytorch",
    .flat = true,
    .recreates = true,
    .host = pytorchjob_host,
    .put_spec = pytorchjob_put_spec,
};
