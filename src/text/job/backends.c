/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/compiler.h"
#include "text/job/job.h"

static const struct jobspec_backend backends[] = {
#define BACKEND(name, image) {#name, JOB_IMAGE_##image},
#include "text/job/backends.def"
#undef BACKEND
};

const char jobspec_backend_list[] =
#define BACKEND(name, image) "|" #name
#include "text/job/backends.def"
#undef BACKEND
    "|auto";

#define TAKES_NEVER "without an image"
#define TAKES_MUST "with an image"
const char jobspec_backend_help[] =
    "where it runs; unset: the first that fits; auto: one with room for it"
#define BACKEND(name, image) "; " #name ": " TAKES_##image
#include "text/job/backends.def"
#undef BACKEND
    ;

const char jobspec_backend_option_help[] =
    "settings that its backend alone has, name: value"
#define OPTION(backend, name, check, help) ". " #name " (" #backend "): " help
#include "text/job/backend_options.def"
#undef OPTION
    ;

static const struct jobspec_option options[] = {
#define OPTION(backend, name, check, help) {#backend, #name, check, help},
#include "text/job/backend_options.def"
#undef OPTION
};

const struct jobspec_option *jobspec_option_at(size_t i)
{
    return i < ARRAY_LEN(options) ? &options[i] : NULL;
}

const char *jobspec_backend_option(const struct jobspec_JobSpec *s, const char *name)
{
    for (int64_t i = 0; i < s->n_backend_option; i++)
        if (strcmp(s->backend_option[i].key, name) == 0)
            return s->backend_option[i].value;
    return NULL;
}

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
