/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIB_FEATURES_PRIVATE_H
#define LIB_FEATURES_PRIVATE_H

#include <stdatomic.h>

#include "feature/feature.h"
#include "trainyard/features.h"

/* In use while refs > 0: by who asked for it, and by each of its tensors. */
struct ty_batch {
    struct ty_features *from; /* one of its references is ours while in use */
    _Atomic int64_t refs;
    struct feature_batch *features; /* owned */
    char *position;                 /* owned */
    struct ty_batch *next;          /* among those that nobody uses */
};

struct ty_batch *lib_batch_ref(struct ty_batch *b);
/* What a column of a batch is made of; NULL: it is none of these. Borrowed. */
const struct feature_out *lib_batch_feature(const struct ty_batch *b, int64_t column,
                                            struct ty_features_column *about);
const struct feature_target *lib_batch_target(const struct ty_batch *b, int64_t column);

#endif
