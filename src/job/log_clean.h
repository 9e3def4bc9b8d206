/* SPDX-License-Identifier: Apache-2.0 */
/* job/log_clean.h - a log as a terminal may have it.
 *
 * What a program wrote can hold sequences that a terminal obeys: move the cursor, set the
 * title, answer as if typed. Colours (ESC [ ... m), tabs, line ends and carriage returns
 * stay; every other control character is shown as \x1b and does nothing.
 */
#ifndef JOB_LOG_CLEAN_H
#define JOB_LOG_CLEAN_H

#include "base/str.h"

#define JOB_LOG_HELD 32

/* Zeroed at the start of a log. */
struct job_log_clean {
    char held[JOB_LOG_HELD]; /* the beginning of a sequence that has no end yet */
    size_t n;
};

/* Adds what may be shown of the next bytes of a log; a sequence may come in pieces. */
void job_log_clean(struct job_log_clean *c, const char *p, size_t n, struct buf *out);

#endif
