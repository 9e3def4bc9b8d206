/* SPDX-License-Identifier: Apache-2.0 */
/* embed/pages.h - large arrays that start as zeros and cost memory only where they are
 * written.
 */
#ifndef EMBED_PAGES_H
#define EMBED_PAGES_H

#include <stddef.h>

#include "base/err.h"

/* bytes > 0. With `dir` they lie in a file without a name there, whose room on disk is
 * taken at once, and memory holds what is in use; the file is gone with the mapping (or
 * the process). RC_NOMEM (E2304), RC_IO (E2305). `what` is for the message: "table
 * 'user_emb'".
 */
enum rc pages_map(const char *what, const char *dir, size_t bytes, void **out,
                  struct err *err) MUST_CHECK;
void pages_unmap(void *p, size_t bytes); /* NULL is fine */

#endif
