/* SPDX-License-Identifier: Apache-2.0 */
/* data/jsonl/token.h - the pieces of one line of JSON.
 *
 * The line is followed by a '\n' that belongs to the buffer: no token holds one, so that
 * every loop ends there. The first fault stays: its place, code and what was expected.
 */
#ifndef DATA_JSONL_TOKEN_H
#define DATA_JSONL_TOKEN_H

#include <stdbool.h>

#include "base/code.h"
#include "base/str.h"

struct jsonl_tokens {
    const unsigned char *p, *end; /* *end is '\n' */
    const unsigned char *fault;   /* NULL: none so far */
    enum code code;
    const char *what;    /* static text: "expected ':'" */
    unsigned char *room; /* owned; for strings with escapes */
    size_t room_cap;
    bool all_keys;     /* a key that no column has is a fault */
    const bool *exact; /* by column: a double may not round whole numbers; NULL: it may */
    bool exact_now;    /* of the column at work */
};

/* Starts a line; keeps the room. */
static inline void jsonl_token_line(struct jsonl_tokens *j, const unsigned char *p,
                                    const unsigned char *end)
{
    j->p = p;
    j->end = end;
    j->fault = NULL;
}
void jsonl_token_release(struct jsonl_tokens *j);

/* Notes the fault unless there is one; false. */
bool jsonl_token_fault(struct jsonl_tokens *j, const unsigned char *at, enum code code,
                       const char *what);

static inline unsigned char
jsonl_token_peek(struct jsonl_tokens *j) /* first byte of the next token */
{
    while (*j->p == ' ' || *j->p == '\t' || *j->p == '\r')
        j->p++;
    return *j->p;
}
/* Takes the character, or notes `what`. */
bool jsonl_token_take(struct jsonl_tokens *j, char c, const char *what);
/* A string at j->p; *out is valid until the next one. E1153 (E0001: no memory). */
bool jsonl_token_string(struct jsonl_tokens *j, struct str *out);
/* A number as JSON spells it, or NaN, Infinity, -Infinity as Python does. */
bool jsonl_token_number(struct jsonl_tokens *j, struct str *out);
/* "NaN", "Infinity", "-Infinity": how numbers that JSON lacks are printed. */
bool jsonl_token_is_number_word(struct str s);
bool jsonl_token_word(struct jsonl_tokens *j, const char *word); /* true, false, null */
/* Any value; `depth` levels are left. */
bool jsonl_token_skip(struct jsonl_tokens *j, int depth);

/* Steps through "[a, b]" or "{...}" behind its opening character: true before each
 * element, false behind the closing one or at a fault. `first` is true at the start.
 */
bool jsonl_token_more(struct jsonl_tokens *j, char close, bool *first);

#endif
