/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backend/backend.h"

static const struct backend_ops *const backends[] = {
#define BACKEND(name, image) &backend_##name,
#include "text/job/backends.def"
#undef BACKEND
};

const struct backend_ops *backend_at(size_t i)
{
    return i < ARRAY_LEN(backends) ? backends[i] : NULL;
}

const struct backend_ops *backend_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(backends); i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
