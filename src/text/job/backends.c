/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/compiler.h"
#include "text/job/job.h"

static const struct jobspec_backend backends[] = {
#define BACKEND(name, image) {#name, JOB_IMAGE_##image},
#include "text/job/backends.def"
#undef BACKEND
};

const char job_backend_list[] =
#define BACKEND(name, image) "|" #name
#include "text/job/backends.def"
#undef BACKEND
    ;

const struct jobspec_backend *jobspec_backend_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(backends); i++)
        if (strcmp(backends[i].name, name) == 0)
            return &backends[i];
    return NULL;
}

const struct jobspec_backend *jobspec_backend_for(bool image)
{
    for (size_t i = 0; i < ARRAY_LEN(backends); i++)
        if ((backends[i].image != JOB_IMAGE_NEVER) == image)
            return &backends[i];
    return &backends[0];
}

bool jobspec_backend_runs_images(const char *name)
{
    const struct jobspec_backend *b = jobspec_backend_find(name);
    return b && b->image != JOB_IMAGE_NEVER;
}
