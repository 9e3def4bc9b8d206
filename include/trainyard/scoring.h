/* SPDX-License-Identifier: Apache-2.0 */
/* trainyard/scoring.h - scores of rows inside your own process: libtrainyard.so.
 *
 *     struct ty_error error;
 *     struct ty_model *model;
 *     if (ty_model_open("export", 2, &model, &error))
 *         return fail(error.code, error.message);
 *     if (ty_model_score(model, &schema, &rows, &out_schema, &out, &error))
 *         ...
 *     out.release(&out);
 *     out_schema.release(&out_schema);
 *     ty_model_close(model);
 *
 * Rows and scores are Arrow record batches in the form of Arrow's C data interface: a
 * struct array with a column per field. Rows are borrowed for the call and read where they
 * are. Columns that the model does not read are not looked at; one of Arrow's type null is
 * of the type that the model was trained with, and rows that are null as a whole miss every
 * value. A structure whose `release` is NULL was released, and is refused (E2032). Any number
 * of threads may score with one model.
 */
#ifndef TRAINYARD_SCORING_H
#define TRAINYARD_SCORING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#if defined(__GNUC__)
#define TY_API __attribute__((visibility("default")))
#else
#define TY_API
#endif

struct ty_model;

/* What went wrong; `trainyard explain CODE` says more. */
struct ty_error {
    char code[8]; /* "E2002", or empty */
    char message[2048];
    char file[1024];      /* that a config or its message is about, or empty */
    int64_t line, column; /* in it, from 1; 0: not known */
};

/* Loads an export. threads: how many score one call's rows, 0: one per CPU. 0, or not 0
 * with `error` filled. `error` may be NULL.
 */
TY_API int ty_model_open(const char *dir, int threads, struct ty_model **out,
                         struct ty_error *error);
TY_API void ty_model_close(struct ty_model *model); /* NULL is fine */

/* Scores of all rows: a column per output of the model, float32, or a fixed-size list of
 * them. On failure nothing is left to release.
 */
TY_API int ty_model_score(struct ty_model *model, const struct ArrowSchema *schema,
                          const struct ArrowArray *rows, struct ArrowSchema *out_schema,
                          struct ArrowArray *out, struct ty_error *error);

/* The version of the library: "0.1.0". */
TY_API const char *ty_version(void);

#ifdef __cplusplus
}
#endif

#endif
