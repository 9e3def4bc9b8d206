/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_template.h - the pod of a worker, which is the same in objects of every kind. */
#ifndef BACKEND_PODS_TEMPLATE_H
#define BACKEND_PODS_TEMPLATE_H

#include "backend/pods_kind.h"

/* How a pod of this kind knows which worker it is. */
struct pods_template {
    const char *container; /* name */
    const char
        *index_field; /* of the pod, such as metadata.labels['x']; NULL: see below */
    int64_t first;    /* is added to it */
    int64_t worker;   /* it is this one; -1: the field says, or JOB_COMPLETION_INDEX */
    const char *hostname, *subdomain; /* NULL: not set */
    const char *label, *label_value;  /* one more; NULL: none */
};

/* "template": {...} */
void pods_template_put(struct json_out *o, const struct pods_make *m,
                       const struct pods_template *t);
/* Labels by which objects of ours are found; leaves the map open. */
void pods_labels_put(struct json_out *o, const struct backend_job *j, const char *name,
                     int64_t worker);
/* The spec of an Indexed Job of all workers, or of one alone, whose pods are in the
 * network below `subdomain`.
 */
void pods_indexed_put(struct json_out *o, const struct pods_make *m,
                      const struct pods_template *t);

/* For operators of Kubeflow's: "runPolicy", and one of its roles. `once`: with a limit of
 * restarts; training-operator deletes all pods when one is reached, with their output.
 */
void pods_run_policy_put(struct json_out *o, bool once);
void pods_replicas_put(struct json_out *o, const struct pods_make *m, const char *role,
                       int64_t replicas, const struct pods_template *t);

#define PODS_REPLICA_INDEX "metadata.labels['training.kubeflow.org/replica-index']"
#define PODS_KEPT_S (7 * 86400) /* an object that nobody deletes */

#endif
