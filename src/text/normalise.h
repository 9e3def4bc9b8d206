/* SPDX-License-Identifier: Apache-2.0 */
/* text/normalise.h - what the two halves of schema_normalise() share. */
#ifndef TEXT_NORMALISE_H
#define TEXT_NORMALISE_H

#include "text/schema.h"

struct normaliser {
    enum schema_dialect dialect;
    struct arena *arena;
    struct diags *diags;
    bool ignore_unknown;
};

/* A diagnostic at `at` inside `m`. */
struct diag *normalise_report(struct normaliser *x, const struct msg *m,
                              enum severity severity, enum code code, struct span at,
                              const char *fmt, ...) PRINTF_LIKE(6, 7);

/* `n` as a scalar of f's type, changed in place or replaced; NULL when it is none, with a
 * diagnostic.
 */
struct node *normalise_scalar(struct normaliser *x, const struct msg *m,
                              const struct field_def *f, struct node *n);

/* The field of `def` that `key` means in that dialect, or NULL. */
const struct field_def *normalise_field(const struct msg_def *def,
                                        enum schema_dialect dialect, struct str key);
/* The name of the field nearest to `key`, or NULL. */
const char *normalise_nearest(const struct msg_def *def, struct str key);
/* The message of a FIELD_UNION whose tag is `word`, or NULL. */
const struct msg_def *normalise_variant(const struct field_def *f, struct str word);

/* schema_normalise() with the option to skip unknown fields. */
enum rc schema_normalise_with(const struct msg_def *def, struct node *root,
                              enum schema_dialect dialect, bool ignore_unknown,
                              struct arena *a, struct diags *diags);

#endif
