/* SPDX-License-Identifier: Apache-2.0 */
/* feature/fg_json_private.h - what a kind of feature says about itself in fg.json. */
#ifndef FEATURE_FG_JSON_PRIVATE_H
#define FEATURE_FG_JSON_PRIVATE_H

#include "base/arena.h"
#include "text/diag.h"
#include "text/node.h"
#include "text/pipeline/feature.h"

/* One object being written. */
struct fg_json {
    struct arena *a;
    const struct pc_feature *f;
    struct node *to;
};

struct fg_json_reader {
    struct arena *a;
    struct diags *diags;
};

/* A key that the message calls otherwise; `to` NULL: left out, it follows from the rest. */
struct fg_json_key {
    const char *from, *to;
};

struct fg_json_ops {
    /* Everything but type, name and sequence. */
    void (*write)(struct fg_json *w);
    bool bare; /* a sequence has no sequence_ before its type */
    /* Optional: the type, when it is not that of the config. */
    const char *(*type)(const struct pc_feature *f);
    /* Optional: the name and type of a second object that stands before and is read by
     * this one; NULL: this feature needs none. write_before() fills it.
     */
    const char *(*before)(const struct fg_json *w, const char **type);
    void (*write_before)(struct fg_json *w);

    const struct fg_json_key *keys; /* ends with NULL in `from`; or NULL */
    const char *others;             /* field for keys that the message lacks, or NULL */
    /* Optional: finishes the message `to` of object `from`, one of the list `all`. */
    void (*read)(struct fg_json_reader *r, const struct node *from,
                 const struct node *all, struct node *to);
};

/* Writing. The ones without a key write the field of the same name if it says anything. */
extern const struct span fg_json_nowhere;
void fg_json_put(struct fg_json *w, const char *key, struct node *value);
void fg_json_text(struct fg_json *w, const char *key, const char *text);
void fg_json_count(struct fg_json *w, const char *key, uint64_t v);
void fg_json_flag(struct fg_json *w, const char *key, bool v);
void fg_json_texts(struct fg_json *w, const char *key, const char *const *texts,
                   int64_t n);
void fg_json_default(struct fg_json *w);
void fg_json_separator(struct fg_json *w);
void fg_json_normalizer(struct fg_json *w);
void fg_json_boundaries(struct fg_json *w);
void fg_json_bucket(struct fg_json *w);
const char *fg_json_default_of(const struct pc_feature *f);
/* "string" or "float"; `given` when it is set. */
const char *fg_json_value_type(const struct pc_feature *f, bool set, const char *given);

/* Reading. "" when there is no such text. */
const char *fg_json_text_of(const struct node *map, const char *key);
/* Is it a text_normalizer, which becomes a part of the tokenizer that reads it? */
bool fg_json_is_norm(const struct node *n);

#endif
