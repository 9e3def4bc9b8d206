/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

void backend_reserve_keep(const char *dir)
{
    char *path = fs_join(dir, "reserve");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        int errnum = posix_fallocate(fd, 0, RESERVE_BYTES);
        close(fd);
        if (errnum)
            unlink(path);
    }
    mem_free(path);
}

bool backend_reserve_give_up(const char *dir)
{
    char *path = fs_join(dir, "reserve");
    bool was = unlink(path) == 0;
    mem_free(path);
    return was;
}
