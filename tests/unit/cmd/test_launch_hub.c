/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers over real sockets: who may join, and what those hear who may not. */
#include "cmd/launch_hub.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/launch_wire.h"
#include "tap.h"

#define PORT 39517

static struct launch_hub *hub;
static struct launch_message m;

static void open_hub(void)
{
    struct launch_hub_conf c = {.port = "39517",
                                .secret = "s",
                                .least = 2,
                                .most = 2,
                                .ranks = 3,
                                .timeout_s = 1,
                                .signals = -1};
    CHECK_INT(launch_hub_open(&c, &hub, NULL), RC_OK);
}

static struct launch_wire come(const char *secret, const char *join)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct launch_wire w = {.fd = -1};
    struct err err = {0};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_INT(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    CHECK_INT(launch_wire_meet(&w, fd, false, secret, &err), RC_OK);
    CHECK_INT(launch_wire_send(&w, LAUNCH_JOIN, join, &err), RC_OK);
    return w;
}

static void a_host_that_knows_the_secret_joins(void)
{
    struct launch_hosts hosts = {0};
    char host[64];
    open_hub();
    struct launch_wire w = come("s", TY_VERSION "\n1\n2\nworker.example");
    CHECK_INT(launch_wire_receive(&w, &m, NULL), RC_OK);
    CHECK_INT(m.word, LAUNCH_WELCOME);
    CHECK_INT(launch_hub_gather(hub, &hosts, NULL), RC_OK);
    CHECK_INT(hosts.n, 2);
    CHECK_INT(hosts.ranks, 5);
    CHECK_HAS(buf_str(&hosts.list), ":3,worker:2");
    CHECK_INT(launch_hub_lost(hub, host, sizeof(host)), false);
    struct launch_wire again = come("s", TY_VERSION "\n1\n2\nother");
    CHECK_INT(launch_wire_receive(&again, &m, NULL), RC_OK);
    CHECK_INT(m.word, LAUNCH_REFUSED);
    CHECK_STR(m.text, "node_rank 1 is that of host worker.example, which is here");
    launch_hub_close(hub, 7, "why");
    CHECK_INT(launch_wire_receive(&w, &m, NULL), RC_OK);
    CHECK_INT(m.word, LAUNCH_OVER);
    CHECK_STR(m.text, "7\nwhy");
    buf_release(&hosts.list);
    launch_wire_close(&w);
    launch_wire_close(&again);
}

static void another_version_ends_the_run(void)
{
    struct launch_hosts hosts = {0};
    struct err err = {0};
    open_hub();
    struct launch_wire w = come("s", "9.9\n1\n2\nworker");
    CHECK_INT(launch_wire_receive(&w, &m, NULL), RC_OK);
    CHECK_INT(m.word, LAUNCH_REFUSED);
    CHECK_STR(m.text,
              "node_rank 1 on host worker has version 9.9, node 0 has " TY_VERSION);
    CHECK_INT(launch_hub_gather(hub, &hosts, &err), RC_INVAL);
    CHECK_INT(err.code, E2503);
    launch_hub_close(hub, 1, "");
    launch_wire_close(&w);
}

static void another_secret_is_no_way_in(void)
{
    struct launch_hosts hosts = {0};
    struct err err = {0};
    open_hub();
    struct launch_wire w = come("t", TY_VERSION "\n1\n2\nworker");
    CHECK(launch_wire_receive(&w, &m, NULL) != RC_OK);
    CHECK_INT(launch_hub_gather(hub, &hosts, &err), RC_IO);
    CHECK_INT(err.code, E2502);
    CHECK_HAS(err.msg, "1 of 2 nodes are here");
    launch_hub_close(hub, 1, "");
    launch_wire_close(&w);
}

/* What was recorded of one connection is worth nothing in another, nor a second time. */
static void a_message_counts_once(void)
{
    int pair[2];
    struct launch_wire a, b;
    unsigned char bytes[256];
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    /* both hellos fit into the socket: one side after the other will do */
    struct launch_wire keys[2] = {{.fd = pair[0], .listens = true}, {.fd = pair[1]}};
    a = keys[0];
    b = keys[1];
    CHECK_INT(launch_wire_send(&b, LAUNCH_STOP, "x", NULL), RC_OK);
    ssize_t n = recv(pair[0], bytes, sizeof(bytes), 0);
    CHECK(n > 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(send(pair[1], bytes, (size_t)n, 0), n);
    CHECK_INT(launch_wire_receive(&a, &m, NULL), RC_OK);
    CHECK_STR(m.text, "x");
    struct err err = {0};
    CHECK_INT(launch_wire_receive(&a, &m, &err), RC_INVAL);
    CHECK_INT(err.code, E2504);
    close(pair[0]);
    close(pair[1]);
}

static const struct tap_case cases[] = {
    TAP(a_host_that_knows_the_secret_joins),
    TAP(another_version_ends_the_run),
    TAP(another_secret_is_no_way_in),
    TAP(a_message_counts_once),
};
TAP_MAIN(cases)
