/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/pods_kind.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const struct pods_row rows[] = {
#define KIND(name, group, version, resource, object) \
    {&pods_kind_##name, group, version, resource, object},
#include "text/job/pods_kinds.def"
#undef KIND
};

const struct pods_row *pods_row_at(size_t i)
{
    return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

const struct pods_row *pods_row_find(const char *name)
{
    if (!name)
        return &rows[0];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].kind->name, name) == 0)
            return &rows[i];
    return NULL;
}

const struct pods_row *pods_row_of(const struct backend_job *j)
{
    const struct pods_row *r = pods_row_find(jobspec_backend_option(j->spec->s, "kind"));
    return r ? r : &rows[0];
}

char *pods_row_api(const struct pods_row *r)
{
    return mem_printf("%s/%s", r->group, r->version);
}

char *pods_row_path(const struct pods_row *r)
{
    return mem_printf("/apis/%s/%s", r->group, r->version);
}

void pods_row_host(const struct pods_row *r, const struct backend_job *j,
                   const char *name, int64_t worker, char out[PODS_HOST_SIZE])
{
    if (r->kind->host)
        r->kind->host(j, name, worker, out);
    else
        snprintf(out, PODS_HOST_SIZE, "%s-%jd", name, (intmax_t)worker);
}
