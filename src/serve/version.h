/* SPDX-License-Identifier: Apache-2.0 */
/* serve/version.h - the versions of a model: one that serves, and how the next takes
 * over.
 *
 * A path is an export, or a directory of exports of which the last by name (numbers by
 * value) serves. A request holds a version from its first to its last byte; a new one
 * takes over for those that come after, and the old one goes when its last request has.
 */
#ifndef SERVE_VERSION_H
#define SERVE_VERSION_H

#include "serve/workspace.h"

struct serve_version;
struct serve_versions;

/* Loads the first version with `workspaces` workspaces. RC_* of train_export_open(), E2102. */
enum rc serve_versions_open(const char *path, int workspaces, struct serve_versions **out,
                            struct err *err) MUST_CHECK;
void serve_versions_close(
    struct serve_versions *v); /* NULL is fine; no version may be held */

/* Looks whether the path leads to another export now and loads it; *changed says so. On
 * failure the old one stays: E2109. One thread at a time; others wait.
 */
enum rc serve_versions_reload(struct serve_versions *v, bool force, bool *changed,
                              struct err *err) MUST_CHECK;

/* Any thread. */
struct serve_version *serve_versions_hold(struct serve_versions *v);
void serve_versions_drop(struct serve_versions *v, struct serve_version *held);

const struct train_export *serve_version_export(const struct serve_version *v);
const char *serve_version_dir(const struct serve_version *v); /* the export's own path */
struct serve_workspace *
serve_version_workspace(struct serve_version *v); /* waits for a free one */
/* Counts values of the request just scored that were outside their tables; the first of a
 * feature is logged.
 */
void serve_version_count_outside(struct serve_version *v,
                                 const struct serve_workspace *d);
/* One line of Prometheus' text for each feature that had some. */
void serve_version_print_outside(struct serve_version *v, struct buf *out);
void serve_version_give_back(struct serve_version *v, struct serve_workspace *d);

#endif
