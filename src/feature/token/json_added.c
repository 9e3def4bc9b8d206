/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens that are looked for in the text itself, before anything else cuts it: the
 * leftmost, of those the longest.
 */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "feature/token/json_private.h"

static int by_first_byte_and_length(const void *a, const void *b)
{
    const struct added_token *x = a, *y = b;
    unsigned char p = (unsigned char)*x->text.p, q = (unsigned char)*y->text.p;
    if (p != q)
        return p < q ? -1 : 1;
    return x->text.n > y->text.n ? -1 : x->text.n < y->text.n;
}

void added_build(struct added *a, struct added_token *list, size_t n, struct arena *mem)
{
    *a = (struct added){.at = list, .n = n};
    qsort(list, n, sizeof(*list), by_first_byte_and_length);
    for (size_t i = 0, c = 0; c <= 256; c++) {
        while (i < n && (unsigned char)*list[i].text.p < c)
            i++;
        a->first[c] = (uint32_t)i;
    }
}

/* Letters, marks, digits, connectors; fractions and the like are none. */
static bool is_word(int32_t c)
{
    utf8proc_category_t k = c < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) ||
           k == UTF8PROC_CATEGORY_PC;
}

/* No letter or digit on either side. */
static bool stands_alone(struct str in, size_t begin, size_t end)
{
    int32_t c;
    if (end < in.n) {
        token_char(str_of(in.p + end, in.n - end), &c);
        if (is_word(c))
            return false;
    }
    size_t at = begin;
    while (at && ((unsigned char)in.p[--at] & 0xc0) == 0x80)
        ;
    if (begin == 0)
        return true;
    token_char(str_of(in.p + at, begin - at), &c);
    return !is_word(c);
}

static bool is_blank(int32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0x2028 ||
           c == 0x2029 || (c > 0x7f && utf8proc_category(c) == UTF8PROC_CATEGORY_ZS);
}

/* Where the blanks before `end` begin, not before `from`. */
static size_t blanks_before(struct str in, size_t from, size_t end)
{
    while (end > from) {
        size_t at = end - 1;
        int32_t c;
        while (at > from && ((unsigned char)in.p[at] & 0xc0) == 0x80)
            at--;
        token_char(str_of(in.p + at, end - at), &c);
        if (!is_blank(c))
            break;
        end = at;
    }
    return end;
}

static size_t blanks_behind(struct str in, size_t at)
{
    while (at < in.n) {
        int32_t c;
        size_t n = token_char(str_of(in.p + at, in.n - at), &c);
        if (!is_blank(c))
            break;
        at += n;
    }
    return at;
}

static const struct added_token *added_match(const struct added *a, struct str in,
                                             size_t at)
{
    unsigned char c = (unsigned char)in.p[at];
    for (uint32_t i = a->first[c]; i < a->first[c + 1]; i++) {
        const struct added_token *t = &a->at[i];
        if (t->text.n <= in.n - at && memcmp(t->text.p, in.p + at, t->text.n) == 0 &&
            (!t->single_word || stands_alone(in, at, at + t->text.n)))
            return t;
    }
    return NULL;
}

static void added_cut(const struct added *a, struct token_scratch *s, struct str in)
{
    size_t done = 0, at = 0;
    while (at < in.n) {
        const struct added_token *t = added_match(a, in, at);
        if (!t) {
            at++;
            continue;
        }
        size_t begin = at, end = at + t->text.n;
        if (t->lstrip)
            begin = blanks_before(in, done, begin);
        if (t->rstrip)
            end = blanks_behind(in, end);
        if (begin > done)
            stage_emit(s, str_of(in.p + done, begin - done));
        stage_emit(s, str_of(in.p + begin, end - begin));
        s->made.at[s->made.n - 1].id = t->id;
        done = at = end;
    }
    if (done < in.n)
        stage_emit(s, str_of(in.p + done, in.n - done));
}

void added_run(const struct added *a, struct token_scratch *s)
{
    if (!a->n)
        return;
    buf_clear(&s->next);
    s->made.n = 0;
    for (size_t i = 0; i < s->pieces.n; i++) {
        struct token_piece p = s->pieces.at[i];
        struct str in = str_of(s->text.p + p.at, p.n);
        if (p.id < 0) {
            added_cut(a, s, in);
            continue;
        }
        stage_emit(s, in);
        s->made.at[s->made.n - 1].id = p.id;
    }
    struct buf text = s->text;
    s->text = s->next;
    s->next = text;
    token_pieces pieces = s->pieces;
    s->pieces = s->made;
    s->made = pieces;
}
