/* SPDX-License-Identifier: Apache-2.0 */
/* http/ldap.h - who somebody is, by name and password at an LDAP server.
 *
 * libldap is loaded when a server is configured, and not before. Every connection is encrypted
 * (ldaps://, or StartTLS for ldap://) and the server's certificate is checked, whatever
 * ldap.conf says. Any thread may call; each login has connections of its own.
 */
#ifndef HTTP_LDAP_H
#define HTTP_LDAP_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct http_ldap_conf {
    const char *url; /* ldaps://HOST[:PORT] or ldap://HOST[:PORT]; NULL: there is none */
    const char *ca;  /* file of certificates (PEM) to trust; NULL: those of the machine */
    const char *user_dn;       /* "uid={},ou=people,dc=example"; NULL: searched */
    const char *base, *filter; /* where and how: "(uid={})" */
    const char *bind_dn;       /* who searches; NULL: anybody */
    const char *password;      /* of that one */
    const char *const *groups; /* "admin=cn=ops,ou=groups,dc=example", NULL at the end */
    const char *role;          /* of users in none of them; NULL: they are refused */
    int64_t lifetime_s;        /* of a token that a login gets */
};

struct http_ldap;
/* RC_INVAL (E5035): settings that do not go together; RC_NOTFOUND (E5035): no libldap. `c` is
 * borrowed.
 */
enum rc http_ldap_open(const struct http_ldap_conf *c, struct http_ldap **out,
                       struct err *err) MUST_CHECK;
void http_ldap_close(struct http_ldap *l); /* NULL is fine */

struct http_ldap_person {
    const char *dn;   /* who it is, for good */
    const char *role; /* by groups, or that of everybody */
};
/* Texts lie in `a`. RC_INVAL: E5034 (no such user, a wrong or empty password, or in no group
 * that is let in), E5011 (too many wrong ones for this name); RC_IO (E5036): the server cannot be
 * reached, or its certificate is refused.
 */
enum rc http_ldap_person(struct http_ldap *l, const char *name, const char *password,
                         struct arena *a, struct http_ldap_person *out,
                         struct err *err) MUST_CHECK;

/* A value as it stands in a filter (RFC 4515), and in a name (RFC 4514): nothing in it has a
 * meaning of its own any more.
 */
void http_ldap_escape_filter(struct buf *out, const char *value);
void http_ldap_escape_dn(struct buf *out, const char *value);

#endif
