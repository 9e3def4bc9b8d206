/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/seen.h"

#include "tune/point.h"

#define FORM_MAX ((size_t)16 << 20)

static bool continuous(const struct nni_param *p)
{
    return p->parent < 0 && !p->categorical && !(p->q > 0) &&
           (p->sigma > 0 || p->low < p->high);
}

void tune_seen_init(struct tune_seen *d, const struct nni_space *s)
{
    *d = (struct tune_seen){.space = s};
    for (int64_t i = 0; i < s->n; i++)
        d->endless |= continuous(&s->at[i]);
}

void tune_seen_release(struct tune_seen *d)
{
    map_release(&d->seen);
    tune_grid_destroy(d->grid);
    *d = (struct tune_seen){0};
}

bool tune_seen_has(const struct tune_seen *d, const double *x)
{
    if (d->endless)
        return false;
    struct buf form;
    buf_init(&form, FORM_MAX);
    tune_point_print(d->space, x, &form);
    bool has = map_find(&d->seen, str_of(buf_str(&form), form.n));
    buf_release(&form);
    return has;
}

void tune_seen_add(struct tune_seen *d, const double *x)
{
    if (d->endless)
        return;
    struct buf form;
    buf_init(&form, FORM_MAX);
    tune_point_print(d->space, x, &form);
    map_put(&d->seen, str_of(buf_str(&form), form.n));
    buf_release(&form);
}

/* Points before the grid's place are all issued: what is issued stays so. */
bool tune_seen_unseen(struct tune_seen *d, double *x)
{
    if (!d->grid)
        d->grid = tune_grid_create(d->space);
    while (tune_grid_next(d->grid, x))
        if (!tune_seen_has(d, x))
            return true;
    return false;
}
