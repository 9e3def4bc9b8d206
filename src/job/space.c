/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are kept in small files of the directory of jobs. A tree is measured through
 * descriptors, links are not followed, and depth costs nothing: directories that lie too
 * deep are put off and measured by themselves.
 */
#include "job/space.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "job/archive.h"
#include "job/file.h"

#define DEPTH_MAX 200 /* directories open at once, and of those put off: */
#define DEEP_MAX 256

static bool read_number(const char *path, int64_t *out)
{
    char *text = NULL;
    size_t n = 0;
    bool found = fs_exists(path) && fs_read(path, 64, &text, &n, NULL) == RC_OK &&
                 str_to_i64(str_trim(str_c(text)), out) && *out >= 0;
    mem_free(text);
    return found;
}

static enum rc write_number(const char *path, int64_t value, struct err *err)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "%jd\n", (intmax_t)value);
    return job_file_put(path, text, (size_t)n, 0644, err);
}

enum rc job_space_read(const char *dir, struct job_space *out, struct err *err)
{
    char *path = fs_join(dir, "min-free");
    struct job_space s = {0};
    bool given = read_number(path, &s.min_free);
    mem_free(path);
    enum rc rc = fs_space(dir, &s.free, &s.total, err);
    if (!rc)
        rc = fs_files(dir, &s.free_files, &s.files, err);
    if (!given)
        s.min_free = s.total / SPACE_MIN_SHARE < SPACE_MIN_FREE
                         ? s.total / SPACE_MIN_SHARE
                         : SPACE_MIN_FREE;
    if (!rc)
        *out = s;
    return rc;
}

enum rc job_space_keep(const char *dir, int64_t min_free, struct err *err)
{
    char *path = fs_join(dir, "min-free");
    enum rc rc = write_number(path, min_free, err);
    mem_free(path);
    return rc;
}

int64_t job_space_log(const char *dir)
{
    char *path = fs_join(dir, "log-size");
    int64_t bytes = 0;
    bool given = read_number(path, &bytes);
    mem_free(path);
    return given ? bytes : 0;
}

enum rc job_space_keep_log(const char *dir, int64_t bytes, struct err *err)
{
    char *path = fs_join(dir, "log-size");
    enum rc rc = write_number(path, bytes, err);
    mem_free(path);
    return rc;
}

void job_space_words(int64_t bytes, char out[24])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)bytes;
    size_t i = 0;
    for (; v >= 1024 && i + 1 < ARRAY_LEN(units); i++)
        v /= 1024;
    snprintf(out, 24, i ? "%.1f %s" : "%.0f %s", v, units[i]);
}

bool job_space_short(const char *dir, int64_t bytes, struct buf *why)
{
    struct job_space s;
    char have[24], keep[24];
    if (job_space_read(dir, &s, NULL))
        return false;
    if (s.free_files < s.files / SPACE_FILES_SHARE) {
        if (why)
            buf_printf(
                why,
                "the disk of %s is nearly full: of %jd files that it can have %jd are "
                "left; delete jobs or run `trainyard gc`",
                dir, (intmax_t)s.files, (intmax_t)s.free_files);
        return true;
    }
    if (s.free - bytes >= s.min_free)
        return false;
    job_space_words(s.free, have);
    job_space_words(s.min_free, keep);
    if (why)
        buf_printf(why,
                   "the disk of %s is nearly full: %s are free, and %s are kept free "
                   "(--min-free); delete jobs or run `trainyard gc`",
                   dir, have, keep);
    return true;
}

struct measuring {
    VEC(int) deep; /* directories that lie too deep, to be measured by themselves */
    int64_t bytes;
    bool whole;
};

/* Takes the fd. */
static void measure_later(struct measuring *m, int fd)
{
    m->whole &= fd >= 0 || (errno != EMFILE && errno != ENFILE);
    if (fd >= 0 && m->deep.n < DEEP_MAX) {
        VEC_PUSH(&m->deep, fd);
    } else if (fd >= 0) {
        m->whole = false;
        close(fd);
    }
}

/* Takes the fd. */
static void measure_dir(struct measuring *m, int fd, int depth)
{
    DIR *d = fdopendir(fd);
    if (!d) {
        close(fd);
        return;
    }
    for (const struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        int64_t bytes = (int64_t)st.st_blocks * 512;
        m->bytes += bytes < SPACE_FILE_LEAST ? SPACE_FILE_LEAST : bytes;
        if (!S_ISDIR(st.st_mode))
            continue;
        int sub = fs_open_own(dirfd(d), e->d_name, O_DIRECTORY);
        if (sub >= 0 && depth < DEPTH_MAX)
            measure_dir(m, sub, depth + 1);
        else
            measure_later(m, sub);
    }
    closedir(d);
}

int64_t job_space_below(int fd, bool *whole)
{
    struct measuring m = {.whole = true};
    measure_dir(&m, fd, 0);
    while (m.deep.n)
        measure_dir(&m, m.deep.at[--m.deep.n], 0);
    VEC_RELEASE(&m.deep);
    *whole = m.whole;
    return m.bytes;
}

int64_t job_space_of(const char *path)
{
    bool whole;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 ? job_space_below(fd, &whole) : 0;
}

int64_t job_space_of_job(const struct job_place *p, const char *id, bool ended)
{
    char *dir = job_place_dir(p, id), *kept = fs_join(dir, "size");
    int64_t bytes = 0;
    if (!ended || !read_number(kept, &bytes)) {
        bytes = job_space_of(dir);
        if (ended && fs_is_dir(dir)) {
            enum rc rc = write_number(kept, bytes, NULL);
            (void)rc; /* then it is measured again */
        }
    }
    mem_free(kept);
    mem_free(dir);
    return bytes + job_archive_bytes(p, id);
}
