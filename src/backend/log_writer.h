/* SPDX-License-Identifier: Apache-2.0 */
/* backend/log_writer.h - a worker's output on its way to the log file.
 *
 * Both streams go to one file in the order of arrival, whole lines at a time; a line
 * without an end is passed on when nothing more came for a moment. Values of secrets
 * become ***. Beside the log lies an index, one line per piece: "OFFSET MILLISECONDS
 * o|e".
 *
 * A log with a limit keeps its beginning and its latest part: what lies between becomes a
 * hole (job/log_read.h). Where the file system knows no holes, it ends at its limit.
 */
#ifndef BACKEND_LOG_WRITER_H
#define BACKEND_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define LOG_WRITER_HELD_MAX \
    (64 << 10) /* bytes of a line without end that are held back */

struct backend_log_writer {
    int log, index;             /* owned; -1 when closed */
    const char *const *secrets; /* borrowed, NULL behind the last */
    struct buf held[2];         /* what has not been written yet, of each stream */
    int64_t offset;
    int64_t most;    /* bytes that the log may take; 0: no limit */
    int64_t punched; /* end of the hole */
    int64_t indexed; /* bytes of the index */
    int last;        /* stream of the last byte written, -1 at first */
    bool midline;    /* that byte was no line end */
    bool broken;     /* writing failed: the rest is thrown away, the job goes on */
};

/* Opens (appends to) `path` and `path`.idx with mode 0600. 0, or an errno. */
int backend_log_writer_open(struct backend_log_writer *p, const char *path,
                            const char *const *secrets);
void backend_log_writer_feed(struct backend_log_writer *p, int stream, const char *data,
                             size_t n);
/* Writes what is held; `all`: also the part that might be the beginning of a secret. */
void backend_log_writer_flush(struct backend_log_writer *p, bool all);
bool backend_log_writer_holds(const struct backend_log_writer *p);
void backend_log_writer_close(struct backend_log_writer *p);

#endif
