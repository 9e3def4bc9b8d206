/* SPDX-License-Identifier: Apache-2.0 */
/* text/yaml.h - YAML to tree and back, over libyaml. */
#ifndef TEXT_YAML_H
#define TEXT_YAML_H

#include <stdbool.h>

#include "base/str.h"
#include "text/diag.h"
#include "text/node.h"

/* Parses the one document of d->src into d->root. Plain scalars are typed by the YAML 1.2
 * core schema (so 1e-3 is a number), and the 1.1 words yes/no/on/off stay strings whose
 * `text` the schema turns into booleans where a boolean is wanted. Anchors and aliases
 * are resolved, with a bound on the expansion; `<<` merges. Duplicate keys: an error, or
 * with `last_key_wins` a warning, the last one counting. An empty file is NODE_NULL.
 * RC_FORMAT with a diagnostic, d->root holding what was read before; RC_NOMEM likewise.
 */
enum rc yaml_parse(struct doc *d, bool last_key_wins, struct diags *diags) MUST_CHECK;

/* Block style; parsing it gives an equal tree (bytes that are not UTF-8 become U+FFFD,
 * and NODE_WORD a string).
 */
void yaml_print(const struct node *root, struct buf *out);

#endif
