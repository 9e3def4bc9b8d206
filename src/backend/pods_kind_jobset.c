/* SPDX-License-Identifier: Apache-2.0 */
/* A JobSet with one Indexed Job, `node`, of all workers. */
#include <stdio.h>

#include "backend/pods_objects.h"
#include "backend/pods_template.h"

static void jobset_host(const struct backend_job *j, const char *name, int64_t worker,
                        char out[PODS_HOST_SIZE])
{
    snprintf(out, PODS_HOST_SIZE, "%s-node-0-%jd", name, (intmax_t)worker);
}

/* Names in the network are by our Service, so that a worker that starts again alone has them,
 * too.
 */
static void jobset_put_spec(struct json_out *o, const struct pods_make *m)
{
    struct pods_template t = {
        .container = pods_kind_jobset.container, .worker = -1, .subdomain = m->name};
    json_put_int(o, "ttlSecondsAfterFinished", PODS_KEPT_S);
    json_open(o, "network", '{');
    json_put_bool(o, "enableDNSHostnames", false);
    json_close(o, '}');
    json_open(o, "failurePolicy", '{');
    json_put_int(o, "maxRestarts", 0);
    json_close(o, '}');
    json_open(o, "replicatedJobs", '[');
    json_open(o, NULL, '{');
    json_put_str(o, "name", "node");
    json_put_int(o, "replicas", 1);
    json_open(o, "template", '{');
    json_open(o, "spec", '{');
    pods_indexed_put(o, m, &t);
    json_close(o, '}');
    json_close(o, '}');
    json_close(o, '}');
    json_close(o, ']');
}

const struct pods_kind pods_kind_jobset = {
    .name = "jobset",
    .container = "worker",
    .service = true,
    .alone = true,
    .host = jobset_host,
    .put_spec = jobset_put_spec,
};
