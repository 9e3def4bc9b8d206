/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/safetensors.h - named tensors in one file, readable by the whole Python world.
 *
 * Eight bytes of header length (little-endian), a JSON header, then the data of all
 * tensors without holes. A file is checked as a whole when it is opened; after that it is
 * only read, by any thread. Data is in the byte order of this machine, which must be
 * little-endian.
 */
#ifndef CKPT_SAFETENSORS_H
#define CKPT_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define ST_HEADER_MAX ((size_t)64 << 20) /* bytes */
#define ST_DIMS_MAX 8

enum ckpt_st_type {
#define ST_TYPE(name, bytes) ST_##name,
#include "ckpt/st_types.def"
#undef ST_TYPE
    ST_TYPES
};
const char *ckpt_st_type_name(enum ckpt_st_type t);
size_t ckpt_st_type_size(enum ckpt_st_type t);
bool ckpt_st_type_find(struct str name, enum ckpt_st_type *out) MUST_CHECK;

struct ckpt_st_tensor {
    const char *name;
    const char *file; /* path of its file */
    enum ckpt_st_type type;
    int n_dims;
    int64_t dims[ST_DIMS_MAX];
    int64_t offset; /* of its data in the file */
    int64_t bytes;
    const unsigned char *data;
};

struct ckpt_st_file;

/* RC_NOTFOUND, RC_IO; RC_FORMAT (E1501, E1502), RC_UNSUPPORTED (E1503); the message names
 * the file.
 */
enum rc ckpt_st_open(const char *path, struct ckpt_st_file **out,
                     struct err *err) MUST_CHECK;
/* `data` is borrowed until ckpt_st_close(); `name` is for messages. */
enum rc ckpt_st_open_memory(const char *name, const void *data, size_t n,
                            struct ckpt_st_file **out, struct err *err) MUST_CHECK;
void ckpt_st_close(struct ckpt_st_file *f); /* NULL is fine */

/* Borrowed, in the order of the data. */
size_t ckpt_st_count(const struct ckpt_st_file *f);
const struct ckpt_st_tensor *ckpt_st_at(const struct ckpt_st_file *f, size_t i);
const struct ckpt_st_tensor *ckpt_st_find(const struct ckpt_st_file *f,
                                          struct str name);              /* or NULL */
const char *ckpt_st_meta(const struct ckpt_st_file *f, const char *key); /* or NULL */
/* The bytes of the file; borrowed. */
const unsigned char *ckpt_st_bytes(const struct ckpt_st_file *f, size_t *n);

/* "[3, 4]", and "F32 [3, 4]" when `type` is not NULL. */
void ckpt_st_print_shape(const enum ckpt_st_type *type, const int64_t *dims, int n_dims,
                         struct buf *out);
/* dims[0], or 1 for a tensor without axes; and values of one row. */
int64_t ckpt_st_rows(const struct ckpt_st_tensor *t);
int64_t ckpt_st_width(const struct ckpt_st_tensor *t);

/* Rows [row, row + n) to dst, `stride` floats apart (at least ckpt_st_width()). F32 comes as
 * it is; F64, F16 and BF16 are converted. RC_INVAL (E1514) for other types or rows that
 * are not there.
 */
enum rc ckpt_st_read_f32(const struct ckpt_st_tensor *t, int64_t row, int64_t n,
                         float *dst, int64_t stride, struct err *err) MUST_CHECK;

/* Writing. A source hands out its data as rows, so that no file is ever in memory as a
 * whole: fn() returns rows [row, row + n), in `scratch` or in memory of its own, valid
 * until the next call, or NULL: they cannot be read, and `err` says why. `scratch` has
 * ST_CHUNK bytes; a single row may be larger, and then is not put there.
 */
#define ST_CHUNK ((size_t)4 << 20)
typedef const void *ckpt_st_rows_fn(const void *arg, int64_t row, int64_t n,
                                    void *scratch, struct err *err);
/* Optional, asked first: all rows are written into the file that is made, from byte `offset` on, by
 * several processes (lookup_write_fn); *done false: they are not, and fn() is asked.
 */
typedef enum rc ckpt_st_write_fn(const void *arg, const char *temp, int64_t offset,
                                 bool *done, uint32_t *crc32c, struct err *err);
struct ckpt_st_source {
    const char *name;
    enum ckpt_st_type type;
    int n_dims;
    int64_t dims[ST_DIMS_MAX];
    int64_t rows; /* rows * row_bytes bytes in all; need not be those of `dims` */
    size_t row_bytes;
    ckpt_st_rows_fn *fn;
    ckpt_st_write_fn *write;
    const void *arg;
    /* Filled by ckpt_st_write(): */
    int64_t offset;
    uint32_t crc32c; /* of the data */
};
int64_t ckpt_st_source_bytes(const struct ckpt_st_source *s);

struct ckpt_st_sum {
    int64_t bytes;
    uint32_t crc32c;
};
/* Writes a whole file: it appears at `path` when it is complete and synced. The order of
 * the data is that of the sources, wider types first. Names must differ.
 */
enum rc ckpt_st_write(const char *path, struct ckpt_st_source *const *sources, size_t n,
                      struct ckpt_st_sum *sum, struct err *err) MUST_CHECK;

#endif
