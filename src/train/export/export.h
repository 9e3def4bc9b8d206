/* SPDX-License-Identifier: Apache-2.0 */
/* train/export/export.h - a model as one directory that other programs can use.
 *
 *     manifest.json        what is there, with checksums; format, config, metrics
 *     pipeline.config      as trained, its assets named as they lie here
 *     fg.json              the features for other generators
 *     tables.safetensors   embedding tables
 *     dense.safetensors    all other parameters
 *     model.onnx           the graph behind the embeddings
 *     samples.parquet      some rows,
 *     samples.safetensors  and what graph and model make of them
 *     samples.jsonl        the same rows as requests have them,
 *     samples.outputs.jsonl  and what the model makes of each
 *     scripted_model.pt    TorchScript, with features.safetensors; when it is asked for
 *
 * docs/export.md has the form in full. A directory appears under its name when all of it
 * is written, synced and has been loaded once. Nothing in it is changed afterwards.
 */
#ifndef TRAIN_EXPORT_EXPORT_H
#define TRAIN_EXPORT_EXPORT_H

#include "ckpt/ckpt.h"
#include "text/conf.h"
#include "train/export/scorer.h"
#include "train/export/torchscript.h"

#define EXPORT_FORMAT 1 /* version of the directory's form */

enum train_export_tables {
    EXPORT_F32,
    EXPORT_BF16,
    EXPORT_F16,
    EXPORT_INT8,
    EXPORT_INT4,
    EXPORT_INT2
};

struct train_export_options {
    const char *dir;          /* must not exist, or be an export when `overwrite` */
    const char *checkpoint;   /* NULL: the latest or best of model_dir */
    const char *asset_files;  /* to be copied, commas between; NULL: none */
    const char *extra_config; /* JSON, kept in the manifest; NULL: none */
    const char *sample_input; /* NULL: train_input_path */
    int64_t sample_rows;
    enum train_export_tables tables;
    enum train_export_tables sequence_tables; /* of features that are not pooled */
    bool farm_hash;
    bool overwrite;
    const char
        *torchscript;  /* the Python that also makes scripted_model.pt; NULL: none */
    struct pool *pool; /* borrowed */
};

/* What was written, for the one who asked. */
#define EXPORT_NOTE_SIZE 256
#define EXPORT_WHY_SIZE 96 /* see train_export_pick() */
struct train_export_summary {
    char checkpoint[512], why[EXPORT_WHY_SIZE];
    char note[EXPORT_NOTE_SIZE]; /* what had to be left out; "": nothing */
    int64_t step, tables, table_rows, table_bytes, dense, samples, bytes;
    struct train_torchscript scripted; /* when it was asked for */
};

/* `conf` is a pipeline. E2001, E2006, E2008, E2018, E2019; what the checkpoint and the data report. On
 * failure nothing is left behind.
 */
enum rc train_export_write(const struct conf *conf,
                           const struct train_export_options *options,
                           struct diags *diags, struct train_export_summary *out,
                           struct err *err) MUST_CHECK;

/* The features of a pipeline as fg.json. `dir` not NULL: the files that features read are
 * copied there, and named as they lie there. E2008.
 */
enum rc train_export_fg_json(const struct conf *conf, const char *dir, struct buf *out,
                             struct err *err) MUST_CHECK;

/* Values of a graph after a forward pass, as a safetensors file for others to check the
 * ONNX model with: `input.<name>` padded as that wants them, `output.<name>`.
 */
enum rc train_export_put_graph(struct graph *g, const char *const *outputs, size_t n,
                               const char *path, struct err *err) MUST_CHECK;

struct train_export;

enum {
    EXPORT_NO_SAMPLES = 1, /* do not run them */
    EXPORT_NO_PLACES = 2   /* what is said of a row names no file of this machine */
};

/* Verifies sizes and checksums, loads the model, runs its samples. Pool and device are
 * borrowed; `device` NULL, as without `_on`: the CPU.
 * RC_NOTFOUND E2002, RC_FORMAT E2002, E2003, E2005, E2007, RC_UNSUPPORTED E2004.
 */
enum rc train_export_open(const char *dir, unsigned flags, struct pool *pool,
                          struct train_export **out, struct err *err) MUST_CHECK;
enum rc train_export_open_on(const struct device *device, const char *dir, unsigned flags,
                             struct pool *pool, struct train_export **out,
                             struct err *err) MUST_CHECK;
void train_export_close(struct train_export *x); /* NULL is fine */

/* All borrowed. */
const char *train_export_dir(const struct train_export *x);
struct train_session *train_export_session(const struct train_export *x);
const struct pc_EasyRecConfig *train_export_conf(const struct train_export *x);
const struct node *train_export_manifest(const struct train_export *x);
/* Names and types of the columns that its features read; NULL when they are not known. */
const struct data_schema *train_export_columns(const struct train_export *x);
const char *
train_export_id(const struct train_export *x); /* of these very bytes: 16 digits */
const char *
train_export_checkpoint(const struct train_export *x); /* where it came from */
/* How far results may be off where a table is not F32; 0 when all are. */
double train_export_tolerance(const struct train_export *x);

/* The checkpoint that evaluation, prediction and export take, a path, the caller's: `path`
 * when it is not NULL; the best by train_eval_result_v2.txt where export_config or, if
 * that says nothing, the config of the run says so; else the latest, as model_dir itself.
 * *why: "the best by auc", "the latest", "as named".
 */
enum rc train_export_pick(const struct pc_EasyRecConfig *conf, const char *path,
                          char **out, char why[EXPORT_WHY_SIZE],
                          struct err *err) MUST_CHECK;

/* A model to predict with, from a checkpoint rather than an export: `path` NULL: the
 * latest (or best) of model_dir.
 */
enum rc train_export_checkpoint_session(const struct pc_EasyRecConfig *conf,
                                        const char *path, bool farm_hash,
                                        struct pool *pool, const struct device *device,
                                        struct train_session **out, char **checkpoint,
                                        char why[EXPORT_WHY_SIZE], struct diags *diags,
                                        struct err *err) MUST_CHECK;

#endif
