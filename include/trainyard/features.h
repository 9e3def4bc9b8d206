/* SPDX-License-Identifier: Apache-2.0 */
/* trainyard/features.h - the features of a pipeline.config inside your own process:
 * batches of ids, numbers and labels, made by the readers and features that train uses.
 *
 *     struct ty_features_options o = {.config = "pipeline.config", .epochs = 1};
 *     if (ty_features_open(&o, &f, &error))
 *         return fail(error.code, error.message);
 *     while (!ty_features_next(f, &batch, &error) && batch) {
 *         struct ty_tensor *ids = ty_batch_tensor(batch, 0, TY_PART_VALUES);
 *         ...
 *         ids->deleter(ids);
 *         ty_batch_release(batch);
 *     }
 *     ty_features_close(f);
 *
 * Threads of the library read and compute ahead. Tensors point into the batch's own
 * memory: nothing is copied. A batch lives until it was released and its last tensor was
 * deleted, then its memory is used for another one; that may be after
 * ty_features_close(). ty_features_next() is for one thread at a time, the rest for any.
 */
#ifndef TRAINYARD_FEATURES_H
#define TRAINYARD_FEATURES_H

#include "trainyard/scoring.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ty_features;
struct ty_batch;

enum ty_features_use { TY_FEATURES_TRAIN, TY_FEATURES_EVAL, TY_FEATURES_PREDICT };

/* Zeroed, everything but `config` has a default. */
struct ty_features_options {
    const char *config; /* path of a pipeline.config */
    const char *edits;  /* JSON object of paths and values; NULL: none */
    const char *input;  /* NULL: the config's for this use */
    const char
        *position; /* of ty_batch_position(): goes on behind it; NULL: from the start */
    int32_t use;   /* enum ty_features_use: shuffling, samplers, labels */
    int32_t keep_positions;  /* not 0: batches have a position */
    int64_t worker, workers; /* part `worker` of `workers` of the rows; 0, 0: all */
    int64_t batch_size;      /* 0: the config's */
    int64_t epochs;          /* passes over the data; 0: without end */
    uint64_t seed;           /* of shuffling, samplers and masks */
};

TY_API int ty_features_open(const struct ty_features_options *options,
                            struct ty_features **out, struct ty_error *error);
TY_API void ty_features_close(struct ty_features *f); /* NULL is fine */

enum ty_column_kind { TY_COLUMN_FEATURE, TY_COLUMN_LABEL, TY_COLUMN_WEIGHT };

struct ty_features_column {
    const char *name; /* valid until the last batch is gone */
    int32_t kind;     /* enum ty_column_kind */
    int32_t sparse;   /* ids of a table; else numbers */
    int32_t sequence; /* a row is a list of steps */
    int32_t weighted; /* ids have weights */
    int64_t width;    /* numbers per row or step; 1 for ids */
    int64_t rows;     /* of the table that ids look up; 0 for numbers */
};

TY_API int64_t ty_features_columns(const struct ty_features *f);
TY_API void ty_features_column(const struct ty_features *f, int64_t i,
                               struct ty_features_column *out);
/* Rows of all files; -1: only reading them tells. */
TY_API int64_t ty_features_rows(const struct ty_features *f);
/* Since the last call: ids that had no row in their table, a line per feature. "": none. */
TY_API const char *ty_features_notes(struct ty_features *f);

/* The next batch, to be released; NULL at the end of each pass. After the last pass each
 * call says so again.
 */
TY_API int ty_features_next(struct ty_features *f, struct ty_batch **out,
                            struct ty_error *error);
TY_API void ty_batch_release(struct ty_batch *b); /* NULL is fine */
TY_API int64_t ty_batch_rows(const struct ty_batch *b);
/* With a negative sampler: rows of the features of items, and how many of them, behind
 * those of the batch, are negatives of every row. 0 without.
 */
TY_API int64_t ty_batch_item_rows(const struct ty_batch *b);
TY_API int64_t ty_batch_common_negatives(const struct ty_batch *b);
/* JSON; "" unless positions are kept. */
TY_API const char *ty_batch_position(const struct ty_batch *b);

/* Laid out as DLPack's DLManagedTensor, in the memory of this machine (kDLCPU). */
struct ty_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t type_code, type_bits; /* 0, 64: int64; 2, 32: float32 */
    uint16_t type_lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
    void *manager_ctx;
    void (*deleter)(struct ty_tensor *);
};

/* Row r of ids is values[offsets[r]] to values[offsets[r + 1]], and weights alike. Row r of
 * a sequence has the steps seq_offsets[r] to seq_offsets[r + 1]; step s of ids is
 * values[step_offsets[s]] to values[step_offsets[s + 1]], step s of numbers is values[s].
 */
enum ty_part {
    TY_PART_VALUES,
    TY_PART_OFFSETS,
    TY_PART_WEIGHTS,
    TY_PART_SEQ_OFFSETS,
    TY_PART_STEP_OFFSETS
};

/* The caller's, to its deleter; NULL: the column has no such part. */
TY_API struct ty_tensor *ty_batch_tensor(struct ty_batch *b, int64_t column, int part);
/* Hard negatives of row r are items at[r] to at[r + 1] behind the common ones; or NULL. */
TY_API struct ty_tensor *ty_batch_hard_negatives(struct ty_batch *b);

#ifdef __cplusplus
}
#endif

#endif
