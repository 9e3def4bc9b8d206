/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of features.def and samplers.def. Apart from feature.c because they name the
 * checks.
 */
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

const struct pc_sampler_kind pc_sampler_kinds[] = {
#define SAMPLER(id_, msg_, member_, doc_, ...) {.msg = &pc_##msg_##_def, __VA_ARGS__},
#include "text/pipeline/samplers.def"
#undef SAMPLER
};

const size_t pc_sampler_kind_count = ARRAY_LEN(pc_sampler_kinds);
