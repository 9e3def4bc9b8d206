/* SPDX-License-Identifier: Apache-2.0 */
/* The first worker is the launcher, which is a worker, too (runLauncherAsWorker), so that every
 * worker runs the command, as in all kinds. The operator adds what mpirun needs: a list of the
 * hosts, keys for ssh, and its variables.
 */
#include <stdio.h>

#include "backend/pods_objects.h"
#include "backend/pods_template.h"

static void mpijob_host(const struct backend_job *j, const char *name, int64_t worker,
                        char out[PODS_HOST_SIZE])
{
    if (worker)
        snprintf(out, PODS_HOST_SIZE, "%s-worker-%jd", name, (intmax_t)worker - 1);
    else
        snprintf(out, PODS_HOST_SIZE, "%s-launcher", name);
}

static void mpijob_put_spec(struct json_out *o, const struct pods_make *m)
{
    const char *name = pods_kind_mpijob.container;
    struct pods_template launcher = {.container = name, .worker = 0};
    struct pods_template other = {
        .container = name, .worker = -1, .index_field = PODS_REPLICA_INDEX};
    int64_t nproc = m->j->spec->s->nproc;
    json_put_int(o, "slotsPerWorker", nproc > 0 ? nproc : 1);
    json_put_bool(o, "runLauncherAsWorker", true);
    pods_run_policy_put(o, true);
    json_open(o, "mpiReplicaSpecs", '{');
    pods_replicas_put(o, m, "Launcher", 1, &launcher);
    if (m->n > 1)
        pods_replicas_put(o, m, "Worker", (int64_t)m->n - 1, &other);
    json_close(o, '}');
}

const struct pods_kind pods_kind_mpijob = {
    .name = "mpijob",
    .container = "worker",
    .recreates = true,
    .host = mpijob_host,
    .put_spec = mpijob_put_spec,
};
