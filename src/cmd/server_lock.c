/* SPDX-License-Identifier: Apache-2.0 */
/* A record lock, which a child does not inherit: what the server started may outlive it. The
 * file says who holds it, for the message to others, on other machines as well.
 */
#include "cmd/server_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

static enum rc taken(const char *dir, int fd, struct err *err)
{
    char holder[400] = "";
    ssize_t n = pread(fd, holder, sizeof(holder) - 1, 0);
    holder[n > 0 ? n : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    return err_coded(err, RC_INVAL, E5021,
                     "'%.200s' has a server already%s%s; stop it first, or give this one "
                     "a directory of its own with --dir",
                     dir, *holder ? ": " : "", holder);
}

static enum rc sign(int fd, struct err *err)
{
    char host[256] = "", line[400];
    if (gethostname(host, sizeof(host) - 1) < 0)
        snprintf(host, sizeof(host), "localhost");
    int n = snprintf(line, sizeof(line), "process %jd on %s\n", (intmax_t)getpid(), host);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, line, (size_t)n, 0) != n)
        return err_sys(err, errno, "cannot write server.lock");
    return RC_OK;
}

enum rc server_lock_take(const char *dir, int *fd, struct err *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = fs_join(dir, "server.lock");
    int got = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    enum rc rc = RC_OK;
    if (got < 0)
        rc = err_sys(err, errno, "cannot open '%s'", path);
    else if (fcntl(got, F_SETLK, &whole) < 0)
        rc = errno == EACCES || errno == EAGAIN
                 ? taken(dir, got, err)
                 : err_sys(err, errno, "cannot lock '%s'", path);
    else
        rc = sign(got, err);
    mem_free(path);
    if (rc && got >= 0)
        close(got);
    if (!rc)
        *fd = got;
    return rc;
}
