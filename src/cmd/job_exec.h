/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/job_exec.h - a program beside a worker: what `job exec` and `job shell` ask for, and
 * the terminal that the user sits at.
 */
#ifndef CMD_JOB_EXEC_H
#define CMD_JOB_EXEC_H

#include <sys/ioctl.h>
#include <termios.h>

#include "cmd/job_common.h"

struct job_exec_ask {
    const char *id;
    int64_t worker;
    const char *const *argv; /* NULL behind the last */
    size_t n;
    bool terminal;    /* give it one; ours is then only looked through */
    bool in_terminal; /* stdin is one already, for the program alone */
    const char *by;   /* who asks; NULL: the owner of the place */
    int64_t parent;   /* the program ends with this process, our parent; 0: none */
};

enum rc job_exec_local(const struct cmd_place *p, const struct job_exec_ask *x,
                       int *status, struct err *err) MUST_CHECK;
enum rc job_exec_remote(const struct cmd_place *p, const struct job_exec_ask *x,
                        int *status, struct err *err) MUST_CHECK;

/* Keys go through as they are pressed. Does nothing when stdin is no terminal. */
struct job_terminal {
    struct termios before;
    bool raw;
};
void job_terminal_enter(struct job_terminal *t);
void job_terminal_leave(struct job_terminal *t);
void job_terminal_size(struct winsize *out); /* 24 by 80 when nobody knows */

/* A descriptor that is readable when the window changes its size or we are told to end
 * (HUP, INT, TERM), which is then left to us. The second says which: SIGWINCH, one that
 * ends, or 0.
 */
int job_terminal_signals(void);
int job_terminal_signal(int fd);

#endif
