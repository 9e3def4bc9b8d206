/* SPDX-License-Identifier: Apache-2.0 */
/* text/nni/ecs.h - ecsSpec of a DLC service: an instance type, or resources. */
#ifndef TEXT_NNI_ECS_H
#define TEXT_NNI_ECS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct nni_ecs_spec {
    const char *instance_type; /* "ecs.c6.large"; NULL: the resources below */
    const char *resource_id, *gputype, *shared_memory;
    double cpu, memory, gpu; /* cores, GiB, cards */
};

/* "ecs.c6.large" or "{'resource_id': 'rg..', 'cpu': 2, ...}", with either kind of quotes.
 * Strings lie in `a`. RC_FORMAT, and `err` says what is wrong.
 */
enum rc nni_ecs_parse(struct str text, struct arena *a, struct nni_ecs_spec *out,
                      struct err *err) MUST_CHECK;

#endif
