/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include "feature/feature_private.h"

bool feature_mem_room(struct feature_mem *m, size_t n, size_t size)
{
    if (n <= SIZE_MAX / 64 && LIKELY(n * size <= m->cap)) /* no size is above 64 */
        return true;
    if (n > SIZE_MAX / 64)
        return false;
    size_t want = m->cap + m->cap / 2;
    if (want < n * size)
        want = n * size + 64;
    void *p = mem_try_realloc(m->p, want, 1);
    if (!p)
        return false;
    m->p = p;
    m->cap = want;
    return true;
}

void feature_mem_release(struct feature_mem *m)
{
    mem_free(m->p);
    *m = (struct feature_mem){0};
}
