/* SPDX-License-Identifier: Apache-2.0 */
/* Our own products. Weights are packed into panels of `nr` columns, each panel one
 * stretch of memory that a micro-kernel reads from end to end. Rows of x and dy are read
 * where they lie when words are floats, else turned into words a few at a time.
 *
 * k is cut into blocks of DEPTH words, whose sums are added up in the result; where they
 * begin depends on k alone, so a row has the same bytes however rows are cut. The
 * gradient copies both operands into panels, a block of rows at a time: rows of a batch
 * tend to lie a power of two apart, where they push each other out of the first cache.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "tensor/cpu/gemm_kernel.h"
#include "tensor/gemm_private.h"
#include "tensor/kernel.h"

#define DEPTH 512          /* words of k in one block */
#define SLAB (512 << 10)   /* bytes of panels that are to stay in the second cache */
#define SKEW 16            /* words between rows, so that they fall into different sets */
#define GRADIENT_DEPTH 128 /* words of rows in one block of a gradient */
#define SPREAD 256  /* columns turned into words at a time; a multiple of every nr */
#define AT_ONCE 8   /* rows turned into words at a time */
#define FEW_UNITS 4 /* up to so many outputs are done as dot products */
#define FEW_ROWS 16
#define FEW_PART 512 /* floats rounded at a time there */

struct own_weight {
    const struct gemm_kernel *kern;
    bool rounded;    /* floats that are to be rounded to bf16 */
    float *forward;  /* panels over out, k = in */
    float *backward; /* panels over in, k = out; NULL when not wanted */
    float *plain;    /* [out][in], for few units */
};

#ifdef __x86_64__
/* The system is asked once. */
static bool may_use_tiles(void)
{
    static atomic_int answer; /* 0: not asked, 1: no, 2: yes */
    if (answer == 0)
        answer = cpu_allow_amx() ? 2 : 1;
    return answer == 2;
}
#endif

