/* SPDX-License-Identifier: Apache-2.0 */
#include "train/sessions.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void train_sessions_release(struct train_sessions *s)
{
    mem_free(s->ids);
    mem_free(s->numbers);
    *s = (struct train_sessions){0};
}

static enum rc clear_numbers(struct train_sessions *s, int64_t rows, struct err *err)
{
    int64_t size = s->size ? s->size : 16;
    while (size < 2 * rows)
        size *= 2;
    if (size > s->size) {
        train_sessions_release(s);
        s->ids = mem_try_alloc((size_t)size, sizeof(*s->ids));
        s->numbers = mem_try_alloc((size_t)size, sizeof(*s->numbers));
        if (!s->ids || !s->numbers) {
            train_sessions_release(s);
            return err_set(err, RC_NOMEM, "no memory for the sessions of %jd rows",
                           (intmax_t)rows);
        }
        s->size = size;
    }
    memset(s->numbers, 0xff, (size_t)s->size * sizeof(*s->numbers));
    return RC_OK;
}

/* The number of `id`, which is `next` when it is new. */
static int64_t number_of(struct train_sessions *s, int64_t id, int64_t next)
{
    int64_t at = (int64_t)(hash_xxh3(&id, sizeof(id)) & (uint64_t)(s->size - 1));
    while (s->numbers[at] >= 0 && s->ids[at] != id)
        at = (at + 1) & (s->size - 1);
    if (s->numbers[at] < 0) {
        s->ids[at] = id;
        s->numbers[at] = next;
    }
    return s->numbers[at];
}

enum rc train_sessions_number(struct train_sessions *s, const struct feature_out *ids,
                              int64_t rows, const int64_t *offsets, struct view out,
                              struct err *err)
{
    int64_t next = 0;
    enum rc rc = clear_numbers(s, rows, err);
    for (int64_t r = 0; !rc && r < rows; r++) {
        int64_t from = offsets ? offsets[r] : r, to = offsets ? offsets[r + 1] : r + 1;
        if (from == to)
            continue; /* numbers stay below that of the candidates */
        int64_t at = ids->single ? r : ids->offsets[r];
        bool none = ids->single ? ids->ids[r] < 0 : at == ids->offsets[r + 1];
        int64_t number = none ? next : number_of(s, ids->ids[at], next);
        next += number == next;
        for (int64_t k = from; k < to; k++)
            *view_row(&out, k) = (float)number;
    }
    return rc;
}
