/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sampler/keymap.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum rc keymap_init(struct keymap *m, int64_t most, struct err *err)
{
    int64_t size = 16;
    while (size / 2 < most)
        size *= 2;
    *m = (struct keymap){.keys = mem_try_alloc((size_t)size, sizeof(*m->keys)),
                         .numbers = mem_try_alloc((size_t)size, sizeof(*m->numbers)),
                         .size = size};
    if (!m->keys || !m->numbers) {
        keymap_release(m);
        return err_set(err, RC_NOMEM, "no memory for %jd ids", (intmax_t)most);
    }
    keymap_clear(m);
    return RC_OK;
}

void keymap_release(struct keymap *m)
{
    mem_free(m->keys);
    mem_free(m->numbers);
    *m = (struct keymap){0};
}

void keymap_clear(struct keymap *m)
{
    memset(m->numbers, 0xff, (size_t)m->size * sizeof(*m->numbers));
    m->n = 0;
}

/* Where the key is, or where it would go. */
static int64_t place_of(const struct keymap *m, int64_t key)
{
    uint64_t h = (uint64_t)key * 0x9e3779b97f4a7c15u;
    int64_t at = (int64_t)((h ^ h >> 32) & (uint64_t)(m->size - 1));
    while (m->numbers[at] >= 0 && m->keys[at] != key)
        at = (at + 1) & (m->size - 1);
    return at;
}

int64_t keymap_find(const struct keymap *m, int64_t key)
{
    return m->size ? m->numbers[place_of(m, key)] : -1;
}

int64_t keymap_add(struct keymap *m, int64_t key, int64_t number)
{
    int64_t at = place_of(m, key);
    if (m->numbers[at] < 0) {
        m->keys[at] = key;
        m->numbers[at] = number;
        m->n++;
    }
    return m->numbers[at];
}

bool id_column(const struct type *t)
{
    return t->id == TYPE_I32 || t->id == TYPE_I64 || t->id == TYPE_STR;
}

bool id_key(const struct column *c, int64_t i, enum id_kind kind, int64_t *out)
{
    char text[32];
    *out = 0;
    if (column_is_null(c, i))
        return true;
    if (c->type->id == TYPE_STR) {
        struct str s = column_str(c, i);
        if (kind == ID_NUMBER)
            return str_to_i64(str_trim(s), out);
        *out = (int64_t)hash_xxh3(s.p, s.n);
        return true;
    }
    const struct column *from = c->dict ? &c->dict->values : c;
    int64_t at = c->dict ? (int64_t)column_code(c, i) : i;
    *out = c->type->id == TYPE_I32 ? column_i32(from, at) : column_i64(from, at);
    if (kind == ID_TEXT) {
        int n = snprintf(text, sizeof(text), "%jd", (intmax_t)*out);
        *out = (int64_t)hash_xxh3(text, (size_t)n);
    }
    return true;
}
