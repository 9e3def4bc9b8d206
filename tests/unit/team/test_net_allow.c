/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <string.h>

#include "tap.h"
#include "team/net_allow.h"

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

static struct address address(const char *text)
{
    struct address a;
    memset(&a, 0, sizeof(a));
    if (inet_pton(AF_INET, text, &a.v4.sin_addr) == 1)
        a.any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &a.v6.sin6_addr) == 1)
        a.any.sa_family = AF_INET6;
    CHECK(a.any.sa_family);
    return a;
}

static void what_is_not_the_internet_is_known(void)
{
    static const char *const inner[] = {"127.0.0.1",
                                        "127.255.255.254",
                                        "0.0.0.0",
                                        "10.0.0.1",
                                        "172.16.0.1",
                                        "172.31.255.255",
                                        "192.168.1.1",
                                        "169.254.169.254",
                                        "100.64.0.1",
                                        "192.0.0.1",
                                        "198.18.0.1",
                                        "198.19.255.255",
                                        "192.0.2.1",
                                        "198.51.100.7",
                                        "203.0.113.9",
                                        "224.0.0.1",
                                        "239.255.255.255",
                                        "240.0.0.1",
                                        "255.255.255.255",
                                        "::",
                                        "::1",
                                        "::127.0.0.1",
                                        "::ffff:127.0.0.1",
                                        "::ffff:10.0.0.1",
                                        "fe80::1",
                                        "fc00::1",
                                        "fd12:3456::1",
                                        "ff02::1",
                                        "64:ff9b::7f00:1",
                                        "2002:7f00:1::",
                                        "2001:db8::1",
                                        "2001::1",
                                        "100::1"};
    static const char *const outer[] = {
        "8.8.8.8",        "1.1.1.1",      "172.15.0.1",  "172.32.0.1",
        "100.63.0.1",     "100.128.0.1",  "192.0.3.1",   "223.255.255.255",
        "::ffff:8.8.8.8", "2606:4700::1", "2a00:1450::1"};
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
        struct address a = address(inner[i]);
        if (team_net_public(&a.any))
            printf("# %s\n", inner[i]);
        CHECK(!team_net_public(&a.any));
    }
    for (size_t i = 0; i < sizeof(outer) / sizeof(outer[0]); i++) {
        struct address a = address(outer[i]);
        CHECK(team_net_public(&a.any));
    }
    struct sockaddr unix_socket = {.sa_family = AF_UNIX};
    CHECK(!team_net_public(&unix_socket));
}

static void hosts_are_on_the_list_or_not(void)
{
    struct team_net_allow *a = NULL;
    CHECK_INT(team_net_allow_open("hooks.example.com, *.corp.example,10.1.0.0/16,[::1]",
                                  &a, NULL),
              RC_OK);
    CHECK(team_net_allow_host(a, "hooks.example.com"));
    CHECK(team_net_allow_host(a, "HOOKS.example.COM"));
    CHECK(!team_net_allow_host(a, "evil-hooks.example.com"));
    CHECK(!team_net_allow_host(a, "hooks.example.com.evil.org"));
    CHECK(team_net_allow_host(a, "ci.corp.example"));
    CHECK(team_net_allow_host(a, "a.b.corp.example"));
    CHECK(!team_net_allow_host(a, "corp.example"));
    CHECK(!team_net_allow_host(a, "xcorp.example"));
    CHECK(team_net_allow_host(a, "10.1.2.3"));
    CHECK(!team_net_allow_host(a, "10.2.0.1"));
    CHECK(team_net_allow_host(a, "[::1]"));
    CHECK(!team_net_allow_host(a, "8.8.8.8"));
    CHECK(!team_net_allow_host(a, ""));
    struct address in = address("10.1.200.1"), mapped = address("::ffff:10.1.200.1");
    struct address out = address("10.2.0.1"), world = address("8.8.8.8");
    CHECK(team_net_allow_address(a, &in.any));
    CHECK(team_net_allow_address(a, &mapped.any));
    CHECK(!team_net_allow_address(a, &out.any));
    CHECK(team_net_allow_address(a, &world.any)); /* the name was checked before */
    team_net_allow_close(a);
    CHECK_INT(team_net_allow_open(NULL, &a, NULL), RC_OK);
    CHECK(!team_net_allow_host(a, "hooks.example.com"));
    team_net_allow_close(a);
    CHECK_INT(team_net_allow_open("*", &a, NULL), RC_OK);
    CHECK(team_net_allow_host(a, "anything.example"));
    CHECK(!team_net_allow_address(a, &in.any));
    team_net_allow_close(a);
}

static void lists_that_cannot_be_read_are_refused(void)
{
    static const char *const bad[] = {"a b",     "*x.example", "10.0.0.0/33", "http://x",
                                      "::1/129", "host/24",    "a,-,b;c"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct team_net_allow *a = NULL;
        struct err err = {0};
        CHECK_INT(team_net_allow_open(bad[i], &a, &err), RC_INVAL);
        CHECK_INT(err.code, E5302);
        CHECK_HAS(err.msg, "is not a host, *.domain, address or network");
        CHECK(!a);
    }
}

static const struct tap_case cases[] = {
    TAP(what_is_not_the_internet_is_known),
    TAP(hosts_are_on_the_list_or_not),
    TAP(lists_that_cannot_be_read_are_refused),
};
TAP_MAIN(cases)
