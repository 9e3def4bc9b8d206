/* SPDX-License-Identifier: Apache-2.0 */
/* A descent over the text, one function per production; nesting is bounded before it is
 * entered. The first syntax error ends the parse, since what follows in JSON is rarely
 * worth a second message; a key given twice does not.
 */
#include "text/json.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "text/keys.h"

#define SHOWN_MAX 32 /* bytes of a token that messages repeat */

struct json {
    struct doc *doc;
    struct diags *diags;
    const char *s; /* doc->src->text */
    size_t n, at;
    unsigned depth;
    bool failed; /* a syntax error ended the parse; what was read so far is handed up */
    bool twice;  /* a key was given twice */
};

static struct span span_of(const struct json *j, size_t from, size_t to)
{
    return (struct span){
        .src = j->doc->src, .off = (uint32_t)from, .len = (uint32_t)(to - from)};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_wordy(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* End of the token at `from`: a word, something like a number, or one character. */
static size_t token_end(const struct json *j, size_t from)
{
    size_t to = from;
    while (to < j->n &&
           (is_wordy(j->s[to]) || j->s[to] == '+' || j->s[to] == '-' || j->s[to] == '.'))
        to++;
    return to > from || from == j->n ? to : from + 1;
}

static const char *found_at(const struct json *j, size_t from)
{
    size_t n = token_end(j, from) - from;
    if (n == 0)
        return "the end of the text";
    if (j->s[from] == '"')
        return "a string";
    bool cut = n > SHOWN_MAX;
    if (cut)
        for (n = SHOWN_MAX; (j->s[from + n] & 0xc0) == 0x80;)
            n--;
    return arena_printf(&j->diags->arena, "'%.*s%s'", (int)n, j->s + from,
                        cut ? "..." : "");
}

static void skip_blanks(struct json *j)
{
    while (j->at < j->n && is_blank(j->s[j->at]))
        j->at++;
}

/* Words of other languages and what JSON has instead. */
static const struct {
    const char *word, *hint;
} slips[] = {
    {"True", "JSON writes it 'true'"},
    {"TRUE", "JSON writes it 'true'"},
    {"False", "JSON writes it 'false'"},
    {"FALSE", "JSON writes it 'false'"},
    {"None", "JSON writes it 'null'"},
    {"NULL", "JSON writes it 'null'"},
    {"Null", "JSON writes it 'null'"},
    {"nil", "JSON writes it 'null'"},
    {"undefined", "JSON writes it 'null'"},
    {"NaN", "JSON has no NaN; write null or the string \"NaN\""},
    {"nan", "JSON has no NaN; write null or the string \"NaN\""},
    {"Infinity", "JSON has no infinity; write the string \"Infinity\""},
    {"-Infinity", "JSON has no infinity; write the string \"-Infinity\""},
    {"inf", "JSON has no infinity; write the string \"Infinity\""},
    {"-inf", "JSON has no infinity; write the string \"-Infinity\""},
};

static const char *slip_hint(const struct json *j, size_t from)
{
    struct str token = str_of(j->s + from, token_end(j, from) - from);
    for (size_t i = 0; i < ARRAY_LEN(slips); i++)
        if (str_is(token, slips[i].word))
            return slips[i].hint;
    if (token.n == 0)
        return NULL;
    switch (token.p[0]) {
    case '\'':
        return "strings and keys take double quotes in JSON";
    case '#':
    case '/':
        return "JSON has no comments";
    }
    return NULL;
}

/* Every syntax error passes here. */
static struct diag *json_fail(struct json *j, enum code code, size_t from, size_t to,
                              const char *msg)
{
    j->failed = true;
    return diag_add(j->diags, DIAG_ERROR, code, span_of(j, from, to), "%s", msg);
}

/* Reports what was expected at j->at; `hint` may be NULL. */
static void expected(struct json *j, enum code code, const char *what, const char *hint)
{
    const char *slip = slip_hint(j, j->at);
    struct diag *g = json_fail(j, code, j->at, token_end(j, j->at),
                               arena_printf(&j->diags->arena, "expected %s, found %s",
                                            what, found_at(j, j->at)));
    if (slip)
        diag_hint(j->diags, g, "%s", slip);
    else if (hint)
        diag_hint(j->diags, g, "%s", hint);
}

/* The same inside a bracket that was opened at `open`. */
static void expected_in(struct json *j, size_t open, const char *what, const char *hint)
{
    bool closes = j->at == j->n || j->s[j->at] == ']' || j->s[j->at] == '}';
    if (closes && !hint) {
        uint32_t line, col;
        source_locate(j->doc->src, (uint32_t)open, &line, &col);
        hint = arena_printf(&j->diags->arena, "the open '%c' is at line %u, column %u",
                            j->s[open], line, col);
    }
    expected(j, closes ? E0104 : E0103, what, hint);
}

static bool read_hex4(const char *s, const char *end, uint32_t *out)
{
    uint32_t v = 0;
    if (end - s < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)s[i];
        if (!isxdigit(c))
            return false;
        v = v * 16 + (uint32_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    }
    *out = v;
    return true;
}

static bool bad_escape(struct json *j, const char *from, size_t n, const char *why)
{
    size_t off = (size_t)(from - j->s);
    json_fail(j, E0105, off, off + n, why);
    return false;
}

/* `\uXXXX` at *in (behind the backslash and the u); a pair of surrogates is one
 * character. */
static bool decode_unicode(struct json *j, const char **in, const char *end, char **out)
{
    const char *from = *in - 2;
    uint32_t c, low;
    if (!read_hex4(*in, end, &c)) {
        size_t n = 2;
        while (from + n < end && n < 6 && isxdigit((unsigned char)from[n]))
            n++;
        return bad_escape(j, from, n, "'\\u' needs four hexadecimal digits");
    }
    *in += 4;
    if (c >= 0xdc00 && c < 0xe000)
        return bad_escape(j, from, 6,
                          "second half of a surrogate pair without the first");
    if (c >= 0xd800 && c < 0xdc00) {
        if (end - *in < 6 || (*in)[0] != '\\' || (*in)[1] != 'u' ||
            !read_hex4(*in + 2, end, &low) || low < 0xdc00 || low > 0xdfff)
            return bad_escape(j, from, 6,
                              "first half of a surrogate pair without the second");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        *in += 6;
    }
    *out += utf8_put(c, *out);
    return true;
}

/* [in, end) with escapes to *out, which has room: no escape is shorter than what it
 * stands for.
 */
static bool json_decode(struct json *j, const char *in, const char *end, struct str *out)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    char *base = arena_alloc(&j->doc->arena, (size_t)(end - in) + 1), *to = base;
    while (in < end) {
        if (*in != '\\') {
            *to++ = *in++;
            continue;
        }
        in += 2; /* the scan saw a character behind the backslash */
        const char *letter = strchr(letters, in[-1]);
        if (in[-1] == 'u') {
            if (!decode_unicode(j, &in, end, &to))
                return false;
        } else if (letter) {
            *to++ = bytes[letter - letters];
        } else {
            size_t n = utf8_len(in - 1, (size_t)(end - in) + 1);
            return bad_escape(j, in - 2, 1 + n,
                              arena_printf(&j->diags->arena,
                                           "unknown escape '\\%.*s' in a string", (int)n,
                                           in - 1));
        }
    }
    *out = str_of(base, (size_t)(to - base));
    return true;
}

static bool bad_control(struct json *j, size_t open)
{
    unsigned c = (unsigned char)j->s[j->at];
    if (c == '\n' || c == '\r') {
        struct diag *g =
            json_fail(j, E0105, open, j->at, "the string is not closed on its line");
        diag_hint(j->diags, g, "a line end inside a string is written \\n");
    } else {
        json_fail(
            j, E0105, j->at, j->at + 1,
            arena_printf(&j->diags->arena,
                         "control character 0x%02x inside a string; write it \\u%04x", c,
                         c));
    }
    return false;
}

/* The string whose opening quote is at j->at. *out lies in the source or the arena. */
static bool parse_string(struct json *j, struct str *out)
{
    size_t open = j->at++;
    bool escapes = false;
    for (;; j->at++) {
        if (j->at == j->n) {
            json_fail(j, E0105, open, j->n, "the string is never closed");
            return false;
        }
        char c = j->s[j->at];
        if (c == '"')
            break;
        if ((unsigned char)c < 0x20)
            return bad_control(j, open);
        if (c == '\\' && j->at + 1 < j->n) {
            escapes = true;
            if ((unsigned char)j->s[++j->at] < 0x20)
                return bad_control(j, open);
        }
    }
    *out = str_of(j->s + open + 1, j->at - open - 1);
    j->at++;
    return !escapes || json_decode(j, out->p, out->p + out->n, out);
}

static const char *number_hint(struct str token)
{
    if (token.p[0] == '+')
        return "write it without the '+'";
    if (token.n > 1 && token.p[0] == '-') {
        token.p++;
        token.n--;
    }
    if (token.p[0] == '.')
        return "write the 0 before the point";
    if (token.n > 1 && token.p[0] == '0' && (token.p[1] | 32) == 'x')
        return "JSON has no hexadecimal numbers";
    if (token.n > 1 && token.p[0] == '0' && isdigit((unsigned char)token.p[1]))
        return "numbers do not begin with 0";
    if (token.p[token.n - 1] == '.')
        return "write a digit behind the point";
    if (strchr("eE+-", token.p[token.n - 1]))
        return NULL;
    return isdigit((unsigned char)token.p[0]) ? "text needs double quotes" : NULL;
}

static struct node *bad_number(struct json *j, const char *why, bool hinted)
{
    size_t end = token_end(j, j->at), shown = end - j->at;
    struct str token = str_of(j->s + j->at, shown);
    if (shown > SHOWN_MAX)
        for (shown = SHOWN_MAX; (token.p[shown] & 0xc0) == 0x80;)
            shown--;
    struct diag *g = json_fail(j, E0106, j->at, end,
                               arena_printf(&j->diags->arena, "'%.*s%s' %s", (int)shown,
                                            token.p, shown < token.n ? "..." : "", why));
    const char *hint = hinted ? number_hint(token) : NULL;
    if (hint)
        diag_hint(j->diags, g, "%s", hint);
    return NULL;
}

static size_t skip_digits(const struct json *j, size_t at)
{
    while (at < j->n && isdigit((unsigned char)j->s[at]))
        at++;
    return at;
}

/* The end of the number at j->at by JSON's grammar, or j->at when there is none. */
static size_t number_end(const struct json *j, bool *whole)
{
    size_t at = j->at + (j->s[j->at] == '-'), digits = at;
    *whole = true;
    at = skip_digits(j, at);
    if (at == digits || (j->s[digits] == '0' && at > digits + 1))
        return j->at;
    if (at < j->n && j->s[at] == '.') {
        size_t from = at + 1;
        *whole = false;
        at = skip_digits(j, from);
        if (at == from)
            return j->at;
    }
    if (at < j->n && (j->s[at] | 32) == 'e') {
        size_t from = at + 1;
        *whole = false;
        from += from < j->n && (j->s[from] == '+' || j->s[from] == '-');
        at = skip_digits(j, from);
        if (at == from)
            return j->at;
    }
    return at;
}

static struct node *parse_number(struct json *j)
{
    bool whole, neg = j->s[j->at] == '-';
    size_t end = number_end(j, &whole);
    if (end == j->at || end != token_end(j, j->at))
        return bad_number(j, "is not a JSON number", true);
    struct str text = str_of(j->s + j->at, end - j->at);
    struct node *n = node_create(&j->doc->arena, NODE_INT, span_of(j, j->at, end));
    n->num.neg = neg;
    if (!whole || !str_to_u64(str_of(text.p + neg, text.n - neg), &n->num.mag)) {
        n->kind = NODE_REAL;
        if (!str_to_f64(text, &n->real))
            return bad_number(j, "is too large a number", false);
    }
    n->text = str_of(arena_strndup(&j->doc->arena, text.p, text.n), text.n);
    j->at = end;
    return n;
}

static struct node *parse_word(struct json *j)
{
    struct arena *a = &j->doc->arena;
    size_t from = j->at, end = token_end(j, from);
    struct str word = str_of(j->s + from, end - from);
    struct span at = span_of(j, from, end);
    struct node *n = NULL;
    if (str_is(word, "true") || str_is(word, "false")) {
        n = node_bool(a, word.p[0] == 't', at);
    } else if (str_is(word, "null")) {
        n = node_create(a, NODE_NULL, at);
        n->text = str_of("null", 4);
    } else {
        bool letter = end > from && is_wordy(word.p[0]);
        expected(j, E0103, "a value", letter ? "text needs double quotes" : NULL);
        return NULL;
    }
    j->at = end;
    return n;
}

static struct node *parse_value(struct json *j);

static bool json_enter(struct json *j)
{
    if (j->depth++ < NODE_DEPTH_MAX)
        return true;
    json_fail(j, E0107, j->at, j->at + 1,
              arena_printf(&j->diags->arena, "nested more than %d levels deep",
                           NODE_DEPTH_MAX));
    return false;
}

/* An empty list or map: passes its closing bracket. */
static bool closed_at_once(struct json *j, size_t n_items, char close)
{
    if (n_items)
        return false;
    skip_blanks(j);
    if (j->at == j->n || j->s[j->at] != close)
        return false;
    j->at++;
    return true;
}

/* After an item: true at another one, false at the end or on an error. */
static bool more_items(struct json *j, size_t open, char close, const char *what)
{
    skip_blanks(j);
    char c = j->at < j->n ? j->s[j->at] : '\0';
    if (c != ',' && c != close)
        expected_in(j, open, what, NULL);
    else
        j->at++;
    return c == ',';
}

static struct node *parse_list(struct json *j)
{
    size_t open = j->at++;
    struct node *list = node_create(&j->doc->arena, NODE_LIST, span_of(j, open, j->at));
    while (!closed_at_once(j, list->list.n, ']')) {
        skip_blanks(j);
        if (list->list.n && j->at < j->n && j->s[j->at] == ']') {
            expected_in(j, open, "a value after ','",
                        "JSON allows no comma after the last item");
            break;
        }
        struct node *item = parse_value(j);
        if (item)
            node_push(&j->doc->arena, list, item);
        if (j->failed || !more_items(j, open, ']', "',' or ']' after list item"))
            break;
    }
    list->at.len = (uint32_t)(j->at - open);
    return list;
}

static void report_twice(struct json *j, struct str key, struct span at,
                         const struct node_entry *first)
{
    uint32_t line, col;
    source_locate(j->doc->src, first->key_at.off, &line, &col);
    diag_add(j->diags, DIAG_ERROR, E0108, at,
             "key '%.*s' is given twice; the first is at line %u, column %u", (int)key.n,
             key.p, line, col);
    j->twice = true;
}

static bool parse_key(struct json *j, const struct node *map, size_t open,
                      struct str *key, struct span *at)
{
    skip_blanks(j);
    size_t from = j->at;
    char c = from < j->n ? j->s[from] : '\0';
    if (c != '"') {
        const char *hint = NULL;
        if (c == '}' && map->map.n)
            hint = "JSON allows no comma after the last entry";
        else if (is_wordy(c))
            hint = "keys need double quotes";
        expected_in(j, open,
                    map->map.n ? "a key in double quotes after ','"
                               : "a key in double quotes or '}'",
                    hint);
        return false;
    }
    if (!parse_string(j, key))
        return false;
    *at = span_of(j, from, j->at);
    skip_blanks(j);
    if (j->at == j->n || j->s[j->at] != ':') {
        expected_in(j, open, "':' after the key", NULL);
        return false;
    }
    j->at++;
    return true;
}

static bool parse_entry(struct json *j, struct node *map, struct keys *keys, size_t open)
{
    struct str key;
    struct span key_at;
    if (!parse_key(j, map, open, &key, &key_at))
        return false;
    skip_blanks(j);
    struct node *value = parse_value(j);
    struct node_entry *first = value ? keys_note(keys, map, key) : NULL;
    if (first)
        report_twice(j, key, key_at, first);
    else if (value)
        node_add(&j->doc->arena, map, key, key_at, value);
    return !j->failed;
}

static struct node *parse_map(struct json *j)
{
    size_t open = j->at++;
    struct node *map = node_create(&j->doc->arena, NODE_MAP, span_of(j, open, j->at));
    struct keys keys = {0};
    while (!closed_at_once(j, map->map.n, '}')) {
        if (!parse_entry(j, map, &keys, open) ||
            !more_items(j, open, '}', "',' or '}' after the value"))
            break;
    }
    keys_release(&keys);
    map->at.len = (uint32_t)(j->at - open);
    return map;
}

static struct node *parse_value(struct json *j)
{
    struct node *n = NULL;
    char c = j->at < j->n ? j->s[j->at] : '\0';
    if (c == '{' || c == '[') {
        if (json_enter(j))
            n = c == '{' ? parse_map(j) : parse_list(j);
        j->depth--;
    } else if (c == '"') {
        struct str text;
        size_t from = j->at;
        if (parse_string(j, &text))
            n = node_str(&j->doc->arena, text.p, text.n, span_of(j, from, j->at));
    } else if (isdigit((unsigned char)c) ||
               ((c == '-' || c == '+' || c == '.') && !slip_hint(j, j->at))) {
        n = parse_number(j);
    } else {
        n = parse_word(j);
    }
    return n;
}

enum rc json_parse(struct doc *d, struct diags *diags)
{
    struct json j = {.doc = d, .diags = diags, .s = d->src->text, .n = d->src->n};
    if (j.n >= 3 && memcmp(j.s, "\xef\xbb\xbf", 3) == 0)
        j.at = 3; /* a byte order mark says nothing about UTF-8 */
    skip_blanks(&j);
    d->root = parse_value(&j);
    skip_blanks(&j);
    if (!j.failed && j.at < j.n)
        expected(&j, E0103, "the end of the text after the value", NULL);
    return j.failed || j.twice ? RC_FORMAT : RC_OK;
}

enum rc json_read(const char *name, const char *text, size_t n, struct doc *d,
                  struct err *err)
{
    struct diags diags = {0};
    *d = (struct doc){0};
    enum rc rc = source_from(name, text, n, &d->src, err);
    if (!rc && json_parse(d, &diags))
        rc = err_set(err, RC_FORMAT, "%s is not JSON: %s", name,
                     diags.list.n ? diags.list.at[0].msg : "it is empty");
    diags_release(&diags);
    return rc;
}
