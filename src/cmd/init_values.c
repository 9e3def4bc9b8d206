/* SPDX-License-Identifier: Apache-2.0 */
/* The different values of a column, as long as they are few: the words of a vocabulary. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cmd/init_private.h"
#include "data/rows.h"
#include "feature/tidy.h"

#define WORD_MAX 64
#define UNKNOWN "<OOV>" /* what a vocab_list calls values that are not in it */

/* What can stand in a config as it is. */
static bool is_plain(struct str s)
{
    size_t n;
    if (s.n > WORD_MAX || str_is(s, UNKNOWN))
        return false;
    for (size_t i = 0; i < s.n; i += n) {
        n = utf8_len(s.p + i, s.n - i);
        if (n == 0 || (unsigned char)s.p[i] < 0x20)
            return false;
    }
    return true;
}

static void add_word(struct init_values *v, struct str s)
{
    size_t at = hash_xxh3(s.p, s.n) % ARRAY_LEN(v->slot);
    if (s.n == 0)
        return;
    for (; v->slot[at]; at = (at + 1) % ARRAY_LEN(v->slot)) {
        struct init_value *w = &v->at[v->slot[at] - 1];
        if (str_is(s, w->text)) {
            w->count++;
            return;
        }
    }
    if (v->n == INIT_VOCAB_MAX || !is_plain(s)) {
        v->more = true;
        return;
    }
    v->at[v->n] =
        (struct init_value){.text = mem_printf("%.*s", (int)s.n, s.p), .count = 1};
    v->slot[at] = (uint16_t)++v->n;
}

void init_values_add(struct init_values *v, const struct column *c)
{
    char digits[24];
    bool text = c->type->id == TYPE_STR;
    if (!text && c->type->id != TYPE_BOOL && !init_is_integer(c->type)) {
        v->more = true;
        return;
    }
    for (int64_t i = 0; i < c->n && !v->more; i++) {
        if (column_is_null(c, i))
            continue;
        if (text) {
            add_word(v, tidy_text(column_str(c, i)));
            continue;
        }
        snprintf(digits, sizeof(digits), "%jd",
                 c->type->id == TYPE_I64 ? (intmax_t)column_i64(c, i)
                                         : (intmax_t)column_number(c, i));
        add_word(v, str_c(digits));
    }
}

void init_values_release(struct init_values *v)
{
    for (size_t i = 0; i < v->n; i++)
        mem_free(v->at[i].text);
    *v = (struct init_values){0};
}
