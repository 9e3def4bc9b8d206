/* SPDX-License-Identifier: Apache-2.0 */
/* train/source.h - data_config as the settings of a dataset. */
#ifndef TRAIN_SOURCE_H
#define TRAIN_SOURCE_H

#include "base/arena.h"
#include "data/dataset.h"
#include "data/sampler/sampler.h"
#include "feature/feature.h"
#include "text/pipeline/pipeline.h"

enum train_source_use { SOURCE_TRAIN, SOURCE_EVAL, SOURCE_PREDICT };

/* Shard `at` of `of`: each reads its own rows. The input is cut into as many stretches of
 * (almost) the same number of rows as there are shards (data/dataset.h).
 */
struct train_source_share {
    int at, of;   /* of 0: everything */
    bool workers; /* an unset num_workers counts as well (model/reference.h) */
};

/* Fills *out for reading `path`; what it points at lies in `a`. Columns are those that
 * the plan reads. RC_UNSUPPORTED: a dataset_type that this version does not read. RC_INVAL.
 */
enum rc train_source_conf(const struct pc_DataConfig *data,
                          const struct feature_plan *plan, const char *path,
                          enum train_source_use use, uint64_t seed,
                          struct train_source_share share, struct arena *a,
                          struct dataset_conf *out, struct err *err) MUST_CHECK;

/* The quota of MaxCompute's tunnel that data_config names; NULL: the project's. */
const char *train_source_quota(const struct pc_DataConfig *data);

/* The sampler of data_config; false: there is none, or none is wanted (predict). Each
 * shard draws other samples. `out` may point into `a`; of a tree plan and arena may be NULL.
 */
bool train_source_sampler(const struct pc_DataConfig *data,
                          const struct feature_plan *plan, enum train_source_use use,
                          uint64_t seed, struct train_source_share share, struct arena *a,
                          struct sampler_conf *out);

#endif
