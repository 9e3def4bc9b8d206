/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "feature/feature_private.h"

/* A number always shows that it is one: 7.0, not 7. */
static void print_number(float v, struct buf *out)
{
    char text[32];
    str_from_f32(v, text);
    buf_puts(out, text);
    if (isfinite(v) && !strpbrk(text, ".e"))
        buf_puts(out, ".0");
}

static void print_ids(const struct feature_out *o, int64_t begin, int64_t end,
                      struct buf *out)
{
    for (int64_t i = begin; i < end; i++) {
        buf_printf(out, "%s%jd", i > begin ? "," : "", (intmax_t)o->ids[i]);
        if (!o->weights)
            continue;
        buf_putc(out, ':');
        print_number(o->weights[i], out);
    }
}

static void print_numbers(const float *v, uint32_t n, struct buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            buf_putc(out, ',');
        print_number(v[i], out);
    }
}

static void print_values(const struct feature_info *f, const struct feature_out *o,
                         int64_t row, struct buf *out)
{
    if (!f->sequence && f->sparse) {
        print_ids(o, o->offsets[row], o->offsets[row + 1], out);
        return;
    }
    if (!f->sequence) {
        print_numbers(o->values + row * f->value_dim, f->value_dim, out);
        return;
    }
    for (int64_t s = o->seq_offsets[row]; s < o->seq_offsets[row + 1]; s++) {
        if (s > o->seq_offsets[row])
            buf_putc(out, ';');
        if (f->sparse)
            print_ids(o, o->step_offsets[s], o->step_offsets[s + 1], out);
        else
            print_numbers(o->values + s * f->value_dim, f->value_dim, out);
    }
}

void feature_print_row(const struct feature_plan *p, const struct feature_batch *b,
                       int64_t row, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < p->n; i++) {
        const struct feature_info *f = &p->at[i].info;
        if (f->stub)
            continue;
        buf_printf(out, "%s%s:", first ? "" : " | ", f->name);
        print_values(f, &b->at[i], row, out);
        first = false;
    }
}
