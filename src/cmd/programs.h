/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/programs.h - other programs that ours works with, and which of them are here. */
#ifndef CMD_PROGRAMS_H
#define CMD_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

enum program_state { PROGRAM_OK, PROGRAM_MISSING, PROGRAM_BROKEN };

struct program {
    const char *name;
    const char *argv[4];    /* asks for its version; NULL behind the last */
    const char *needed_for; /* "jobs on Slurm" */
    bool planned;           /* no command of this version uses it yet */
    bool lines;             /* all its lines count (one per GPU), not the first alone */
};

struct program_found {
    const struct program *program;
    enum program_state state;
    char *path;    /* owned; NULL when missing */
    char *version; /* owned: "4.1.4"; NULL when it names none */
    char *said; /* owned: its line (or lines), or why it is broken; NULL when missing */
};

/* Ends with a NULL name. */
const struct program *program_table(void);
/* Runs it with a limit of a few seconds. */
void program_look(const struct program *p, struct program_found *out);
void program_found_release(struct program_found *f);
const char *program_state_name(enum program_state s); /* "ok", "missing", "broken" */

#endif
