/* SPDX-License-Identifier: Apache-2.0 */
/* compat/flags.h - command lines as Python's argparse reads them.
 *
 * `--name value`, `--name=value`, any beginning of a name that fits one only, '-' and '_'
 * alike, and the last of several wins.
 */
#ifndef COMPAT_FLAGS_H
#define COMPAT_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

struct compat_flag {
    const char *name; /* without dashes, with '_' */
    bool no_value;    /* it stands alone */
    char letter;      /* -m; 0: none */
};

struct compat_flags {
    const char **value;        /* [rules]: NULL: not given; of one without a value: "" */
    VEC(const char *) unknown; /* words that no rule takes */
    int used; /* words read; fewer than given when `stop_at_word` met one */
};

/* `rules` ends with a NULL name. With `stop_at_word` the first word that is no option
 * ends the reading. *out is the caller's, to release, in any case. RC_INVAL: E2201 a
 * value is missing, E2202 a beginning that fits several.
 */
enum rc compat_flags_read(const struct compat_flag *rules, int argc, char *const *argv,
                          bool stop_at_word, struct compat_flags *out,
                          struct err *err) MUST_CHECK;
void compat_flags_release(struct compat_flags *f);
/* The value of a rule by its name; NULL when it was not given. */
const char *compat_flags_get(const struct compat_flags *f,
                             const struct compat_flag *rules, const char *name);

#endif
