/* SPDX-License-Identifier: Apache-2.0 */
/* backend/crash.h - supervisors that crash: a fault in a method of a backend, or in ours.
 *
 * The agent counts such deaths in the file crashes.json of the job's directory, and starts
 * the next supervisor after a delay that grows. A signal by which a program fails of itself
 * is a crash; inside a method of a backend (backend/calling.h) every other end is one as
 * well, exit() with whatever status too. Signals that people send (TERM and kin) are not
 * counted, and KILL counts little. A method that does not return within the agent's patience
 * is ended by the agent, which counts as several. A supervisor that lived for long takes
 * back what was counted before. When the limit is reached the next supervisor gives the
 * job up instead of going on with it (giveup.c), so that nothing restarts for ever.
 */
#ifndef BACKEND_CRASH_H
#define BACKEND_CRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/calling.h"
#include "base/proc.h"

#define BACKEND_CRASH_LIMIT 5
#define BACKEND_CRASH_CALM_NS (600 * INT64_C(1000000000)) /* takes back one death */

struct backend_crash {
    double count;          /* deaths, less what long lives took back */
    int64_t tries;         /* supervisors that crashed while they gave the job up */
    int64_t at;            /* of the last one: wall clock, ns; 0: none crashed */
    struct proc_exit exit; /* of the last one */
    char method[BACKEND_CALLING_METHOD]; /* in which; "": in none */
    bool hung;                           /* it did not return */
};

/* The end of one supervisor. */
struct backend_crash_death {
    struct proc_exit exit;
    const char *method; /* NULL or "": in none */
    bool hung;
    int64_t lived, at; /* ns; wall clock, ns */
};

/* How much it counts; 0: it is no crash. */
double backend_crash_weight(const struct backend_crash_death *d);

void backend_crash_add(struct backend_crash *c, const struct backend_crash_death *d);
bool backend_crash_over(const struct backend_crash *c); /* the job is to be given up */
/* Is it too early, at `now`, for another supervisor? */
bool backend_crash_waits(const struct backend_crash *c, int64_t now);

/* "in poll(): killed by SIGSEGV", for people. */
#define BACKEND_CRASH_WORDS (PROC_WORDS_SIZE + 2 * BACKEND_CALLING_METHOD)
void backend_crash_words(const struct backend_crash *c, char out[BACKEND_CRASH_WORDS]);

/* `dir`: the job's. Without a file, or with one that cannot be read, nothing crashed. */
void backend_crash_read(const char *dir, struct backend_crash *out);
void backend_crash_write(const char *dir, const struct backend_crash *c);

#endif
