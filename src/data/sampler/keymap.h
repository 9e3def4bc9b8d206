/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/keymap.h - which number an id has; ids of texts are hashes of them. */
#ifndef DATA_SAMPLER_KEYMAP_H
#define DATA_SAMPLER_KEYMAP_H

#include <stdint.h>

#include "base/err.h"
#include "data/column.h"

struct keymap {
    int64_t *keys;
    int64_t *numbers; /* -1: free */
    int64_t size;     /* power of two, at least twice the ids */
    int64_t n;
};

/* Room for `most` ids. RC_NOMEM. */
enum rc keymap_init(struct keymap *m, int64_t most, struct err *err) MUST_CHECK;
void keymap_release(struct keymap *m);
void keymap_clear(struct keymap *m);                               /* keeps the memory */
int64_t keymap_find(const struct keymap *m, int64_t key);          /* its number, or -1 */
int64_t keymap_add(struct keymap *m, int64_t key, int64_t number); /* the number it has */

/* Whether ids are numbers or texts. */
enum id_kind { ID_NUMBER, ID_TEXT };
/* The key of row i: of numbers the number (texts are read as one, null is 0), of texts a
 * hash (numbers are written out first). false: a text that is not a number.
 */
bool id_key(const struct column *c, int64_t i, enum id_kind kind, int64_t *out);
/* A column that can hold ids at all. */
bool id_column(const struct type *t);

#endif
