/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive descent. After a syntax error parsing goes on with the next line, so that one
 * slip does not hide the others; after ERRORS_MAX it gives up.
 */
#include "text/prototext.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "text/prototext_lex.h"

#define ERRORS_MAX 20
#define STRING_MAX ((size_t)16 << 20)

struct parser {
    struct prototext_lexer x;
    struct doc *doc;
    struct buf scratch; /* a string being put together */
    unsigned depth;
    size_t errors_before;
};

static bool given_up(const struct parser *p)
{
    return p->x.diags->n_errors - p->errors_before >= ERRORS_MAX;
}

static struct diag *syntax_error(struct parser *p, enum code code, const char *what)
{
    struct str s = lexer_text(&p->x);
    if (p->x.token == TOKEN_BAD) /* the lexer has said it */
        return NULL;
    if (p->x.token == TOKEN_END)
        return diag_add(p->x.diags, DIAG_ERROR, code, lexer_span(&p->x),
                        "%s, but the file ends", what);
    return diag_add(p->x.diags, DIAG_ERROR, code, lexer_span(&p->x), "%s, found '%.*s'",
                    what, (int)(s.n > 40 ? 40 : s.n), s.p);
}

static bool parse_fields(struct parser *p, struct node *map, char closer,
                         struct span opener);
static struct node *parse_value(struct parser *p);

static char closer_of(const struct parser *p)
{
    return lexer_is(&p->x, '{') ? '}' : '>';
}

/* `{ ... }` or `< ... >`; the opening one is the current token. NULL: give up. */
static struct node *parse_message(struct parser *p)
{
    struct span opener = lexer_span(&p->x);
    struct node *map = node_create(&p->doc->arena, NODE_MAP, opener);
    char closer = closer_of(p);
    if (p->depth >= NODE_DEPTH_MAX) {
        diag_add(p->x.diags, DIAG_ERROR, E0107, opener, "nested more than %d levels deep",
                 NODE_DEPTH_MAX);
        return NULL;
    }
    p->depth++;
    lexer_next(&p->x);
    bool good = parse_fields(p, map, closer, opener);
    p->depth--;
    map->at.len = p->x.before - opener.off;
    return good ? map : NULL;
}

static struct node *parse_list(struct parser *p)
{
    struct span opener = lexer_span(&p->x);
    struct node *list = node_create(&p->doc->arena, NODE_LIST, opener);
    lexer_next(&p->x);
    while (!lexer_is(&p->x, ']')) {
        if (lexer_is(&p->x, '[')) {
            syntax_error(p, E0103, "a list cannot hold a list");
            return NULL;
        }
        struct node *item = parse_value(p);
        if (!item)
            return NULL;
        node_push(&p->doc->arena, list, item);
        if (lexer_is(&p->x, ']'))
            break;
        if (!lexer_is(&p->x, ',')) {
            syntax_error(p, E0103, "expected ',' or ']' after a list item");
            return NULL;
        }
        lexer_next(&p->x);
        if (lexer_is(&p->x, ']')) {
            struct diag *g = syntax_error(p, E0103, "expected a list item after ','");
            if (g)
                diag_hint(p->x.diags, g, "remove the comma before ']'");
            return NULL;
        }
    }
    lexer_next(&p->x);
    list->at.len = p->x.before - opener.off;
    return list;
}

/* Adjacent strings are one. */
static struct node *parse_strings(struct parser *p)
{
    struct span at = lexer_span(&p->x);
    bool good = true;
    buf_clear(&p->scratch);
    while (p->x.token == TOKEN_STRING) {
        good &= lexer_unescape(&p->x, &p->scratch);
        lexer_next(&p->x);
    }
    at.len = p->x.before - at.off;
    if (p->scratch.failed) {
        diag_add(p->x.diags, DIAG_ERROR, E0105, at, "string of more than %zu bytes",
                 STRING_MAX);
        good = false;
    }
    return good ? node_str(&p->doc->arena, buf_str(&p->scratch), p->scratch.n, at) : NULL;
}

static bool is_special_number(struct str s, double *v)
{
    if ((s.n == 3 && strncasecmp(s.p, "inf", 3) == 0) ||
        (s.n == 8 && strncasecmp(s.p, "infinity", 8) == 0))
        *v = (double)INFINITY;
    else if (s.n == 3 && strncasecmp(s.p, "nan", 3) == 0)
        *v = (double)NAN;
    else
        return false;
    return true;
}

