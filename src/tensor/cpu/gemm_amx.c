/* SPDX-License-Identifier: Apache-2.0 */
/* Tile registers: 16 rows of 64 bytes each. Four hold 32 x 32 sums, two a strip of 32
 * rows of a, two one of 32 columns of b; a step multiplies 16 words of k.
 */
#include <string.h>

#include "tensor/cpu/gemm_kernel.h"
#include "tensor/cpu/vec_avx512.h"

#define NAME(x) gemm_amx_##x
#define MR 32
#define NR 32
#define GEMM_BF16_ROWS
#include "tensor/cpu/gemm_out.h"
#include "tensor/cpu/gemm_pairs.h"
#include "tensor/cpu/transpose_body.h"

/* The layout that the instruction which sets up tiles reads. */
struct tile_config {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Other libraries keep tiles set up between calls, so theirs are put back. */
static void enter(struct gemm_saved *before)
{
    struct tile_config c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = 16;
    }
    _tile_storeconfig(before->bytes);
    _tile_loadconfig(&c);
}

static void leave(const struct gemm_saved *before)
{
    _tile_loadconfig(before->bytes);
}

#define A_LOW 4
#define A_HIGH 5
#define B_LEFT 6
#define B_RIGHT 7
#define ROW (NR * sizeof(float))

/* 32 x 32 sums. */
static void whole(const struct gemm_tile *t, float sums[MR * NR])
{
    size_t stride = (size_t)t->lda * sizeof(float);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    const float *a = t->a, *low = t->a + 16 * t->lda, *b = t->b;
    for (int64_t k = 0; k < t->k; k += 16, a += 16, low += 16, b += 16 * NR) {
        _tile_loadd(B_LEFT, b, ROW);
        _tile_loadd(A_LOW, a, stride);
        _tile_loadd(B_RIGHT, b + 16, ROW);
        _tile_dpbf16ps(0, A_LOW, B_LEFT);
        _tile_loadd(A_HIGH, low, stride);
        _tile_dpbf16ps(1, A_LOW, B_RIGHT);
        _tile_dpbf16ps(2, A_HIGH, B_LEFT);
        _tile_dpbf16ps(3, A_HIGH, B_RIGHT);
    }
    _tile_stored(0, sums, ROW);
    _tile_stored(1, sums + 16, ROW);
    _tile_stored(2, sums + 16 * NR, ROW);
    _tile_stored(3, sums + 16 * NR + 16, ROW);
}

/* The upper 16 rows alone. */
static void upper(const struct gemm_tile *t, float sums[MR * NR])
{
    size_t stride = (size_t)t->lda * sizeof(float);
    _tile_zero(0);
    _tile_zero(1);
    for (int64_t k = 0; k < t->k; k += 16) {
        _tile_loadd(A_LOW, t->a + k, stride);
        _tile_loadd(B_LEFT, t->b + k * NR, ROW);
        _tile_loadd(B_RIGHT, t->b + k * NR + 16, ROW);
        _tile_dpbf16ps(0, A_LOW, B_LEFT);
        _tile_dpbf16ps(1, A_LOW, B_RIGHT);
    }
    _tile_stored(0, sums, ROW);
    _tile_stored(1, sums + 16, ROW);
}

/* Rows of NR columns; `add`, `relu` and `bf16` are known where this is expanded. */
static ALWAYS_INLINE void put_rows(const struct gemm_tile *t, int rows, bool add,
                                   bool relu, bool bf16, const float *sums)
{
    VF b0 = t->bias ? V_LOAD(t->bias) : V_ZERO,
       b1 = t->bias ? V_LOAD(t->bias + VL) : V_ZERO;
    float *c = t->c;
    for (int i = 0; i < rows; i++, sums += NR, c += t->ldc) {
        VF v0 = V_ADD(add ? V_LOAD(c) : b0, V_LOAD(sums));
        VF v1 = V_ADD(add ? V_LOAD(c + VL) : b1, V_LOAD(sums + VL));
        VF v[2] = {relu ? V_MAX0(v0) : v0, relu ? V_MAX0(v1) : v1};
        if (bf16)
            NAME(store_bf16)(c, NR, v);
        else
            NAME(store)(c, NR, v);
    }
}

static void put_whole_rows(const struct gemm_tile *t, int rows, const float *sums)
{
    if (t->bf16 && t->relu)
        put_rows(t, rows, false, true, true, sums);
    else if (t->bf16)
        put_rows(t, rows, false, false, true, sums);
    else if (t->add && t->relu)
        put_rows(t, rows, true, true, false, sums);
    else if (t->add)
        put_rows(t, rows, true, false, false, sums);
    else if (t->relu)
        put_rows(t, rows, false, true, false, sums);
    else
        put_rows(t, rows, false, false, false, sums);
}

static void amx_tile(const struct gemm_tile *t, int rows, int cols)
{
    _Alignas(64) float sums[MR * NR];
    if (rows > 16)
        whole(t, sums);
    else
        upper(t, sums);
    if (cols == NR) {
        put_whole_rows(t, rows, sums);
        return;
    }
    VF start[2] = {V_ZERO, V_ZERO};
    if (t->bias)
        NAME(load)(t->bias, cols, start);
    for (int i = 0; i < rows; i++) {
        VF row[2] = {V_LOAD(sums + i * NR), V_LOAD(sums + i * NR + VL)};
        NAME(out)(t, i, cols, start, row);
    }
}

const struct gemm_kernel gemm_amx_kernel = {.name = "amx",
                                            .mr = MR,
                                            .nr = NR,
                                            .per_word = 2,
                                            .k_align = 16,
                                            .strided_only = true,
                                            .run = amx_tile,
                                            .enter = enter,
                                            .leave = leave,
                                            .pairs_along = pairs_along,
                                            .spread = spread_pairs,
                                            .transpose = transpose};
