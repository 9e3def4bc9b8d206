/* SPDX-License-Identifier: Apache-2.0 */
/* text/prototext.h - protobuf text format to tree and back, without a schema.
 *
 * A message becomes a map whose entries stand in file order, a repeated field one entry
 * per occurrence, `[a, b]` a list. Bare words (enum values, true, inf) become NODE_WORD.
 * What the schema makes of it is text/schema.h's business.
 */
#ifndef TEXT_PROTOTEXT_H
#define TEXT_PROTOTEXT_H

#include "base/str.h"
#include "text/diag.h"
#include "text/node.h"

/* Parses all of d->src into d->root. On a syntax error it adds a diagnostic, goes on
 * behind the next point where it can, and returns RC_FORMAT at the end; d->root then
 * holds what could be read. RC_NOMEM when a size from the file cannot be had.
 */
enum rc prototext_parse(struct doc *d, struct diags *diags) MUST_CHECK;

/* Canonical text: two blanks per level, one field per line, `name { ... }` for messages,
 * short lists of scalars on one line. Parsing it gives an equal tree. `root` is a map.
 */
void prototext_print(const struct node *root, struct buf *out);

#endif
