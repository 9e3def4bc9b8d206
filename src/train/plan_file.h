/* SPDX-License-Identifier: Apache-2.0 */
/* train/plan_file.h - the file `plan` of a model_dir: how the tables of a run on several
 * ranks were cut, in the form of TorchEasyRec's checkpoints:
 *
 *     {"model.embedding_group.emb_impls.__BASE__.ebc": {"item_emb":
 *         {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [0, 1]}}}
 *
 * A run that goes on keeps tables data parallel that were, and with
 * FORCE_LOAD_SHARDING_PLAN=1 every table's kind. It changes where rows lie and no result.
 */
#ifndef TRAIN_PLAN_FILE_H
#define TRAIN_PLAN_FILE_H

#include "base/vec.h"
#include "dist/plan.h"

struct train_placement;

struct train_pin {
    char *module, *table; /* owned */
    enum dist_kind kind;
};
struct train_pins {
    VEC(struct train_pin) at;
};
void train_pins_release(struct train_pins *p);

/* Of the plan of the run or checkpoint in `dir`: DIR/plan, or that beside a checkpoint;
 * without one there are no pins. `all`: of every table; else of those that were data parallel. RC_IO,
 * RC_FORMAT: the file and what is wrong with it.
 */
enum rc train_pins_read(const char *dir, bool all, struct train_pins *out,
                        struct err *err) MUST_CHECK;
/* By the name of the table's weights; DIST_KINDS: it has none. `p` may be NULL. */
enum dist_kind train_pins_find(const struct train_pins *p, const char *weight);

enum rc train_plan_write(const char *model_dir, const struct train_placement *p,
                         struct err *err) MUST_CHECK;

#endif
