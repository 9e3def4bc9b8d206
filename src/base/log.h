/* SPDX-License-Identifier: Apache-2.0 */
/* base/log.h - lines for the person who watches.
 *
 *     #define LOG_AREA "sched"
 *     int age = 30;
 *     const char *id = "dlc1", *backend = "local";
 *     log_warn("no heartbeat for %d s, asking the backend", age);
 *     log_job(LOG_LEVEL_INFO, id, "started on %s", backend);
 *
 * error: someone must act. warn: odd but handled. info: a few lines per job. debug: per
 * object, off by default. Only the edges log (main, a request handler, the scheduler);
 * a library returns its error instead. A line is one write(), so lines of threads and of
 * processes that share the file do not mix; control characters are escaped; a long line
 * is cut and ends in "...". Logging allocates nothing. Any thread may log.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/compiler.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_format {
    LOG_TEXT, /* trainyard: warn: sched: message */
    LOG_JSON, /* {"time":"…Z","level":"warn","area":"sched","job":"j1","msg":"message"} */
};

/* Where lines go and which; before it is called: text on stderr, up to info. Colour only
 * in text on a terminal, unless NO_COLOR is set. Call it while no other thread logs.
 */
void log_setup(enum log_level most, enum log_format format, int fd);

bool log_wanted(enum log_level level);
/* "error", "warn", "info", "debug", in any case; false for other names. */
bool log_level_find(const char *name, enum log_level *out) MUST_CHECK;
const char *log_level_name(enum log_level level);

/* Writes a line whatever its level; use the macros. `job` may be NULL. */
void log_write(enum log_level level, const char *area, const char *job, const char *fmt,
               ...) PRINTF_LIKE(4, 5);

/* The file that logs defines LOG_AREA. */
#define LOG_LINE(level, job, ...)                         \
    do {                                                  \
        if (log_wanted(level))                            \
            log_write(level, LOG_AREA, job, __VA_ARGS__); \
    } while (0)
#define log_error(...) LOG_LINE(LOG_LEVEL_ERROR, NULL, __VA_ARGS__)
#define log_warn(...) LOG_LINE(LOG_LEVEL_WARN, NULL, __VA_ARGS__)
#define log_info(...) LOG_LINE(LOG_LEVEL_INFO, NULL, __VA_ARGS__)
#define log_debug(...) LOG_LINE(LOG_LEVEL_DEBUG, NULL, __VA_ARGS__)
/* About one job: text gets "job ID: " before the message, JSON a field of its own. */
#define log_job(level, id, ...) LOG_LINE(level, id, __VA_ARGS__)

#endif
