/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/init_private.h - from what is in the columns of a file to a config.
 *
 * init_sample.c and init_values.c look at rows while they pass, init_label.c finds the label and what gives
 * it away, init_time.c knows dates, init_guess.c decides what each column is,
 * init_prepare.c writes the rows to train on and those held out, init_write.c the config.
 */
#ifndef CMD_INIT_PRIVATE_H
#define CMD_INIT_PRIVATE_H

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/stats.h"

/* ---- dates and times ---- */

enum init_clock {
    INIT_CLOCK_NONE,
    INIT_CLOCK_SECONDS, /* since 1970, as the others below are turned into */
    INIT_CLOCK_MILLIS,
    INIT_CLOCK_MICROS,
    INIT_CLOCK_NANOS,
    INIT_CLOCK_DAYS,
    INIT_CLOCK_DAY,        /* 20141021 */
    INIT_CLOCK_HOUR,       /* 2014102100 */
    INIT_CLOCK_SHORT_HOUR, /* 14102100 */
    INIT_CLOCK_TEXT,       /* 2014-10-21 00:00:00 and the like */
};
/* For people: "dates as 20141021". */
const char *init_clock_title(enum init_clock clock);
/* Seconds since 1970. False when the number or the text is no such date. */
bool init_clock_number(double v, enum init_clock clock, double *seconds);

/* ---- rows while they pass ---- */

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

/* The different values of a column of texts or integers, while they are few. */
#define INIT_VOCAB_MAX 100
struct init_value {
    char *text; /* owned */
    int64_t count;
};
struct init_values {
    struct init_value at[INIT_VOCAB_MAX];
    size_t n;
    bool more;          /* than these, or some that a config cannot hold */
    uint16_t slot[256]; /* 1 + where in `at`, by hash; 0: free */
};
void init_values_add(struct init_values *v, const struct column *c);
void init_values_release(struct init_values *v); /* twice is fine */

/* A random sample of the rows, the same for the same rows. Numbers are as they are, texts
 * NaN or, when they are dates, seconds since 1970; null: NaN and hash 0.
 */
#define INIT_SAMPLE_ROWS 16384
struct init_sample {
    int64_t seen, n;  /* rows that passed; rows kept */
    size_t n_columns; /* column k is at [k * INIT_SAMPLE_ROWS] */
    double *number;
    uint64_t *hash;
    struct init_words *words;   /* [n_columns] */
    struct init_values *values; /* [n_columns], of all rows */
};
/* The different texts of a column, of all rows, as far as there are two. */
struct init_words {
    char *at[2];
    int64_t count[2], blank; /* rows with each; empty or null */
    bool more;               /* there is a third */
    bool untidy;             /* a text has blanks or quotes around it */
};
/* The hash that the sample holds for a text. */
uint64_t init_text_hash(struct str clean);
void init_sample_init(struct init_sample *s, size_t n_columns);
void init_sample_add(struct init_sample *s, const struct batch *b);
void init_sample_release(struct init_sample *s); /* twice is fine */
/* Ascending and without NaN; returns how many. `out` has INIT_SAMPLE_ROWS places. */
size_t init_sample_sorted(const struct init_sample *s, size_t column, double *out);
/* Every value is a whole number. */
bool init_sample_whole(const struct init_sample *s, size_t column);

/* ---- what a column is ---- */

enum init_use {
    INIT_SKIP,
    INIT_LABEL,
    INIT_ID,       /* one id */
    INIT_IDS,      /* several, in no order */
    INIT_SEQUENCE, /* several, one after the other */
    INIT_NUMBER,
    INIT_VECTOR,
    INIT_TIME, /* hour and weekday of it */
};

