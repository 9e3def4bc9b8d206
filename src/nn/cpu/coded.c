/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of an input that take few values: which row of a batch has which. */
#include "nn/cpu/cpu_private.h"

#define ROWS_PER_CODE 8 /* of the batch, in the mean over stretches */

int64_t nn_cpu_coded_width(const struct nn_cpu_coded *c)
{
    int64_t width = 0;
    for (int i = 0; i < c->n; i++)
        width += c->at[i].width;
    return width;
}

int64_t nn_cpu_coded_keep_width(const struct nn_cpu_coded *c, int64_t width)
{
    return 2 * (width - nn_cpu_coded_width(c));
}

void nn_cpu_new_rows(struct graph *g)
{
    for (size_t i = 0; i < g->vals.n; i++) {
        struct nn_val *v = g->vals.at[i];
        if (!v->coded)
            continue;
        v->coded->on = false;
        v->coded->codes = (void *)(g->slab + v->beside_at);
    }
}

/* Codes of one stretch; false when a row has several ids, or one that is none. */
static bool number_rows(struct nn_cpu_coded *c, int stretch, const struct nn_code_ids *of,
                        int64_t rows)
{
    const struct nn_cpu_coded_stretch *s = &c->at[stretch];
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = of->offsets ? of->offsets[r] : r;
        int64_t n = of->offsets ? of->offsets[r + 1] - at : 1;
        int64_t id = n > 0 ? of->ids[at] : -1;
        if (n > 1 || id >= s->n)
            return false;
        int64_t code = s->from + (id >= 0 ? id : s->n);
        c->codes[r * c->n + stretch] = (int32_t)code;
        if (c->first[code] < 0)
            c->first[code] = r;
    }
    return true;
}

void nn_cpu_set_codes(struct graph *g, struct nn_val *v, const struct nn_code_ids *ids)
{
    struct nn_cpu_coded *c = v->coded;
    int64_t rows = g->env.rows.n[v->shape.axis];
    if (!c || rows * c->n < ROWS_PER_CODE * c->n_codes)
        return;
    for (int64_t i = 0; i < c->n_codes; i++)
        c->first[i] = -1;
    c->on = true;
    for (int i = 0; i < c->n && c->on; i++)
        c->on = number_rows(c, i, &ids[i], rows);
}
