/* SPDX-License-Identifier: Apache-2.0 */
/* A TrainJob says little itself: pods, volumes and all are in a TrainingRuntime, which is made
 * first, for this attempt alone. Trainer makes a JobSet of it, whose Service has the name
 * of the TrainJob.
 */
#include <stdio.h>

#include "backend/pods_objects.h"
#include "backend/pods_template.h"

static void trainjob_host(const struct backend_job *j, const char *name, int64_t worker,
                          char out[PODS_HOST_SIZE])
{
    snprintf(out, PODS_HOST_SIZE, "%s-node-0-%jd", name, (intmax_t)worker);
}

static void trainjob_put_spec(struct json_out *o, const struct pods_make *m)
{
    json_open(o, "runtimeRef", '{');
    json_put_str(o, "apiGroup", "trainer.kubeflow.org");
    json_put_str(o, "kind", "TrainingRuntime");
    json_put_str(o, "name", m->name);
    json_close(o, '}');
    json_open(o, "trainer", '{');
    json_put_int(o, "numNodes", (int64_t)m->n);
    json_close(o, '}');
}

static void put_node(struct json_out *o, const struct pods_make *m)
{
    struct pods_template t = {.container = pods_kind_trainjob.container, .worker = -1};
    json_open(o, NULL, '{');
    json_put_str(o, "name", "node");
    json_put_int(o, "replicas", 1);
    json_open(o, "template", '{');
    json_open(o, "metadata", '{');
    json_open(o, "labels", '{');
    json_put_str(o, "trainer.kubeflow.org/trainjob-ancestor-step", "trainer");
    json_close(o, '}');
    json_close(o, '}');
    json_open(o, "spec", '{');
    pods_indexed_put(o, m, &t);
    json_close(o, '}');
    json_close(o, '}');
    json_close(o, '}');
}

static void trainjob_put_runtime(struct json_out *o, const struct pods_make *m)
{
    json_open(o, "mlPolicy", '{');
    json_put_int(o, "numNodes", (int64_t)m->n);
    json_close(o, '}');
    json_open(o, "template", '{');
    json_open(o, "spec", '{');
    json_put_int(o, "ttlSecondsAfterFinished", PODS_KEPT_S);
    json_open(o, "failurePolicy", '{');
    json_put_int(o, "maxRestarts", 0);
    json_close(o, '}');
    json_open(o, "replicatedJobs", '[');
    put_node(o, m);
    json_close(o, ']');
    json_close(o, '}');
    json_close(o, '}');
}

const struct pods_kind pods_kind_trainjob = {
    .name = "trainjob",
    .container = "node",
    .host = trainjob_host,
    .put_spec = trainjob_put_spec,
    .before = "trainingruntimes",
    .before_object = "TrainingRuntime",
    .put_before = trainjob_put_runtime,
};
