/* SPDX-License-Identifier: Apache-2.0 */
/* base/plugin.h - parts of the program that are libraries of their own, so that it starts
 * without what they need (MPI, CUDA).
 *
 * A library is looked for beside the program and in ../lib/trainyard of an installation,
 * and nowhere else: a name alone would let the environment choose. It exports one struct
 * that begins with the version it was built for, and is refused when that is another: no
 * layout is promised between versions. It stays loaded.
 */
#ifndef BASE_PLUGIN_H
#define BASE_PLUGIN_H

#include <stdbool.h>

#include "base/err.h"

struct plugin_wanted {
    const char *what;    /* "comm 'mpi'", for messages */
    const char *library; /* "libtrainyard_mpi.so" */
    const char *symbol;  /* of the struct */
    enum code code;      /* of all messages */
    bool global;         /* what it loads in turn looks for its symbols */
};

/* *out is the struct. RC_NOTFOUND: there is no such library, or it lacks something;
 * RC_UNSUPPORTED: it is of another version.
 */
enum rc plugin_load(const struct plugin_wanted *wanted, const void **out,
                    struct err *err) MUST_CHECK;

#endif
