/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of an input that take few values: which they are, and which row has which.
 *
 * What is gained was measured with products of f32, where a vector of sixteen columns
 * costs a row 48 multiplications per unit in the three products of a step, and a code the
 * time of eight: one addition forwards and one backwards, from memory. With tiles of bf16
 * the products are the cheaper ones.
 */
#include "nn/graph_private.h"

#define WIDTH_MIN 8
#define WIDTH_MAX GEMM_SMALL_K
#define VALUES_MAX GEMM_SMALL_K /* of a stretch */
#define CODES_MAX 640           /* of an input: their products are to stay in the cache */
#define ROWS_PER_CODE 8         /* of the batch, in the mean over stretches */

static bool gains(const struct graph *g, const struct val *v, int64_t width, int64_t n)
{
    const struct coded *c = v->coded;
    return g->options.training && g->options.precision == GEMM_F32 && !v->by &&
           v->shape.n_dims == 1 && width >= WIDTH_MIN && width <= WIDTH_MAX && n > 0 &&
           n <= VALUES_MAX && (!c || (c->n < CODED_MAX && c->n_codes + n < CODES_MAX));
}

/* The first column behind the stretches that are there. */
static int64_t behind(const struct coded *c)
{
    return c ? c->at[c->n - 1].col + c->at[c->n - 1].width : 0;
}

bool nn_coded(struct graph *g, struct val *v, int64_t col, int64_t width, int64_t n)
{
    if (!v || !gains(g, v, width, n) || col < behind(v->coded) ||
        col + width > v->shape.dims[0])
        return false;
    if (!v->coded) {
        v->coded = arena_alloc(&g->arena, sizeof(*v->coded));
        v->coded->first = arena_alloc(&g->arena, CODES_MAX * sizeof(*v->coded->first));
        v->coded->codes_at = -1;
    }
    struct coded *c = v->coded;
    c->at[c->n++] =
        (struct coded_stretch){.col = col, .width = width, .from = c->n_codes, .n = n};
    c->n_codes += n + 1;
    return true;
}

/* Codes of one stretch; false when a row has several ids, or one that is none. */
static bool number_rows(struct coded *c, int stretch, const struct code_ids *of,
                        int64_t rows)
{
    const struct coded_stretch *s = &c->at[stretch];
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

void graph_codes(struct graph *g, struct val *v, const struct code_ids *ids)
{
    struct coded *c = v->coded;
    int64_t rows = g->env.rows.n[v->shape.axis];
    if (!c || rows * c->n < ROWS_PER_CODE * c->n_codes)
        return;
    for (int64_t i = 0; i < c->n_codes; i++)
        c->first[i] = -1;
    c->on = true;
    for (int i = 0; i < c->n && c->on; i++)
        c->on = number_rows(c, i, &ids[i], rows);
}
