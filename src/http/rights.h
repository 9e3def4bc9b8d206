/* SPDX-License-Identifier: Apache-2.0 */
/* http/rights.h - whether somebody who was let in before may still see a job: for answers that
 * last longer than the question.
 */
#ifndef HTTP_RIGHTS_H
#define HTTP_RIGHTS_H

#include "http/auth.h"

/* Users and tokens as they were at the opening. */
struct http_rights {
    struct store_users users;
    struct store_tokens tokens;
    int64_t now; /* wall clock, ns */
};

#define HTTP_STREAMS_MAX 500 /* answers of each kind that go on, of one user */

/* Who follows, and whose job. */
struct http_rights_case {
    char user[AUTH_NAME_SIZE], token[AUTH_NAME_SIZE];
    char owner[AUTH_NAME_SIZE], project[AUTH_NAME_SIZE];
};

enum rc http_rights_open(struct store *s, struct http_rights *out,
                         struct err *err) MUST_CHECK;
void http_rights_close(struct http_rights *r);
/* The token is there and has not expired, and its user is not disabled. */
bool http_rights_holds(const struct http_rights *r, const char *token);
/* The token is there and has not expired, its user is not disabled, and the job is theirs, of
 * a project of theirs, or both are an admin's.
 */
bool http_rights_sees(const struct http_rights *r, const struct http_rights_case *c);

#endif
