/* SPDX-License-Identifier: Apache-2.0 */
/* dist/ps_server_private.h - what ps_server.c, which answers, and ps_snapshot.c, which writes and
 * reads what a server has, share.
 */
#ifndef DIST_PS_SERVER_PRIVATE_H
#define DIST_PS_SERVER_PRIVATE_H

#include "base/str.h"
#include "dist/ps_server.h"
#include "dist/ps_wire.h"

#define DIST_PS_PIECE_BYTES ((int64_t)4 << 20) /* of a message with rows */

struct dist_ps_worker {
    uint64_t done; /* the number of its last update */
    bool complete;
    bool waits; /* sync: `message` is part of the next round */
    struct comm_link_peer peer;
    struct dist_ps_head head;
    struct buf message;
    int64_t seen_ns; /* 0: never */
};

struct dist_ps_server {
    struct dist_ps_server_conf conf;
    struct dist_ps_worker *workers; /* [conf.job.workers] */
    struct buf out;
    float *vectors; /* scratch of an answer */
    int64_t room;
    int64_t saved_ns;     /* when the last snapshot was written */
    uint64_t saved_steps; /* and behind which update */
};

/* Rows of a piece. */
static inline int64_t dist_ps_piece_rows(const struct dist_ps_store *s, int table)
{
    return DIST_PS_PIECE_BYTES / (4 * (dist_ps_store_stride(s, table) + 2)) + 1;
}
/* Optimizer state as a list of items. */
void dist_ps_put_state(struct buf *b, const struct dist_ps_store *store);
/* If it is time. RC_IO. */
enum rc dist_ps_snapshot_write(struct dist_ps_server *s, struct err *err) MUST_CHECK;

#endif
