/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/thin.h"

#include "base/mem.h"

#define STRIDE_BITS 30

int64_t backend_thin_stride(const struct backend_thin *t)
{
    int64_t bits = t->kept / THIN_EACH;
    return INT64_C(1) << (bits < STRIDE_BITS ? bits : STRIDE_BITS);
}

static void begin_line(struct backend_thin *t, const struct store_point *p)
{
    if (t->lines && t->worker == p->worker && t->at == p->at)
        return;
    t->worker = p->worker;
    t->at = p->at;
    t->keep = t->lines++ % (uint64_t)backend_thin_stride(t) == 0;
}

bool backend_thin_keep(struct backend_thin *t, const struct store_point *p)
{
    struct map_entry *e = map_find(&t->names, str_c(p->name));
    if (!e && t->names.n >= THIN_NAMES)
        return false;
    if (!e)
        e = map_put(&t->names, str_c(p->name));
    begin_line(t, p);
    t->kept += t->keep;
    if (t->keep) {
        mem_free(e->value);
        e->value = NULL;
        return true;
    }
    if (!e->value)
        e->value = mem_alloc(sizeof(*p));
    struct store_point *latest = e->value;
    *latest = *p;
    latest->name = NULL; /* the key */
    return false;
}

bool backend_thin_rest(struct backend_thin *t, struct store_point *out)
{
    for (size_t i = 0; i < t->names.n; i++) {
        struct map_entry *e = &t->names.at[i];
        if (!e->value)
            continue;
        *out = *(struct store_point *)e->value;
        out->name = e->key;
        mem_free(e->value);
        e->value = NULL;
        return true;
    }
    return false;
}

void backend_thin_release(struct backend_thin *t)
{
    for (size_t i = 0; i < t->names.n; i++)
        mem_free(t->names.at[i].value);
    map_release(&t->names);
    *t = (struct backend_thin){0};
}
