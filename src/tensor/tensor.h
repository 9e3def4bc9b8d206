/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/tensor.h - what kernels work on: rows of floats with a stride.
 *
 * The first axis of everything that flows through a model is rows (of the batch, or of
 * all sequence positions of the batch); what a row holds may have further axes, which
 * kernels know and views do not. Parameters are views too: one row per output unit.
 */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype { DT_F32, DT_BF16, DT_F16, DT_I32, DT_I64 };

size_t dtype_size(enum dtype t);
const char *dtype_name(enum dtype t); /* "f32" */

struct device;

/* Borrowed memory: whoever made it knows how long it lives. */
struct view {
    float *data;   /* NULL: nobody wants it */
    int64_t rows;  /* filled rows */
    int64_t width; /* floats of a row */
    int64_t ld;    /* floats from one row to the next, >= width */
    /* DT_F32, or DT_BF16: rows hold two values in the place of a float; `width` counts
     * them, `ld` floats. Only matrix products know such rows (gemm.h).
     */
    enum dtype dtype;
    const struct device *device; /* whose memory it is; NULL: the host's */
};

/* Rows of floats that follow each other. */
static inline struct view view_of(float *data, int64_t rows, int64_t width)
{
    return (struct view){.data = data, .rows = rows, .width = width, .ld = width};
}

static inline float *view_row(const struct view *v, int64_t row)
{
    return v->data + row * v->ld;
}

/* Where column `col` of a row lies; even when rows hold bf16. */
static inline float *view_at(const struct view *v, int64_t row, int64_t col)
{
    return view_row(v, row) + (v->dtype == DT_BF16 ? col / 2 : col);
}

/* Rows [from, to) of v as a view of its own. */
static inline struct view view_rows(const struct view *v, int64_t from, int64_t to)
{
    return (struct view){.data = v->data + from * v->ld,
                         .rows = to - from,
                         .width = v->width,
                         .ld = v->ld,
                         .dtype = v->dtype,
                         .device = v->device};
}

/* Columns [from, from + width) of v. */
static inline struct view view_cols(const struct view *v, int64_t from, int64_t width)
{
    return (struct view){.data = v->data + from,
                         .rows = v->rows,
                         .width = width,
                         .ld = v->ld,
                         .device = v->device};
}

/* 16-bit floats, rounded to nearest even; NaN stays NaN. */
uint16_t bf16_from_f32(float v);
float bf16_to_f32(uint16_t v);
uint16_t f16_from_f32(float v);
float f16_to_f32(uint16_t v);

#endif
