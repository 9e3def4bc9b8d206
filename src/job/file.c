/* SPDX-License-Identifier: Apache-2.0 */
#include "job/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

enum rc job_file_put(const char *path, const void *data, size_t n, mode_t mode,
                     struct err *err)
{
    char *temp = mem_printf("%s.XXXXXX", path);
    int fd = mkostemp(temp, O_CLOEXEC);
    enum rc rc = RC_OK;
    if (fd < 0 || fchmod(fd, mode) < 0 || write_all(fd, data, n) < 0 ||
        rename(temp, path) < 0) {
        rc = err_sys(err, errno, "cannot write '%s'", path);
        if (fd >= 0)
            unlink(temp);
    }
    if (fd >= 0)
        close(fd);
    mem_free(temp);
    return rc;
}

int job_lock_take(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

bool job_lock_held(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

int job_wake_open(const char *path, struct err *err)
{
    if (mkfifo(path, 0600) < 0 && errno != EEXIST) {
        err_sys(err, errno, "cannot make '%s'", path);
        return -1;
    }
    /* For writing too: the reader must not see an end when the last writer leaves. */
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        err_sys(err, errno, "cannot open '%s'", path);
    return fd;
}

bool job_wake_send(const char *path)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = write(fd, "x", 1);
    bool heard = n == 1 || errno == EAGAIN; /* full: it has enough to wake up from */
    close(fd);
    return heard;
}

void job_wake_drain(int fd)
{
    char block[512];
    while (read(fd, block, sizeof(block)) > 0)
        ;
}
