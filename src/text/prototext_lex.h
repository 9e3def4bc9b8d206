/* SPDX-License-Identifier: Apache-2.0 */
/* text/prototext_lex.h - tokens of protobuf text format; for prototext.c alone. */
#ifndef TEXT_PROTOTEXT_LEX_H
#define TEXT_PROTOTEXT_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "text/diag.h"
#include "text/node.h"

enum lexer_token {
    TOKEN_END,
    TOKEN_WORD,   /* identifier */
    TOKEN_NUMBER, /* starts with a digit or a point */
    TOKEN_STRING, /* with its quotes, checked to be closed */
    TOKEN_PUNCT,  /* one character of {}<>[]:,;-  */
    TOKEN_BAD,    /* anything else, one character; already reported */
};

struct prototext_lexer {
    const struct source *src;
    struct diags *diags;
    uint32_t pos;    /* behind the current token */
    uint32_t start;  /* of the current token */
    uint32_t before; /* end of the token before */
    enum lexer_token token;
};

void lexer_init(struct prototext_lexer *x, const struct source *src, struct diags *diags);
void lexer_next(struct prototext_lexer *x);
bool lexer_is(const struct prototext_lexer *x, char punct);
struct str lexer_text(const struct prototext_lexer *x);
struct span lexer_span(const struct prototext_lexer *x);
/* To the first token of the next line. */
void lexer_skip_line(struct prototext_lexer *x);

/* Appends the bytes that the current string token stands for. false: an escape is wrong
 * (and reported).
 */
bool lexer_unescape(const struct prototext_lexer *x, struct buf *out);
/* Fills `n` (kind, num or real, text) from the digits of a number token. false: malformed
 * (and reported).
 */
bool lexer_number(const struct prototext_lexer *x, bool neg, struct node *n);

#endif
