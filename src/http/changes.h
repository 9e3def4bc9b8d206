/* SPDX-License-Identifier: Apache-2.0 */
/* http/changes.h - tells pages that a list is no longer what they show, as server-sent events:
 *
 *     id: 7
 *     event: changed
 *     data: {"jobs":"1a2b","records":"2","experiments":"9f","runs":"0"}
 *
 * Each member stands for a list and changes when something in it did: jobs, what the API itself
 * changes (schedules, models, datasets, people, quotas), experiments, training runs. The
 * first event comes at once, so that who comes back after a lost connection misses nothing. One
 * thread looks, however many wait, and only while somebody does; a page costs a connection
 * and some bytes. An answer ends within seconds when its token is revoked or expires or its user
 * is disabled, and after five minutes in any case.
 */
#ifndef HTTP_CHANGES_H
#define HTTP_CHANGES_H

#include "http/call.h"

struct http_changes;

/* `a` outlives it; `store` is used by its thread alone. */
enum rc http_changes_create(struct api *a, struct store *store, struct http_changes **out,
                            struct err *err) MUST_CHECK;
void http_changes_end(struct http_changes *x);     /* all answers end */
void http_changes_destroy(struct http_changes *x); /* NULL is fine */
int64_t http_changes_count(struct http_changes *x);

#endif
