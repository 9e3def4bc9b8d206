/* SPDX-License-Identifier: Apache-2.0 */
/* dist/ps_wire.h - what trainers and parameter servers say to each other, as bytes.
 *
 * A message is a head and numbers behind it, little-endian, without gaps; a list is its
 * length (u64) and its elements. Whoever reads knows what to expect and checks every length
 * against the bytes that are there. docs/parameter-servers.md lists the messages.
 */
#ifndef DIST_PS_WIRE_H
#define DIST_PS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum dist_ps_kind {
    PS_HELLO = 1,  /* digest of the model: does it fit? */
    PS_PULL_ROWS,  /* ids by table: their vectors */
    PS_PULL_DENSE, /* all dense values of the server */
    PS_PUSH,       /* gradients */
    PS_GEO,        /* differences; all that changed comes back */
    PS_SAVE_ROWS,  /* rows with their optimizer state, piece by piece */
    PS_SAVE_STATE, /* dense values with their optimizer state */
    PS_COMPLETE,   /* a trainer is done */
    PS_OK,
    PS_ERROR, /* a text */
    PS_KINDS
};

struct dist_ps_head {
    uint32_t kind, worker;
    uint64_t seq; /* of the question; its answer has the same */
};

/* --- to write --- */

void dist_ps_begin(struct buf *b, const struct dist_ps_head *h);
void dist_ps_put_u32(struct buf *b, uint32_t v);
void dist_ps_put_u64(struct buf *b, uint64_t v);
void dist_ps_put_floats(struct buf *b, const float *v, int64_t n); /* a list */
void dist_ps_put_ids(struct buf *b, const int64_t *v, int64_t n);  /* a list */
void dist_ps_put_bytes(struct buf *b, const void *v, size_t n);    /* a list */

/* --- to read --- */

struct dist_ps_in {
    const unsigned char *p;
    size_t n;
    bool bad; /* more was asked for than there is: all that follows is 0 */
};

/* RC_FORMAT (E2703): no head of this version. */
enum rc dist_ps_open(const void *data, size_t n, struct dist_ps_in *in,
                     struct dist_ps_head *h, struct err *err) MUST_CHECK;
uint32_t dist_ps_get_u32(struct dist_ps_in *in);
uint64_t dist_ps_get_u64(struct dist_ps_in *in);
/* A list of elements of `size` bytes: how many; *at is where they lie, at any address. */
int64_t dist_ps_get_list(struct dist_ps_in *in, size_t size, const void **at);
/* So many of them, no list. NULL and bad when there are fewer. */
const void *dist_ps_get_some(struct dist_ps_in *in, int64_t n, size_t size);
/* Nothing is left, and nothing was missing: RC_FORMAT (E2703) else. */
enum rc dist_ps_end(const struct dist_ps_in *in, struct err *err) MUST_CHECK;

#endif
