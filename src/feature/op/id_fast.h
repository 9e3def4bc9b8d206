/* SPDX-License-Identifier: Apache-2.0 */
/* feature/op/id_fast.h - ids straight from the usual columns. */
#ifndef FEATURE_OP_ID_FAST_H
#define FEATURE_OP_ID_FAST_H

#include "feature/feature_private.h"

/* All rows of an id_feature, when its column is one of those that have a short way. */
enum rc feature_id_fast(struct fg_run *x, bool *done);

#endif
