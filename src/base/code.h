/* SPDX-License-Identifier: Apache-2.0 */
/* base/code.h - the register of stable error codes.
 *
 * A code is never reused for another meaning; codes.def says which number belongs to
 * whom. E0101 is the number 101: tools/code-numbers writes the constants from codes/ at
 * build time, as macros, so that a file is compiled again only when a code it uses changes.
 */
#ifndef BASE_CODE_H
#define BASE_CODE_H

#include <stddef.h>

enum code { E_NONE = 0, E_LAST = 9999 };

#include "base/code_numbers.h"

struct code_info {
    enum code code;
    const char *id;    /* "E0101" */
    const char *title; /* one line, lower case, no full stop */
    const char *text;  /* what it means, why, what to do; plain text, may hold newlines */
};

/* The whole register, sorted. */
const struct code_info *code_all(size_t *n);
/* NULL for E_NONE and values outside the register. */
const struct code_info *code_info(enum code code);
/* By its spelling, in either case: "e0101". NULL when there is none. */
const struct code_info *code_find(const char *id);

#endif
