/* SPDX-License-Identifier: Apache-2.0 */
/* train/export/export_private.h - what the parts of the exporter share. */
#ifndef TRAIN_EXPORT_EXPORT_PRIVATE_H
#define TRAIN_EXPORT_EXPORT_PRIVATE_H

#include "base/arena.h"
#include "data/dataset.h"
#include "text/node.h"
#include "train/export/export.h"

#define EXPORT_MANIFEST "manifest.json"
#define EXPORT_CONFIG "pipeline.config"
#define EXPORT_FG "fg.json"
#define EXPORT_TABLES "tables.safetensors"
#define EXPORT_DENSE "dense.safetensors"
#define EXPORT_ONNX "model.onnx"
#define EXPORT_ROWS "samples.parquet"
#define EXPORT_SAMPLES "samples.safetensors"
#define EXPORT_ROWS_JSON "samples.jsonl"
#define EXPORT_OUTPUTS_JSON "samples.outputs.jsonl"
#define EXPORT_FEATURES "features.safetensors"

/* Models of two towers have a graph for each, beside the whole. */
static const struct {
    const char *output, *file;
} export_towers[] = {{"user_tower_emb", "user.onnx"}, {"item_tower_emb", "item.onnx"}};

/* Dense parameters of an export are their moving averages, where there are any. */
bool train_export_averages(const struct pc_EasyRecConfig *c);
/* The type of a table: tables of sequences may have one of their own. */
enum train_export_tables train_export_type_of(const struct train_export_options *o,
                                              const struct embed_table_conf *t);
const char *train_export_tables_name(enum train_export_tables t); /* "f32", ... */

/* tensors.c: the model's tensors into files of `dir` and back. RC_FORMAT E2007. */
enum rc train_export_put_tensors(const struct train_session *s, const char *dir,
                                 const struct train_export_options *o,
                                 struct err *err) MUST_CHECK;
enum rc train_export_get_tensors(struct train_session *s, const char *dir,
                                 struct err *err) MUST_CHECK;

/* samples.c: takes rows of the data and what the session makes of them. *columns gets
 * the schema of the rows.
 */
enum rc train_export_put_samples(struct train_session *s,
                                 const struct train_export_options *o, const char *dir,
                                 int64_t *rows, struct err *err) MUST_CHECK;
/* Runs them again. RC_FORMAT E2005. */
enum rc train_export_check_samples(struct train_session *s, const char *dir,
                                   struct err *err) MUST_CHECK;

/* samples_json.c: the rows, of which the scorer made its last outputs, as EXPORT_ROWS_JSON, and
 * those outputs as EXPORT_OUTPUTS_JSON. Neither where JSON lines have no form for a column.
 */
struct train_scorer;
enum rc train_export_put_samples_json(const struct train_scorer *s, const struct batch *b,
                                      const char *dir, struct err *err) MUST_CHECK;

/* samples_features.c: the features of rows as EXPORT_FEATURES, in the names of TorchEasyRec's
 * batches: <feature>.values, .lengths, .weights, .key_lengths.
 */
enum rc train_export_put_features(const struct feature_plan *plan,
                                  const struct feature_batch *b, const char *dir,
                                  struct err *err) MUST_CHECK;

/* assets.c: files that features read, copied to `dir`; the tree is changed to name the
 * copies. `from` is where relative paths start (NULL: here). E2008.
 */
enum rc train_export_put_assets(struct node *config, const char *from,
                                const char *asset_files, const char *dir, struct arena *a,
                                struct err *err) MUST_CHECK;

/* manifest.c */
struct train_export_about {
    const struct conf *conf;
    const struct train_session *session;
    const struct train_export_options *options;
    const char *checkpoint;
    int64_t step, samples;
};
enum rc train_export_put_manifest(const struct train_export_about *about, const char *dir,
                                  int64_t *bytes, struct err *err) MUST_CHECK;
/* Parsed and all files verified. E2002, E2003, E2004. `id` gets 17 bytes. */
enum rc train_export_get_manifest(const char *dir, struct doc *out, char *id,
                                  struct err *err) MUST_CHECK;
/* One JSON value. RC_FORMAT with the place. */
enum rc train_export_parse(const char *name, const char *text, size_t n, struct doc *out,
                           struct err *err) MUST_CHECK;

/* What the first error in `diags` says, unless `err` says something already; `rc`. */
enum rc train_export_first_error(struct diags *diags, enum rc rc, struct err *err);

/* The line of train_eval_result_v2.txt of a step; NULL when there is none. The caller's.
 */
char *train_export_metrics(const struct pc_EasyRecConfig *conf, int64_t step) MUST_CHECK;

#endif
