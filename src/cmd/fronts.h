/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/fronts.h - the names of other tools under which this program may be called.
 *
 * A link `torchrun` to the program makes it take torchrun's command line. The table names
 * them all; one whose `run` is NULL is not part of this version and says so.
 */
#ifndef CMD_FRONTS_H
#define CMD_FRONTS_H

#include "base/err.h"

struct front {
    const char *name;  /* of the link */
    const char *title; /* whose command line it is */
    enum rc (*run)(int argc, char *const *argv, struct err *err);
};

/* By the last part of the path in argv[0]; NULL when it is no front end's name. */
const struct front *front_find(const char *argv0);
/* argv starts behind the program's name. RC_UNSUPPORTED: E0607. */
enum rc front_run(const struct front *f, int argc, char *const *argv, struct err *err);

#endif