const struct gemm_kernel *gemm_own_kernel(enum gemm_precision precision)
{
#ifdef __x86_64__
    enum cpu_level level = kernels_level();
    if (precision == GEMM_BF16 && level >= CPU_LEVEL_AMX && may_use_tiles())
        return &gemm_amx_kernel;
    if (precision == GEMM_BF16 && level >= CPU_LEVEL_BF16)
        return &gemm_bf16_kernel;
    if (level >= CPU_LEVEL_AVX512)
        return &gemm_avx512_kernel;
    if (level >= CPU_LEVEL_AVX2)
        return &gemm_avx2_kernel;
#endif
    return &gemm_base_kernel;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Words that k elements take. */
static int64_t words(const struct gemm_kernel *kern, int64_t k)
{
    return round_up((k + kern->per_word - 1) / kern->per_word, kern->k_align);
}

static void enter(const struct gemm_kernel *kern, struct gemm_saved *before)
{
    if (kern->enter)
        kern->enter(before);
}

static void leave(const struct gemm_kernel *kern, const struct gemm_saved *before)
{
    if (kern->leave)
        kern->leave(before);
}

static float *panel_memory(const struct gemm_kernel *kern, int64_t n, int64_t k)
{
    size_t size = (size_t)(round_up(n, kern->nr) * words(kern, k));
    float *p = mem_try_aligned(64, size, sizeof(float));
    if (p)
        memset(p, 0, size * sizeof(float));
    return p;
}

static void own_destroy(struct gemm_weight *w)
{
    struct own_weight *o = w->packed;
    if (!o)
        return;
    mem_free(o->forward);
    mem_free(o->backward);
    mem_free(o->plain);
    mem_free(o);
    w->packed = NULL;
}

static enum rc own_create(struct gemm_weight *w, struct err *err)
{
    struct own_weight *o = mem_calloc(1, sizeof(*o));
    bool few = w->out <= FEW_UNITS, ok;
    w->packed = o;
    o->kern = gemm_own_kernel(w->precision);
    o->rounded = w->precision == GEMM_BF16 && (few || o->kern->per_word == 1);
    if (few) {
        o->plain = mem_try_calloc((size_t)(w->out * w->in), sizeof(float));
        ok = o->plain;
    } else {
        o->forward = panel_memory(o->kern, w->out, w->in);
        if (w->backward)
            o->backward = panel_memory(o->kern, w->in, w->out);
        ok = o->forward && (o->backward || !w->backward);
    }
    if (ok)
        return RC_OK;
    own_destroy(w);
    return gemm_no_memory(w, err);
}

static void copy_floats(const struct own_weight *o, float *to, const float *x, int64_t n)
{
    if (o->rounded)
        kernels()->round_bf16(to, x, n);
    else
        memcpy(to, x, (size_t)n * sizeof(float));
}

static void clear(float *to, int64_t n)
{
    if (n > 0)
        memset(to, 0, (size_t)n * sizeof(float));
}

/* n elements of a row as `total` words; `bf16`: that is what they are. */
static void row_words(const struct own_weight *o, float *to, const float *x, bool bf16,
                      int64_t n, int64_t total)
{
    int64_t used = (n + o->kern->per_word - 1) / o->kern->per_word;
    if (bf16)
        memcpy(to, x, (size_t)used * sizeof(float));
    else if (o->kern->per_word == 1)
        copy_floats(o, to, x, n);
    else
        o->kern->pairs_along(to, x, n);
    clear(to + used, total - used);
}

/* Columns [col, col + n) of v as panels of `total` rows of `width` words, where k runs
 * over the rows of v; a panel takes `size` words. What is not there becomes zeros.
 */
static void column_words(const struct own_weight *o, struct view v, int64_t col,
                         int64_t n, int width, int64_t total, int64_t size, float *to)
{
    int64_t per_word = o->kern->per_word, have = (v.rows + per_word - 1) / per_word;
    float part[AT_ONCE * SPREAD];
    for (int64_t r = 0; r < v.rows; r += AT_ONCE) {
        struct gemm_rows some = {.at = view_at(&v, r, col),
                                 .ld = v.ld,
                                 .n = min64(AT_ONCE, v.rows - r),
                                 .bf16 = v.dtype == DT_BF16};
        for (int64_t i = 0; o->rounded && i < some.n; i++)
            kernels()->round_bf16(part + i * SPREAD, some.at + i * v.ld, n);
        if (o->rounded)
            some = (struct gemm_rows){.at = part, .ld = SPREAD, .n = some.n};
        else if (r + 2 * AT_ONCE <= v.rows)
            some.ahead = AT_ONCE * v.ld;
        o->kern->spread(&some, n, width, size, to + r / per_word * width);
    }
    for (int64_t c = 0; c < n && have < total; c += width)
        clear(to + c / width * size + have * width, (total - have) * width);
}

/* Panels over units, where k runs along the rows of w: words, then turned round. */
static void pack_forward(const struct own_weight *o, const struct gemm_weight *w,
                         const float *from)
{
    enum { PART = 64 };
    const struct gemm_kernel *kern = o->kern;
    int64_t k_words = words(kern, w->in), nr = kern->nr;
    float part[GEMM_NR_MAX * PART];
    for (int64_t u = 0; u < w->out; u += nr)
        for (int64_t k = 0; k < k_words; k += PART) {
            int64_t n_words = min64(PART, k_words - k), at = k * kern->per_word;
            int64_t units = min64(nr, w->out - u);
            for (int64_t j = 0; j < units; j++)
                row_words(o, part + j * PART, from + (u + j) * w->in + at, false,
                          min64(w->in - at, n_words * kern->per_word), n_words);
            kern->transpose(part, PART, units, n_words, o->forward + u * k_words + k * nr,
                            nr);
        }
}

static void own_pack(struct gemm_weight *w, const float *from)
{
    struct own_weight *o = w->packed;
    if (o->plain) {
        copy_floats(o, o->plain, from, w->out * w->in);
        return;
    }
    pack_forward(o, w, from);
    struct view all = view_of((float *)from, w->out, w->in);
    int64_t k_words = words(o->kern, w->out);
    for (int64_t c = 0; o->backward && c < w->in; c += SPREAD)
        column_words(o, all, c, min64(SPREAD, w->in - c), o->kern->nr, k_words,
                     k_words * o->kern->nr, o->backward + c * k_words);
}

/* One product with packed weights: y = start + x * panels. */
struct product {
    const struct own_weight *o;
    const float *panels;
    int64_t n, k; /* columns of y, elements of a row of x */
    const float *bias;
    bool add, relu;
};

/* A block of k in rows of x that are to become words. */
struct block {
    const struct product *p;
    struct view x;
    int64_t k0, k_words;
};

/* Rows [from, to) of the tile at row r as words, behind the rows before them. */
static void tile_words(const struct block *b, int64_t r, int64_t from, int64_t to,
                       float *buffer)
{
    const struct gemm_kernel *kern = b->p->o->kern;
    int64_t at = b->k0 * kern->per_word, ld = b->k_words + SKEW;
    int64_t n = min64(b->p->k - at, b->k_words * kern->per_word);
    to = min64(to, b->x.rows - r);
    for (int64_t i = from; i < to; i++)
        row_words(b->p->o, buffer + i * ld, view_at(&b->x, r + i, at),
                  b->x.dtype == DT_BF16, n, b->k_words);
}

/* Whether the kernel can read a tile of so many rows where they lie. */
static bool in_place(const struct block *b, int64_t rows)
{
    const struct gemm_kernel *kern = b->p->o->kern;
    if (b->x.dtype == DT_BF16)
        return b->p->k % (kern->per_word * kern->k_align) == 0 &&
               (!kern->strided_only || rows == kern->mr);
    return kern->per_word == 1 && !b->p->o->rounded;
}

/* Rows of x over one block of k and the panels of one slab. Where floats must become
 * words, those of the next tile do so between the products of this one: the processor
 * does both at a time.
 */
static void multiply_rows(const struct block *b, int64_t from, int64_t to, struct view y)
{
    const struct product *p = b->p;
    const struct gemm_kernel *kern = p->o->kern;
    int64_t all = words(kern, p->k), panels = (to - from + kern->nr - 1) / kern->nr;
    int64_t share = (kern->mr + panels - 1) / panels;
    float buffer[2][GEMM_MR_MAX * (DEPTH + SKEW)], *now = buffer[0], *next = buffer[1];
    struct gemm_tile t = {.k = b->k_words,
                          .strided = true,
                          .add = p->add || b->k0 > 0,
                          .relu = p->relu && b->k0 + b->k_words == all,
                          .ldc = y.ld,
                          .bf16 = y.dtype == DT_BF16};
    for (int64_t r = 0; r < b->x.rows; r += kern->mr) {
        int64_t rows = min64(b->x.rows - r, kern->mr);
        bool direct = in_place(b, rows), share_out = !direct && b->x.dtype != DT_BF16;
        if (!direct && (r == 0 || !share_out))
            tile_words(b, r, 0, rows, now);
        t.a = direct ? view_at(&b->x, r, b->k0 * kern->per_word) : now;
        t.lda = direct ? b->x.ld : b->k_words + SKEW;
        for (int64_t c = from, i = 0; c < to; c += kern->nr, i += share) {
            t.b = p->panels + c * all + b->k0 * kern->nr;
            t.bias = p->bias && b->k0 == 0 ? p->bias + c : NULL;
            t.c = view_at(&y, r, c);
            kern->run(&t, (int)rows, (int)min64(p->n - c, kern->nr));
            if (share_out && i < kern->mr)
                tile_words(b, r + kern->mr, i, min64(i + share, kern->mr), next);
        }
        float *was = now;
        now = next;
        next = was;
    }
}

static void multiply(const struct product *p, struct view x, struct view y)
{
    const struct gemm_kernel *kern = p->o->kern;
    int64_t all = words(kern, p->k), blocks = (all + DEPTH - 1) / DEPTH;
    int64_t depth = round_up((all + blocks - 1) / blocks, kern->k_align);
    int64_t slab = SLAB / (depth * (int64_t)sizeof(float)) / kern->nr * kern->nr;
    slab = slab > kern->nr ? slab : kern->nr;
    struct gemm_saved before;
    enter(kern, &before);
    for (int64_t c = 0; c < p->n; c += slab)
        for (int64_t k = 0; k < all; k += depth) {
            struct block b = {.p = p, .x = x, .k0 = k, .k_words = min64(depth, all - k)};
            multiply_rows(&b, c, min64(c + slab, p->n), y);
        }
    leave(kern, &before);
}

/* n floats of a row from column c on, as bf16 has them. */
static void few_floats(const struct view *x, int64_t r, int64_t c, int64_t n, float *part)
{
    if (x->dtype == DT_BF16)
        kernels()->from_bf16(part, (const uint16_t *)view_at(x, r, c), n);
    else
        kernels()->round_bf16(part, view_at(x, r, c), n);
}

/* FEW_ROWS rows at most, in blocks of FEW_PART columns. */
static void few_rows(const struct gemm_weight *w, struct view x,
                     float sums[FEW_UNITS][FEW_ROWS])
{
    const struct own_weight *o = w->packed;
    const struct kernels *k = kernels();
    float part[FEW_ROWS * FEW_PART], some[FEW_ROWS];
    for (int64_t i = 0; i < w->in; i += FEW_PART) {
        int64_t n = min64(FEW_PART, w->in - i), ld = o->rounded ? FEW_PART : x.ld;
        for (int64_t r = 0; o->rounded && r < x.rows; r++)
            few_floats(&x, r, i, n, part + r * FEW_PART);
        for (int64_t u = 0; u < w->out; u++) {
            k->dot_rows(some, o->rounded ? part : x.data + i, ld, x.rows,
                        o->plain + u * w->in + i, n);
            k->add(sums[u], some, x.rows);
        }
    }
}

static void few_forward(const struct gemm_weight *w, struct view x, const float *bias,
                        enum gemm_act act, struct view y)
{
    for (int64_t r = 0; r < x.rows; r += FEW_ROWS) {
        float sums[FEW_UNITS][FEW_ROWS] = {{0}};
        int64_t rows = min64(FEW_ROWS, x.rows - r);
        few_rows(w, view_rows(&x, r, r + rows), sums);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t u = 0; u < w->out; u++) {
                float v = sums[u][i] + (bias ? bias[u] : 0.0f);
                view_row(&y, r + i)[u] = act == GEMM_ACT_RELU && v < 0.0f ? 0.0f : v;
            }
    }
}

