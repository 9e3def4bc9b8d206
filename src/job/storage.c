/* SPDX-License-Identifier: Apache-2.0 */
#include "job/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/space.h"

#define BLOCK INT64_C(4096) /* of a usual file system */

static int64_t read_count(int fd)
{
    char text[32];
    int64_t n = 0;
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return str_to_i64(str_trim(str_c(text)), &n) && n > 0 ? n : 0;
}

static int open_count(const struct job_place *p, struct err *err)
{
    char *dir = mem_printf("%s/users/%s", p->dir, p->owner),
         *path = fs_join(dir, "bytes");
    int fd = -1;
    if (fs_mkdirs(dir, 0700, err) == RC_OK) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            err_sys(err, errno, "cannot open '%s'", path);
    }
    mem_free(path);
    mem_free(dir);
    return fd;
}

static enum rc refuse(const char *owner, int64_t bytes, int64_t now, int64_t most,
                      struct err *err)
{
    char more[24], has[24], may[24];
    job_space_words(bytes, more);
    job_space_words(now, has);
    job_space_words(most, may);
    return err_coded(err, RC_INVAL, E5501,
                     "%s more do not fit: %s stores %s and may store %s; delete jobs or "
                     "models, or ask an admin",
                     more, owner, has, may);
}

enum rc job_storage_count(const struct job_place *p, int64_t bytes, int64_t most,
                          struct err *err)
{
    char text[32];
    enum rc rc = RC_OK;
    int fd = open_count(p, err);
    if (fd < 0)
        return RC_IO;
    flock(fd, LOCK_EX);
    int64_t now = read_count(fd);
    if (bytes > 0 && most > 0 && bytes > most - now) {
        rc = refuse(p->owner, bytes, now, most, err);
    } else {
        now = now + bytes > 0 ? now + bytes : 0;
        int n = snprintf(text, sizeof(text), "%-20jd\n", (intmax_t)now);
        if (pwrite(fd, text, (size_t)n, 0) != n)
            rc = err_sys(err, errno, "cannot count what %s stores", p->owner);
    }
    close(fd);
    return rc;
}

int64_t job_storage_charge(int64_t n)
{
    return n <= 0 ? BLOCK : (n + BLOCK - 1) / BLOCK * BLOCK;
}

int64_t job_storage_counted(const struct job_place *p)
{
    int fd = open_count(p, NULL);
    int64_t n = fd >= 0 ? read_count(fd) : 0;
    if (fd >= 0)
        close(fd);
    return n;
}
