/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/train_show.h - what a person or a program sees of a training run, on stderr.
 *
 * On a terminal one line at the bottom is always the present; what stays is printed above
 * it. Anywhere else there are plain lines without control characters, or one JSON object
 * per line.
 */
#ifndef CMD_TRAIN_SHOW_H
#define CMD_TRAIN_SHOW_H

#include "train/trainer.h"

struct train_show {
    bool json;
    bool live;                      /* stderr is a terminal */
    bool line;                      /* the bottom line is not empty */
    bool curves;                    /* TensorBoard has something to show */
    bool headed;                    /* the evaluations' table has its head */
    int table_width;                /* of the terminal, for which it was; 0: any */
    bool in_job;                    /* a job runs us: it is told of evaluations */
    int64_t printed_ns;             /* of the last plain progress line */
    const char *model, *eval_input; /* borrowed */
};

/* `json`: lines of JSON, whatever stderr is. */
void train_show_init(struct train_show *s, bool json);
/* Fills in the functions that show; `stop` is left alone. `s` must stay where it is. */
void train_show_watch(struct train_show *s, struct train_watch *w);
/* One line above the bottom line. */
void train_show_note(struct train_show *s, const char *text);
/* The closing block. */
void train_show_end(struct train_show *s, const struct train_result *r,
                    const char *model_dir);
/* Takes the bottom line away, for whatever is printed next. */
void train_show_clear(struct train_show *s);

/* "3.4 GiB" */
const char *train_size_text(double bytes, char out[32]);
/* "1,234,567" */
const char *train_count_text(uint64_t n, char out[32]);

/* A failure as a line of JSON; its message is then said and empty. */
void train_show_failure(enum rc rc, struct err *err);

#endif
