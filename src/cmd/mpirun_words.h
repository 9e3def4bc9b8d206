/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/mpirun_words.h - what mpirun prints: lines of the ranks, which are handed on as they
 * come, and its own announcements between rules of dashes, which are understood instead.
 *
 *     mpirun_words_feed(&w, bytes, n)   handed on: appended to w.pass
 *     mpirun_words_end(&w)              what is left
 */
#ifndef CMD_MPIRUN_WORDS_H
#define CMD_MPIRUN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define MPIRUN_HOST_SIZE 128

struct mpirun_words {
    struct buf pass;  /* for the user; whoever prints it clears it */
    struct buf line;  /* begun */
    struct buf block; /* an announcement under way */
    struct buf other; /* announcements that are not understood */
    bool in_block, mid_line;
    bool said; /* a rank has printed why it failed */
    /* Of the process that ended first. */
    int rank;                    /* -1: not known */
    int signal, code;            /* that ended it; its exit status */
    char host[MPIRUN_HOST_SIZE]; /* "": not known */
    bool lost;                   /* the connection to that host is gone */
};

void mpirun_words_init(struct mpirun_words *w);
void mpirun_words_feed(struct mpirun_words *w, const char *p, size_t n);
void mpirun_words_end(struct mpirun_words *w);
void mpirun_words_release(struct mpirun_words *w);

#endif
