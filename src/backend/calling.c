/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/calling.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#define FILE_NAME "calling"

struct backend_calling *backend_calling_open(const char *dir)
{
    struct backend_calling *c = MAP_FAILED;
    char *path = fs_join(dir, FILE_NAME);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && ftruncate(fd, (off_t)sizeof(*c)) == 0)
        c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    mem_free(path);
    if (c == MAP_FAILED)
        return NULL;
    *c = (struct backend_calling){.pid = getpid()};
    return c;
}

void backend_calling_close(struct backend_calling *c)
{
    if (c)
        munmap(c, sizeof(*c));
}

void backend_calling_enter(struct backend_calling *c, const char *method)
{
    if (!c)
        return;
    c->since = clock_mono_ns();
    atomic_signal_fence(memory_order_seq_cst);
    snprintf(c->method, sizeof(c->method), "%s", method);
}

void backend_calling_leave(struct backend_calling *c)
{
    if (c)
        c->method[0] = '\0';
}

bool backend_calling_read(const char *dir, struct backend_calling *out)
{
    char *path = fs_join(dir, FILE_NAME);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : pread(fd, out, sizeof(*out), 0);
    if (fd >= 0)
        close(fd);
    mem_free(path);
    if (n != (ssize_t)sizeof(*out))
        *out = (struct backend_calling){.pid = 0};
    out->method[sizeof(out->method) - 1] = '\0';
    return out->method[0] != '\0';
}
