/* SPDX-License-Identifier: Apache-2.0 */
/* A file's blocks are reserved when it is made: a disk that fills up later would end the
 * process with SIGBUS in the middle of a step.
 */
#include "embed/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

static enum rc map_memory(const char *what, size_t bytes, void **out, struct err *err)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return err_coded(err, RC_NOMEM, E2304, "%s: no memory for %zu bytes", what,
                         bytes);
    *out = p;
    return RC_OK;
}

static int open_unnamed(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd;
    char *path = fs_join(dir, "trainyard-XXXXXX");
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    mem_free(path);
    return fd;
}

static enum rc map_file(const char *what, const char *dir, size_t bytes, void **out,
                        struct err *err)
{
    void *p = MAP_FAILED;
    int fd = open_unnamed(dir), errnum = fd < 0 ? errno : 0;
    if (fd >= 0)
        errnum = posix_fallocate(fd, 0, (off_t)bytes);
    if (fd >= 0 && (errnum == EOPNOTSUPP || errnum == EINVAL))
        errnum = ftruncate(fd, (off_t)bytes) == 0 ? 0 : errno;
    if (errnum == 0) {
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        errnum = p == MAP_FAILED ? errno : 0;
    }
    if (fd >= 0)
        close(fd);
    if (errnum) {
        enum rc rc = err_sys(err, errnum, "%s: %zu bytes in '%s'", what, bytes, dir);
        if (err)
            err->code = E2305;
        return rc;
    }
    madvise(p, bytes, MADV_RANDOM); /* rows are far apart: no reading ahead */
    *out = p;
    return RC_OK;
}

enum rc embed_pages_map(const char *what, const char *dir, size_t bytes, void **out,
                        struct err *err)
{
    return dir && dir[0] ? map_file(what, dir, bytes, out, err)
                         : map_memory(what, bytes, out, err);
}

void embed_pages_enlarge(void *p, size_t bytes)
{
    madvise(p, bytes, MADV_HUGEPAGE);
}

void embed_pages_gather(void *p, size_t bytes)
{
    enum { COLLAPSE = 25 }; /* MADV_COLLAPSE of Linux 6.1, which older headers lack */
    embed_pages_enlarge(p, bytes);
    madvise(p, bytes, COLLAPSE);
}

void embed_pages_unmap(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}
