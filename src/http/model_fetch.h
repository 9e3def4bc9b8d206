/* SPDX-License-Identifier: Apache-2.0 */
/* http/model_fetch.h - models of another server on the same database, as inputs here. */
#ifndef HTTP_MODEL_FETCH_H
#define HTTP_MODEL_FETCH_H

#include "http/call.h"
#include "store/models.h"

/* Makes the contents of `m`, which the caller may see and which lie at another server, the
 * caller's here; they count as what the caller stores. RC_IO (E5017, E5031): that server does
 * not answer; RC_INVAL (E5501): they would be too much. Not while the writer's lock is held.
 */
enum rc http_model_fetch(struct http_call *c, const struct store_model *m,
                         struct err *err) MUST_CHECK;

#endif
