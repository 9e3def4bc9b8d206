/* SPDX-License-Identifier: Apache-2.0 */
/* train/budget.h - the memory that a run takes, told before it is taken.
 *
 * Tables are address space until their rows are used. `weights` and `state` count every
 * row; `used` the pages of those that the data can reach: no more different ids than
 * there are ids in the data, where a feature is taken to hold one id per row (times its
 * value_dim) and a sequence to be as long as it may.
 */
#ifndef TRAIN_BUDGET_H
#define TRAIN_BUDGET_H

#include "base/vec.h"
#include "train/session.h"

struct train_budget_table {
    int number;                           /* of the model */
    const struct embed_table_conf *table; /* borrowed from the session */
    const char *feature;                  /* the first that uses it */
    int n_features;
    int64_t weights, state; /* bytes, all rows */
    int64_t used_rows;      /* that the data can reach, */
    int64_t used;           /* and the bytes of their pages */
};

struct train_budget {
    VEC(struct train_budget_table) tables;
    int64_t weights, state;   /* of all tables, all rows */
    int64_t used;             /* of both, pages with rows that the data can reach */
    int64_t copied;           /* of both, those rows alone */
    int64_t params, n_params; /* dense: bytes, numbers */
    int64_t optimizer;        /* gradients, states and averages of the dense parameters */
    int64_t activations;
    int64_t batches;        /* made ahead */
    int64_t save;           /* the copy that a save makes */
    int64_t dump;           /* what delta dumps remember: a bit per row of plain tables */
    int ranks;              /* that share the tables: all figures are of one */
    int64_t most, expected; /* sums, with all rows and with those that can be reached */
};

/* Of a session that has seen no batch. `data_rows` < 0: not known. */
void train_budget_init(struct train_budget *b, const struct train_session *s,
                       int64_t data_rows);
/* The same run on so many ranks, which share the tables: all figures become those of the
 * rank that has most. `b` is of one rank.
 */
void train_budget_spread(struct train_budget *b, int ranks);
/* Bytes of rows in use that rank `rank` of `ranks` would keep; `b` as before the spread. */
int64_t train_budget_of_rank(const struct train_budget *b, int rank, int ranks);
void train_budget_release(struct train_budget *b);
/* RC_NOMEM E1408 with what takes most and what to do when `expected` is more than
 * `memory`.
 */
enum rc train_budget_check(const struct train_budget *b, int64_t memory,
                           struct err *err) MUST_CHECK;
/* "3.4 GiB"; returns out. */
const char *train_budget_text(int64_t bytes, char out[32]);

#endif
