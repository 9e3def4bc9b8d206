/* SPDX-License-Identifier: Apache-2.0 */
/* Both weights are packed into panels as in gemm_own.c. A panel of the matrix of a part
 * is made from them in the first cache and used for all its rows; then comes the same
 * panel for the next part, so that the weights' panel stays there too. The gradient of a
 * few units at a time is made in the first cache as well, and added where it belongs,
 * part after part.
 */
#include "tensor/gemm_mix.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "tensor/cpu/gemm_kernel.h"
#include "tensor/gemm_private.h"

#define IN_MAX 256
#define OUT_MAX 512
#define OUT_MIN 16 /* fewer are not worth a panel */
#define DEPTH 64   /* rows of a gradient at a time */
#define ROWS 256   /* of all pieces of a gradient that are done together */
#define PIECES 64

struct gemm_mix {
    const struct gemm_kernel *kern;
    int64_t out, in;
    float *w;           /* [out][2 in]: as it was packed */
    float *forward[2];  /* of a and b: panels over out, k = in */
    float *backward[2]; /* panels over in, k = out */
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t panels(const struct gemm_mix *m, int64_t n)
{
    return (n + m->kern->nr - 1) / m->kern->nr;
}

void gemm_mix_destroy(struct gemm_mix *m)
{
    if (!m)
        return;
    for (int i = 0; i < 2; i++) {
        mem_free(m->forward[i]);
        mem_free(m->backward[i]);
    }
    mem_free(m->w);
    mem_free(m);
}

enum rc gemm_mix_create(int64_t out, int64_t in, bool backward, struct gemm_mix **result,
                        struct err *err)
{
    *result = NULL;
    if (strcmp(gemm_backend(), "own") != 0 || in > IN_MAX || out > OUT_MAX ||
        out < OUT_MIN)
        return RC_OK;
    struct gemm_mix *m = mem_calloc(1, sizeof(*m));
    *m = (struct gemm_mix){.kern = gemm_own_kernel(GEMM_F32), .out = out, .in = in};
    size_t nr = (size_t)m->kern->nr, size = (size_t)(panels(m, out) * in) * nr;
    size_t back = (size_t)(panels(m, in) * out) * nr;
    m->w = mem_try_aligned(64, (size_t)(2 * out * in), sizeof(float));
    bool ok = m->w;
    for (int i = 0; i < 2 && ok; i++) {
        m->forward[i] = mem_try_aligned(64, size, sizeof(float));
        m->backward[i] = backward ? mem_try_aligned(64, back, sizeof(float)) : NULL;
        ok = m->forward[i] && (m->backward[i] || !backward);
    }
    if (!ok) {
        gemm_mix_destroy(m);
        return err_set(err, RC_NOMEM, "no memory for matrices of %jd x %jd",
                       (intmax_t)out, (intmax_t)in);
    }
    *result = m;
    return RC_OK;
}

void gemm_mix_pack(struct gemm_mix *m, const float *w)
{
    int64_t nr = m->kern->nr, ld = 2 * m->in;
    memcpy(m->w, w, (size_t)(m->out * ld) * sizeof(float));
    for (int part = 0; part < 2; part++) {
        const float *from = w + part * m->in;
        for (int64_t u = 0; u < m->out; u += nr) {
            int64_t units = min64(nr, m->out - u);
            float *to = m->forward[part] + u * m->in;
            if (units < nr)
                memset(to, 0, (size_t)(nr * m->in) * sizeof(float));
            m->kern->transpose(from + u * ld, ld, units, m->in, to, nr);
        }
        struct gemm_rows rows = {.at = from, .ld = ld, .n = m->out};
        if (m->backward[part])
            m->kern->spread(&rows, m->in, m->kern->nr, m->out * nr, m->backward[part]);
    }
}

/* Row k of a panel whose columns are units: one factor. */
CLONED static void mix_units(const float *a, const float *b, const float *q, int64_t k,
                             int64_t nr, float *to)
{
    for (int64_t i = 0; i < k && nr % 16 == 0; i++)
        for (int64_t j = i * nr; j < (i + 1) * nr; j += 16)
            *(floats16 *)(to + j) =
                *(const floats16 *)(a + j) + q[i] * *(const floats16 *)(b + j);
    for (int64_t i = 0; i < k * nr && nr % 16; i++)
        to[i] = a[i] + q[i / nr] * b[i];
}

/* Of a panel whose columns are inputs: a factor per column. */
CLONED static void mix_inputs(const float *a, const float *b, const float *q, int64_t k,
                              int64_t nr, float *to)
{
    for (int64_t i = 0; i < k * nr && nr % 16 == 0; i += nr)
        for (int64_t c = 0; c < nr; c += 16)
            *(floats16 *)(to + i + c) =
                *(const floats16 *)(a + i + c) +
                *(const floats16 *)(q + c) * *(const floats16 *)(b + i + c);
    for (int64_t i = 0; i < k * nr && nr % 16; i++)
        to[i] = a[i] + q[i % nr] * b[i];
}

/* All rows of `a` by one panel, in tiles of about equal height. */
static void run_rows(const struct gemm_kernel *kern, struct gemm_tile t, struct view a,
                     struct view c, int64_t cols)
{
    int64_t tiles = (a.rows + kern->mr - 1) / kern->mr;
    for (int64_t i = 0, r = 0; i < tiles; i++) {
        int64_t end = (i + 1) * a.rows / tiles;
        t.a = view_row(&a, r);
        t.c = view_row(&c, r);
        kern->run(&t, (int)(end - r), (int)cols);
        r = end;
    }
}

void gemm_mix_forward(const struct gemm_mix *m, const struct gemm_mix_part *parts,
                      int64_t n, struct view x, enum gemm_act act, struct view y)
{
    _Alignas(64) float panel[IN_MAX * GEMM_NR_MAX];
    int64_t nr = m->kern->nr;
    for (int64_t u = 0; u < m->out; u += nr)
        for (int64_t i = 0; i < n; i++) {
            const struct gemm_mix_part *p = &parts[i];
            struct view to = view_rows(&y, p->from, p->to);
            mix_units(m->forward[0] + u * m->in, m->forward[1] + u * m->in, p->q, m->in,
                      nr, panel);
            struct gemm_tile t = {.k = m->in,
                                  .lda = x.ld,
                                  .strided = true,
                                  .b = panel,
                                  .bias = p->bias ? p->bias + u : NULL,
                                  .relu = act == GEMM_ACT_RELU,
                                  .ldc = y.ld};
            run_rows(m->kern, t, view_rows(&x, p->from, p->to),
                     view_cols(&to, u, m->out - u), min64(nr, m->out - u));
        }
    for (int64_t i = 0; i < n && act != GEMM_ACT_RELU; i++)
        gemm_apply_act(act, view_rows(&y, parts[i].from, parts[i].to));
}

void gemm_mix_backward(const struct gemm_mix *m, const struct gemm_mix_part *parts,
                       int64_t n, struct view dy, bool add, struct view dx)
{
    _Alignas(64) float panel[OUT_MAX * GEMM_NR_MAX];
    int64_t nr = m->kern->nr;
    for (int64_t c = 0; c < m->in; c += nr)
        for (int64_t i = 0; i < n; i++) {
            const struct gemm_mix_part *p = &parts[i];
            struct view to = view_rows(&dx, p->from, p->to);
            int64_t cols = min64(nr, m->in - c);
            float factors[GEMM_NR_MAX] = {0};
            memcpy(factors, p->q + c, (size_t)cols * sizeof(float));
            mix_inputs(m->backward[0] + c * m->out, m->backward[1] + c * m->out, factors,
                       m->out, nr, panel);
            struct gemm_tile t = {.k = m->out,
                                  .lda = dy.ld,
                                  .strided = true,
                                  .b = panel,
                                  .add = add,
                                  .ldc = dx.ld};
            run_rows(m->kern, t, view_rows(&dy, p->from, p->to), view_cols(&to, c, cols),
                     cols);
        }
}

/* The gradients of some units, which go to both weights and to q. */
struct folded {
    const float *g; /* [units][n] */
    const float *q; /* [n] */
    const float *b; /* [units], ld apart; so are both gradients */
    float *da, *db;
    float *dq; /* [n] */
    int64_t units, n, ld;
};

static ALWAYS_INLINE void fold_floats(const struct folded *f, int64_t i)
{
    float q = f->q[i], dq = f->dq[i];
    for (int64_t u = 0; u < f->units; u++) {
        float g = f->g[u * f->n + i];
        f->da[u * f->ld + i] += g;
        f->db[u * f->ld + i] += g * q;
        dq += g * f->b[u * f->ld + i];
    }
    f->dq[i] = dq;
}

CLONED static void fold(const struct folded *f)
{
    int64_t i = 0, n = f->n, ld = f->ld, units = f->units;
    for (; i + 16 <= n; i += 16) {
        floats16 q = *(const floats16 *)(f->q + i), dq = *(const floats16 *)(f->dq + i);
        const float *g = f->g + i, *b = f->b + i;
        float *da = f->da + i, *db = f->db + i;
        for (int64_t u = 0; u < units; u++, g += n, b += ld, da += ld, db += ld) {
            floats16 some = *(const floats16 *)g;
            *(floats16 *)da += some;
            *(floats16 *)db += some * q;
            dq += some * *(const floats16 *)b;
        }
        *(floats16 *)(f->dq + i) = dq;
    }
    for (; i < n; i++)
        fold_floats(f, i);
}

/* Up to DEPTH rows of one part. */
struct piece {
    const struct gemm_mix_part *part;
    struct view dy;
    const float *x; /* as panels */
};

/* Pieces of parts whose rows of x are laid out as panels. */
struct pieces {
    struct piece at[PIECES];
    int64_t n, rows;
    _Alignas(64) float x[(IN_MAX + GEMM_NR_MAX) * ROWS];
};

/* The gradients of some units from all pieces, one after the other. */
static void piece_units(const struct gemm_mix *m, const struct pieces *all, int64_t u,
                        float *dw)
{
    _Alignas(64) float g[GEMM_MR_MAX * IN_MAX];
    const struct gemm_kernel *kern = m->kern;
    int64_t units = min64(kern->mr, m->out - u), ld = 2 * m->in;
    float unwanted[IN_MAX] = {0};
    for (int64_t i = 0; i < all->n; i++) {
        const struct piece *p = &all->at[i];
        for (int64_t c = 0; c < m->in; c += kern->nr) {
            struct gemm_tile t = {.k = p->dy.rows,
                                  .a = p->dy.data + u,
                                  .lda = p->dy.ld,
                                  .b = p->x + c * p->dy.rows,
                                  .c = g + c,
                                  .ldc = m->in};
            kern->run(&t, (int)units, (int)min64(kern->nr, m->in - c));
        }
        fold(&(struct folded){.g = g,
                              .q = p->part->q,
                              .b = m->w + u * ld + m->in,
                              .da = dw + u * ld,
                              .db = dw + u * ld + m->in,
                              .dq = p->part->dq ? p->part->dq : unwanted,
                              .units = units,
                              .n = m->in,
                              .ld = ld});
    }
}

static void finish_pieces(const struct gemm_mix *m, struct pieces *all, float *dw)
{
    for (int64_t u = 0; u < m->out && all->n; u += m->kern->mr)
        piece_units(m, all, u, dw);
    all->n = all->rows = 0;
}

static void add_piece(const struct gemm_mix *m, struct pieces *all,
                      const struct gemm_mix_part *part, struct view dy, struct view x)
{
    int64_t nr = m->kern->nr, width = panels(m, m->in) * nr;
    float *to = all->x + all->rows * width;
    struct gemm_rows rows = {.at = x.data, .ld = x.ld, .n = x.rows};
    m->kern->spread(&rows, m->in, m->kern->nr, x.rows * nr, to);
    all->at[all->n++] = (struct piece){.part = part, .dy = dy, .x = to};
    all->rows += x.rows;
}

void gemm_mix_gradient(const struct gemm_mix *m, const struct gemm_mix_part *parts,
                       int64_t n, struct view dy, struct view x, float *dw)
{
    struct pieces all;
    all.n = all.rows = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = parts[i].from; r < parts[i].to; r += DEPTH) {
            int64_t end = min64(r + DEPTH, parts[i].to);
            /* a part's pieces go to dq one after the other, whatever else there is */
            if (all.n == PIECES || all.rows + end - r > ROWS || r > parts[i].from)
                finish_pieces(m, &all, dw);
            add_piece(m, &all, &parts[i], view_rows(&dy, r, end), view_rows(&x, r, end));
        }
    finish_pieces(m, &all, dw);
}
