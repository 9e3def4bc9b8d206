/* SPDX-License-Identifier: Apache-2.0 */
/* text/json.h - JSON to tree and back. */
#ifndef TEXT_JSON_H
#define TEXT_JSON_H

#include "base/str.h"
#include "text/diag.h"
#include "text/node.h"

/* Parses all of d->src into d->root. Strict JSON (RFC 8259); duplicate keys are an error.
 * On a problem it adds a diagnostic and returns RC_FORMAT; d->root may hold a part.
 */
enum rc json_parse(struct doc *d, struct diags *diags) MUST_CHECK;

/* A text that a program wrote: `d` is filled, to doc_release() in any case. `name` is
 * what messages call it. RC_FORMAT: "NAME is not JSON: ...", RC_NOMEM.
 */
enum rc json_read(const char *name, const char *text, size_t n, struct doc *d,
                  struct err *err) MUST_CHECK;

/* `indent` 0: on one line; else blanks per level. NODE_WORD prints as a string; NaN and
 * infinities print as the strings "NaN", "Infinity", "-Infinity" (as protobuf JSON does).
 * Anything else reads back equal; a NODE_REAL always has a point or exponent.
 */
void json_print(const struct node *root, unsigned indent, struct buf *out);

#endif