struct init_column {
    const char *name;
    const char *column; /* what is read; without the prefix of a group */
    enum init_use use;
    enum type_id type; /* as it was read */
    const char *why;   /* a comment */
    /* Ids: rows of the table, as hash_bucket_size or num_buckets, or, when `n_vocab`, the
     * words of a vocabulary, in the plan's memory. `rare`: words seen once, left out of it.
     */
    uint64_t buckets;
    bool hash;
    const char **vocab;
    size_t n_vocab, rare;
    double distinct, max;
    char sep;        /* between values of a text, 0: none */
    uint32_t length; /* numbers of a vector, steps of a sequence */
    const char *normalizer;
    const char *group; /* of sequences: what stands before "__" */
    const char *table; /* shared with the id of the same name; or NULL */
    bool mean;         /* its values are averaged */
    /* Numbers: limits of buckets, in the plan's memory; `exact`: rows of a table for the
     * values as they are, 0: none; `missing`: what an empty value counts as.
     */
    double *limits;
    size_t n_limits;
    uint64_t exact;
    const char *missing;
    const char *bin_name, *exact_name; /* features beside the one called `name` */
    enum init_clock clock;             /* of dates, whatever they are used for */
    int64_t
        ticks; /* per second, of a clock of plain numbers, which stays; 0: seconds are made of it */
    const char *hour_name, *weekday_name; /* of INIT_TIME; NULL: tells nothing */
    const char *one, *zero; /* texts of a label that stand for 1 and 0; NULL: a number */
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

struct init_seen {
    const struct stats *stats;
    const struct init_texts *texts;
    const struct init_sample *sample;
};

/* What the user asked for; NULL: not said. */
struct init_wish {
    const char *const *labels;
    size_t n_labels;
    const char *model, *positive;
};

/* RC_INVAL: E1204 (no such column), E1207, E1220 (no label), E1221 (nothing to learn
 * from), E1222 (the model does not fit), E1224 (a label that is always the same).
 */
enum rc init_guess(struct init_plan *p, const struct init_seen *seen,
                   const struct init_wish *wish, struct err *err) MUST_CHECK;

/* Takes the label columns out of the plan's columns. */
enum rc init_labels(struct init_plan *p, const struct init_seen *seen,
                    const struct init_wish *wish, struct err *err) MUST_CHECK;
/* Leaves out what gives the label away. */
void init_leaks(struct init_plan *p, const struct init_seen *seen);
bool init_is_integer(const struct type *t);
bool init_is_float(const struct type *t);
/* Whether one of the words that the name is made of is in the list. */
bool init_named(const char *name, const char *const *words, size_t n);
void init_skip(struct init_column *c, const char *why);

/* ---- rows to train on and rows held out ---- */

struct init_split {
    double share;    /* of rows held out; 0: none */
    int64_t by_time; /* column whose latest rows are held out; -1: by hash of the row */
    double from;     /* seconds since 1970 */
    int64_t train_rows, eval_rows; /* what came of it */
};
/* By the time column if there is one, the column `by`, or the hash when that is "hash".
 * RC_INVAL E1204, E1207.
 */
enum rc init_split_choose(const struct init_plan *p, const struct init_seen *seen,
                          const char *by, double share, struct init_split *out,
                          struct err *err) MUST_CHECK;
/* Did preparing the rows take something off texts, or make seconds of dates in text? */
bool init_has_tidied(const struct init_plan *p, const struct init_seen *seen,
                     const struct data_schema *schema);
/* Rows cannot be read by training as they are: text labels, dates, untidy texts. */
bool init_must_prepare(const struct init_plan *p, const struct init_seen *seen,
                       const struct data_schema *schema);
/* Copies the rows of `d` to `train` and, those that `split` holds out, to `eval`. With
 * `split` NULL all go to `train`. The files appear whole or not at all.
 */
enum rc init_prepare(struct dataset *d, const struct init_plan *p,
                     struct init_split *split, const char *train, const char *eval,
                     struct err *err) MUST_CHECK;

/* ---- the config ---- */

struct init_files {
    const char *train, *eval; /* eval NULL: none */
    const char *model_dir;
    const char *held_out; /* a comment about the rows of eval; or NULL */
    bool csv, header;
    bool tidied; /* texts were, or dates in text: rows that are scored must be, too */
    char delimiter;
};
void init_write(const struct init_plan *p, const struct init_files *files,
                struct buf *out);

#endif
