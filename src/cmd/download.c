/* SPDX-License-Identifier: Apache-2.0 */
/* A file is fetched in parts that are appended to PATH.part. After a broken connection the
 * next call goes on behind what is there, if the digest of the whole is known: then a wrong
 * beginning cannot go unnoticed. Without one it starts over, and within one call all parts
 * are of one version of the file. Size and digest are checked before the file gets its name;
 * a resumed file that is wrong is fetched once more from its beginning.
 */
#include "cmd/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "job/tree.h"

#define PART_MAX ((size_t)32 << 20)

static enum rc write_part(int fd, const struct buf *b, const char *path, struct err *err)
{
    const char *data = buf_str(b);
    for (size_t done = 0; done < b->n;) {
        ssize_t n = write(fd, data + done, b->n - done);
        if (n < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot write '%s'", path);
        done += n > 0 ? (size_t)n : 0;
    }
    return RC_OK;
}

static enum rc append_parts(const struct download *d, int fd, int64_t at,
                            const char *path, struct err *err)
{
    char version[80] = "";
    enum rc rc = RC_OK;
    struct buf b;
    buf_init(&b, PART_MAX);
    while (!rc && at < d->bytes) {
        buf_clear(&b);
        rc = d->part(d->arg, at, version, &b, err);
        if (!rc && !b.n)
            break; /* shorter than announced: the check says so */
        if (!rc)
            rc = write_part(fd, &b, path, err);
        at += (int64_t)b.n;
    }
    buf_release(&b);
    return rc;
}

static enum rc fetch(const struct download *d, const char *part, bool again,
                     struct err *err)
{
    struct stat st;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    int fd = open(part, flags | (again || !*d->sha256 ? O_TRUNC : 0), 0644);
    if (fd < 0 || fstat(fd, &st) < 0) {
        enum rc rc = err_sys(err, errno, "cannot write '%s'", part);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    enum rc rc = append_parts(d, fd, st.st_size, part, err);
    if (close(fd) < 0 && !rc)
        rc = err_sys(err, errno, "cannot write '%s'", part);
    return rc;
}

/* True when the file at `path` is the one that was announced. */
static bool is_right(const struct download *d, const char *path, struct err *err)
{
    char found[SHA256_TEXT_SIZE] = "";
    int64_t bytes = -1;
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != d->bytes) {
        err_coded(err, RC_INVAL, E5503,
                  "'%s' has another size than the %jd bytes announced", d->path,
                  (intmax_t)d->bytes);
        return false;
    }
    if (!*d->sha256)
        return true;
    if (sha256_file(path, found, &bytes, err) == RC_OK && strcmp(found, d->sha256) == 0)
        return true;
    err_coded(err, RC_INVAL, E5503, "'%s' has the SHA-256 %s, announced was %s", d->path,
              found, d->sha256);
    return false;
}

static enum rc fetch_checked(const struct download *d, const char *part, struct err *err)
{
    struct stat st;
    bool begun = lstat(part, &st) == 0 && st.st_size > 0;
    enum rc rc = fetch(d, part, false, err);
    if (!rc && !is_right(d, part, err) && begun)
        rc = fetch(d, part, true, err);
    if (!rc && !is_right(d, part, err)) {
        unlink(part);
        rc = RC_INVAL;
    }
    return rc;
}

enum rc download_file(const struct download *d, bool *kept, struct err *err)
{
    if (!job_tree_path_ok(d->path))
        return err_coded(err, RC_INVAL, E5503, "'%.200s' is not the path of a file",
                         d->path);
    char *path = fs_join(d->dir, d->path), *part = mem_printf("%s.part", path),
         *dir = fs_dirname(path);
    struct err quiet = {0};
    enum rc rc = fs_mkdirs(dir, 0755, err);
    *kept = !rc && *d->sha256 && is_right(d, path, &quiet);
    if (!rc && !*kept) {
        rc = fetch_checked(d, part, err);
        if (!rc && rename(part, path) < 0)
            rc = err_sys(err, errno, "cannot write '%s'", path);
    }
    mem_free(dir);
    mem_free(part);
    mem_free(path);
    return rc;
}
