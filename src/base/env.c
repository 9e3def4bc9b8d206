/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <stdlib.h>
#include <strings.h>

#include "base/fs.h"
#include "base/str.h"

const char *env_get(const char *name)
{
    const char *v = getenv(name);
    return v && v[0] ? v : NULL;
}

const char *env_first(const char *const *names)
{
    const char *v = NULL;
    for (; !v && *names; names++)
        v = env_get(*names);
    return v;
}

int64_t env_int(const char *name, int64_t lo, int64_t hi, int64_t preset)
{
    const char *v = env_get(name);
    int64_t n;
    return v && str_to_i64(str_c(v), &n) && n >= lo && n <= hi ? n : preset;
}

bool env_is_true(const char *name)
{
    const char *v = env_get(name);
    return v && (strcasecmp(v, "1") == 0 || strcasecmp(v, "true") == 0 ||
                 strcasecmp(v, "yes") == 0 || strcasecmp(v, "on") == 0);
}

char *env_home_path(const char *rest)
{
    const char *home = env_get("HOME");
    return home ? fs_join(home, rest) : NULL;
}
