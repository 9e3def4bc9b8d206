/* SPDX-License-Identifier: Apache-2.0 */
/* The table of features.def. Apart from feature.c because its checks need the others. */
#include "text/pipeline/pipeline_private.h"

const struct pc_feature_kind pc_feature_kinds[] = {
#define FEATURE(name_, msg_, member_, doc_, inputs_, min_, max_, ...) \
    {.msg = &pc_##msg_##_def,                                         \
     .member = #member_,                                              \
     .inputs = inputs_,                                               \
     .min_inputs = min_,                                              \
     .max_inputs = max_,                                              \
     __VA_ARGS__},
#include "text/pipeline/features.def"
#undef FEATURE
};

const size_t pc_feature_kind_count = ARRAY_LEN(pc_feature_kinds);
