/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "text/job/job.h"

static const struct {
    const char *name;
    bool serves;
} kinds[] = {
    {"master", false}, {"chief", false}, {"launcher", false}, {"head", false},
    {"worker", false}, {"ps", true},     {"evaluator", true}, {"graphlearn", true},
};

int jobspec_role_order(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return (int)i;
    return -1;
}

bool jobspec_role_serves(const char *name)
{
    int i = jobspec_role_order(name);
    return i >= 0 && kinds[i].serves;
}

static bool set_part(struct str name, struct str value, struct jobspec_role *out)
{
    if (str_is(name, "count"))
        return str_to_i64(value, &out->count);
    if (str_is(name, "cpu"))
        return jobspec_cpu_milli(value, &out->cpu_milli);
    if (str_is(name, "memory"))
        return jobspec_bytes(value, &out->memory);
    return str_is(name, "gpu") && str_to_i64(value, &out->gpu) && out->gpu >= 0;
}

bool jobspec_role_read(struct str text, struct jobspec_role *out)
{
    struct jobspec_role r = {.count = -1, .cpu_milli = -1, .memory = -1, .gpu = -1};
    struct str part, name;
    while (text.n && str_split(&text, ',', &part)) {
        part = str_trim(part);
        bool pair = part.n && memchr(part.p, '=', part.n);
        if (pair ? !str_split(&part, '=', &name) || !set_part(name, part, &r)
                 : r.count >= 0 || !str_to_i64(part, &r.count))
            return false;
    }
    if (r.count < 0 || r.count > JOB_WORKERS_MAX)
        return false;
    *out = r;
    return true;
}
