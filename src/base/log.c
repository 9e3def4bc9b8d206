/* SPDX-License-Identifier: Apache-2.0 */
/* A line is built on the stack and goes out in one write() of at most LINE_SIZE bytes,
 * which a pipe takes whole (PIPE_BUF). The lock is for the rare file that takes less.
 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#define LINE_SIZE 4096
#define MESSAGE_SIZE 3600
#define MESSAGE_MIN 64 /* this much always fits, however it is escaped */
#define JOB_MAX 256

static const char *const names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};
static const char *const colours[] = {
    [LOG_LEVEL_ERROR] = "\x1b[1;31m",
    [LOG_LEVEL_WARN] = "\x1b[33m",
    [LOG_LEVEL_INFO] = "",
    [LOG_LEVEL_DEBUG] = "\x1b[2m",
};

static atomic_int threshold = LOG_LEVEL_INFO;
static atomic_int out_format = LOG_TEXT;
static atomic_int out_fd = STDERR_FILENO;
static atomic_bool out_colour;
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

void log_setup(enum log_level most, enum log_format format, int fd)
{
    threshold = (int)most;
    out_format = (int)format;
    out_fd = fd;
    out_colour = format == LOG_TEXT && isatty(fd) && !getenv("NO_COLOR");
}

bool log_wanted(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&threshold, memory_order_relaxed);
}

bool log_level_find(const char *name, enum log_level *out)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcasecmp(name, names[i]) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    return false;
}

const char *log_level_name(enum log_level level)
{
    return names[level];
}

/* Control characters as \n, \t or \x1b, also those of two bytes in UTF-8. */
static void put_escaped(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool c1 = c == 0xc2 && i + 1 < n && ((unsigned char)s[i + 1] & 0xe0) == 0x80;
        if (c == '\n')
            buf_puts(b, "\\n");
        else if (c == '\t')
            buf_puts(b, "\\t");
        else if (c == '\r')
            buf_puts(b, "\\r");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(b, "\\x%02x", c);
        else if (c1)
            buf_printf(b, "\\x%02x", (unsigned char)s[++i]);
        else
            buf_putc(b, (char)c);
    }
}

static void put_text(struct buf *b, enum log_level level, const char *area,
                     const char *job, struct str msg, bool cut)
{
    const char *colour = out_colour ? colours[level] : "";
    buf_printf(b, "trainyard: %s%s%s: %s: ", colour, names[level],
               *colour ? "\x1b[0m" : "", area);
    if (job) {
        buf_puts(b, "job ");
        put_escaped(b, job, strnlen(job, JOB_MAX));
        buf_puts(b, ": ");
    }
    put_escaped(b, msg.p, msg.n);
    buf_puts(b, cut ? "...\n" : "\n");
}

static void put_json(struct buf *b, enum log_level level, const char *area,
                     const char *job, struct str msg, bool cut)
{
    char time[CLOCK_TEXT_SIZE];
    clock_rfc3339(clock_wall_ns(), time);
    buf_printf(b, "{\"time\":\"%s\",\"level\":\"%s\",\"area\":", time, names[level]);
    buf_json_str(b, area, strlen(area));
    if (job) {
        buf_puts(b, ",\"job\":");
        buf_json_str(b, job, strnlen(job, JOB_MAX));
    }
    buf_puts(b, ",\"msg\":");
    buf_json_str(b, msg.p, msg.n);
    if (cut)
        buf_puts(b, ",\"cut\":true");
    buf_puts(b, "}\n");
}

static void log_emit(const char *p, size_t n)
{
    int fd = out_fd;
    pthread_mutex_lock(&write_lock);
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            break; /* nobody is left to tell */
        p += done;
        n -= (size_t)done;
    }
    pthread_mutex_unlock(&write_lock);
}

void log_write(enum log_level level, const char *area, const char *job, const char *fmt,
               ...)
{
    int errnum = errno;
    char message[MESSAGE_SIZE], line[LINE_SIZE];
    va_list ap;
    va_start(ap, fmt);
    int wanted = vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    struct str msg = str_of(message, strlen(message));
    bool cut = wanted >= MESSAGE_SIZE;
    for (;;) {
        /* Never grows: its ceiling is the room that it has. */
        struct buf b = {.p = line, .cap = sizeof(line), .max = sizeof(line) - 1};
        (out_format == LOG_JSON ? put_json : put_text)(&b, level, area, job, msg, cut);
        if (!b.failed || msg.n <= MESSAGE_MIN) {
            log_emit(line, b.n);
            break;
        }
        msg.n -= msg.n / 4;
        cut = true;
    }
    errno = errnum;
}
