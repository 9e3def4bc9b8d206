/* SPDX-License-Identifier: Apache-2.0 */
#include "io/xml.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* The next tag `<name`, `</name` of this name; *at is its '<', *end behind its '>'. */
static bool next_tag(struct str in, size_t from, const char *name, size_t *at,
                     size_t *end, bool *closes, bool *empty)
{
    size_t n = strlen(name);
    while (from < in.n) {
        const char *lt = memchr(in.p + from, '<', in.n - from);
        if (!lt)
            return false;
        size_t i = (size_t)(lt - in.p) + 1;
        bool slash = i < in.n && in.p[i] == '/';
        size_t word = i + slash;
        const char *gt = memchr(lt, '>', in.n - (size_t)(lt - in.p));
        if (!gt)
            return false;
        from = (size_t)(gt - in.p) + 1;
        size_t stop = (size_t)(gt - in.p);
        if (stop < word + n || memcmp(in.p + word, name, n) != 0)
            continue;
        char behind = in.p[word + n];
        if (behind != '>' && behind != ' ' && behind != '/' && behind != '\n' &&
            behind != '\t' && behind != '\r')
            continue;
        *at = (size_t)(lt - in.p);
        *end = from;
        *closes = slash;
        *empty = !slash && in.p[stop - 1] == '/';
        return true;
    }
    return false;
}

bool xml_find(struct str in, const char *name, struct str *inside, struct str *rest)
{
    size_t at, end, close_at, close_end;
    bool closes, empty;
    if (!next_tag(in, 0, name, &at, &end, &closes, &empty) || closes)
        return false;
    if (empty) {
        *inside = str_of(in.p + end, 0);
        close_end = end;
    } else {
        if (!next_tag(in, end, name, &close_at, &close_end, &closes, &empty) || !closes)
            return false;
        *inside = str_of(in.p + end, close_at - end);
    }
    if (rest)
        *rest = str_of(in.p + close_end, in.n - close_end);
    return true;
}

static const struct {
    const char *name;
    char c;
} entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};

/* Bytes that the name of a reference stands for, 0 when it is none. */
static size_t put_reference(char *out, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(entities); i++)
        if (str_is(name, entities[i].name)) {
            *out = entities[i].c;
            return 1;
        }
    uint32_t code = 0;
    bool hex = name.n > 2 && name.p[0] == '#' && name.p[1] == 'x';
    if (name.n < 2 || name.n > 9 || name.p[0] != '#')
        return 0;
    for (size_t i = hex ? 2 : 1; i < name.n; i++) {
        char c = name.p[i];
        uint32_t d = c >= '0' && c <= '9'          ? (uint32_t)(c - '0')
                     : hex && c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                     : hex && c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                   : 99;
        if (d > 15)
            return 0;
        code = code * (hex ? 16 : 10) + d;
    }
    return utf8_put(code, out);
}

/* A reference is never shorter than what it stands for: "&#9;" is four bytes, and a
 * character has at most four.
 */
char *xml_text(struct str in, const char *name)
{
    struct str s;
    size_t n = 0;
    if (!xml_find(in, name, &s, NULL))
        return NULL;
    char *out = mem_alloc(s.n + 1);
    for (size_t i = 0; i < s.n; i++) {
        const char *semi = s.p[i] == '&' ? memchr(s.p + i, ';', s.n - i) : NULL;
        size_t length = semi ? (size_t)(semi - (s.p + i)) : 0;
        char bytes[4];
        size_t k = length > 1 ? put_reference(bytes, str_of(s.p + i + 1, length - 1)) : 0;
        if (k) {
            memcpy(out + n, bytes, k);
            n += k;
            i += length;
        } else {
            out[n++] = s.p[i];
        }
    }
    out[n] = '\0';
    return out;
}
