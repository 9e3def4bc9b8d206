/* SPDX-License-Identifier: Apache-2.0 */
#include "http/role.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {"none", "viewer", "auditor", "submitter", "admin"};

const char *http_role_name(enum http_role r)
{
    return names[r];
}

bool http_role_sees_all(enum http_role r)
{
    return r == ROLE_AUDITOR || r == ROLE_ADMIN;
}

bool http_role_may(enum http_role have, enum http_role need)
{
    return need == ROLE_AUDITOR ? http_role_sees_all(have) : have >= need;
}

const char *http_role_least(const char *a, const char *b)
{
    enum http_role x = ROLE_NONE, y = ROLE_NONE;
    if (!http_role_find(a, &x) || !http_role_find(b, &y))
        return names[ROLE_NONE];
    enum http_role low = x < y ? x : y, high = x < y ? y : x;
    if (low == ROLE_AUDITOR && high == ROLE_SUBMITTER)
        low = ROLE_VIEWER;
    return names[low];
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
