/* SPDX-License-Identifier: Apache-2.0 */
/* http/role.h - what people may do. Each role may all that those before it may, but for the
 * auditor, who sees everything and changes nothing.
 */
#ifndef HTTP_ROLE_H
#define HTTP_ROLE_H

#include "base/compiler.h"

#include <stdbool.h>

enum http_role {
    ROLE_NONE,      /* anybody, without a token */
    ROLE_VIEWER,    /* look at own jobs and those of own projects */
    ROLE_AUDITOR,   /* look at everything of everybody */
    ROLE_SUBMITTER, /* submit, and control them */
    ROLE_ADMIN,     /* everything, of everybody */
};
#define ROLE_WORDS "viewer|auditor|submitter|admin"

const char *http_role_name(enum http_role r); /* "none" for ROLE_NONE */
/* Whether `have` may do what `need` says. */
bool http_role_may(enum http_role have, enum http_role need);
bool http_role_sees_all(enum http_role r);
/* What both of two may, by name; "none" for one that is no role. */
const char *http_role_least(const char *a, const char *b);
bool http_role_find(const char *name, enum http_role *out) MUST_CHECK;

#endif
