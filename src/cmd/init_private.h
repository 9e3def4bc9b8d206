/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/init_private.h - from what is in the columns of a file to a config.
 *
 * init_sample.c looks into texts while they pass, init_guess.c decides what each column
 * is, init_write.c writes it down.
 */
#ifndef CMD_INIT_PRIVATE_H
#define CMD_INIT_PRIVATE_H

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "data/batch.h"
#include "data/stats.h"

/* ---- what texts look like ---- */

#define INIT_SEPARATORS 6
extern const char init_separators[INIT_SEPARATORS];

struct init_texts {
    int64_t rows;                   /* that were looked at */
    int64_t with[INIT_SEPARATORS];  /* texts that hold the separator */
    int64_t parts[INIT_SEPARATORS]; /* of those texts, and the most of one */
    int64_t most[INIT_SEPARATORS];
    int64_t numbers[INIT_SEPARATORS]; /* texts of which every part is a number */
    int64_t words;                    /* texts of four words or more */
};
void init_look(struct init_texts *t, const struct column *c);

/* ---- what a column is ---- */

enum init_use {
    INIT_SKIP,
    INIT_LABEL,
    INIT_ID,       /* one id */
    INIT_IDS,      /* several, in no order */
    INIT_SEQUENCE, /* several, one after the other */
    INIT_NUMBER,
    INIT_VECTOR,
};

struct init_column {
    const char *name;
    const char *column; /* what is read; without the prefix of a group */
    enum init_use use;
    const char *why;  /* a comment */
    uint64_t buckets; /* ids */
    bool hash;        /* hash_bucket_size rather than num_buckets */
    char sep;         /* between values of a text, 0: none */
    uint32_t length;  /* numbers of a vector, steps of a sequence */
    const char *normalizer;
    const char *group; /* of sequences: what stands before "__" */
    const char *table; /* shared with the id of the same name; or NULL */
    bool mean;         /* its values are averaged */
};

struct init_plan {
    struct arena mem;
    struct init_column *at; /* [n], in the order of the file */
    size_t n;
    VEC(const char *) labels;
    double positive; /* share of the first label */
    bool binary;     /* labels are 0 and 1 */
    const char *model;
    int64_t rows;
};

/* `labels`: those asked for, or none. RC_INVAL: E1204 (no such column), E1207, E1220 (no
 * label), E1221 (nothing to learn from), E1222 (the model does not fit).
 */
enum rc init_guess(struct init_plan *p, const struct stats *s,
                   const struct init_texts *texts, size_t n_columns,
                   const char *const *labels, size_t n_labels, const char *model,
                   struct err *err) MUST_CHECK;

/* ---- the config ---- */

struct init_files {
    const char *train, *eval; /* eval NULL: none was found */
    bool csv, header;
    char delimiter;
};
void init_write(const struct init_plan *p, const struct init_files *files,
                struct buf *out);

#endif
