/* SPDX-License-Identifier: Apache-2.0 */
/* train/dynamic_convert.h - a checkpoint of zch tables as one of dynamicemb tables. */
#ifndef TRAIN_DYNAMIC_CONVERT_H
#define TRAIN_DYNAMIC_CONVERT_H

#include "train/dynamic_init.h"

/* Tables that are zch in `c` and dynamicemb in the config `to` get rows for their ids there;
 * the row that other zch ids share is left out, and so is the state of the optimizer.
 * Scores come along: counts for LFU, the last batch for STEP and TIMESTAMP. Everything else
 * is copied. The checkpoint is model.ckpt-0 in how->save_dir. RC_INVAL E2309 (no table to
 * convert, or of another width), E1510.
 */
struct ckpt;
enum rc train_dynamic_convert(const struct ckpt *c, const struct pc_EasyRecConfig *to,
                              const struct train_dynamic_conf *how,
                              struct train_dynamic_report *out, struct diags *diags,
                              struct err *err) MUST_CHECK;

#endif
