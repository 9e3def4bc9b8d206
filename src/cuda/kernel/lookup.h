/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/kernel/lookup.h - embedding rows on the card, for callers in C. As in kernels.h calls
 * are queued and pointers are the device's.
 *
 * Tables of one width and optimizer lie one behind the other in one array, rows of weights and
 * optimizer state; ids are numbers of rows in it (keys). All uses of these tables (slots) are
 * gathered by one kernel. For the update the occurrences are sorted by row; each distinct row
 * sums its gradients in the order of the batch and is updated once. Sums of a row with more
 * than CUDA_RUN_MAX occurrences are made in stretches that are added in their order, so that
 * the result depends on the row's own occurrences alone: not on the card, nor on other rows.
 */
#ifndef CUDA_KERNEL_LOOKUP_H
#define CUDA_KERNEL_LOOKUP_H

#include "cuda/kernel/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One use of a table in a batch: row r has keys[begin + offsets[r]] up to offsets[r + 1], or
 * without offsets keys[begin + r].
 */
struct cuda_slot {
    uint32_t begin, rows;
    int32_t twin;     /* the next slot with the same keys, or -1 */
    uint32_t follows; /* goes along with another: is not among the occurrences */
    int64_t offsets;  /* where its own are in struct cuda_batch, or -1 */
    int64_t weights;  /* one per key, or -1 */
    uint32_t n;       /* keys */
    uint32_t mean;
};

/* Columns of an output or of its gradient that belong to a slot. */
struct cuda_slot_view {
    float *at; /* NULL: none */
    int64_t ld;
    float most; /* > 0: gradients are clamped to +- it */
};

/* Rows of a group of tables. */
struct cuda_table {
    float *data;
    int64_t dim, stride;
    uint32_t rows;            /* a key of so many or more: no row */
    uint32_t *used, *touched; /* a bit per row; touched may be NULL */
};

/* A batch on the card. */
struct cuda_batch {
    const struct cuda_slot *slots;
    int32_t n_slots;
    uint32_t n, n_valid; /* keys; those that have a row */
    uint32_t most_rows;  /* of a slot */
    uint32_t *keys;
    const uint32_t *offsets;
    const float *weights;
    /* Of the occurrences of slots with offsets: the row of the slot, and the factor. */
    uint32_t *from;
    float *scales;
};

/* Sorted occurrences, all in memory that the caller gives. */
struct cuda_sorted {
    int shift; /* an occurrence is slot << shift | number of its key in the slot */
    uint32_t *occurrences, *sorted, *sorted_keys; /* [n] */
    unsigned char *firsts;                        /* [n] */
    uint32_t *starts;                             /* [n]: of distinct rows */
    uint32_t *counts;    /* [3]: distinct rows, rows of several stretches, stretches */
    uint32_t *longs;     /* [n / CUDA_RUN_MAX + 1][2]: distinct row, its first stretch */
    uint32_t *stretches; /* [n / CUDA_RUN_MAX * 2 + 1]: which of `longs` */
    float *partials;     /* [n / CUDA_RUN_MAX * 2 + 1][dim] */
    void *temp;
    size_t temp_bytes;
};
#define CUDA_RUN_MAX 64 /* occurrences of a row that are summed one after the other */

/* Bytes of `temp` for n keys. */
size_t cuda_sort_temp(uint32_t n);

/* --- row_init.cu --- */

enum cuda_init_kind { CUDA_UNIFORM, CUDA_NORMAL, CUDA_CONST, CUDA_TRUNCATED };
struct cuda_init {
    enum cuda_init_kind kind;
    double a, b, lo, hi; /* as struct embed_values */
    uint32_t key[2];     /* of rng_init() */
    float state;         /* that all of the optimizer's starts from */
};
/* Weights and state of `rows` rows; those of numbers 0, 1, ... of a table. */
void cuda_rows_init(cuda_stream s, struct cuda_init init, float *at, int64_t rows,
                    int64_t dim, int64_t stride);
/* to[row] = from[row], `width` floats, where bit first + row of `used` is set. */
void cuda_rows_merge(cuda_stream s, float *to, int64_t stride, const float *from,
                     int64_t width, int64_t rows, const uint32_t *used, int64_t first);

/* --- gather.cu --- */

/* Vectors of all slots into views[n_slots]. */
/* `aligned`: rows of tables and of views begin at multiples of 16 bytes. */
void cuda_gather(cuda_stream s, struct cuda_table t, struct cuda_batch b,
                 const struct cuda_slot_view *views, bool aligned);
/* Rows that occur are used, and touched where that is noted. */
void cuda_mark(cuda_stream s, struct cuda_table t, struct cuda_batch b);

/* --- sort.cu --- */

/* Rows and factors of occurrences, then their order. */
void cuda_sort(cuda_stream s, struct cuda_table t, struct cuda_batch b,
               struct cuda_sorted o);

/* --- row_update.cu --- */

/* In the order of embed/row_opts.def. */
enum cuda_row_kind {
#define ROW_OPT(KIND, name, first, second, corrects, each) CUDA_ROW_##KIND,
#include "embed/row_opts.def"
#undef ROW_OPT
};
struct cuda_row_rule {
    enum cuda_row_kind kind;
    double lr, beta1, beta2, eps, weight_decay, momentum, rho, alpha;
    bool l2, decouple; /* kinds of weight decay of CUDA_ROW_ROWWISE_ADAGRAD */
    float correct1, correct2;
};
/* `all_have`: every slot has a gradient. */
void cuda_rows_update(cuda_stream s, struct cuda_table t, struct cuda_batch b,
                      struct cuda_sorted o, const struct cuda_slot_view *grads,
                      struct cuda_row_rule rule, bool aligned, bool all_have);

#ifdef __cplusplus
}
#endif
#endif
