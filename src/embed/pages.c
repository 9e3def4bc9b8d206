/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/pages.h"

#include <errno.h>
#include <sys/mman.h>

enum rc pages_map(const char *what, size_t bytes, void **out, struct err *err)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return err_coded(err, RC_NOMEM, E2304, "%s: no memory for %zu bytes", what,
                         bytes);
    madvise(p, bytes, MADV_HUGEPAGE); /* a hint only */
    *out = p;
    return RC_OK;
}

void pages_unmap(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}
