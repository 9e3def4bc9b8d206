/* SPDX-License-Identifier: Apache-2.0 */
/* store/models.h - outputs of jobs under a name: versions 1, 2, 3 ..., each with the job and
 * the data that it came from.
 */
#ifndef STORE_MODELS_H
#define STORE_MODELS_H

#include "store/store.h"

struct store_model {
    const char *name;
    int64_t version; /* given by store_model_create() */
    const char *owner, *project;
    const char *job, *channel;
    const char *snapshot; /* its files */
    const char *node;     /* the machine and directory that has them */
    int64_t files, bytes;
    const char *lineage; /* JSON: the job's command, code, inputs, parameters, metrics */
    const char *note;
    int64_t created;
};
struct store_models {
    struct arena arena;
    struct store_model *at;
    size_t n;
};
void store_models_release(struct store_models *l);
/* Gives it the next version of its name. RC_INVAL (E3110): the name belongs to somebody
 * else, neither m->owner nor m->project.
 */
enum rc store_model_create(struct store *s, const struct store_model *m, int64_t *version,
                           struct err *err) MUST_CHECK;
/* `name` NULL: all; `version` 0: all of the name; -1: the latest. By name, latest first.
 * RC_NOTFOUND (E3111) for a name or version that is not there.
 */
enum rc store_model_get(struct store *s, const char *name, int64_t version,
                        struct store_models *out, struct err *err) MUST_CHECK;
enum rc store_model_delete(struct store *s, const char *name, int64_t version,
                           struct err *err) MUST_CHECK;

#endif
