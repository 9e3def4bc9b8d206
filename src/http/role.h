/* SPDX-License-Identifier: Apache-2.0 */
/* http/role.h - what people may do; each role may all that those before it may. */
#ifndef HTTP_ROLE_H
#define HTTP_ROLE_H

#include "base/compiler.h"

#include <stdbool.h>

enum role {
    ROLE_NONE,      /* anybody, without a token */
    ROLE_VIEWER,    /* look at own jobs and those of own projects */
    ROLE_SUBMITTER, /* submit, and control them */
    ROLE_ADMIN,     /* everything, of everybody */
};
#define ROLE_WORDS "viewer|submitter|admin"

const char *role_name(enum role r); /* "none" for ROLE_NONE */
bool role_find(const char *name, enum role *out) MUST_CHECK;

#endif
