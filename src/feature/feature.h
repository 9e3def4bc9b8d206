/* SPDX-License-Identifier: Apache-2.0 */
/* feature/feature.h - from columns to ids and numbers: what a model sees of its data.
 *
 *     feature_plan_create(conf, ...)            once per run; shared by all threads
 *     feature_plan_columns(plan, &n)            what has to be read
 *     feature_plan_check(plan, schema, ...)     once per file: early, named errors
 *     feature_scratch_create(plan)              one per thread
 *     feature_batch_create(plan)                as many as are in flight
 *     feature_run(plan, scratch, batch, NULL, out, err)
 *
 * A row of a feature is a list of values; a row of a sequence is a list of steps, each a
 * list of values. A sparse feature gives ids that look up rows of a table, a dense one
 * numbers. What is computed and from which columns depends on fg_mode: docs/features.md.
 */
#ifndef FEATURE_FEATURE_H
#define FEATURE_FEATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "data/batch.h"
#include "data/sampler/sampler.h"
#include "text/diag.h"
#include "text/pipeline/feature.h"

struct feature_plan;
struct feature_scratch;

struct feature_options {
    bool farm_hash;  /* FarmHash instead of libstdc++'s hash */
    bool no_labels;  /* labels and sample weights are not read (predict) */
    bool no_places;  /* messages do not say where the config describes a feature */
    const char *dir; /* where relative paths without asset_dir start; NULL: here */
};

/* What the other parts must know of a feature. Everything is the plan's. */
struct feature_info {
    const char *name; /* full: "age", "click_seq__age" */
    const struct pc_feature *conf;
    bool sparse;        /* ids; else numbers */
    bool sequence;      /* rows are lists of steps */
    bool weighted;      /* each id has a weight */
    bool stub;          /* computed for others only; its output stays empty */
    uint32_t value_dim; /* dense: numbers per row or step, at least 1 */
    uint64_t rows;      /* sparse: rows of its table (num_embeddings) */
};

/* `conf` must outlive the plan. What is wrong with the features is in `diags`, each with
 * its place: RC_INVAL then. Vocabularies are read here. Other codes: `err`.
 */
enum rc feature_plan_create(const struct pc_EasyRecConfig *conf,
                            const struct feature_options *options,
                            struct feature_plan **out, struct diags *diags,
                            struct err *err) MUST_CHECK;
void feature_plan_destroy(struct feature_plan *p); /* NULL is fine */

size_t feature_plan_count(const struct feature_plan *p); /* stubs too */
const struct feature_info *feature_plan_info(const struct feature_plan *p, size_t i);
int64_t feature_plan_find(const struct feature_plan *p, struct str name); /* or -1 */
const struct pc_features *feature_plan_conf(const struct feature_plan *p);
/* The words of a feature and the row of all others; NULL when its ids are no words. */
struct vocab;
const struct vocab *feature_plan_words(const struct feature_plan *p, size_t i,
                                       int64_t *unknown);

enum feature_use { FEATURE_INPUT, FEATURE_LABEL, FEATURE_WEIGHT };
struct feature_column {
    const char *name;
    enum feature_use use;
    const char *by; /* the first feature that reads it, else NULL */
    bool sampled;   /* a negative sampler adds rows to it */
    bool text;      /* how a value is written counts, not only its number: ids */
    bool two_texts; /* a label of data_config.label_texts: numbers, or one of two texts */
};
/* Each column once, in order of first use. */
const struct feature_column *feature_plan_columns(const struct feature_plan *p,
                                                  size_t *n);
/* Which of them some features read: wanted[feature_plan_count()] says which features;
 * what those read in turn counts. Sets columns[].
 */
void feature_plan_reads(const struct feature_plan *p, const bool *wanted, bool *columns);
/* Are all columns there, and of types that can be read? Problems go to `diags`, placed at
 * the feature: RC_INVAL then.
 */
