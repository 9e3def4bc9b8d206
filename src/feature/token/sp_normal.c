/* SPDX-License-Identifier: Apache-2.0 */
/* What sentencepiece does to a text before it cuts it: characters are replaced by a table
 * in the model, blanks are squeezed, and stand as U+2581 afterwards. The table is a
 * double array of 32-bit units: an index reached by a byte is right when the unit there
 * carries that byte; every index is checked, since the file may hold anything.
 */
#include <string.h>

#include "feature/token/sp_private.h"

#define BLANK "\xe2\x96\x81"

static uint32_t unit_offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

/* The longest entry that `s` begins with: its bytes and what stands for it. */
static size_t table_find(const struct sp *m, struct str s, struct str *to)
{
    size_t best = 0;
    if (!m->n_trie)
        return 0;
    size_t at = unit_offset(m->trie[0]);
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = (uint8_t)s.p[i];
        at ^= c;
        if (at >= m->n_trie || (m->trie[at] & (1u << 31 | 0xff)) != c)
            break;
        uint32_t unit = m->trie[at];
        at ^= unit_offset(unit);
        if (!(unit >> 8 & 1))
            continue;
        if (at >= m->n_trie)
            break;
        size_t place = m->trie[at] & 0x7fffffff;
        if (place >= m->pool.n)
            break;
        *to = str_c(m->pool.p + place); /* the pool ends with a NUL of ours */
        best = i + 1;
    }
    return best;
}

size_t sp_user_piece(const struct sp *m, struct str s)
{
    uint32_t node = 0;
    size_t best = 0;
    for (size_t i = 0; m->has_user && i < s.n; i++) {
        node = sp_step(m, node, (uint8_t)s.p[i]);
        if (!node)
            break;
        int32_t id = m->tree.at[node].id;
        if (id >= 0 && m->at[id].type == SP_USER)
            best = i + 1;
    }
    return best;
}

/* The front of `in` and what becomes of it. */
static size_t front(const struct sp *m, struct str in, struct str *to)
{
    int32_t c;
    size_t n = sp_user_piece(m, in);
    if (!n)
        n = table_find(m, in, to);
    else
        *to = str_of(in.p, n);
    if (n)
        return n;
    n = token_char(in, &c);
    *to = str_of(in.p, n);
    return n;
}

static void add_blank(const struct sp *m, struct buf *out)
{
    buf_puts(out, m->escape ? BLANK : " ");
}

static void sp_normal_add(const struct sp *m, struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == ' ')
            add_blank(m, out);
        else
            buf_putc(out, s.p[i]);
}

void sp_normalize(const struct sp *m, struct str in, struct buf *out)
{
    struct str to;
    size_t at = 0, blank = m->escape ? strlen(BLANK) : 1;
    while (m->squeeze && at < in.n) {
        size_t n = front(m, str_of(in.p + at, in.n - at), &to);
        if (!str_is(to, " "))
            break;
        at += n;
    }
    if (at == in.n)
        return;
    if (m->dummy_prefix && !m->blank_behind)
        add_blank(m, out);
    bool after_blank = m->squeeze;
    while (at < in.n) {
        at += front(m, str_of(in.p + at, in.n - at), &to);
        while (after_blank && to.n && *to.p == ' ')
            to = str_of(to.p + 1, to.n - 1);
        if (to.n) {
            sp_normal_add(m, to, out);
            after_blank = to.p[to.n - 1] == ' ';
        }
        if (!m->squeeze)
            after_blank = false;
    }
    while (m->squeeze && out->n >= blank &&
           memcmp(out->p + out->n - blank, m->escape ? BLANK : " ", blank) == 0)
        out->n -= blank;
    if (m->dummy_prefix && m->blank_behind)
        add_blank(m, out);
}
