/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/launch_ranks.h - one start of the ranks of a run: mpirun, what it prints, how it
 * ended.
 */
#ifndef CMD_LAUNCH_RANKS_H
#define CMD_LAUNCH_RANKS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

struct launch_hub;

typedef VEC(char *) word_vec; /* owned words */
void words_add(word_vec *v, const char *word);
void words_release(word_vec *v);

struct launch_start {
    const word_vec *command; /* with mpirun in front, or alone */
    bool mpirun;             /* it is mpirun's */
    int ranks;
    int signals;            /* fd on which the user asks to stop */
    const char *log_dir;    /* NULL: none */
    const char *state;      /* file with the step of rank 0 (TRAINYARD_LAUNCH_STATE) */
    struct launch_hub *hub; /* NULL: this host alone */
};

struct launch_end {
    bool asked; /* the user asked it to stop */
    bool lost;  /* a host is gone */
};

/* Waits for its end. A failure that a rank has told the user leaves err->msg empty;
 * err->exit is the status.
 */
enum rc launch_ranks(const struct launch_start *s, struct launch_end *out,
                     struct err *err) MUST_CHECK;

#endif
