/* SPDX-License-Identifier: Apache-2.0 */
/* nn/optim/pattern.h - regular expressions that must match a whole name (PCRE2). */
#ifndef NN_OPTIM_PATTERN_H
#define NN_OPTIM_PATTERN_H

#include <stdbool.h>

#include "base/err.h"

struct optim_pattern;

/* RC_INVAL (E0308) says where the expression is wrong. */
enum rc optim_pattern_create(const char *regex, struct optim_pattern **out,
                             struct err *err) MUST_CHECK;
void optim_pattern_destroy(struct optim_pattern *p); /* NULL is fine */
/* RC_INVAL (E0308) when the expression takes too long on this name. */
enum rc optim_pattern_match(const struct optim_pattern *p, const char *name, bool *out,
                            struct err *err) MUST_CHECK;

#endif
