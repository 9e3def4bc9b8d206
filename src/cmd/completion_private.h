/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/completion_private.h - what the completion scripts of several shells share. */
#ifndef CMD_COMPLETION_PRIVATE_H
#define CMD_COMPLETION_PRIVATE_H

#include "cmd/cmd.h"

/* Whether completion offers this row of an option table. */
bool completion_offers(const struct opt *o);
/* "dry-run" of a row, without the dashes. */
void completion_flag(const struct opt *o, struct buf *out);
/* "a|b" as "a b". */
void completion_spaced(struct buf *out, const char *words);
/* The fixed arguments of a command, blanks between them; nothing when it takes files. */
void completion_words(const struct cmd *c, struct buf *out);

/* The whole script for fish. */
void completion_fish(struct buf *out);

#endif
