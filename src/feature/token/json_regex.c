/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting at the matches of a regular expression. A pattern is translated first, because
 * the library that these files are written for takes \w a little wider than PCRE2, and
 * compiled with its JIT where that exists. The stretches between and at matches are
 * joined as the stage demands: apart, with the one before, with the one behind, or
 * dropped.
 */
#include <string.h>

#include "base/mem.h"
#include "feature/token/json_private.h"

/* The library that these files are written for takes marks and connectors for parts of
 * words (\w), PCRE2 does not.
 */
static void translate(struct str in, struct buf *out)
{
    static const char word[] = "\\p{L}\\p{M}\\p{N}\\p{Pc}";
    bool class = false;
    for (size_t i = 0; i < in.n; i++) {
        bool escape = in.p[i] == '\\' && i + 1 < in.n;
        if (escape && in.p[i + 1] == 'w') {
            buf_printf(out, "%s%s%s", class ? "" : "[", word, class ? "" : "]");
            i++;
        } else if (escape && in.p[i + 1] == 'W' && !class) {
            buf_printf(out, "[^%s]", word);
            i++;
        } else if (escape) {
            buf_add(out, in.p + i, 2);
            i++;
        } else {
            class = in.p[i] == '[' || (class && in.p[i] != ']');
            buf_putc(out, in.p[i]);
        }
    }
}

enum rc stage_regex(struct stage *st, struct str pattern, struct err *err)
{
    int code;
    PCRE2_SIZE at;
    struct buf text;
    buf_init(&text, (size_t)1 << 20);
    translate(pattern, &text);
    st->regex =
        pcre2_compile((PCRE2_SPTR)buf_str(&text), text.n,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK, &code, &at, NULL);
    buf_release(&text);
    if (!st->regex) {
        PCRE2_UCHAR msg[120] = "";
        pcre2_get_error_message(code, msg, sizeof(msg));
        return err_coded(err, RC_UNSUPPORTED, E1313, "regular expression '%.*s': %s",
                         (int)(pattern.n < 80 ? pattern.n : 80), pattern.p,
                         (const char *)msg);
    }
    (void)pcre2_jit_compile(st->regex,
                            PCRE2_JIT_COMPLETE); /* slower without, not wrong */
    return RC_OK;
}

struct finder {
    struct token_scratch *s;
    const struct stage *st;
    struct str in;
    size_t at;
};

/* The next match that is not empty. */
static enum rc bpe_regex_find(struct finder *f, bool *found, size_t *begin, size_t *end,
                              struct err *err)
{
    *found = false;
    while (f->at < f->in.n) {
        int n = pcre2_match(f->st->regex, (PCRE2_SPTR)f->in.p, f->in.n, f->at,
                            PCRE2_NO_UTF_CHECK, f->s->match, f->s->limits);
        if (n == PCRE2_ERROR_NOMATCH)
            return RC_OK;
        if (n < 0)
            return err_coded(
                err, RC_UNSUPPORTED, E1313,
                "a regular expression of the tokenizer gives up on a text of "
                "%zu bytes",
                f->in.n);
        PCRE2_SIZE *o = pcre2_get_ovector_pointer(f->s->match);
        if (o[1] > o[0] && o[0] >= f->at) {
            *found = true;
            *begin = o[0];
            *end = f->at = o[1];
            return RC_OK;
        }
        int32_t c;
        f->at += token_char(str_of(f->in.p + f->at, f->in.n - f->at), &c);
    }
    return RC_OK;
}

/* Stretches of the text, each a match or not, joined as the way demands. */
struct joiner {
    struct token_scratch *s;
    struct str in;
    enum split_way way;
    bool has, last_match, prev_match;
    size_t begin, end;
};

static void bpe_regex_flush(struct joiner *j)
{
    if (j->has && j->end > j->begin)
        stage_emit(j->s, str_of(j->in.p + j->begin, j->end - j->begin));
    j->has = false;
}

static void stretch(struct joiner *j, size_t begin, size_t end, bool match)
{
    bool join = false;
    if (begin == end)
        return;
    switch (j->way) {
    case SPLIT_REMOVED:
    case SPLIT_ISOLATED:
        break;
    case SPLIT_WITH_PREVIOUS: /* the first match behind other text stays with it */
        join = match && !j->prev_match;
        break;
    case SPLIT_WITH_NEXT: /* the last match before other text goes with it */
        join = !match && j->prev_match;
        break;
    case SPLIT_CONTIGUOUS:
        join = match == j->prev_match;
        break;
    }
    if (!join || !j->has)
        bpe_regex_flush(j);
    if (!j->has)
        j->begin = begin;
    j->has = !(match && j->way == SPLIT_REMOVED);
    j->end = end;
    j->prev_match = match;
}

enum rc stage_split(const struct stage *st, struct token_scratch *s, struct str in,
                    bool first, struct err *err)
{
    struct finder f = {.s = s, .st = st, .in = in};
    struct joiner j = {.s = s, .in = in, .way = st->way};
    size_t done = 0, begin = 0, end = 0;
    bool found = true;
    enum rc rc = RC_OK;
    while (!rc && found) {
        rc = bpe_regex_find(&f, &found, &begin, &end, err);
        if (rc || !found)
            break;
        stretch(&j, done, begin, st->invert);
        stretch(&j, begin, end, !st->invert);
        done = end;
    }
    stretch(&j, done, in.n, st->invert);
    bpe_regex_flush(&j);
    return rc;
}

enum rc stage_replace_regex(const struct stage *st, struct token_scratch *s,
                            struct str in, bool first, struct err *err)
{
    struct finder f = {.s = s, .st = st, .in = in};
    size_t done = 0, begin = 0, end = 0, at = s->next.n;
    bool found = true;
    enum rc rc = RC_OK;
    while (!rc) {
        rc = bpe_regex_find(&f, &found, &begin, &end, err);
        if (rc || !found)
            break;
        buf_add(&s->next, in.p + done, begin - done);
        buf_add(&s->next, st->b.p, st->b.n);
        done = end;
    }
    buf_add(&s->next, in.p + done, in.n - done);
    struct token_piece p = {.at = at, .n = s->next.n - at, .id = -1};
    VEC_PUSH(&s->made, p);
    return rc;
}
