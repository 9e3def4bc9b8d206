/* SPDX-License-Identifier: Apache-2.0 */
#include "train/outside.h"

#include "base/mem.h"

static void keep_first(struct train_outside *o, size_t i, const struct feature_out *f,
                       const struct train_where *where)
{
    struct err at = {0};
    (void)err_set(&at, RC_INVAL, "row %jd of the batch", (intmax_t)f->outside.row);
    train_where_name(where, &at);
    o->first[i] = mem_printf("%s, %s", f->outside.value, at.msg);
}

static void make_room(struct train_outside *o, size_t features)
{
    if (o->n)
        return;
    o->features = features;
    o->n = mem_calloc(o->features, sizeof(*o->n));
    o->first = mem_calloc(o->features, sizeof(*o->first));
}

void train_outside_add(struct train_outside *o, const struct feature_plan *plan,
                       const struct feature_batch *b, const struct train_where *where)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct feature_out *f = &b->at[i];
        if (!f->outside.n)
            continue;
        make_room(o, feature_plan_count(plan));
        if (!o->first[i])
            keep_first(o, i, f, where);
        o->n[i] += f->outside.n;
        o->all += f->outside.n;
    }
}

void train_outside_merge(struct train_outside *o, struct train_outside *more)
{
    if (!more->all)
        return;
    make_room(o, more->features);
    for (size_t i = 0; i < more->features; i++) {
        o->n[i] += more->n[i];
        more->n[i] = 0;
        if (o->first[i])
            mem_free(more->first[i]);
        else
            o->first[i] = more->first[i];
        more->first[i] = NULL;
    }
    o->all += more->all;
    more->all = 0;
}

void train_outside_take(struct train_outside *o, const struct feature_plan *plan,
                        struct buf *out)
{
    for (size_t i = 0; o->all && i < o->features; i++) {
        const struct feature_info *f = feature_plan_info(plan, i);
        if (!o->n[i])
            continue;
        buf_printf(
            out,
            "feature '%s': %jd values outside its table of %ju rows count as 0; the "
            "first is %s\n",
            f->name, (intmax_t)o->n[i], (uintmax_t)f->rows, o->first[i]);
        mem_free(o->first[i]);
        o->first[i] = NULL;
        o->n[i] = 0;
    }
    o->all = 0;
}

void train_outside_release(struct train_outside *o)
{
    for (size_t i = 0; i < o->features; i++)
        mem_free(o->first[i]);
    mem_free(o->n);
    mem_free(o->first);
    *o = (struct train_outside){0};
}
