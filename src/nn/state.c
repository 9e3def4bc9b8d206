/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [STATE_F32] = {"f32", sizeof(float)},
    [STATE_F64] = {"f64", sizeof(double)},
    [STATE_I64] = {"i64", sizeof(int64_t)},
};

size_t nn_state_size(enum nn_state_type type)
{
    return types[type].size;
}

const char *nn_state_type_name(enum nn_state_type type)
{
    return types[type].name;
}

void nn_state_release(struct nn_state *s)
{
    arena_release(&s->names);
    VEC_RELEASE(&s->items);
}

void nn_state_add(struct nn_state *s, enum nn_state_type type, const void *data,
                  int64_t n, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    size_t size = (size_t)(length < 0 ? 0 : length) + 1;
    char *name = arena_alloc(&s->names, size);
    vsnprintf(name, size, fmt, again);
    va_end(again);
    va_end(args);
    VEC_PUSH(&s->items, ((struct nn_state_item){name, type, data, n}));
}

const struct nn_state_item *nn_state_find(const struct nn_state *s, const char *name)
{
    for (size_t i = 0; i < s->items.n; i++)
        if (strcmp(s->items.at[i].name, name) == 0)
            return &s->items.at[i];
    return NULL;
}

enum rc nn_state_expect(const struct nn_state *s, const char *name,
                        enum nn_state_type type, int64_t n,
                        const struct nn_state_item **out, struct err *err)
{
    const struct nn_state_item *item = nn_state_find(s, name);
    if (!item)
        return err_set(err, RC_NOTFOUND, "there is no state '%s'", name);
    if (item->type != type)
        return err_set(err, RC_FORMAT, "state '%s' is of type %s, not %s", name,
                       nn_state_type_name(item->type), nn_state_type_name(type));
    if (n >= 0 && item->n != n)
        return err_set(err, RC_FORMAT, "state '%s' has %jd values, not %jd", name,
                       (intmax_t)item->n, (intmax_t)n);
    *out = item;
    return RC_OK;
}

enum rc nn_state_copy(const struct nn_state *s, const char *name, enum nn_state_type type,
                      void *to, int64_t n, struct err *err)
{
    const struct nn_state_item *item;
    enum rc rc = nn_state_expect(s, name, type, n, &item, err);
    if (rc == RC_OK && n > 0)
        memcpy(to, item->data, (size_t)n * nn_state_size(type));
    return rc;
}
