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

#include "serve/desk.h"

struct version;
struct versions;

/* Loads the first version with `desks` desks. RC_* of export_open(), E2102. */
enum rc versions_open(const char *path, int desks, struct versions **out,
                      struct err *err) MUST_CHECK;
void versions_close(struct versions *v); /* NULL is fine; no version may be held */

/* Looks whether the path leads to another export now and loads it; *changed says so. On
 * failure the old one stays: E2109. One thread at a time; others wait.
 */
enum rc versions_reload(struct versions *v, bool force, bool *changed,
                        struct err *err) MUST_CHECK;

/* Any thread. */
struct version *versions_hold(struct versions *v);
void versions_drop(struct versions *v, struct version *held);

const struct export *version_export(const struct version *v);
const char *version_dir(const struct version *v); /* the export's own path */
struct desk *version_desk(struct version *v);     /* waits for a free one */
void version_give_back(struct version *v, struct desk *d);

#endif
