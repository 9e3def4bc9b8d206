/* SPDX-License-Identifier: Apache-2.0 */
/* backend/probe.h - which backends can be used from here. The agent asks them and keeps
 * the answers in the file backends.json of the directory, where `job why` reads them; jobs
 * of a backend that cannot be used do not start.
 */
#ifndef BACKEND_PROBE_H
#define BACKEND_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define PROBE_TEXT 400
#define PROBE_MAX 16 /* backends */

struct backend_probe {
    bool failed;
    bool passing; /* it may work later */
    int64_t at;   /* wall clock, ns */
    char text[PROBE_TEXT];
};

/* By the order of the table; zeroed: all can be used. */
struct backend_probes {
    struct backend_probe at[PROBE_MAX];
};

struct backend_ops;

/* Asks one: what its probe() says; or E3209, it did not answer for long, or what asked was
 * killed from outside again and again; E3208, it ended the process that asked.
 */
enum rc backend_probe_one(const struct backend_ops *b, const char *dir,
                          struct err *err) MUST_CHECK;
/* Asks all and writes the file. */
void backend_probe_all(const char *dir, struct backend_probes *out);
/* Asks one that failed once more, when the answer is older than a few seconds. True: the
 * answer is another one now.
 */
bool backend_probe_again(const char *dir, struct backend_probes *p, const char *name);
/* What was found; none: nothing fails. */
void backend_probe_read(const char *dir, struct backend_probes *out);
/* NULL: it can be used, as far as is known. */
const struct backend_probe *backend_probe_failure(const struct backend_probes *p,
                                                  const char *name);

#endif
