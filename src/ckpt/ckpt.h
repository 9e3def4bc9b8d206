/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/ckpt.h - checkpoints: directories `model.ckpt-<step>` of safetensors files with a
 * manifest.json, in a model_dir.
 *
 * A checkpoint is complete or absent: it is written under a name that ends in .tmp, every
 * file and the directory are synced, and then it is renamed. On opening, sizes, names and
 * checksums are verified before anything is handed out. Form: docs/checkpoint-format.md.
 */
#ifndef CKPT_CKPT_H
#define CKPT_CKPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ckpt/safetensors.h"
#include "text/node.h"

#define CKPT_SCHEMA 1 /* of tensor names and state blobs; raised when they change */

/* Which files a tensor goes to: model-*.safetensors and so on. */
enum ckpt_part {
    CKPT_MODEL,     /* parameters, buffers, embedding tables: what a model is */
    CKPT_OPTIMIZER, /* what only further training needs */
    CKPT_STATE,     /* of this program: which rows were used, metrics, ... */
    CKPT_PARTS
};
const char *ckpt_part_name(enum ckpt_part part); /* "model", "optimizer", "state" */

/* --- writing --- */

struct ckpt_writer_conf {
    int64_t step, epoch;
    const char *config;  /* text, kept in the manifest; NULL: none */
    int64_t shard_bytes; /* a file ends before it grows beyond; 0: 4 GiB */
};

struct ckpt_writer;

/* Remembers what to write; nothing is written before ckpt_commit(). `model_dir` need not
 * exist. Used by one thread at a time.
 */
struct ckpt_writer *ckpt_writer_open(const char *model_dir,
                                     const struct ckpt_writer_conf *conf);
/* Without writing; NULL is fine. */
void ckpt_abort(struct ckpt_writer *w);

/* The first failure of any of these is kept and returned by ckpt_commit(). Names are
 * copied; data is borrowed until ckpt_commit() or ckpt_detach().
 *
 * dims[n_dims]; rows of dims[0] lie `stride` floats apart.
 */
void ckpt_add_f32(struct ckpt_writer *w, enum ckpt_part part, const char *name,
                  const int64_t *dims, int n_dims, const float *data, int64_t stride);
/* A tensor U8 [n]. */
void ckpt_add_bytes(struct ckpt_writer *w, enum ckpt_part part, const char *name,
                    const void *data, size_t n);
/* A tensor I64 [n]. */
void ckpt_add_i64(struct ckpt_writer *w, enum ckpt_part part, const char *name,
                  const int64_t *data, int64_t n);
/* Something that belongs to it could not be added: ckpt_commit() says so. */
void ckpt_fail(struct ckpt_writer *w, enum rc rc, const struct err *err);
/* `json` is one JSON value; copied. */
void ckpt_add_json(struct ckpt_writer *w, const char *name, const char *json);

/* Data that something else hands out row by row. `owner` is what `source.arg` refers to:
 * detach() makes it independent of live data (RC_NOMEM), release() frees it, bytes() says
 * how much detach() would copy. Each owner is added once, its sources after it. The
 * sources' names are copied.
 */
struct ckpt_owner_ops {
    int64_t (*bytes)(const void *owner);
    enum rc (*detach)(void *owner, struct err *err);
    void (*release)(void *owner);
};
void ckpt_add_owner(struct ckpt_writer *w, const struct ckpt_owner_ops *ops, void *owner);
void ckpt_add_source(struct ckpt_writer *w, enum ckpt_part part,
                     const struct ckpt_st_source *source);

/* Copies everything that was added, so that the live data may change. ckpt_copy_bytes()
 * says what that takes. On RC_NOMEM the writer is still good for a ckpt_commit().
 */
int64_t ckpt_copy_bytes(const struct ckpt_writer *w);
enum rc ckpt_detach(struct ckpt_writer *w, struct err *err) MUST_CHECK;

/* Writes it all and ends `w`, whatever it returns. On failure model_dir is as it was. A
 * checkpoint of the same step is replaced. Remains of interrupted saves are removed.
 */
enum rc ckpt_commit(struct ckpt_writer *w, struct err *err) MUST_CHECK;

/* --- reading --- */

enum { CKPT_NO_CHECKSUMS = 1 }; /* sizes and names are always verified */

struct ckpt;

/* `path`: a checkpoint, a model_dir (its latest one), or a single .safetensors file. In a
 * model_dir a damaged checkpoint is passed over for the one before; *note then says which
 * and why (the caller's, to mem_free(); NULL when nothing was passed over). `note` may be
 * NULL. RC_NOTFOUND (E1504), RC_FORMAT (E1501-E1507, E1515), RC_UNSUPPORTED, RC_IO.
 * A struct ckpt is only read afterwards, by any thread.
 */
enum rc ckpt_open(const char *path, unsigned flags, struct ckpt **out, char **note,
                  struct err *err) MUST_CHECK;
void ckpt_close(struct ckpt *c); /* NULL is fine */

/* All borrowed. Of a single file: step -1, epoch 0, no config, no blobs. */
const char *ckpt_path(const struct ckpt *c);
int64_t ckpt_step(const struct ckpt *c);
int64_t ckpt_epoch(const struct ckpt *c);
const char *ckpt_config(const struct ckpt *c); /* "" when there is none */
/* In order: parts, files, place. */
size_t ckpt_count(const struct ckpt *c);
const struct ckpt_st_tensor *ckpt_at(const struct ckpt *c, size_t i);
enum ckpt_part ckpt_part_at(const struct ckpt *c, size_t i);
const struct ckpt_st_tensor *ckpt_find(const struct ckpt *c,
                                       const char *name);             /* or NULL */
const struct node *ckpt_json(const struct ckpt *c, const char *name); /* or NULL */
/* ckpt_st_read_f32() reads what ckpt_find() finds. */

/* --- the checkpoints of a model_dir --- */

struct ckpt_list {
    int64_t *steps; /* [n], ascending */
    size_t n;
};
/* Those that carry the name of one; fine when model_dir does not exist. */
enum rc ckpt_list(const char *model_dir, struct ckpt_list *out,
                  struct err *err) MUST_CHECK;
void ckpt_list_release(struct ckpt_list *list);
/* "model_dir/model.ckpt-<step>"; the caller's, to mem_free(). */
char *ckpt_dir(const char *model_dir, int64_t step) MUST_CHECK;
/* The highest step, or -1 when there is none; unverified. */
enum rc ckpt_latest(const char *model_dir, int64_t *step, struct err *err) MUST_CHECK;
/* Removes all but the newest `keep` (at least 1) and, when `best` is not negative, the
 * checkpoint of that step. Each vanishes at once from the list.
 */
enum rc ckpt_prune(const char *model_dir, int64_t keep, int64_t best,
                   struct err *err) MUST_CHECK;

#endif
