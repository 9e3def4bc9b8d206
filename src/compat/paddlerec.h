/* SPDX-License-Identifier: Apache-2.0 */
/* compat/paddlerec.h - PaddleRec's config.yaml in the words of a pipeline.config.
 *
 * A phase of a config.yaml is a network (model.py), its hyper-parameters and a dataset. The
 * networks of PaddleRec's own models are rows of a table (paddlerec_nets.c); each writes
 * the features, feature groups and model of a pipeline.config that is the same network.
 */
#ifndef COMPAT_PADDLEREC_H
#define COMPAT_PADDLEREC_H

#include "base/arena.h"
#include "base/err.h"
#include "compat/front.h"
#include "text/diag.h"
#include "text/paddlerec/paddlerec.h"

/* How the metrics of a network are shown. */
struct paddlerec_auc {
    const char *task;   /* "" for a network of one task */
    int64_t thresholds; /* buckets of the histogram, less one */
    int64_t window;     /* batches of BATCH_AUC; 0: all, as AUC */
};

#define PADDLEREC_PACKAGE "paddlerec."
#define PADDLEREC_MODELS PADDLEREC_PACKAGE "models."

struct paddlerec_net;
const char *paddlerec_net_name(const struct paddlerec_net *n); /* "rank/dnn" */
/* Ends with a NULL task. */
const struct paddlerec_auc *paddlerec_net_aucs(const struct paddlerec_net *n);
/* What the share of rows that it gets right is called; NULL: it is not shown. */
const char *paddlerec_net_accuracy(const struct paddlerec_net *n);
/* Whether that is how many rows, not which share of them. */
bool paddlerec_net_counts(const struct paddlerec_net *n);
/* What the similarities of a batch are called, which evaluations show; NULL: nothing. */
const char *paddlerec_net_similarity(const struct paddlerec_net *n);
/* Whether it is trained with Adam, whatever the config says. */
bool paddlerec_net_is_adam(const struct paddlerec_net *n);
/* By "rank/dnn", "paddlerec.models.rank.dnn" or "dnn"; NULL: there is none. */
const struct paddlerec_net *paddlerec_net_find(const char *name);
/* All names, separated by ", ". */
void paddlerec_net_names(struct buf *out);

/* `paddlerec.models.rank.dnn` as a path below `base` (PACKAGE_BASE, or NULL: here); other
 * texts as they are. In `a`.
 */
const char *paddlerec_path(const char *text, const char *base, struct arena *a);
/* A text of the config with {workspace} replaced. In `a`. */
const char *paddlerec_expand(const struct prec_Config *c, const char *text,
                             const char *base, struct arena *a);

/* The config.yaml that PaddleRec has for `paddlerec.models.rank.dnn`; false: none is built
 * in for that name.
 */
bool paddlerec_shipped(const char *name, struct buf *out);

/* What a reader of the user's own made of a dataset. */
struct paddlerec_read {
    const char *sparse, *dense; /* sparse_slots, dense_slots */
    const char *dir;            /* files of slots */
};

struct paddlerec_options {
    /* Runs the data_converter of a dataset; NULL: it is not run. With `arg`. */
    enum rc (*read)(void *arg, const struct prec_Dataset *set, struct paddlerec_read *out,
                    struct err *err);
    void *arg;
    const char *as;   /* network, whatever the folder says; NULL: by the folder */
    const char *base; /* PACKAGE_BASE; NULL: the current directory */
};

/* One phase of a runner. */
struct paddlerec_phase {
    const struct prec_Phase *phase;
    const struct prec_Dataset *set;
    const struct paddlerec_net *net;
    const char *data_path; /* expanded; in the arena given */
    const char *columns;   /* line_columns; in the arena given */
    bool slots;            /* lines of slots, not of another form */
    int64_t batch_size;    /* rows of a step, all replicas together */
    int64_t recall;        /* labels are counted among so many likeliest; 0: not */
};

/* The phases of a runner, in the order of the file; RC_INVAL with `diags`. *n of them in
 * out[], which has room for all phases of the config.
 */
size_t paddlerec_phases(const struct prec_Config *c, const struct prec_Runner *r,
                        const struct prec_Phase **out);
/* Fills *p and writes the phase as a pipeline.config. False: `diags` say why. */
bool paddlerec_pipeline(const struct prec_Config *c, const struct prec_Runner *r,
                        const struct prec_Phase *phase, const struct paddlerec_options *o,
                        struct arena *a, struct paddlerec_phase *p, struct buf *out,
                        struct diags *diags);

/* Whether `name` is a module of PaddleRec: "paddlerec.run". */
bool paddlerec_is_module(const char *name);
/* The command line of paddlerec.run. */
enum rc paddlerec_translate(const struct front_args *in, struct front_call *out,
                            struct err *err) MUST_CHECK;

#endif
