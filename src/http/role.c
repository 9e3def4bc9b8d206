/* SPDX-License-Identifier: Apache-2.0 */
#include "http/role.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {"none", "viewer", "submitter", "admin"};

const char *http_role_name(enum http_role r)
{
    return names[r];
}

const char *http_role_least(const char *a, const char *b)
{
    enum http_role x = ROLE_NONE, y = ROLE_NONE;
    if (!http_role_find(a, &x) || !http_role_find(b, &y))
        return names[ROLE_NONE];
    return names[x < y ? x : y];
}

bool http_role_find(const char *name, enum http_role *out)
{
    for (size_t i = ROLE_VIEWER; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum http_role)i;
            return true;
        }
    return false;
}
