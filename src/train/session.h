/* SPDX-License-Identifier: Apache-2.0 */
/* train/session.h - a model with all that it takes to train it, one batch at a time.
 *
 * Holds the feature plan, the model, its optimizers and the counters that a checkpoint
 * needs. What it computes is a function of the config, the seed and the batches alone:
 * not of the number of threads, nor of when it was stopped and resumed.
 */
#ifndef TRAIN_SESSION_H
#define TRAIN_SESSION_H

#include "base/pool.h"
#include "dist/shards.h"
#include "feature/feature.h"
#include "model/model.h"
#include "nn/optim/clip.h"
#include "nn/optim/ema.h"
#include "nn/optim/optim.h"
#include "nn/optim/scaler.h"
#include "nn/optim/sparse.h"
#include "train/feed.h"
#include "train/pareto.h"

struct node;
struct train_pins;
struct train_ps;

struct train_session_options {
    struct pool *pool; /* borrowed */
    struct comm *comm; /* ranks that train the model together; NULL: this one alone */
    /* That a batch is cut into, over all ranks; 0: as many as there are ranks. */
    int shards;
    int local; /* ranks on one machine; 0: all of them */
    /* Vectors and their gradients are rounded to bf16 between shards and tables, and
     * travel so.
     */
    bool half_wire;
    /* Who keeps the tables; of a run with several shards, those of this rank's rows, behind
     * dist/sharded.h. NULL: with one shard the device, where it can; else this process.
     */
    const struct lookup_ops *lookup;
    const struct device *device; /* that runs the graph; NULL: the CPU */
    /* Bytes that dense parameters and their gradients may take on the CPU; 0: any. */
    int64_t memory;
    uint64_t seed;
    bool training; /* false: forward only; no optimizers */
    bool
        alone; /* no sampler is at work, as outside training: items are rows of the batch */
    bool farm_hash;
    bool no_labels;        /* to predict: labels and sample weights are not wanted */
    bool no_places;        /* messages for others: without places in the config */
    const char *table_dir; /* tables are kept in files there; NULL: in memory */
    unsigned reference;    /* bits of model/reference.h */
    /* Of REFERENCE_TABLES: where TorchEasyRec's planner put each table; borrowed until the
     * session is made; NULL or empty: not known.
     */
    const struct train_pins *pins;
    const struct node *dense_tables; /* the same: names, which alone count; NULL: none */
    const char *dir; /* where relative paths of the config start; NULL: here */
};

/* When the parts of a step were over. */
enum train_session_mark {
    MARK_START,
    MARK_FED,
    MARK_FORWARD,
    MARK_BACKWARD,
    MARK_UPDATED,
    SESSION_MARKS
};

/* Called in a run of several shards after the forward pass of each shard of this rank,
 * while the graph holds its values.
 */
struct train_session_tap {
    enum rc (*fn)(void *arg, int shard, const struct feature_batch *b, struct err *err);
    void *arg;
};

/* Called in a run of several ranks once the vectors of a batch are there: the next batch,
 * as its rows on this rank (at[shards.n]), whose ids travel while this one is worked on.
 * NULL: there is none. It is told from another one by the very pointer, which is .at of
 * train_session_batch then.
 */
struct train_session_ahead {
    const struct feature_batch *const *(*fn)(void *arg);
    void *arg;
};

