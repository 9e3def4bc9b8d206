/* SPDX-License-Identifier: Apache-2.0 */
/* backend/backend_log.h - a log that is fetched from where a worker lives.
 *
 * Beside the log lies `LOG.at`, "SIZE INDEX-SIZE POSITION": up to which size log and index
 * hold all that the source has before POSITION. After a crash both are cut there and the
 * source is read on from POSITION, so that every byte is in the log once.
 */
#ifndef BACKEND_BACKEND_LOG_H
#define BACKEND_BACKEND_LOG_H

#include "backend/log_writer.h"

struct backend_log {
    struct backend_log_writer writer;
    char *path;       /* owned; NULL: not open */
    int64_t position; /* in the output of all lives of an attempt; bytes, or what the
                         backend measures by; 0 at first */
    int64_t saved;    /* the one in the file */
};

/* 0, or an errno. `secrets` as for backend_log_writer_open(). */
int backend_log_open(struct backend_log *l, const char *path, const char *const *secrets);
/* Adds bytes of stdout (0) or stderr (1); all before `position` has been added then. */
void backend_log_add(struct backend_log *l, int stream, const char *data, size_t n,
                     int64_t position);
/* Nothing more came for a moment: shows unfinished lines, remembers the position. */
void backend_log_rest(struct backend_log *l);
void backend_log_close(struct backend_log *l);

#endif
