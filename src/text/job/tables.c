/* SPDX-License-Identifier: Apache-2.0 */
#include "text/job/job.h"

#define SCHEMA_P(n) jobspec_##n
#define SCHEMA_DEF(n) jobspec_##n##_def

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_table.h"
#include "text/job/job.def"
#include "text/schema_end.h"

static const struct msg_def *const msgs[] = {
#define SCHEMA_LIST_MSG(n) &SCHEMA_DEF(n),
#define SCHEMA_LIST_ENUM(n)
#include "text/schema_as_list.h"
#include "text/job/job.def"
#include "text/schema_end.h"
    NULL,
};
/* clang-format on */

static const struct enum_def *const enums[] = {NULL};

const struct schema_family schema_family_job = {
    .name = "job",
    .title = "job file",
    .msgs = msgs,
    .enums = enums,
};
