/* SPDX-License-Identifier: Apache-2.0 */
/* http/schemas_private.h - how the tables of schemas*.c are written. */
#ifndef HTTP_SCHEMAS_PRIVATE_H
#define HTTP_SCHEMAS_PRIVATE_H

#include "http/schema.h"

#define TABLE(n, h)                                    \
    const struct http_schema_table http_schema_##n = { \
        .name = #n, .help = h, .kind = SCHEMA_OBJECT, .items = n##_items}
#define ITEM(n, s, h, ...)                                       \
    {                                                            \
        .name = #n, .shape = SHAPE_##s, .help = h, ##__VA_ARGS__ \
    }
#define MUST .required = true
/* What names may look like; http_schema_name_check() says the same. */
#define NAME_PATTERN "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$"
const char *http_schema_name_check(struct str value);
#define NAME \
    .pattern = NAME_PATTERN, .check = http_schema_name_check, .min = 1, .max = 128
/* A project, or a project and ":admin". */
#define MEMBERSHIP                                             \
    .pattern = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(:admin)?$", \
    .check = http_schema_membership_check, .min = 1, .max = 134
const char *http_schema_membership_check(struct str value);
/* Limits and weight of a user or project; `how` is said of each of the four limits. */
#define QUOTA_LIMITS(how)                                                            \
    ITEM(cpu_milli, INT, "thousandths of a processor at a time; -1: no limit", how), \
        ITEM(memory, INT, "bytes at a time; -1: no limit", how),                     \
        ITEM(gpu, INT, "GPUs at a time; -1: no limit", how),                         \
        ITEM(running, INT, "jobs at a time; -1: no limit", how)
#define QUOTA_HELD                                                                  \
    QUOTA_LIMITS(MUST), ITEM(weight, INT, "of the fair share; 100 is usual", MUST), \
        ITEM(created, TIME, "when")
#define LIMIT(most) ITEM(limit, INT, "at most so many rows", .min = 1, .max = (most))

#endif
