/* SPDX-License-Identifier: Apache-2.0 */
/* compat/easyrec_private.h - building the tree of a pipeline.config from another one. */
#ifndef COMPAT_EASYREC_PRIVATE_H
#define COMPAT_EASYREC_PRIVATE_H

#include "base/compiler.h"
#include "compat/easyrec.h"

/* easyrec_tree.c: results lie in x->arena. */
void easyrec_note(struct compat_easyrec *x, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct node *easyrec_map(struct compat_easyrec *x);
/* A new map under `key`. */
struct node *easyrec_sub(struct compat_easyrec *x, struct node *map, const char *key);
void easyrec_put(struct compat_easyrec *x, struct node *map, const char *key,
                 const struct node *value); /* NULL: nothing */
void easyrec_put_text(struct compat_easyrec *x, struct node *map, const char *key,
                      const char *text);
void easyrec_put_word(struct compat_easyrec *x, struct node *map, const char *key,
                      const char *word);
void easyrec_put_int(struct compat_easyrec *x, struct node *map, const char *key,
                     int64_t value);
/* All values of `key`, single ones and those of lists. */
void easyrec_copy(struct compat_easyrec *x, const struct node *from, const char *key,
                  struct node *to, const char *as);
/* The i-th value of a repeated field; NULL behind the last. */
const struct node *easyrec_at(const struct node *map, const char *key, size_t i);
/* The text of a string or a bare word; "" when there is none. */
const char *easyrec_text(const struct node *map, const char *key);

/* easyrec_feature.c, easyrec_model.c */
void easyrec_features(struct compat_easyrec *x);
enum rc easyrec_model(struct compat_easyrec *x, struct err *err) MUST_CHECK;

#endif
