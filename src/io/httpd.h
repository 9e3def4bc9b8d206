/* SPDX-License-Identifier: Apache-2.0 */
/* io/httpd.h - what our HTTP servers share: addresses, bodies that arrive in pieces, and
 * a comparison of secrets. The server itself is libmicrohttpd.
 */
#ifndef IO_HTTPD_H
#define IO_HTTPD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

union httpd_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* "127.0.0.1:8500" or "[::1]:8500"; false for anything else. */
bool httpd_address_parse(const char *text, union httpd_address *out) MUST_CHECK;
/* Reachable from this machine alone. */
bool httpd_is_loopback(const union httpd_address *a);
#define HTTPD_ADDRESS_SIZE 64
/* "127.0.0.1", "::1": without the port. */
void httpd_address_text(const struct sockaddr *a, char out[HTTPD_ADDRESS_SIZE]);

/* Takes the same time wherever the texts differ. */
bool httpd_same(const char *a, const char *b);

/* A body while it arrives. Zeroed is an empty one; `max` is set by its owner. */
struct httpd_body {
    char *p; /* owned; one byte behind n is free, once there is anything */
    size_t n, cap;
    size_t max;
    bool too_large, no_memory; /* what came later is not kept */
};
void httpd_body_add(struct httpd_body *b, const char *data, size_t n);
void httpd_body_release(struct httpd_body *b);

#endif
