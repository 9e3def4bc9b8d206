/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/explain.h - schema tables and error codes as texts for people.
 *
 * Families come from the caller, so that tests can bring their own. Everything that is
 * found is borrowed from constant tables.
 */
#ifndef CMD_EXPLAIN_H
#define CMD_EXPLAIN_H

#include "base/str.h"
#include "base/vec.h"
#include "text/schema.h"

/* Ends with NULL. */
typedef const struct schema_family *const *families;

/* One thing that a name stands for: a message, a field, an enum or one of its values. */
struct hit {
    const struct schema_family *family;
    const struct msg_def *msg;      /* itself, or the owner of `field` */
    const struct field_def *field;  /* NULL unless a field */
    const struct enum_def *enums;   /* NULL unless an enum or a value */
    const struct enum_value *value; /* NULL unless a value */
};

struct hits {
    VEC(struct hit) list;
};

/* `what`: a name ("IdFeature", "id_feature"), a path ("train_config.num_epochs"), either
 * behind "family:". Case and '_' do not count. No hits: RC_NOTFOUND with E0608 and the
 * nearest name.
 */
enum rc explain_find(families all, const char *what, struct hits *out,
                     struct err *err) MUST_CHECK;
void hits_release(struct hits *h);

/* Each hit for a terminal, at most 100 columns wide. */
void explain_hits(const struct hits *h, struct buf *out);
void explain_code(const struct code_info *code, struct buf *out);
/* Every message and enum with its line of meaning, then every code. */
void explain_all(families all, struct buf *out);
/* Every name that explain_find() takes, one per line: for completion. */
void explain_words(families all, struct buf *out);

/* Messages, fields and enums of a family as one line of JSON. */
void explain_family_json(const struct schema_family *f, struct buf *out);

/* Reference pages. */
void explain_family_md(const struct schema_family *f, struct buf *out);
void explain_codes_md(struct buf *out);
void explain_commands_md(struct buf *out);

#endif
