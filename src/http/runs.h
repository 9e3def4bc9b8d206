/* SPDX-License-Identifier: Apache-2.0 */
/* http/runs.h - the experiments that this server runs for its users.
 *
 * Each is a folder with an owner in the server's directory of experiments, and a thread
 * with a manager (tune/manager.h) while it runs. Trials are jobs of the owner: under the
 * owner's quotas and account. When the server ends, trials go on, and the next server
 * continues every experiment that was not over.
 */
#ifndef HTTP_RUNS_H
#define HTTP_RUNS_H

#include "http/call.h"
#include "tune/experiment.h"

struct http_runs;

/* Continues what an earlier server left. `a` outlives it. */
struct http_runs *http_runs_create(struct api *a);
/* Trials go on. NULL is fine. */
void http_runs_destroy(struct http_runs *r);
/* Starts the experiment in `dir`, which is `owner`'s. RC_CANCELED (E4006: it runs already;
 * E4017: too many do). */
enum rc http_runs_start(struct http_runs *r, const char *dir, const char *owner,
                        struct err *err) MUST_CHECK;
/* Whether the experiment in `dir` has a thread; NULL runs nothing. */
bool http_runs_has(struct http_runs *r, const char *dir);

#endif
