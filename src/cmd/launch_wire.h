/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/launch_wire.h - messages between the launchers of a run's hosts.
 *
 *     launch_wire_meet(&w, fd, listens, secret, err)  both sides, once
 *     launch_wire_send(&w, LAUNCH_JOIN, text, err)
 *     launch_wire_receive(&w, &m, err)
 *
 * Both sides send a random number; the key of the connection is made of the two and of the
 * secret, which does not travel. Every message carries a code that only who has the key can
 * make, over its place in the conversation too: nobody else can join, give orders, or
 * repeat them. Texts are not hidden.
 */
#ifndef CMD_LAUNCH_WIRE_H
#define CMD_LAUNCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "io/digest.h"

enum launch_word {
    LAUNCH_JOIN = 1, /* to node 0: version, node_rank, ranks, host; a line each */
    LAUNCH_WELCOME,  /* from node 0 */
    LAUNCH_REFUSED,  /* why */
    LAUNCH_START,    /* number of the daemon and its command, a line each */
    LAUNCH_ENDED,    /* number of the daemon and its exit status */
    LAUNCH_STOP,     /* the user asked that host to stop */
    LAUNCH_OVER,     /* exit status of the run, and why; a line each */
};

struct launch_wire {
    int fd; /* -1: none */
    unsigned char key[DIGEST_SHA256];
    uint64_t sent, received;
    bool listens;
};

#define LAUNCH_TEXT_MAX 65536

struct launch_message {
    enum launch_word word;
    size_t n;
    char text[LAUNCH_TEXT_MAX + 1]; /* NUL-terminated */
};

/* Takes `fd`. RC_IO; RC_INVAL E2504: the other side is no launcher. */
enum rc launch_wire_meet(struct launch_wire *w, int fd, bool listens, const char *secret,
                         struct err *err) MUST_CHECK;
void launch_wire_close(struct launch_wire *w); /* twice is fine */
enum rc launch_wire_send(struct launch_wire *w, enum launch_word word, const char *text,
                         struct err *err) MUST_CHECK;
/* Waits a few seconds for the whole of it. RC_IO: the connection has ended; RC_INVAL
 * E2504: of another secret.
 */
enum rc launch_wire_receive(struct launch_wire *w, struct launch_message *out,
                            struct err *err) MUST_CHECK;

#endif
