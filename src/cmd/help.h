/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/help.h - texts made from the table of commands. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "base/str.h"
#include "cmd/cmd.h"

/* `trainyard --help`: the commonest commands, then all by task; with `group`, a line for each
 * command of that group.
 */
void help_overview(const char *group, struct buf *out);
/* `trainyard CMD --help`. */
void help_command(const struct cmd *c, struct buf *out);
/* All of it as a man page. */
void help_man(struct buf *out);
/* "trainyard check [options] FILE..." */
void help_usage(const struct cmd *c, struct buf *out);
/* Fills paragraphs to `width` columns, each line behind `indent` blanks. */
void help_fill(struct buf *out, const char *text, size_t indent, size_t width);

#endif