static void own_forward(const struct gemm_weight *w, struct view x, const float *bias,
                        enum gemm_act act, struct view y)
{
    const struct own_weight *o = w->packed;
    struct product p = {.o = o,
                        .panels = o->forward,
                        .n = w->out,
                        .k = w->in,
                        .bias = bias,
                        .relu = act == GEMM_ACT_RELU};
    if (o->plain)
        few_forward(w, x, bias, act, y);
    else
        multiply(&p, x, y);
    if (act != GEMM_ACT_RELU)
        gemm_apply_act(act, y);
}

static float few_factor(const struct own_weight *o, float v)
{
    return o->rounded ? bf16_to_f32(bf16_from_f32(v)) : v;
}

/* A row of bf16, which nothing is added to. */
static void few_backward_bf16(const struct gemm_weight *w, const float *dy, float *dx)
{
    const struct own_weight *o = w->packed;
    float part[FEW_PART];
    for (int64_t c = 0; c < w->in; c += FEW_PART) {
        int64_t n = min64(FEW_PART, w->in - c);
        kernels()->times(part, few_factor(o, dy[0]), o->plain + c, n);
        for (int64_t u = 1; u < w->out; u++)
            kernels()->axpy(part, few_factor(o, dy[u]), o->plain + u * w->in + c, n);
        o->kern->pairs_along(dx + c / 2, part, n);
    }
}

