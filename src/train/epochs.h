/* SPDX-License-Identifier: Apache-2.0 */
/* train/epochs.h - training one pass over the data at a time, by whoever decides between
 * passes what comes next: PaddleRec's runners take turns between models, save by epochs
 * and read the files of each epoch in another order. train/trainer.h runs a whole
 * pipeline.config.
 */
#ifndef TRAIN_EPOCHS_H
#define TRAIN_EPOCHS_H

#include "text/conf.h"
#include "train/ps.h"
#include "train/session.h"

struct train_epochs;

struct train_epochs_options {
    const struct conf *conf; /* of kind pipeline, checked; borrowed */
    struct pool *pool;       /* borrowed */
    uint64_t seed;
    bool training; /* false: passes evaluate */
    /* Of a trainer of parameter servers, which keep the model; NULL: none. Borrowed. */
    const struct train_ps_conf *ps;
};

/* One batch, while the graph holds its values. */
struct train_epochs_batch {
    const struct train_session *session;
    const struct feature_batch *features; /* with its labels */
    int64_t number;                       /* from 0, of this pass */
    double loss;                          /* of training; 0 in an evaluation */
};
/* Called after each; false: the pass ends. */
typedef bool train_epochs_fn(void *arg, const struct train_epochs_batch *b);

/* Problems of the config go to `diags`. RC_INVAL, RC_UNSUPPORTED, RC_NOMEM. */
enum rc train_epochs_open(const struct train_epochs_options *options,
                          struct train_epochs **out, struct diags *diags,
                          struct err *err) MUST_CHECK;
void train_epochs_close(struct train_epochs *e); /* NULL is fine */
const struct train_session *train_epochs_session(const struct train_epochs *e);

/* One pass over `input` (data/files.h). RC_INVAL E1406: no rows, or when incomplete
 * batches are left out no whole batch; what data and steps report.
 */
enum rc train_epochs_pass(struct train_epochs *e, const char *input, train_epochs_fn *fn,
                          void *arg, struct diags *diags, struct err *err) MUST_CHECK;

/* The one checkpoint below `dir`; others that lie there are removed. */
enum rc train_epochs_save(struct train_epochs *e, const char *dir,
                          struct err *err) MUST_CHECK;
/* Parameters and tables of the checkpoint in `dir`, and to train on its optimizer
 * state; before the first pass. RC_NOTFOUND, RC_FORMAT, RC_INVAL: it is of another
 * model.
 */
enum rc train_epochs_load(struct train_epochs *e, const char *dir,
                          struct err *err) MUST_CHECK;

/* A trainer of parameter servers has made its last pass. */
enum rc train_epochs_complete(struct train_epochs *e, struct err *err) MUST_CHECK;
/* The model is that of a parameter server; returns when all trainers are done. What
 * dist_ps_server_run() says.
 */
enum rc train_epochs_serve(struct train_epochs *e, const struct train_ps_serve_conf *conf,
                           struct err *err) MUST_CHECK;

#endif
