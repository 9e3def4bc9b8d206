/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses are compared as 16 bytes, those of IPv4 in their mapped form, so there is one
 * list of networks and one comparison. What is not public (loopback, private, link-local,
 * wrapped IPv4 and the like) needs a line of the list.
 */
#include "team/net_allow.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

/* All addresses are kept as those of IPv6; of IPv4 in the last four bytes, behind
 * ::ffff:0:0.
 */
struct net {
    unsigned char at[16];
    unsigned bits;
};

struct team_net_allow {
    VEC(char *) hosts; /* owned, lower case */
    VEC(struct net) nets;
};

static const unsigned char v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool within(const unsigned char *at, const struct net *n)
{
    unsigned whole = n->bits / 8, rest = n->bits % 8;
    if (memcmp(at, n->at, whole) != 0)
        return false;
    return !rest || (at[whole] ^ n->at[whole]) >> (8 - rest) == 0;
}

/* What nobody on the internet can be reached at (IANA's registries of special purposes).
 */
static const struct {
    const char *net;
    unsigned bits;
} special[] = {
    {"::ffff:0.0.0.0", 96 + 8},      {"::ffff:10.0.0.0", 96 + 8},
    {"::ffff:100.64.0.0", 96 + 10},  {"::ffff:127.0.0.0", 96 + 8},
    {"::ffff:169.254.0.0", 96 + 16}, {"::ffff:172.16.0.0", 96 + 12},
    {"::ffff:192.0.0.0", 96 + 24},   {"::ffff:192.0.2.0", 96 + 24},
    {"::ffff:192.88.99.0", 96 + 24}, {"::ffff:192.168.0.0", 96 + 16},
    {"::ffff:198.18.0.0", 96 + 15},  {"::ffff:198.51.100.0", 96 + 24},
    {"::ffff:203.0.113.0", 96 + 24}, {"::ffff:224.0.0.0", 96 + 3},
};

/* Of IPv6 only what is given out to the world, less what wraps addresses of IPv4. */
static const struct {
    const char *net;
    unsigned bits;
} world = {"2000::", 3}, wrapped[] = {{"2001::", 23}, {"2001:db8::", 32}, {"2002::", 16}};

static bool in_text(const unsigned char *at, const char *net, unsigned bits)
{
    struct net n = {.bits = bits};
    return inet_pton(AF_INET6, net, n.at) == 1 && within(at, &n);
}

static bool bytes_of(const struct sockaddr *addr, unsigned char out[16])
{
    if (addr->sa_family == AF_INET6) {
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr, 16);
        return true;
    }
    if (addr->sa_family != AF_INET)
        return false;
    memcpy(out, v4_prefix, 12);
    memcpy(out + 12, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, 4);
    return true;
}

bool team_net_public(const struct sockaddr *addr)
{
    unsigned char at[16];
    if (!bytes_of(addr, at))
        return false;
    if (memcmp(at, v4_prefix, 12) == 0) {
        for (size_t i = 0; i < ARRAY_LEN(special); i++)
            if (in_text(at, special[i].net, special[i].bits))
                return false;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(wrapped); i++)
        if (in_text(at, wrapped[i].net, wrapped[i].bits))
            return false;
    return in_text(at, world.net, world.bits);
}

/* "10.1.0.0/16", "127.0.0.1", "[::1]", "fd00::/8". */
static bool read_net(struct str text, struct net *out)
{
    char copy[64];
    struct str address, bits = text;
    int64_t n = -1;
    if (!str_split(&bits, '/', &address))
        return false;
    if (bits.p && (!str_to_i64(bits, &n) || n < 0))
        return false;
    if (address.n > 2 && address.p[0] == '[' && address.p[address.n - 1] == ']')
        address = str_of(address.p + 1, address.n - 2);
    if (address.n >= sizeof(copy))
        return false;
    memcpy(copy, address.p, address.n);
    copy[address.n] = '\0';
    if (inet_pton(AF_INET6, copy, out->at) == 1) {
        out->bits = (unsigned)(n < 0 ? 128 : n);
    } else if (inet_pton(AF_INET, copy, out->at + 12) == 1) {
        memcpy(out->at, v4_prefix, 12);
        if (n > 32)
            return false;
        out->bits = 96 + (unsigned)(n < 0 ? 32 : n);
    } else {
        return false;
    }
    return out->bits <= 128;
}

static bool host_ok(struct str s)
{
    if (!s.n || s.n > 253)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '-' && s.p[i] != '.' &&
            s.p[i] != '_' && !(i == 0 && s.p[i] == '*'))
            return false;
    return s.p[0] != '*' || s.n == 1 || s.p[1] == '.';
}

enum rc team_net_allow_open(const char *list, struct team_net_allow **out,
                            struct err *err)
{
    struct team_net_allow *a = mem_calloc(1, sizeof(*a));
    struct str rest = str_c(list ? list : ""), part;
    enum rc rc = RC_OK;
    while (rest.n && !rc && str_split(&rest, ',', &part)) {
        struct net n;
        part = str_trim(part);
        if (!part.n)
            continue;
        if (read_net(part, &n)) {
            VEC_PUSH(&a->nets, n);
        } else if (host_ok(part)) {
            char *host = mem_strndup(part.p, part.n);
            for (char *c = host; *c; c++)
                *c = (char)tolower((unsigned char)*c);
            VEC_PUSH(&a->hosts, host);
        } else {
            rc = err_coded(
                err, RC_INVAL, E5302,
                "allowed hosts: '%.*s' is not a host, *.domain, address or network",
                (int)(part.n < 100 ? part.n : 100), part.p);
        }
    }
    if (rc) {
        team_net_allow_close(a);
        return rc;
    }
    *out = a;
    return RC_OK;
}

void team_net_allow_close(struct team_net_allow *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->hosts.n; i++)
        mem_free(a->hosts.at[i]);
    VEC_RELEASE(&a->hosts);
    VEC_RELEASE(&a->nets);
    mem_free(a);
}

static bool listed(const struct team_net_allow *a, const unsigned char *at)
{
    for (size_t i = 0; i < a->nets.n; i++)
        if (within(at, &a->nets.at[i]))
            return true;
    return false;
}

bool team_net_allow_host(const struct team_net_allow *a, const char *host)
{
    struct net n;
    size_t len = strlen(host);
    if (read_net(str_of(host, len), &n) && !strchr(host, '/') && listed(a, n.at))
        return true;
    for (size_t i = 0; i < a->hosts.n; i++) {
        const char *h = a->hosts.at[i];
        size_t k = strlen(h);
        if (strcmp(h, "*") == 0 || strcasecmp(h, host) == 0)
            return true;
        if (h[0] == '*' && len > k - 1 && strcasecmp(host + len - (k - 1), h + 1) == 0)
            return true;
    }
    return false;
}

bool team_net_allow_address(const struct team_net_allow *a, const struct sockaddr *addr)
{
    unsigned char at[16];
    if (!bytes_of(addr, at))
        return false;
    return listed(a, at) || team_net_public(addr);
}
