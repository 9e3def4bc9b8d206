/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/pods_objects.h"
#include "backend/pods_template.h"
#include "base/mem.h"

/* Pods of an Indexed Job are called JOB-INDEX. */
static void job_put_spec(struct json_out *o, const struct pods_make *m)
{
    char *service = pods_service_name(m->j);
    char host[PODS_HOST_SIZE];
    struct pods_template t = {
        .container = pods_kind_job.container, .worker = m->alone, .subdomain = service};
    if (m->alone >= 0) {
        pods_row_host(pods_row_of(m->j), m->j, service, m->alone, host);
        t.hostname = host;
    }
    json_put_int(o, "ttlSecondsAfterFinished", PODS_KEPT_S);
    pods_indexed_put(o, m, &t);
    mem_free(service);
}

const struct pods_kind pods_kind_job = {
    .name = "job",
    .container = "worker",
    .service = true,
    .alone = true,
    .put_spec = job_put_spec,
};
