/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/paddlerec_show.h - what PaddleRec prints while it runs, line by line the same: plain
 * lines to stdout, those with a time in front to stderr.
 */
#ifndef CMD_PADDLEREC_SHOW_H
#define CMD_PADDLEREC_SHOW_H

#include "compat/paddlerec.h"
#include "compat/paddlerec_submit.h"
#include "train/click_auc.h"
#include "train/epochs.h"

/* Of one phase while it runs. */
struct paddlerec_show {
    const struct paddlerec_net *net;
    struct train_click_auc *aucs[2]; /* of each task; NULL behind the last */
    double loss, accuracy;           /* of the last batch */
    int64_t recall;                  /* see struct paddlerec_phase */
    double seen, found;              /* labels, and those among the likeliest */
    VEC(double) similarities;        /* of the last batch of an evaluation */
    bool training;
    int64_t epoch, interval;
    int64_t pass_ns, lap_ns; /* since when */
};

void paddlerec_show_open(struct paddlerec_show *s, const struct paddlerec_phase *phase,
                         bool training, int64_t interval);
void paddlerec_show_close(struct paddlerec_show *s);
/* Metrics of an evaluation begin anew; those of training go on over epochs. */
void paddlerec_show_pass(struct paddlerec_show *s, int64_t epoch);
/* Counts the batch, and prints every `interval` batches. */
enum rc paddlerec_show_batch(struct paddlerec_show *s, const struct train_epochs_batch *b,
                             struct err *err) MUST_CHECK;
/* "epoch 0 done, ...", or "Infer PHASE of epoch MODEL done, ...". */
void paddlerec_show_done(const struct paddlerec_show *s, const char *phase,
                         const char *model);
/* {"AUC": [0.5], ...} */
void paddlerec_show_json(const struct paddlerec_show *s, struct buf *out);

/* The tables "Runtime Envs" and "paddlerec Global Envs". */
void paddlerec_show_tables(const struct prec_Config *c, const struct prec_Runner *r,
                           const char *base);
/* The table "Cluster Envs" of a job, without secrets. */
void paddlerec_show_cluster(const struct paddlerec_submission *s);

#endif