static void own_backward(const struct gemm_weight *w, struct view dy, bool add,
                         struct view dx)
{
    const struct own_weight *o = w->packed;
    struct product p = {
        .o = o, .panels = o->backward, .n = w->in, .k = w->out, .add = add};
    if (!o->plain) {
        multiply(&p, dy, dx);
        return;
    }
    for (int64_t r = 0; r < dy.rows && dx.dtype == DT_BF16; r++)
        few_backward_bf16(w, view_row(&dy, r), view_row(&dx, r));
    for (int64_t r = 0; r < dy.rows && dx.dtype != DT_BF16; r++) {
        if (!add) /* what lies there may be no number, which no factor makes zero */
            kernels()->times(view_row(&dx, r), few_factor(o, *view_row(&dy, r)), o->plain,
                             w->in);
        for (int64_t u = add ? 0 : 1; u < w->out; u++)
            kernels()->axpy(view_row(&dx, r), few_factor(o, view_row(&dy, r)[u]),
                            o->plain + u * w->in, w->in);
    }
}

/* Units of dy as the left operand: panels of mr units, each of `size` words; for kernels
 * that want them strided, turned round 16 words of rows at a time.
 */
static void unit_words(const struct own_weight *o, struct view dy, struct gemm_piece at,
                       int64_t depth, int64_t size, float *to)
{
    enum { PART = 16 };
    const struct gemm_kernel *kern = o->kern;
    int64_t mr = kern->mr;
    float part[PART * (GEMM_PIECE_UNITS + GEMM_MR_MAX)];
    if (!kern->strided_only) {
        column_words(o, dy, at.unit, at.units, kern->mr, depth, size, to);
        return;
    }
    for (int64_t k = 0; k < depth; k += PART) {
        int64_t from = min64(k * kern->per_word, dy.rows);
        int64_t end = min64(from + PART * kern->per_word, dy.rows);
        column_words(o, view_rows(&dy, from, end), at.unit, at.units, kern->mr, PART,
                     PART * mr, part);
        for (int64_t u = 0; u < at.units; u += mr)
            kern->transpose(part + u * PART, mr, PART, mr, to + u / mr * size + k,
                            depth + SKEW);
    }
}

