/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend_log.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"

struct mark {
    int64_t size, index, position;
};

static bool read_mark(const char *path, struct mark *out)
{
    char *file = mem_printf("%s.at", path), *text = NULL;
    size_t n = 0, got = 0;
    int64_t v[3];
    if (fs_exists(file) && fs_read(file, 200, &text, &n, NULL) == RC_OK) {
        struct str rest = str_trim(str_of(text, n)), word;
        while (got < 3 && str_split(&rest, ' ', &word) && str_to_i64(word, &v[got]))
            got++;
    }
    mem_free(text);
    mem_free(file);
    if (got == 3)
        *out = (struct mark){v[0], v[1], v[2]};
    return got == 3;
}

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 ? 0 : st.st_size;
}

/* Cuts what was written behind the mark. */
static int cut(const char *path, int64_t size)
{
    if (size_of(path) <= size)
        return 0;
    return truncate(path, size) < 0 ? errno : 0;
}

int backend_log_open(struct backend_log *l, const char *path, const char *const *secrets)
{
    struct mark m = {0};
    char *index = mem_printf("%s.idx", path);
    bool marked = read_mark(path, &m);
    *l = (struct backend_log){.position = marked ? m.position : 0, .saved = m.position};
    int rc = cut(path, m.size);
    if (!rc)
        rc = cut(index, m.index);
    mem_free(index);
    if (!rc)
        rc = backend_log_writer_open(&l->writer, path, secrets);
    if (!rc)
        l->path = mem_strdup(path);
    return rc;
}

void backend_log_add(struct backend_log *l, int stream, const char *data, size_t n,
                     int64_t position)
{
    backend_log_writer_feed(&l->writer, stream, data, n);
    l->position = position;
}

/* Only where everything before the position is in the file: a line that is held back
 * would be lost with us.
 */
static void save(struct backend_log *l)
{
    if (l->saved == l->position || backend_log_writer_holds(&l->writer) ||
        l->writer.midline)
        return;
    char *file = mem_printf("%s.at", l->path), *index = mem_printf("%s.idx", l->path);
    char *text = mem_printf("%jd %jd %jd\n", (intmax_t)l->writer.offset,
                            (intmax_t)size_of(index), (intmax_t)l->position);
    if (job_file_put(file, text, strlen(text), 0600, NULL) == RC_OK)
        l->saved = l->position;
    mem_free(text);
    mem_free(index);
    mem_free(file);
}

void backend_log_rest(struct backend_log *l)
{
    backend_log_writer_flush(&l->writer, false);
    save(l);
}

void backend_log_close(struct backend_log *l)
{
    if (!l->path)
        return;
    backend_log_writer_close(&l->writer);
    save(l);
    mem_free(l->path);
    *l = (struct backend_log){.path = NULL};
}
