/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/train_ps.h - train with parameter servers: a pipeline.config by servers and trainers
 * that are processes of this machine (paddlerec_cluster.h).
 */
#ifndef CMD_TRAIN_PS_H
#define CMD_TRAIN_PS_H

#include "text/conf.h"

/* All borrowed. */
struct train_ps_command {
    const char *ps, *mode;   /* "2x4": servers and trainers; a strategy */
    const struct conf *conf; /* opened, with its overrides */
    int64_t geo_step, seed, threads;
    /* Of the processes, behind the program's name: the same command again; NULL behind the
     * last.
     */
    const char *const *args;
};

/* In the process that a user starts: starts the others and waits for them. In one of those:
 * serves, or trains on its files; the first trainer saves. RC_INVAL: E0603, E1201; what servers
 * and trainers say (E2701 to E2706).
 */
enum rc train_ps_command(const struct train_ps_command *c, struct err *err) MUST_CHECK;

#endif
