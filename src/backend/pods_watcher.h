/* SPDX-License-Identifier: Apache-2.0 */
/* backend/pods_watcher.h - one process per directory of jobs, cluster and namespace that
 * watches objects of the kinds in use (pods_kind.h), pods and events there, for all supervisors: the API server has one watch per
 * kind, however many jobs there are, and is asked for nothing else. It writes pods_news.h
 * files, and ends a while after the last supervisor.
 *
 * Its directory: `where` (what cluster), `kinds/NAME` (one file for each kind in use), `lock` (held by the one watcher), `users` (a shared
 * lock of every supervisor), `state` (when it had a whole list, what is wrong), `jobs/ID`.
 */
#ifndef BACKEND_PODS_WATCHER_H
#define BACKEND_PODS_WATCHER_H

#include <stdint.h>

#include "backend/pods_kind.h"
#include "kube/config.h"

/* The process: returns when it is not needed any more. */
enum rc pods_watcher_run(const char *dir, struct err *err) MUST_CHECK;

/* The directory for a cluster and namespace, made with its files; for mem_free(). `yard`:
 * the label of jobs to watch.
 */
enum rc pods_watcher_place(const char *jobs_dir, const struct kube_options *o,
                           const struct kube_config *c, const char *yard, char **out,
                           struct err *err) MUST_CHECK;

/* Objects of this kind are watched from now on, too. */
enum rc pods_watcher_add(const char *dir, const struct pods_row *kind,
                         struct err *err) MUST_CHECK;

struct pods_watcher_state {
    int64_t listed; /* wall clock, ns: a whole list began then; 0: none yet */
    char away[300]; /* what is wrong; "": nothing */
};
void pods_watcher_state(const char *dir, struct pods_watcher_state *out);

#endif
