/* SPDX-License-Identifier: Apache-2.0 */
/* What all backends of products share: the choice of a backend, the life of a packed weight,
 * activations, and the gradient of a weight. That is cut into pieces of output units and
 * input columns, each of which sums over the rows in their order: no number of threads changes
 * its bytes. Which kernel a weight gets is the backend's (gemm_own.c: by processor level,
 * precision and shape).
 */
#include "tensor/gemm.h"

#include <string.h>

#include "base/mem.h"
#include "tensor/gemm_private.h"
#include "tensor/kernel.h"

static const struct gemm_ops *const backends[] = {
#define BACKEND(name) &gemm_##name,
#include "tensor/backends.def"
#undef BACKEND
};
static const struct gemm_ops *in_use = &gemm_own;

enum rc gemm_backend_use(const char *name, struct err *err)
{
    bool automatic = strcmp(name, "auto") == 0;
    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        if (!automatic && strcmp(backends[i]->name, name) != 0)
            continue;
        enum rc rc = backends[i]->load ? backends[i]->load(err) : RC_OK;
        if (rc && automatic)
            continue;
        if (!rc)
            in_use = backends[i];
        return rc;
    }
    return err_set(err, RC_INVAL, "no matrix product backend is named '%s'", name);
}

const char *gemm_backend(void)
{
    return in_use->name;
}

enum rc gemm_no_memory(const struct gemm_weight *w, struct err *err)
{
    return err_set(err, RC_NOMEM, "no memory for a matrix of %jd x %jd", (intmax_t)w->out,
                   (intmax_t)w->in);
}

void gemm_apply_act(enum gemm_act act, struct view y)
{
    static const enum kernel_act kinds[] = {[GEMM_ACT_RELU] = KERNEL_RELU,
                                            [GEMM_ACT_SIGMOID] = KERNEL_SIGMOID,
                                            [GEMM_ACT_TANH] = KERNEL_TANH};
    if (act == GEMM_ACT_NONE)
        return;
    const struct kernel_acts *a = &kernels()->act[kinds[act]];
    if (y.ld == y.width)
        a->value(y.data, y.data, 0.0f, y.rows * y.width);
    else
        for (int64_t r = 0; r < y.rows; r++)
            a->value(view_row(&y, r), view_row(&y, r), 0.0f, y.width);
}

enum rc gemm_weight_create(int64_t out, int64_t in, enum gemm_precision precision,
                           bool backward, struct gemm_weight **result, struct err *err)
{
    struct gemm_weight *w = mem_calloc(1, sizeof(*w));
    *w = (struct gemm_weight){.ops = in_use,
                              .out = out,
                              .in = in,
                              .precision = precision,
                              .backward = backward};
    enum rc rc = w->ops->create(w, err);
    if (rc)
        mem_free(w);
    else
        *result = w;
    return rc;
}

void gemm_weight_destroy(struct gemm_weight *w)
{
    if (!w)
        return;
    w->ops->destroy(w);
    mem_free(w);
}

void gemm_pack(struct gemm_weight *w, const float *from)
{
    w->ops->pack(w, from);
}

void gemm_forward(const struct gemm_weight *w, struct view x, const float *bias,
                  enum gemm_act act, struct view y)
{
    w->ops->forward(w, x, bias, act, y);
}

void gemm_backward(const struct gemm_weight *w, struct view dy, bool add, struct view dx)
{
    w->ops->backward(w, dy, add, dx);
}

bool gemm_bf16_in(const struct gemm_weight *w)
{
    return w->ops->bf16_in && w->ops->bf16_in(w);
}

bool gemm_bf16_out(const struct gemm_weight *w)
{
    return w->ops->bf16_out && w->ops->bf16_out(w);
}

/* A gradient in pieces of units times columns. Every element of dw is summed over the
 * rows in one go whatever the pieces, so their size may follow the number of threads.
 */
struct gradient {
    const struct gemm_weight *w;
    struct view dy, x;
    float *dw, *db;
    int64_t units, cols; /* of a piece */
    int64_t across;      /* pieces side by side */
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds rows [from, to) of dy, which are floats or bf16, to sums. */
static void add_units(const struct view *dy, int64_t from, int64_t to, int64_t unit,
                      int64_t n, float *sums)
{
    const struct kernels *k = kernels();
    float part[GEMM_PIECE_UNITS];
    if (dy->dtype != DT_BF16)
        k->add_rows(sums, view_at(dy, from, unit), dy->ld, to - from, NULL, 0, n);
    for (int64_t r = from; dy->dtype == DT_BF16 && r < to; r++) {
        k->from_bf16(part, (const uint16_t *)view_at(dy, r, unit), n);
        k->add(sums, part, n);
    }
}

/* Column sums of dy over blocks of rows, so that long sums stay exact enough. */
static void sum_units(const struct gradient *g, int64_t unit, int64_t n)
{
    enum { BLOCK = 256 };
    for (int64_t r = 0; r < g->dy.rows; r += BLOCK) {
        float sums[GEMM_PIECE_UNITS] = {0};
        add_units(&g->dy, r, min64(r + BLOCK, g->dy.rows), unit, n, sums);
        kernels()->add(g->db + unit, sums, n);
    }
}

static void gradient_pieces(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct gradient *g = arg;
    for (int64_t i = begin; i < end; i++) {
        struct gemm_piece at = {.unit = i / g->across * g->units,
                                .col = i % g->across * g->cols};
        at.units = min64(g->units, g->w->out - at.unit);
        at.cols = min64(g->cols, g->w->in - at.col);
        g->w->ops->gradient(g->w, g->dy, g->x, at, g->dw);
        for (int64_t u = 0; g->db && at.col == 0 && u < at.units; u += GEMM_PIECE_UNITS)
            sum_units(g, at.unit + u, min64(GEMM_PIECE_UNITS, at.units - u));
    }
}

/* n in equal pieces of at most `most`, each a multiple of UNIT when there are several. */
static int64_t piece(int64_t n, int64_t most)
{
    enum { UNIT = 32 };
    int64_t pieces = (n + most - 1) / most, size = pieces ? (n + pieces - 1) / pieces : 1;
    return pieces > 1 ? (size + UNIT - 1) / UNIT * UNIT : size;
}

void gemm_gradient(const struct gemm_weight *w, struct view dy, struct view x, float *dw,
                   float *db, struct pool *pool)
{
    struct gradient g = {.w = w, .dy = dy, .x = x, .dw = dw, .db = db};
    int64_t most_units = GEMM_PIECE_UNITS, most_cols = GEMM_PIECE_COLUMNS, down, across;
    if (w->ops->large_pieces && pool_threads(pool) == 1) {
        most_units = w->out + 1;
        most_cols = w->in + 1;
    }
    for (;;) {
        g.units = piece(w->out, most_units);
        g.cols = piece(w->in, most_cols);
        down = (w->out + g.units - 1) / g.units;
        across = (w->in + g.cols - 1) / g.cols;
        if (down * across >= pool_threads(pool) || most_units <= 48)
            break;
        if (most_units > most_cols)
            most_units /= 2;
        else
            most_cols /= 2;
    }
    g.across = across;
    pool_for(pool, down * across, 1, gradient_pieces, &g);
}
