/* SPDX-License-Identifier: Apache-2.0 */
#include "io/httpd.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define BODY_FIRST ((size_t)16 << 10)

bool httpd_address_parse(const char *text, union httpd_address *out)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    bool v6 = n > 2 && text[0] == '[' && text[n - 1] == ']';
    union httpd_address a = {.v6 = {0}};
    int64_t port;
    if (!colon || !str_to_i64(str_c(colon + 1), &port) || port < 0 || port > 65535 ||
        n == 0 || n >= sizeof(host))
        return false;
    memcpy(host, v6 ? text + 1 : text, v6 ? n - 2 : n);
    host[v6 ? n - 2 : n] = '\0';
    if (v6 && inet_pton(AF_INET6, host, &a.v6.sin6_addr) == 1) {
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons((uint16_t)port);
    } else if (!v6 && inet_pton(AF_INET, host, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons((uint16_t)port);
    } else {
        return false;
    }
    *out = a;
    return true;
}

bool httpd_is_loopback(const union httpd_address *a)
{
    if (a->any.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

void httpd_address_text(const struct sockaddr *a, char out[HTTPD_ADDRESS_SIZE])
{
    const void *at = NULL;
    snprintf(out, HTTPD_ADDRESS_SIZE, "unknown");
    if (a && a->sa_family == AF_INET)
        at = &((const struct sockaddr_in *)(const void *)a)->sin_addr;
    if (a && a->sa_family == AF_INET6)
        at = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    if (at && !inet_ntop(a->sa_family, at, out, HTTPD_ADDRESS_SIZE))
        snprintf(out, HTTPD_ADDRESS_SIZE, "unknown");
}

bool httpd_same(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned diff = n != m;
    for (size_t i = 0; i < n; i++)
        diff |= (unsigned)(unsigned char)a[i] ^ (unsigned char)b[i < m ? i : 0];
    return diff == 0;
}

void httpd_body_add(struct httpd_body *b, const char *data, size_t n)
{
    if (b->too_large || b->no_memory)
        return;
    if (n > b->max - b->n) {
        b->too_large = true;
        return;
    }
    if (b->n + n + 1 > b->cap) {
        size_t cap = b->cap ? b->cap : BODY_FIRST;
        while (cap < b->n + n + 1)
            cap *= 2;
        char *p = mem_try_realloc(b->p, cap, 1);
        if (!p) {
            b->no_memory = true;
            return;
        }
        b->p = p;
        b->cap = cap;
    }
    memcpy(b->p + b->n, data, n);
    b->n += n;
}

void httpd_body_release(struct httpd_body *b)
{
    mem_free(b->p);
    *b = (struct httpd_body){.max = b->max};
}
