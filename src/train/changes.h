/* SPDX-License-Identifier: Apache-2.0 */
/* train/changes.h - what is different between two configs. */
#ifndef TRAIN_CHANGES_H
#define TRAIN_CHANGES_H

#include "base/str.h"
#include "text/node.h"

/* Adds "path: old -> new" for each field that differs, "; " between them, at most `most`
 * of them and then how many more; returns how many differ. Where things lie (model_dir
 * and the input paths) does not count.
 */
size_t train_config_changes(const struct node *old, const struct node *now, size_t most,
                            struct buf *out);

#endif
