/* SPDX-License-Identifier: Apache-2.0 */
/* embed/pages.h - large arrays that start as zeros and cost memory only where they are
 * written.
 */
#ifndef EMBED_PAGES_H
#define EMBED_PAGES_H

#include <stddef.h>

#include "base/err.h"

/* bytes > 0. RC_NOMEM, E2304. `what` is for the message: "table 'user_emb'". */
enum rc pages_map(const char *what, size_t bytes, void **out, struct err *err) MUST_CHECK;
void pages_unmap(void *p, size_t bytes); /* NULL is fine */

#endif