enum rc feature_plan_check(const struct feature_plan *p, const struct data_schema *schema,
                           struct diags *diags) MUST_CHECK;

struct feature_mem {
    void *p; /* owned */
    size_t cap;
};

/* One feature of one batch. Pointers are valid until the next run into the same batch.
 *
 * sparse   row r: ids[offsets[r]] .. ids[offsets[r + 1]], weights alike when weighted
 * dense    row r: values[r * value_dim] ..
 * sequence row r has steps seq_offsets[r] .. seq_offsets[r + 1]; step s has
 *          ids[step_offsets[s]] .. or values[s * value_dim] ..; offsets of a sparse
 *          sequence still count ids per row
 */
struct feature_out {
    int64_t rows, steps, n_ids;
    const int64_t *ids;
    const int64_t *offsets;      /* [rows + 1]; sparse */
    const float *weights;        /* or NULL */
    const int64_t *seq_offsets;  /* [rows + 1]; sequences */
    const int64_t *step_offsets; /* [steps + 1]; sparse sequences */
    const float *values;         /* dense */
    bool single;                 /* every row has exactly one id */
    bool alike; /* rows are equal: they were worked out once, from columns of one row */
    struct {
        int64_t n, row; /* ids outside the table, which are 0; the row of the first */
        char value[48]; /* and its column's value there */
    } outside;
    struct feature_mem own_ids, own_offsets, own_weights, own_seq, own_step, own_values;
};

/* A label or sample weight; a list column has offsets. */
struct feature_target {
    const char *name;
    enum feature_use use;
    const float *values;
    const int64_t *offsets; /* [rows + 1], or NULL: one per row */
    struct feature_mem own_values, own_offsets;
};

struct feature_batch {
    int64_t rows;
    struct feature_out *at; /* [feature_plan_count()] */
    size_t n;
    struct feature_target *targets; /* labels, then sample weights, as configured */
    size_t n_labels, n_weights;
    /* With negatives: features of sampled columns have item_rows rows, those of the batch
     * first, then n_common for all of them, then hard ones: those of row r are hard_at[r]
     * .. hard_at[r + 1] among them. Without: 0, 0 and NULL.
     */
    int64_t item_rows, n_common;
    const int64_t *hard_at; /* [rows + 1], or NULL */
    /* Where rows have lists of items: those of row r are the items own_at[r] .. own_at[r + 1];
     * [rows + 1]. NULL: item r.
     */
    const int64_t *own_at;
    struct feature_mem own_hard, own_items;
};

struct feature_batch *feature_batch_create(const struct feature_plan *p);
void feature_batch_destroy(struct feature_batch *b); /* NULL is fine */
/* Memory of one thread, and what it remembers of dictionaries. */
struct feature_scratch *feature_scratch_create(const struct feature_plan *p);
void feature_scratch_destroy(struct feature_scratch *s); /* NULL is fine */

/* Several threads may run one plan, each with its own scratch and out. `mask` is NULL or
 * has a byte per row: where it is not 0, features with use_mask see no input. A column
 * with exactly one row stands for every row of the batch. After warm-up nothing is
 * allocated. RC_INVAL, RC_FORMAT (a value; `err` names feature, column, row and value),
 * RC_NOMEM.
 */
enum rc feature_run(const struct feature_plan *p, struct feature_scratch *s,
                    const struct batch *batch, const uint8_t *mask,
                    struct feature_batch *out, struct err *err) MUST_CHECK;

/* The same on what a sampler made of a batch. */
enum rc feature_run_sampled(const struct feature_plan *p, struct feature_scratch *s,
                            const struct sampled *in, const uint8_t *mask,
                            struct feature_batch *out, struct err *err) MUST_CHECK;

/* Row `row` for a person: "cat:1 | tag:4:0.1,5:0.2 | price:7.0 | seq__cat:10;11;12". */
void feature_print_row(const struct feature_plan *p, const struct feature_batch *b,
                       int64_t row, struct buf *out);

#endif