/* A number or a bare word, with an optional '-'. */
static struct node *parse_plain(struct parser *p)
{
    struct span at = lexer_span(&p->x);
    bool neg = lexer_is(&p->x, '-');
    if (neg)
        lexer_next(&p->x);
    struct node *n = node_create(&p->doc->arena, NODE_WORD, at);
    double v;
    if (p->x.token == TOKEN_NUMBER) {
        if (!lexer_number(&p->x, neg, n))
            return NULL;
    } else if (p->x.token == TOKEN_WORD && neg &&
               is_special_number(lexer_text(&p->x), &v)) {
        n->kind = NODE_REAL;
        n->real = -v;
    } else if (p->x.token != TOKEN_WORD || neg) {
        syntax_error(p, E0103, neg ? "expected a number after '-'" : "expected a value");
        return NULL;
    }
    lexer_next(&p->x);
    n->at.len = p->x.before - at.off;
    n->text = str_of(arena_strndup(&p->doc->arena, p->doc->src->text + at.off, n->at.len),
                     n->at.len);
    return n;
}

static struct node *parse_value(struct parser *p)
{
    if (lexer_is(&p->x, '{') || lexer_is(&p->x, '<'))
        return parse_message(p);
    if (lexer_is(&p->x, '['))
        return parse_list(p);
    if (p->x.token == TOKEN_STRING)
        return parse_strings(p);
    return parse_plain(p);
}

/* One `name: value`, `name { }` or `name [ ]`. false: go on with the next line. */
static bool parse_field(struct parser *p, struct node *map)
{
    if (p->x.token != TOKEN_WORD) {
        struct diag *g = syntax_error(p, E0103, "expected a field name");
        if (g && lexer_is(&p->x, '['))
            diag_hint(p->x.diags, g, "extensions are not used in these files");
        return false;
    }
    struct str name = lexer_text(&p->x);
    struct span name_at = lexer_span(&p->x);
    lexer_next(&p->x);
    bool colon = lexer_is(&p->x, ':');
    if (colon)
        lexer_next(&p->x);
    bool opens = lexer_is(&p->x, '{') || lexer_is(&p->x, '<') || lexer_is(&p->x, '[');
    if (!colon && !opens) {
        struct diag *g = syntax_error(p, E0103, "expected ':' or '{' after a field name");
        if (g)
            diag_hint(p->x.diags, g, "the field is '%.*s'", (int)name.n, name.p);
        return false;
    }
    struct node *value = parse_value(p);
    if (!value)
        return false;
    node_add(&p->doc->arena, map, name, name_at, value);
    if (lexer_is(&p->x, ',') || lexer_is(&p->x, ';'))
        lexer_next(&p->x);
    return true;
}

static void wrong_closer(struct parser *p, char closer, struct span opener)
{
    uint32_t line, col;
    struct str s = lexer_text(&p->x);
    if (!closer) {
        diag_add(p->x.diags, DIAG_ERROR, E0104, lexer_span(&p->x),
                 "'%.*s' closes nothing", (int)s.n, s.p);
        return;
    }
    source_locate(opener.src, opener.off, &line, &col);
    diag_add(p->x.diags, DIAG_ERROR, E0104, lexer_span(&p->x),
             "'%.*s' does not close the '%c' of line %u, column %u", (int)s.n, s.p,
             opener.src->text[opener.off], line, col);
}

/* Fields up to `closer` ('\0': the end of the file), which is passed. false: give up. */
static bool parse_fields(struct parser *p, struct node *map, char closer,
                         struct span opener)
{
    for (;;) {
        if (given_up(p))
            return false;
        if (p->x.token == TOKEN_END) {
            if (closer)
                diag_add(p->x.diags, DIAG_ERROR, E0104, opener, "'%c' is never closed",
                         opener.src->text[opener.off]);
            return !closer;
        }
        if (lexer_is(&p->x, '}') || lexer_is(&p->x, '>')) {
            if (closer && lexer_is(&p->x, closer)) {
                lexer_next(&p->x);
                return true;
            }
            wrong_closer(p, closer, opener);
            lexer_next(&p->x);
            if (closer)
                return true;
            continue;
        }
        if (!parse_field(p, map) && p->x.token != TOKEN_END)
            lexer_skip_line(&p->x);
    }
}

enum rc prototext_parse(struct doc *d, struct diags *diags)
{
    struct parser p = {.doc = d, .errors_before = diags->n_errors};
    buf_init(&p.scratch, STRING_MAX);
    lexer_init(&p.x, d->src, diags);
    struct span all = {.src = d->src, .off = 0, .len = (uint32_t)d->src->n};
    d->root = node_create(&d->arena, NODE_MAP, all);
    parse_fields(&p, d->root, '\0', all);
    buf_release(&p.scratch);
    return diags->n_errors > p.errors_before ? RC_FORMAT : RC_OK;
}
