/* SPDX-License-Identifier: Apache-2.0 */
/* base/opt_private.h - what the parts of opt share. */
#ifndef BASE_OPT_PRIVATE_H
#define BASE_OPT_PRIVATE_H

#include "base/opt.h"

/* The name shown to people, borrowed: the flag's or the last part of the field's. */
const char *opt_name(const struct opt *o);
/* The row with this name or alias, '-' and '_' alike; NULL when there is none. */
const struct opt *opt_lookup(const struct opt *opts, struct str name);
/* Reads `value` into the field of `o`. `shown` is how messages call the option. */
enum rc opt_assign(const struct opt *o, void *conf, const char *shown, const char *value,
                   struct err *err) MUST_CHECK;
/* E0601 with a suggestion; `kind` is "option" or "setting", `dashes` "--" or "". */
enum rc opt_unknown(const struct opt *opts, const char *kind, const char *dashes,
                    struct str name, struct err *err) MUST_CHECK;
/* "1..4096", "at least 1" or "" for a row's limits. */
void opt_print_range(const struct opt *o, struct buf *out);

#endif
