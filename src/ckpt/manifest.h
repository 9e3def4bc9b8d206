/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/manifest.h - manifest.json of a checkpoint: what it holds and how to tell that it
 * is whole. See docs/checkpoint-format.md.
 */
#ifndef CKPT_MANIFEST_H
#define CKPT_MANIFEST_H

#include "base/map.h"
#include "base/vec.h"
#include "ckpt/safetensors.h"
#include "text/node.h"

#define MANIFEST_VERSION 1 /* of the container */
#define MANIFEST_MAX SOURCE_MAX

enum ckpt_sum_kind { SUM_NONE, SUM_CRC32, SUM_CRC32C };
struct ckpt_checksum {
    enum ckpt_sum_kind kind;
    uint32_t value;
};
/* Over n bytes, of the kind of `like`. */
uint32_t ckpt_checksum_of(const struct ckpt_checksum *like, const void *p, size_t n);

struct ckpt_manifest_file {
    const char *name; /* a plain file name */
    int64_t bytes;
    struct ckpt_checksum sum;
};

struct ckpt_manifest_tensor {
    const char *name;
    size_t file; /* index */
    enum ckpt_st_type type;
    int n_dims;
    int64_t dims[ST_DIMS_MAX];
    int64_t offset, bytes; /* in the file */
    struct ckpt_checksum sum;
};

struct ckpt_manifest_blob {
    const char *name;
    const char *json; /* for printing only */
};

/* Texts belong to `doc` after ckpt_manifest_parse(), to the writer before ckpt_manifest_print(). */
struct ckpt_manifest {
    struct doc doc;
    int64_t schema, step, epoch;
    const char *config; /* "" when there is none */
    VEC(struct ckpt_manifest_file) files;
    VEC(struct ckpt_manifest_tensor) tensors;
    VEC(struct ckpt_manifest_blob) blobs;
    const struct node *state; /* what was parsed; a map */
};

/* `what` is for messages. RC_FORMAT (E1505), RC_UNSUPPORTED (E1508). The manifest is the
 * caller's, to release, in any case.
 */
enum rc ckpt_manifest_parse(const char *what, const char *text, size_t n,
                            struct ckpt_manifest *out, struct err *err) MUST_CHECK;
void ckpt_manifest_print(const struct ckpt_manifest *m, struct buf *out);
void ckpt_manifest_release(struct ckpt_manifest *m);

#endif
