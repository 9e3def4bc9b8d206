/* SPDX-License-Identifier: Apache-2.0 */
/* store/projects.h - what people share: quotas and weights; and what was used.
 * RC_NOTFOUND (E3111) for a name that is not there.
 */
#ifndef STORE_PROJECTS_H
#define STORE_PROJECTS_H

#include "store/store.h"

/* Quotas: at most so much at a time of all running jobs of the project; -1: no limit. */
struct store_project {
    const char *name;
    int64_t cpu_milli, memory, gpu, running;
    int64_t weight; /* of the fair share; 100 is usual */
    int64_t created;
};
struct store_projects {
    struct arena arena;
    struct store_project *at;
    size_t n;
};
void store_projects_release(struct store_projects *l);
/* Makes it or changes all but `created`; *made (may be NULL) says which. */
enum rc store_project_put(struct store *s, const struct store_project *p, bool *made,
                          struct err *err) MUST_CHECK;
/* `name` NULL: all, by name. */
enum rc store_project_get(struct store *s, const char *name, struct store_projects *out,
                          struct err *err) MUST_CHECK;
enum rc store_project_delete(struct store *s, const char *name,
                             struct err *err) MUST_CHECK;

/* What jobs held between `since` and `until` (wall clock, ns), by owner or by project;
 * jobs that run still count up to `until`. Largest use of processors first.
 */
enum store_usage_by { STORE_BY_OWNER, STORE_BY_PROJECT };
struct store_usage {
    const char *name;
    int64_t jobs, running;
    int64_t cpu_milli_s, gpu_s, memory_mib_s;
};
struct store_usages {
    struct arena arena;
    struct store_usage *at;
    size_t n;
};
void store_usages_release(struct store_usages *l);
enum rc store_usage_get(struct store *s, enum store_usage_by by, int64_t since,
                        int64_t until, struct store_usages *out,
                        struct err *err) MUST_CHECK;

#endif
