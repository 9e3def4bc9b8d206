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
enum rc embed_pages_map(const char *what, const char *dir, size_t bytes, void **out,
                        struct err *err) MUST_CHECK;
/* Memory that will be used from end to end: pages of 2 MiB where the system has them. A
 * hint only, which a file does without. Of memory in which little is used it must not be
 * said: one float then costs 2 MiB.
 */
void embed_pages_enlarge(void *p, size_t bytes);
/* The same for memory in use: what is there in small pages is copied together. */
void embed_pages_gather(void *p, size_t bytes);
void embed_pages_unmap(void *p, size_t bytes); /* NULL is fine */

#endif
