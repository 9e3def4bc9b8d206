/* SPDX-License-Identifier: Apache-2.0 */
/* text/paddlerec/paddlerec_private.h - shared by the two kinds of files. */
#ifndef TEXT_PADDLEREC_PADDLEREC_PRIVATE_H
#define TEXT_PADDLEREC_PADDLEREC_PRIVATE_H

#include <strings.h>

#include "text/conf.h"
#include "text/paddlerec/paddlerec.h"

static inline bool prec_is(const char *value, const char *word)
{
    return strcasecmp(value, word) == 0;
}

/* `len` bytes of a string's text, `off` bytes into it, when the source spells them as
 * they are; else the whole string.
 */
struct span prec_part(const struct node *n, size_t off, size_t len);

#endif
