/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pq.h"

#include <dlfcn.h>
#include <string.h>

enum rc store_pq_load(struct store_pq *out, struct err *err)
{
    struct store_pq pq = {.lib = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL)};
    if (!pq.lib)
        return err_coded(err, RC_NOTFOUND, E3101,
                         "PostgreSQL's client library is not installed: %s", dlerror());
        /* POSIX lets an object pointer stand for a function here, C does not. */
#define X(name)                                                \
    do {                                                       \
        void *at = dlsym(pq.lib, #name);                       \
        if (!at)                                               \
            return err_coded(err, RC_UNSUPPORTED, E3101,       \
                             "libpq.so.5 has no " #name "()"); \
        memcpy(&pq.name, &at, sizeof(at));                     \
    } while (0);
    PQ_FUNCTIONS(X)
#undef X
    *out = pq;
    return RC_OK;
}
