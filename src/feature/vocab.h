/* SPDX-License-Identifier: Apache-2.0 */
/* feature/vocab.h - known texts and their ids. Filled once, then only read. */
#ifndef FEATURE_VOCAB_H
#define FEATURE_VOCAB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct vocab_entry {
    struct str text;
    int64_t id;
    uint64_t hash;
};

struct vocab {
    struct vocab_entry *at; /* [n] */
    size_t n, cap;
    uint32_t *slots; /* index into `at` plus one, 0 when free */
    size_t n_slots;  /* power of two */
    char *text;      /* owned; what entries of a file point into */
    int64_t max_id;  /* -1: empty */
};

/* A zeroed one is empty. */
void vocab_release(struct vocab *v);
/* The text is borrowed. A text that is there gets the new id; *old is the one before, or
 * -1. RC_NOMEM.
 */
enum rc vocab_put(struct vocab *v, struct str text, int64_t id, int64_t *old,
                  struct err *err) MUST_CHECK;
/* -1 when it is unknown. */
int64_t vocab_find(const struct vocab *v, struct str text);

/* A line is `word` (its id is the number of lines before it) or `word number`; blank
 * lines are passed over. The messages name the file and line. RC_FORMAT for a number out
 * of range or a word that appears twice with different ids.
 */
enum rc vocab_read(struct vocab *v, const char *path, struct err *err) MUST_CHECK;
/* The same from n bytes of text, which are copied. */
enum rc vocab_parse(struct vocab *v, const char *text, size_t n,
                    struct err *err) MUST_CHECK;

#endif
