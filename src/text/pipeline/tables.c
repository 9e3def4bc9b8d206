/* SPDX-License-Identifier: Apache-2.0 */
#include "text/pipeline/pipeline.h"

#define SCHEMA_P(n) pc_##n
#define SCHEMA_DEF(n) pc_##n##_def

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_table.h"
#include "text/pipeline/all.def"
#include "text/schema_end.h"

static const struct msg_def *const msgs[] = {
#define SCHEMA_LIST_MSG(n) &SCHEMA_DEF(n),
#define SCHEMA_LIST_ENUM(n)
#include "text/schema_as_list.h"
#include "text/pipeline/all.def"
#include "text/schema_end.h"
    NULL,
};

static const struct enum_def *const enums[] = {
#define SCHEMA_LIST_MSG(n)
#define SCHEMA_LIST_ENUM(n) &SCHEMA_DEF(n),
#include "text/schema_as_list.h"
#include "text/pipeline/all.def"
#include "text/schema_end.h"
    NULL,
};
/* clang-format on */

const struct schema_family schema_family_pipeline = {
    .name = "pipeline",
    .title = "TorchEasyRec pipeline.config",
    .msgs = msgs,
    .enums = enums,
};
