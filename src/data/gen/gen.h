/* SPDX-License-Identifier: Apache-2.0 */
/* data/gen/gen.h - click logs whose best reachable AUC is known.
 *
 * Every value of a row is a function of (seed, row): the same on any machine, in any
 * order, with any number of threads. Ids are drawn log-uniformly (Zipf with exponent 1).
 * Labels are drawn from a logistic model over hidden effects of the values: a linear
 * part per value, an inner product of hidden vectors of the user's and the item's side
 * (as in a factorisation machine), and what a kind adds. The probabilities being known,
 * so is the AUC of the best possible model.
 */
#ifndef DATA_GEN_GEN_H
#define DATA_GEN_GEN_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "data/batch.h"
#include "data/writer.h"

#define GEN_LABELS_MAX 2

struct gen_kind;
#define GEN(name) extern const struct gen_kind gen_##name;
#include "data/gen/gens.def"
#undef GEN

const struct gen_kind *const *gen_all(size_t *n);
const struct gen_kind *gen_find(const char *name); /* NULL when there is none */
const char *gen_name(const struct gen_kind *k);
void gen_schema(const struct gen_kind *k, struct data_schema *out); /* `out` is empty */
size_t gen_labels(const struct gen_kind *k);
const char *gen_label(const struct gen_kind *k, size_t i);

/* What is known about one label over some rows. Adding is exact and does not depend on
 * the order, but for the last bits of `loss`.
 */
#define GEN_BINS ((size_t)1 << 18)
struct gen_score {
    int64_t *neg, *pos; /* [GEN_BINS], by true log odds; owned */
    int64_t n, n_pos;
    double loss; /* sum of the log losses of the true probability */
};
void gen_score_init(struct gen_score *s);
void gen_score_release(struct gen_score *s);
void gen_score_add(struct gen_score *to, const struct gen_score *from);
/* That of the true probabilities against the labels drawn; NaN with one class only. */
double gen_score_auc(const struct gen_score *s);
double gen_score_logloss(const struct gen_score *s);

/* Empties `b`, made with gen_schema(), and adds rows [first, first + n) of the log of
 * that seed; counts them in scores[gen_labels()] unless NULL. RC_NOMEM.
 */
enum rc gen_rows(const struct gen_kind *k, uint64_t seed, int64_t first, int64_t n,
                 struct batch *b, struct gen_score *scores, struct err *err) MUST_CHECK;

struct gen_conf {
    const struct gen_kind *kind;
    int64_t rows;  /* of all files together */
    int64_t files; /* of the train split; the eval split gets one per as many rows */
    uint64_t seed;
    double eval_fraction; /* of the rows, the last ones; 0: no eval files */
    int threads;
    const char *out; /* directory, created if needed */
    const struct writer_ops *format;
    struct writer_conf writer;
};

struct gen_split {
    const char *name; /* "train", "eval" */
    int64_t first, rows, files;
    struct gen_score scores[GEN_LABELS_MAX];
};

struct gen_report {
    struct gen_split splits[2];
    size_t n_splits;
};
void gen_report_release(struct gen_report *r);

/* Writes OUT/train/part-0.parquet .., OUT/eval/part-0.parquet .. and, when all of them
 * are whole, OUT/gen.json. `report` is the caller's to release when it succeeds.
 */
enum rc gen_run(const struct gen_conf *conf, struct gen_report *report,
                struct err *err) MUST_CHECK;
/* The text of gen.json. */
void gen_report_json(const struct gen_conf *conf, const struct gen_report *r,
                     struct buf *out);

#endif
