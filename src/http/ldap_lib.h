/* SPDX-License-Identifier: Apache-2.0 */
/* http/ldap_lib.h - the part of libldap that we call (RFC 1823 and OpenLDAP's ldap(3)), found when
 * it is loaded. Types and numbers are those of its interface.
 */
#ifndef HTTP_LDAP_LIB_H
#define HTTP_LDAP_LIB_H

#include <sys/time.h>

#include "base/err.h"

struct http_ldap_conn;    /* LDAP */
struct http_ldap_message; /* LDAPMessage */
struct http_ldap_value {  /* struct berval */
    unsigned long n;
    char *p;
};

enum { /* options */
       LIB_REFERRALS = 0x08,
       LIB_VERSION = 0x11,
       LIB_DIAGNOSTIC = 0x32,
       LIB_TIMEOUT = 0x5002,
       LIB_NETWORK_TIMEOUT = 0x5005,
       LIB_TLS_CA_FILE = 0x6002,
       LIB_TLS_REQUIRE_CERT = 0x6006,
       LIB_TLS_NEW_CONTEXT = 0x600F,
};
enum {                          /* results */
       LIB_CONNECT_ERROR = -11, /* TLS was refused, by us or by the server */
       LIB_SERVER_DOWN = -1,
       LIB_SUCCESS = 0,
       LIB_SIZE_LIMIT = 4,
       LIB_NO_OBJECT = 0x20,
       LIB_BAD_DN = 0x22,
       LIB_INAPPROPRIATE = 0x30,
       LIB_BAD_CREDENTIALS = 0x31,
};
#define LIB_TLS_DEMAND 2
#define LIB_SCOPE_BASE 0
#define LIB_SCOPE_TREE 2

struct http_ldap_lib {
    void *lib;
    int (*initialize)(struct http_ldap_conn **ld, const char *url);
    int (*set_option)(struct http_ldap_conn *ld, int option, const void *value);
    int (*get_option)(struct http_ldap_conn *ld, int option, void *value);
    int (*start_tls)(struct http_ldap_conn *ld, void *server, void *client);
    int (*bind)(struct http_ldap_conn *ld, const char *dn, const char *mechanism,
                const struct http_ldap_value *password, void *server, void *client,
                struct http_ldap_value **answer);
    int (*search)(struct http_ldap_conn *ld, const char *base, int scope,
                  const char *filter, char **attrs, int attrs_only, void *server,
                  void *client, struct timeval *timeout, int limit,
                  struct http_ldap_message **out);
    int (*count_entries)(struct http_ldap_conn *ld, struct http_ldap_message *m);
    struct http_ldap_message *(*first_entry)(struct http_ldap_conn *ld,
                                             struct http_ldap_message *m);
    char *(*get_dn)(struct http_ldap_conn *ld, struct http_ldap_message *entry);
    void (*free_text)(void *p);
    int (*free_message)(struct http_ldap_message *m);
    int (*unbind)(struct http_ldap_conn *ld, void *server, void *client);
    char *(*words)(int result);
};

/* RC_NOTFOUND (E5035) when there is none. It stays loaded. */
enum rc http_ldap_lib_load(struct http_ldap_lib *out, struct err *err) MUST_CHECK;

#endif
