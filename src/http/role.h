/* SPDX-License-Identifier: Apache-2.0 */
/* http/role.h - what people may do; each role may all that those before it may. */
#ifndef HTTP_ROLE_H
#define HTTP_ROLE_H

#include "base/compiler.h"

#include <stdbool.h>

enum http_role {
    ROLE_NONE,      /* anybody, without a token */
    ROLE_VIEWER,    /* look at own jobs and those of own projects */
    ROLE_SUBMITTER, /* submit, and control them */
    ROLE_ADMIN,     /* everything, of everybody */
};
#define ROLE_WORDS "viewer|submitter|admin"

const char *http_role_name(enum http_role r); /* "none" for ROLE_NONE */
/* The lesser of two by name; "none" for one that is no role. */
const char *http_role_least(const char *a, const char *b);
bool http_role_find(const char *name, enum http_role *out) MUST_CHECK;

#endif
