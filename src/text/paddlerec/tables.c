/* SPDX-License-Identifier: Apache-2.0 */
#include "text/paddlerec/paddlerec.h"

#define SCHEMA_P(n) prec_##n
#define SCHEMA_DEF(n) prec_##n##_def

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_table.h"
#include "text/paddlerec/all.def"
#include "text/schema_end.h"

static const struct msg_def *const msgs[] = {
#define SCHEMA_LIST_MSG(n) &SCHEMA_DEF(n),
#define SCHEMA_LIST_ENUM(n)
#include "text/schema_as_list.h"
#include "text/paddlerec/all.def"
#include "text/schema_end.h"
    NULL,
};
/* clang-format on */

static const struct enum_def *const enums[] = {NULL};

const struct schema_family schema_family_paddlerec = {
    .name = "paddlerec",
    .title = "PaddleRec config.yaml and backend.yaml",
    .msgs = msgs,
    .enums = enums,
};
