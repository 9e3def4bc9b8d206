/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/issued.h"

#include "tune/point.h"

#define FORM_MAX ((size_t)16 << 20)

static bool continuous(const struct nni_param *p)
{
    return p->parent < 0 && !p->categorical && !(p->q > 0) &&
           (p->sigma > 0 || p->low < p->high);
}

void issued_init(struct issued *d, const struct nni_space *s)
{
    *d = (struct issued){.space = s};
    for (int64_t i = 0; i < s->n; i++)
        d->endless |= continuous(&s->at[i]);
}

void issued_release(struct issued *d)
{
    map_release(&d->seen);
    grid_destroy(d->grid);
    *d = (struct issued){0};
}

bool issued_has(const struct issued *d, const double *x)
{
    if (d->endless)
        return false;
    struct buf form;
    buf_init(&form, FORM_MAX);
    point_print(d->space, x, &form);
    bool has = map_find(&d->seen, str_of(buf_str(&form), form.n));
    buf_release(&form);
    return has;
}

void issued_add(struct issued *d, const double *x)
{
    if (d->endless)
        return;
    struct buf form;
    buf_init(&form, FORM_MAX);
    point_print(d->space, x, &form);
    map_put(&d->seen, str_of(buf_str(&form), form.n));
    buf_release(&form);
}

/* Points before the grid's place are all issued: what is issued stays so. */
bool issued_unseen(struct issued *d, double *x)
{
    if (!d->grid)
        d->grid = grid_create(d->space);
    while (grid_next(d->grid, x))
        if (!issued_has(d, x))
            return true;
    return false;
}
