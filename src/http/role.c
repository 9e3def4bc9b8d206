/* SPDX-License-Identifier: Apache-2.0 */
#include "http/role.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {"none", "viewer", "submitter", "admin"};

const char *role_name(enum role r)
{
    return names[r];
}

bool role_find(const char *name, enum role *out)
{
    for (size_t i = ROLE_VIEWER; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum role)i;
            return true;
        }
    return false;
}