struct train_session {
    const struct pc_EasyRecConfig *conf; /* borrowed */
    struct train_session_options options;
    bool shared; /* plan and tables are another session's */
    struct feature_plan *plan;
    struct model *model;
    struct dist_shards shards;      /* of this rank */
    struct train_feed *feed;        /* of the first of them */
    struct train_shard_step *split; /* for several shards; else NULL */
    struct train_session_tap tap;
    struct train_session_ahead ahead;
    struct comm_courier *courier; /* of several ranks, while training; else NULL */
    int shard_at;                 /* of this rank, the one under way; -1: several */
    struct view *vectors; /* [model->embedded.n]: of the lookup's call under way */
    struct optim_sparse sparse;
    struct optim *optim; /* NULL without training */
    struct optim_clip clip;
    struct optim_scaler scaler;
    struct train_ps *ps;         /* NULL: this process moves the parameters */
    struct train_pareto *pareto; /* NULL: losses are added up */
    struct optim_ema *ema;       /* NULL: none */
    uint32_t accumulate; /* batches per update of the dense parameters, at least 1 */
    /* Counters; all of them go into checkpoints. */
    uint64_t step;  /* batches trained on */
    uint64_t epoch; /* passes completed */
    uint64_t rows;  /* rows trained on */
    /* Learning-rate schedules count from here on; 0 unless they were begun anew. */
    uint64_t schedule_step, schedule_epoch;
    /* At which the data began: num_steps and its passes count from here. */
    uint64_t data_step, data_epoch;
    char *outside; /* lines about values outside their tables in the last evaluation */
    /* Types of the columns that it reads (train/columns.h); empty: not known yet. */
    struct data_schema columns;
    int64_t marks[SESSION_MARKS]; /* of the last step, clock_mono_ns() */
};

/* Builds features and model of a config that has a train_config, and drops them: whatever
 * training refuses for their sake is told without reading data. Problems of features go
 * to `diags`; a file of theirs that is not here is a warning. RC_INVAL, RC_UNSUPPORTED,
 * RC_NOMEM.
 */
enum rc train_session_try(const struct pc_EasyRecConfig *conf, struct pool *pool,
                          struct diags *diags, struct err *err) MUST_CHECK;

/* Problems of the config's features go to `diags`. RC_INVAL, RC_UNSUPPORTED, RC_NOMEM. */
enum rc train_session_create(const struct pc_EasyRecConfig *conf,
                             const struct train_session_options *options,
                             struct train_session **out, struct diags *diags,
                             struct err *err) MUST_CHECK;
void train_session_destroy(struct train_session *s); /* NULL is fine */
/* No other rank will hear of this session any more: before what it was given (a batch, the
 * rounds that look ahead for it) is freed. NULL is fine.
 */
void train_session_quit(struct train_session *s);
/* Another one of the same model, to predict on a thread of its own: plan and tables are
 * those of `from`, which must live longer and not change; dense parameters are copied.
 * `from` is not training.
 */
enum rc train_session_share(const struct train_session *from, struct train_session **out,
                            struct err *err) MUST_CHECK;

/* One batch: each shard of it, as rows. */
struct train_session_batch {
    const struct feature_batch *const *at; /* [shards.n]: of this rank; NULL: no rows */
    const int64_t *rows;                   /* [shards.total]: of all ranks */
};

/* Forward, backward and update on one batch; *loss is that of all its rows before the
 * update. RC_INVAL: E1401 and on, among them E1404 for a loss that is no number (nothing
 * is updated then). RC_IO: another rank failed (comm.h).
 */
enum rc train_session_train(struct train_session *s, const struct train_session_batch *b,
                            double *loss, struct err *err) MUST_CHECK;
/* Of the last batch, all its shards: each loss, in the order of the graph's. Borrowed;
 * NULL when the graph's own are those (one shard).
 */
const double *train_session_losses(const struct train_session *s);
/* The feed of the batch at hand, of its first shard on this rank. */
const struct train_feed *train_session_feed(const struct train_session *s);
/* What this rank has sent to others so far; nothing with one shard. */
struct dist_traffic train_session_traffic(const struct train_session *s);
/* Forward alone, without dropout and with running statistics. Without `targets` labels
 * are not needed and there is no loss; a session that does not train has none anyway.
 */
enum rc train_session_forward(struct train_session *s, const struct feature_batch *b,
                              bool targets, double *loss, struct err *err) MUST_CHECK;

/* Takes part in the lookup of other ranks' batches, without one of its own. */
enum rc train_session_idle(struct train_session *s, struct err *err) MUST_CHECK;

/* Bytes of tables (weights and state, all rows), dense parameters, activations as now. */
void train_session_bytes(const struct train_session *s, size_t *tables, size_t *dense,
                         size_t *activations);

#endif
