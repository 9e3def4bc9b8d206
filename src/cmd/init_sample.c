/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that hold several values: which separator, how many, of what kind. */
#include <string.h>

#include "cmd/init_private.h"

const char init_separators[INIT_SEPARATORS] = {'\x1d', '\x03', '|', ';', ',', ' '};

static void look_at(struct init_texts *t, struct str s, size_t k)
{
    struct str rest = s, part;
    int64_t n = 0;
    bool numbers = true;
    double v;
    while (str_split(&rest, init_separators[k], &part)) {
        n++;
        numbers = numbers && str_to_f64(part, &v);
    }
    if (n < 2)
        return;
    t->with[k]++;
    t->parts[k] += n;
    t->most[k] = n > t->most[k] ? n : t->most[k];
    t->numbers[k] += numbers;
    if (init_separators[k] == ' ')
        t->words += n >= 4;
}

void init_look(struct init_texts *t, const struct column *c)
{
    if (c->type->id != TYPE_STR)
        return;
    for (int64_t i = 0; i < c->n; i++) {
        if (column_is_null(c, i) || column_str(c, i).n == 0)
            continue;
        t->rows++;
        for (size_t k = 0; k < INIT_SEPARATORS; k++)
            look_at(t, column_str(c, i), k);
    }
}
