/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/explain_private.h - what the terminal's and the reference's form share. */
#ifndef CMD_EXPLAIN_PRIVATE_H
#define CMD_EXPLAIN_PRIVATE_H

#include "cmd/explain.h"

#define EXPLAIN_TEXT_MAX ((size_t)1 << 20) /* of one cell */

/* "uint32", "string[]", "map<string, float>", "MLP[]", "ANY" */
void field_put_type(const struct field_def *f, struct buf *out);
/* "0.1", "\"\\x03\"", or nothing. */
void field_put_default(const struct field_def *f, struct buf *out);
/* The line of meaning and, behind it, what else there is to know. */
void field_put_meaning(const struct field_def *f, struct buf *out);
/* Places where `msg` or `enums` (one of them NULL) is the type of a field: "A.x, B.y". */
void family_put_uses(const struct schema_family *f, const struct msg_def *msg,
                     const struct enum_def *enums, struct buf *out);

#endif
