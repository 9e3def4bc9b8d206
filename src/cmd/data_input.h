/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/data_input.h - how the data commands are told what to read. */
#ifndef CMD_DATA_INPUT_H
#define CMD_DATA_INPUT_H

#include "base/fs.h"
#include "base/opt.h"
#include "data/dataset.h"

struct data_input {
    const char *columns, *delimiter, *names, *header;
    bool no_header, skip_bad;
    const char *types; /* name=int64,...; NULL: as the values look */
    bool exact;        /* no number in place of a text that it does not tell */
};

/* Rows of an option table for the field `in` of struct T. */
#define DATA_INPUT_OPTS(T)                                                         \
    {OPT_TEXT(T, in.columns, NULL, "only these columns, comma-separated"),         \
     .meta = "A,B"},                                                               \
        {OPT_TEXT(T, in.delimiter, NULL,                                           \
                  "CSV delimiter: a character, 'tab' or \\x01; default: guessed"), \
         .meta = "C"},                                                             \
        {OPT_BOOL(T, in.no_header, "false", "CSV files have no header line")},     \
        {OPT_CHOICE(T, in.header, NULL, "line|none",                               \
                    "CSV: whether the first line holds the column names")},        \
        {OPT_TEXT(T, in.names, NULL,                                               \
                  "column names of a CSV file without a header, in its order"),    \
         .meta = "A,B"},                                                           \
    {                                                                              \
        OPT_BOOL(T, in.skip_bad, "false", "skip and count malformed rows")         \
    }

/* Opens the files that `paths` stand for as one dataset, read in order. `d` is the
 * caller's, to dataset_close().
 */
enum rc data_input_open(const struct data_input *in, const char *const *paths, size_t n,
                        int64_t batch_size, const char *const *labels, size_t n_labels,
                        struct dataset **d, struct err *err) MUST_CHECK;
/* CSV files are read without a header: as --no-header, --header none or --names say. */
bool data_input_bare(const struct data_input *in);
/* The files that `paths` stand for, the caller's to fs_names_release(); those of a path
 * that cannot be expanded are left out: opening it tells why.
 */
void data_input_files(const char *const *paths, size_t n, struct fs_names *out);
/* What --delimiter says. RC_INVAL. */
enum rc data_input_delimiter(const char *text, char *out, struct err *err) MUST_CHECK;
/* "a,b" as names; *text owns them. Both are the caller's, to mem_free(). */
size_t data_input_names(const char *list, const char ***names, char **text);
/* On stderr, when rows were left out. */
void data_input_report(const struct dataset *d);

/* The option that every command with outputs has. */
#define DATA_OVERWRITE_OPT(T)                                            \
    {                                                                    \
        OPT_BOOL(T, overwrite, "false", "replace an output that exists") \
    }

#endif
