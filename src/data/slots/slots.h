/* SPDX-License-Identifier: Apache-2.0 */
/* data/slots/slots.h - lines of slots, PaddleRec's text format, to typed columns.
 *
 *     click:0 dense_feature:0.05 dense_feature:0.6 1:737395 2:210498 2:903564
 *
 * A line is a row; a slot holds the values of all its tokens, in their order. Other forms
 * of lines (struct slots_format) fill slots of fixed names. Columns are made of slots, as
 * a text says:
 *
 *     label=id(click) s2=ids(2) x=floats(dense_feature,13) f0=pair(feat_idx,0,feat_value)
 *
 * id(s): its only value; id(s,3) and float(s,3): value 3, counted from 0; ids(s), floats(s),
 * ids(s,n), floats(s,n): all values, n of them; pair(s,3,w): value 3 of s with value 3 of w
 * as its weight, pair(s,3): 1, and 0 of id 0. Of a session s: head(s) all but the last
 * value, tail(s) all but the first, last(s), other(s) one of head(s), always the same of the
 * same session. text(s,n): the leading values, as many as value n says; floats(s,n,k): share k
 * of n values; value(7): 7. A slot that a line lacks holds the padding, as often as it should have
 * values. Without such a text each slot of the first lines is a column of lists.
 *
 * A reader belongs to one thread at a time. Its memory follows from block, max_record and
 * the batch, never from the size of the file.
 */
#ifndef DATA_SLOTS_SLOTS_H
#define DATA_SLOTS_SLOTS_H

#include "base/err.h"
#include "data/batch.h"
#include "data/csv/csv.h" /* struct csv_cursor serves all text files */
#include "data/reader.h"

#define SLOTS_COLUMNS_MAX 100000
#define SLOTS_WIDTH_MAX 1000000 /* values that a column may be told to have */

struct slots_reader;

/* A zeroed struct has the usual meaning everywhere. */
struct slots_conf {
    const char *format;  /* of lines, see slots_formats(); NULL: "slots" */
    const char *columns; /* NULL: of `fields`, or of the slots of the first lines */
    const struct reader_field *fields; /* names of slots; lists of numbers */
    size_t n_fields;
    int64_t padding;
    const char *const *want; /* names of the columns to read; NULL: all */
    size_t n_want;
    bool skip_bad;     /* malformed lines are counted and left out */
    int64_t max_bad;   /* with skip_bad: more than these are an error; 0: any number */
    int read_ahead;    /* see stream_open() */
    int64_t end;       /* offset where reading stops, the start of a line; 0: the end */
    size_t block;      /* bytes read at a time; 0: 256 KiB */
    size_t max_record; /* bytes of a line; 0: 16 MiB */
};

/* Names of the forms of lines, separated by '|'. */
const char *slots_formats(void);
/* Whether a text for slots_conf.columns can be used; RC_INVAL E1164. */
enum rc slots_columns_check(const char *format, const char *columns,
                            struct err *err) MUST_CHECK;

/* The caller's, to slots_close(). RC_INVAL E1164 (columns), E1159 (a wanted one that is
 * not there), RC_FORMAT E1158 (no line to tell columns by); what stream_open() reports.
 */
enum rc slots_open(const char *path, const struct slots_conf *conf,
                   struct slots_reader **out, struct err *err) MUST_CHECK;
/* Over bytes of the caller, which outlive the reader; `name` stands in messages. */
enum rc slots_open_memory(const char *name, const void *bytes, size_t n,
                          const struct slots_conf *conf, struct slots_reader **out,
                          struct err *err) MUST_CHECK;
void slots_close(struct slots_reader *r); /* NULL is fine */

/* Borrowed until slots_close(). */
const struct data_schema *slots_schema(const struct slots_reader *r);
/* Empties `b`, which was made with slots_schema(), and adds up to `max` rows; b->n == 0
 * is the end. On failure b is empty, and the reader is good for slots_seek() and
 * slots_close() only. RC_FORMAT E1160..E1163 with the place, E1105, E1117, RC_IO,
 * RC_NOMEM.
 */
enum rc slots_next(struct slots_reader *r, int64_t max, struct batch *b,
                   struct err *err) MUST_CHECK;
void slots_tell(const struct slots_reader *r, struct csv_cursor *at);
/* E1112 when no line can start there. */
enum rc slots_seek(struct slots_reader *r, const struct csv_cursor *at,
                   struct err *err) MUST_CHECK;
/* The message of the first line that skip_bad left out; "" when there is none. */
const char *slots_first_bad(const struct slots_reader *r);
/* 0 "not mine" .. 100 "certain": whether the first line is one of slots. */
int slots_probe(const unsigned char *head, size_t n);

/* Slots of the first lines of a file against those that columns are made of: names
 * separated by ", ", at most a few; nothing when there are none.
 */
struct slots_look {
    struct buf unknown; /* there, but not read; owned */
    struct buf missing; /* read, but not there; owned */
    int64_t lines;      /* looked at */
};
enum rc slots_look(const char *path, const char *columns, int64_t lines,
                   struct slots_look *out, struct err *err) MUST_CHECK;
void slots_look_release(struct slots_look *l);

#endif
