/* SPDX-License-Identifier: Apache-2.0 */
/* A Job of Volcano's with one task, `worker`: its scheduler starts all workers or none. The
 * plug-in `svc` gives pods their names in the network.
 */
#include <stdio.h>

#include "backend/pods_objects.h"
#include "backend/pods_template.h"

#define INDEX "metadata.annotations['volcano.sh/task-index']"

static void volcano_host(const struct backend_job *j, const char *name, int64_t worker,
                         char out[PODS_HOST_SIZE])
{
    snprintf(out, PODS_HOST_SIZE, "%s-worker-%jd", name, (intmax_t)worker);
}

static void volcano_put_spec(struct json_out *o, const struct pods_make *m)
{
    const char *queue = jobspec_backend_option(m->j->spec->s, "queue");
    const char *scheduler = jobspec_backend_option(m->j->spec->s, "scheduler");
    struct pods_template t = {
        .container = pods_kind_volcano.container, .worker = -1, .index_field = INDEX};
    json_put_int(o, "minAvailable", (int64_t)m->n);
    json_put_int(o, "maxRetry", 1);
    json_put_int(o, "ttlSecondsAfterFinished", PODS_KEPT_S);
    json_put_str(o, "schedulerName", scheduler ? scheduler : "volcano");
    if (queue)
        json_put_str(o, "queue", queue);
    json_open(o, "plugins", '{');
    json_open(o, "svc", '[');
    json_close(o, ']');
    json_close(o, '}');
    json_open(o, "tasks", '[');
    json_open(o, NULL, '{');
    json_put_str(o, "name", "worker");
    json_put_int(o, "replicas", (int64_t)m->n);
    json_put_int(o, "maxRetry", 1);
    pods_template_put(o, m, &t);
    json_close(o, '}');
    json_close(o, ']');
}

const struct pods_kind pods_kind_volcano = {
    .name = "volcano",
    .container = "worker",
    .recreates = true,
    .host = volcano_host,
    .put_spec = volcano_put_spec,
};
