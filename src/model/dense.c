/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that are parameters of the graph: rows are gathered from a parameter, and
 * gradients added to its own, by one thread; the optimizer behind it visits all rows
 * anyway. What a slot does to ids is what the lookup does: sums or means, weights, ids
 * below zero skipped.
 */
#include <string.h>

#include "embed/table.h"
#include "model/model.h"
#include "tensor/kernel.h"

static void draw(const struct model_dense *d)
{
    const struct embed_table_conf *c = &d->conf;
    struct embed_values values = {c->init, c->a, c->b, c->lo, c->hi};
    uint64_t stream = embed_table_stream(c);
    float *to = param_write_begin(d->rows);
    for (int64_t r = 0; r < c->rows; r++)
        embed_table_draw(c, &values, c->seed, stream, r, to + r * c->dim);
    param_write_end(d->rows);
}

void model_dense_begin(struct model *m)
{
    for (size_t i = 0; i < m->dense.n; i++)
        draw(&m->dense.at[i]);
}

/* The ids of a row of the batch, and what their vectors are divided by. */
struct span_of_ids {
    int64_t from, to;
    float divide;
};

static struct span_of_ids span_of(const struct model_dense *d,
                                  const struct embed_slot_ids *in, int64_t row, bool back)
{
    struct span_of_ids s = {.from = in->offsets ? in->offsets[row] : row,
                            .to = in->offsets ? in->offsets[row + 1] : row + 1,
                            .divide = 1.0f};
    bool as_sum = back && d->slot.sum_gradient;
    int64_t n = 0;
    for (int64_t k = s.from; d->slot.pooling == EMBED_MEAN && !as_sum && k < s.to; k++)
        n += in->ids[k] >= 0;
    s.divide = n > 1 ? (float)n : 1.0f;
    return s;
}

static float scale_of(const struct embed_slot_ids *in, const struct span_of_ids *s,
                      int64_t k)
{
    float w = in->weights ? in->weights[k] : 1.0f;
    return s->divide > 1.0f ? w / s->divide : w;
}

static enum rc outside(const struct model_dense *d, int64_t row, int64_t id,
                       struct err *err)
{
    return err_coded(
        err, RC_INVAL, E1402,
        "feature '%s': row %jd of the batch: id %jd is outside table '%s' of %jd rows",
        d->slot.feature, (intmax_t)row, (intmax_t)id, d->conf.name,
        (intmax_t)d->conf.rows);
}

static enum rc gather(const struct model_dense *d, const struct embed_slot_ids *in,
                      const struct view *out, struct err *err)
{
    const float *rows = param_read(d->rows);
    int64_t dim = d->conf.dim;
    for (int64_t r = 0; r < in->rows; r++) {
        float *y = view_row(out, r) + d->slot.col;
        struct span_of_ids s = span_of(d, in, r, false);
        memset(y, 0, (size_t)dim * sizeof(*y));
        for (int64_t k = s.from; k < s.to; k++) {
            if (in->ids[k] >= d->conf.rows)
                return outside(d, r, in->ids[k], err);
            if (in->ids[k] >= 0)
                kernels()->axpy(y, scale_of(in, &s, k), rows + in->ids[k] * dim, dim);
        }
    }
    return RC_OK;
}

enum rc model_dense_forward(const struct model *m, const struct embed_slot_ids *ids,
                            const struct view *outputs, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < m->dense.n && !rc; i++) {
        const struct model_dense *d = &m->dense.at[i];
        rc = gather(d, &ids[i], &outputs[d->slot.output], err);
    }
    return rc;
}

static void scatter(const struct model_dense *d, const struct embed_slot_ids *in,
                    const struct view *grads)
{
    int64_t dim = d->conf.dim;
    for (int64_t r = 0; r < in->rows; r++) {
        const float *g = view_row(grads, r) + d->slot.col;
        struct span_of_ids s = span_of(d, in, r, true);
        for (int64_t k = s.from; k < s.to; k++)
            if (in->ids[k] >= 0)
                kernels()->axpy(d->rows->grad + in->ids[k] * dim, scale_of(in, &s, k), g,
                                dim);
    }
}

void model_dense_backward(const struct model *m, const struct embed_slot_ids *ids,
                          const struct view *grads)
{
    for (size_t i = 0; i < m->dense.n; i++) {
        const struct model_dense *d = &m->dense.at[i];
        if (grads[d->slot.output].data)
            scatter(d, &ids[i], &grads[d->slot.output]);
    }
}
