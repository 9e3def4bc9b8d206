/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/plan_ranks.h - where `plan --ranks` would put tables, as text or JSON. */
#ifndef CMD_PLAN_RANKS_H
#define CMD_PLAN_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct train_session;

struct plan_ranks_conf {
    int ranks, hosts;
    int64_t memory; /* of a rank */
    bool json;
};

/* The part of a table's name that is its own: "user_id_emb". */
struct str plan_short_name(const char *name);

/* Appends a block, or `, "placement": {...}`. Bandwidths and the rest are read from the
 * environment (docs/ranks.md). RC_INVAL: a variable that is no number.
 */
enum rc plan_ranks_print(const struct train_session *s,
                         const struct plan_ranks_conf *conf, struct buf *out,
                         struct err *err) MUST_CHECK;

#endif
