/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/conns.h"
#include "tap.h"

#define N 5

struct line {
    struct http_conns *all;
    struct http_conn *conn[N];
    int ours[N], theirs[N];
};

static void open_line(struct line *l, int64_t most)
{
    CHECK(http_conns_create(1000, 1000, most, &l->all, NULL) == RC_OK);
    for (int i = 0; i < N; i++) {
        int pair[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        l->ours[i] = pair[0];
        l->theirs[i] = pair[1];
        l->conn[i] = NULL;
    }
}

static void add(struct line *l, int i)
{
    l->conn[i] = http_conns_add(l->all, l->ours[i]);
}

/* Whether the other end sees that ours was shut down. */
static bool is_shut(const struct line *l, int i)
{
    char byte;
    return recv(l->theirs[i], &byte, 1, MSG_DONTWAIT) == 0;
}

static void close_line(struct line *l)
{
    for (int i = 0; i < N; i++) {
        if (l->conn[i])
            http_conns_remove(l->all, l->conn[i]);
        close(l->ours[i]);
        close(l->theirs[i]);
    }
    CHECK_INT(http_conns_count(l->all), 0);
    http_conns_destroy(l->all);
}

static void in_a_crowd_whoever_has_been_silent_longest_goes(void)
{
    struct line l;
    open_line(&l, 2);
    add(&l, 0);
    add(&l, 1);
    CHECK(!is_shut(&l, 0) && !is_shut(&l, 1));
    add(&l, 2);
    CHECK(is_shut(&l, 0) && !is_shut(&l, 1) && !is_shut(&l, 2));
    http_conns_remove(l.all, l.conn[0]);
    l.conn[0] = NULL;
    add(&l, 3);
    CHECK(is_shut(&l, 1) && !is_shut(&l, 2) && !is_shut(&l, 3));
    CHECK_INT(http_conns_late(l.all), 2);
    close_line(&l);
}

static void whoever_is_being_answered_stays(void)
{
    struct line l;
    open_line(&l, 2);
    add(&l, 0);
    add(&l, 1);
    http_conns_body(l.all, l.conn[0], 100);
    http_conns_answer(l.all, l.conn[1]);
    add(&l, 2); /* nobody waits for a head */
    CHECK(!is_shut(&l, 0) && !is_shut(&l, 1) && !is_shut(&l, 2));
    http_conns_idle(l.all, l.conn[1]); /* behind the one before */
    add(&l, 3);
    CHECK(!is_shut(&l, 0) && !is_shut(&l, 1) && is_shut(&l, 2) && !is_shut(&l, 3));
    add(&l, 4);
    CHECK(is_shut(&l, 1) && !is_shut(&l, 3) && !is_shut(&l, 4));
    close_line(&l);
}

static const struct tap_case cases[] = {
    TAP(in_a_crowd_whoever_has_been_silent_longest_goes),
    TAP(whoever_is_being_answered_stays),
};
TAP_MAIN(cases)
