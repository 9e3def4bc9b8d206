/* SPDX-License-Identifier: Apache-2.0 */
#include "text/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"

static void index_lines(struct source *s)
{
    size_t count = 1;
    for (size_t i = 0; i < s->n; i++)
        count += s->text[i] == '\n';
    s->lines = mem_calloc(count, sizeof(*s->lines));
    s->n_lines = 1;
    for (size_t i = 0; i < s->n; i++)
        if (s->text[i] == '\n')
            s->lines[s->n_lines++] = (uint32_t)(i + 1);
}

static enum rc check_text(const struct source *s, struct err *err)
{
    for (size_t i = 0; i < s->n;) {
        size_t len = utf8_len(s->text + i, s->n - i);
        if (len == 0 || s->text[i] == '\0') {
            uint32_t line, col;
            source_locate(s, (uint32_t)i, &line, &col);
            return err_coded(err, RC_FORMAT, E0101, "line %u, column %u: %s", line, col,
                             len == 0 ? "not UTF-8 text" : "a NUL byte in a text file");
        }
        i += len;
    }
    return RC_OK;
}

/* Takes `text`, which has n bytes and a NUL. */
static enum rc source_adopt(const char *name, char *text, size_t n, struct source **out,
                            struct err *err)
{
    struct source *s = mem_calloc(1, sizeof(*s));
    s->name = mem_strdup(name);
    s->text = text;
    s->n = n;
    index_lines(s);
    enum rc rc = check_text(s, err);
    if (rc)
        source_close(s);
    else
        *out = s;
    return rc;
}

enum rc source_from(const char *name, const char *text, size_t n, struct source **out,
                    struct err *err)
{
    if (n > SOURCE_MAX)
        return err_coded(err, RC_FORMAT, E0102,
                         "%zu bytes are more than the limit of %zu", n, SOURCE_MAX);
    char *copy = mem_try_alloc(n + 1, 1);
    if (!copy)
        return err_set(err, RC_NOMEM, "no memory for %zu bytes of text", n);
    if (n)
        memcpy(copy, text, n);
    copy[n] = '\0';
    return source_adopt(name, copy, n, out, err);
}

static enum rc read_all(int fd, struct buf *b, struct err *err)
{
    char block[65536];
    for (;;) {
        ssize_t got = read(fd, block, sizeof(block));
        if (got == 0)
            return RC_OK;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "cannot read");
        buf_add(b, block, (size_t)got);
        if (b->failed)
            return err_coded(err, RC_FORMAT, E0102, "more than the limit of %zu bytes",
                             SOURCE_MAX);
    }
}

enum rc source_open(const char *path, struct source **out, struct err *err)
{
    struct buf b;
    buf_init(&b, SOURCE_MAX);
    enum rc rc = RC_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        rc = err_sys(err, errno, "cannot open");
    else
        rc = read_all(fd, &b, err);
    if (fd >= 0)
        close(fd);
    if (!rc) {
        size_t n = b.n;
        rc = source_adopt(path, buf_take(&b), n, out, err);
    }
    buf_release(&b);
    return rc ? err_wrap(err, rc, "%s", path) : RC_OK;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    mem_free(s->name);
    mem_free(s->text);
    mem_free(s->lines);
    mem_free(s);
}

void source_locate(const struct source *s, uint32_t off, uint32_t *line, uint32_t *col)
{
    size_t low = 0, high = s->n_lines;
    if (off > s->n)
        off = (uint32_t)s->n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (s->lines[mid] <= off)
            low = mid;
        else
            high = mid;
    }
    uint32_t c = 1;
    for (uint32_t i = s->lines[low]; i < off; i++)
        c += ((unsigned char)s->text[i] & 0xc0) != 0x80;
    *line = (uint32_t)(low + 1);
    *col = c;
}

struct str source_line(const struct source *s, uint32_t line)
{
    if (line == 0 || line > s->n_lines)
        return str_of("", 0);
    size_t from = s->lines[line - 1];
    size_t to = line < s->n_lines ? s->lines[line] - 1 : s->n;
    if (to > from && s->text[to - 1] == '\r')
        to--;
    return str_of(s->text + from, to - from);
}
