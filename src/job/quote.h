/* SPDX-License-Identifier: Apache-2.0 */
/* job/quote.h - names and words as shells and environments want them. */
#ifndef JOB_QUOTE_H
#define JOB_QUOTE_H

#include <stdbool.h>

#include "base/str.h"

/* Every character outside [A-Za-z0-9_] becomes one '_' (per character, not byte), letters
 * become capitals.
 */
void job_quote_mangle(struct str name, struct buf *out);
/* As one word for a POSIX shell: plain ones stay as they are, others go in single quotes.
 */
void job_quote_shell(struct str word, struct buf *out);
bool job_quote_is_plain(struct str word); /* stays as it is */
/* A JSON string with ASCII characters only (Python's json.dumps). */
void job_quote_json_ascii(struct str text, struct buf *out);
/* For a terminal: control characters become '?'. */
void job_quote_terminal(struct str text, struct buf *out);

#endif
