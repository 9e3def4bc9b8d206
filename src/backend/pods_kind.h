/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_kind.h - the object that the workers of an attempt are pods of: an Indexed Job,
 * or what an operator has for the same (pods_kinds.def). All that differs between them is
 * here; to make, watch and delete them is the same for all.
 *
 * Every kind starts all workers once and starts none of them again: restarts are ours. What
 * becomes of a worker is told by its pod, never by the object.
 */
#ifndef BACKEND_PODS_KIND_H
#define BACKEND_PODS_KIND_H

#include "backend/backend.h"
#include "text/json_out.h"

#define PODS_HOST_SIZE 128

/* What an object is made of. */
struct pods_make {
    const struct backend_job *j;
    const struct backend_launch *at; /* [n] */
    size_t n;
    const char *name;             /* of the object */
    int64_t alone;                /* the worker that starts again, -1: all */
    const char *volumes, *mounts; /* lists, as JSON */
};

struct pods_row; /* of pods_kinds.def */

struct pods_kind {
    const char *name;
    const char *container; /* the name that the worker's container has to have */
    /* Pods get their names in the network by a Service of ours; else the operator makes one of
     * the object's name.
     */
    bool service;
    bool flat; /* that is one for each pod, of the pod's name */
    /* One worker can start again alone: its pod can have the name of the one before. */
    bool alone;
    /* The operator makes pods anew that somebody deletes. */
    bool recreates;
    /* The name of a worker's pod below the name of the object; NULL: NAME-WORKER. */
    void (*host)(const struct backend_job *j, const char *name, int64_t worker,
                 char out[PODS_HOST_SIZE]);
    /* The object's "spec". */
    void (*put_spec)(struct json_out *o, const struct pods_make *m);
    /* Optional: an object that has to be there first, of the same name, and belongs to this
     * one afterwards; of the resource `before` of the same group and version.
     */
    const char *before, *before_object;
    void (*put_before)(struct json_out *o, const struct pods_make *m);
};

/* A row with its code. */
struct pods_row {
    const struct pods_kind *kind;
    const char *group, *version, *resource, *object;
};

const struct pods_row *pods_row_at(size_t i); /* NULL behind the last */
/* Of a name; NULL: the default. Never NULL for names that jobspec_check_kube_kind() takes. */
const struct pods_row *pods_row_find(const char *name);
/* That of a job. */
const struct pods_row *pods_row_of(const struct backend_job *j);
/* "/apis/GROUP/VERSION", for mem_free(). */
char *pods_row_path(const struct pods_row *r);
/* "GROUP/VERSION", for mem_free(). */
char *pods_row_api(const struct pods_row *r);
/* The name of a worker's pod in the network, without the domain. */
void pods_row_host(const struct pods_row *r, const struct backend_job *j,
                   const char *name, int64_t worker, char out[PODS_HOST_SIZE]);

#define KIND(name, group, version, resource, object) \
    extern const struct pods_kind pods_kind_##name;
#include "text/job/pods_kinds.def"
#undef KIND

#endif
