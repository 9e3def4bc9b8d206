/* SPDX-License-Identifier: Apache-2.0 */
/* train/dynamic_init.h - a checkpoint of dynamicemb tables from data with ids and vectors
 * (init_table), which a run starts from with --fine-tune.
 */
#ifndef TRAIN_DYNAMIC_INIT_H
#define TRAIN_DYNAMIC_INIT_H

#include "base/pool.h"
#include "base/vec.h"
#include "text/pipeline/pipeline.h"

struct train_dynamic_conf {
    const char *save_dir;  /* the checkpoint is model.ckpt-0 there */
    const char *separator; /* between the numbers of a vector that is a text */
    const char *config;    /* text, kept in the checkpoint */
    struct pool *pool;
    bool farm_hash;
};

/* One table of the checkpoint. */
struct train_dynamic_table {
    char *name; /* of its weights, owned */
    const char *from;
    int64_t rows, again; /* with an id of their own; that replaced an earlier row */
    int64_t capacity;
};
struct train_dynamic_report {
    VEC(struct train_dynamic_table) tables;
};
void train_dynamic_report_release(struct train_dynamic_report *r);

/* Each table of a feature with an init_table: the first column of that data is the id (a
 * text or a whole number, hashed as the feature's values are; under FG_NONE the number),
 * the second its vector. Of rows with one id the last counts. RC_INVAL E2307 (no feature
 * has an init_table), E2308 (rows that are none); what datasets report.
 */
enum rc train_dynamic_init(const struct pc_EasyRecConfig *conf,
                           const struct train_dynamic_conf *how,
                           struct train_dynamic_report *out, struct diags *diags,
                           struct err *err) MUST_CHECK;

#endif
