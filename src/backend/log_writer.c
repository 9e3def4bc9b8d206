/* SPDX-License-Identifier: Apache-2.0 */
/* Lines are held until their end has come, one buffer per stream, so that two streams do not
 * mix within a line and a secret that comes in two pieces is found. A piece is masked, then
 * written, then its place and time go to the index.
 */
#include "backend/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/secret.h"

#define HOLE_ALIGN ((int64_t)64 << 10) /* whole blocks of any usual file system */

int backend_log_writer_open(struct backend_log_writer *p, const char *path,
                            const char *const *secrets)
{
    char *index = mem_printf("%s.idx", path);
    struct stat st;
    *p = (struct backend_log_writer){.secrets = secrets, .last = -1};
    p->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    p->index = open(index, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    mem_free(index);
    if (p->log < 0 || p->index < 0 || fstat(p->log, &st) < 0)
        return errno;
    p->offset = st.st_size;
    buf_init(&p->held[0], 16 << 20);
    buf_init(&p->held[1], 16 << 20);
    return 0;
}

void backend_log_writer_close(struct backend_log_writer *p)
{
    backend_log_writer_flush(p, true);
    if (p->log >= 0)
        close(p->log);
    if (p->index >= 0)
        close(p->index);
    p->log = p->index = -1;
    buf_release(&p->held[0]);
    buf_release(&p->held[1]);
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* Puts *** over every secret, in place: the text never grows. */
static size_t mask(const struct backend_log_writer *p, char *text, size_t n)
{
    for (size_t i = 0; p->secrets && p->secrets[i]; i++) {
        const char *s = p->secrets[i];
        size_t length = strlen(s);
        if (length < SECRET_SHORTEST)
            continue;
        for (char *at = text; (at = memmem(at, n - (size_t)(at - text), s, length));) {
            memcpy(at, "***", 3);
            memmove(at + 3, at + length, n - (size_t)(at - text) - length);
            n -= length - 3;
            at += 3;
        }
    }
    return n;
}

/* Old output makes room for new. */
static void make_room(struct backend_log_writer *p)
{
    static const char last[] = "\n[the log reached its limit: the rest is not kept]\n";
    int64_t head = p->most / 4 / HOLE_ALIGN * HOLE_ALIGN;
    int64_t from = p->punched > head ? p->punched : head;
    int64_t to = (p->offset - p->most / 2) / HOLE_ALIGN * HOLE_ALIGN;
    if (p->most <= 0 || head + p->offset - from <= p->most || to <= from || p->broken)
        return;
    if (fallocate(p->log, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from) ==
        0) {
        p->punched = to;
        return;
    }
    write_all(p->log, last, sizeof(last) - 1);
    p->broken = true;
}

static void put(struct backend_log_writer *p, int stream, char *text, size_t n)
{
    char line[64];
    n = mask(p, text, n);
    if (!n || p->broken)
        return;
    if (p->midline && p->last != stream) {
        p->broken |= !write_all(p->log, "\n", 1);
        p->offset++;
    }
    int k = snprintf(line, sizeof(line), "%jd %jd %c\n", (intmax_t)p->offset,
                     (intmax_t)(clock_wall_ns() / 1000000), stream ? 'e' : 'o');
    p->broken |= !write_all(p->log, text, n);
    /* A log without times is still a log. */
    bool room = p->most <= 0 || p->indexed < p->most / 8;
    if (room && k > 0 && !p->broken && write_all(p->index, line, (size_t)k))
        p->indexed += k;
    p->offset += (int64_t)n;
    p->last = stream;
    p->midline = text[n - 1] != '\n';
    make_room(p);
}

/* Writes the first n bytes of what is held. */
static void release(struct backend_log_writer *p, int stream, size_t n)
{
    struct buf *b = &p->held[stream];
    if (!n)
        return;
    size_t rest = b->n - n;
    char *tail = rest ? mem_strndup(b->p + n, rest) : NULL;
    put(p, stream, b->p, n);
    buf_clear(b);
    if (rest)
        buf_add(b, tail, rest);
    mem_free(tail);
}

/* Masks what is held; how many bytes at its end may still be the beginning of a secret.
 */
static size_t unsure(const struct backend_log_writer *p, struct buf *b)
{
    size_t most = 0;
    if (b->n)
        b->n = mask(p, b->p, b->n);
    for (size_t i = 0; p->secrets && p->secrets[i]; i++) {
        size_t length = strlen(p->secrets[i]);
        for (size_t k = length ? length - 1 : 0; k > most; k--)
            if (k <= b->n && memcmp(b->p + b->n - k, p->secrets[i], k) == 0)
                most = k;
    }
    return most;
}

void backend_log_writer_feed(struct backend_log_writer *p, int stream, const char *data,
                             size_t n)
{
    struct buf *b = &p->held[stream];
    buf_add(b, data, n);
    const char *end = b->n ? memrchr(b->p, '\n', b->n) : NULL;
    if (end)
        release(p, stream, (size_t)(end - b->p) + 1);
    if (b->n > LOG_WRITER_HELD_MAX) {
        size_t keep = unsure(p, b);
        release(p, stream, b->n - keep);
    }
}

void backend_log_writer_flush(struct backend_log_writer *p, bool all)
{
    for (int i = 0; i < 2; i++) {
        size_t keep = all ? 0 : unsure(p, &p->held[i]);
        if (p->held[i].n > keep)
            release(p, i, p->held[i].n - keep);
    }
}

bool backend_log_writer_holds(const struct backend_log_writer *p)
{
    return p->held[0].n || p->held[1].n;
}