/* One piece of dw over one block of rows. */
static void gradient_block(const struct own_weight *o, struct view dy, struct view x,
                           struct gemm_piece at, float *dw, int64_t in)
{
    const struct gemm_kernel *kern = o->kern;
    _Alignas(64) float units[(GEMM_PIECE_UNITS + GEMM_MR_MAX) * (GRADIENT_DEPTH + SKEW)];
    _Alignas(64) float panels[GEMM_PIECE_COLUMNS * (GRADIENT_DEPTH + SKEW)];
    int64_t depth = words(kern, dy.rows), mr = kern->mr, nr = kern->nr;
    int64_t lda = kern->strided_only ? depth + SKEW : mr;
    int64_t size = mr * (kern->strided_only ? lda : depth) + SKEW;
    int64_t panel = nr * depth + SKEW;
    unit_words(o, dy, at, depth, size, units);
    column_words(o, x, at.col, at.cols, kern->nr, depth, panel, panels);
    for (int64_t c = 0; c < at.cols; c += nr)
        for (int64_t u = 0; u < at.units; u += mr) {
            struct gemm_tile t = {.k = depth,
                                  .a = units + u / mr * size,
                                  .lda = lda,
                                  .strided = kern->strided_only,
                                  .b = panels + c / nr * panel,
                                  .add = true,
                                  .c = dw + (at.unit + u) * in + at.col + c,
                                  .ldc = in};
            kern->run(&t, (int)min64(mr, at.units - u), (int)min64(nr, at.cols - c));
        }
}

static void few_gradient(const struct own_weight *o, struct view dy, struct view x,
                         struct gemm_piece at, float *dw, int64_t in)
{
    float part[FEW_PART];
    for (int64_t u = at.unit; !o->rounded && u < at.unit + at.units; u++)
        kernels()->add_rows(dw + u * in + at.col, x.data + at.col, x.ld, dy.rows,
                            dy.data + u, dy.ld, at.cols);
    for (int64_t r = 0; o->rounded && r < dy.rows; r++)
        for (int64_t c = 0; c < at.cols; c += FEW_PART) {
            int64_t n = min64(FEW_PART, at.cols - c);
            few_floats(&x, r, at.col + c, n, part);
            for (int64_t u = at.unit; u < at.unit + at.units; u++)
                kernels()->axpy(dw + u * in + at.col + c,
                                few_factor(o, view_row(&dy, r)[u]), part, n);
        }
}

static void own_gradient(const struct gemm_weight *w, struct view dy, struct view x,
                         struct gemm_piece at, float *dw)
{
    const struct own_weight *o = w->packed;
    int64_t block = (int64_t)GRADIENT_DEPTH * o->kern->per_word;
    if (o->plain) {
        few_gradient(o, dy, x, at, dw, w->in);
        return;
    }
    struct gemm_saved before;
    enter(o->kern, &before);
    for (int64_t r = 0; r < dy.rows; r += block) {
        int64_t end = min64(r + block, dy.rows);
        gradient_block(o, view_rows(&dy, r, end), view_rows(&x, r, end), at, dw, w->in);
    }
    leave(o->kern, &before);
}

/* Sums of k in one block, so that none is kept as bf16. */
static bool one_block(const struct own_weight *o, int64_t k)
{
    return words(o->kern, k) <= DEPTH;
}

static bool own_bf16_in(const struct gemm_weight *w)
{
    const struct own_weight *o = w->packed;
    return o->kern->per_word == 2 && w->in % 2 == 0 && one_block(o, w->out);
}

static bool own_bf16_out(const struct gemm_weight *w)
{
    const struct own_weight *o = w->packed;
    return o->kern->per_word == 2 && w->out % 2 == 0 && one_block(o, w->in) && !o->plain;
}

const struct gemm_ops gemm_own = {
    .name = "own",
    .create = own_create,
    .destroy = own_destroy,
    .pack = own_pack,
    .forward = own_forward,
    .backward = own_backward,
    .gradient = own_gradient,
    .bf16_in = own_bf16_in,
    .bf16_out = own_bf16_out,
};
