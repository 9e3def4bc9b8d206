/* SPDX-License-Identifier: Apache-2.0 */
/* team/rule.h - when somebody is to be told. The condition of a rule as JSON:
 *
 *     {"on": "state", "states": ["Failed", "Succeeded"]}
 *     {"on": "metric", "metric": "auc", "below": 0.7}
 *     {"on": "log", "pattern": "CUDA out of memory"}
 *     {"on": "stall", "after_s": 1800}
 *
 * and, with any of them, which jobs: "job" (id), "name" (a part of it), "project",
 * "schedule", "label" ("key=value"). A rule is about jobs of its owner, or of the project
 * that it names.
 */
#ifndef TEAM_RULE_H
#define TEAM_RULE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/notify.h"
#include "store/store.h"

enum team_rule_on { RULE_STATE, RULE_METRIC, RULE_LOG, RULE_STALL };

#define RULE_STATES_MAX 16

struct team_rule {
    const struct store_rule *row; /* borrowed */
    struct arena arena;
    enum team_rule_on on;
    const char *states[RULE_STATES_MAX];
    size_t n_states;
    const char *metric;
    bool has_above, has_below;
    double above, below;
    struct rule_pattern *pattern; /* RULE_LOG */
    int64_t after_s;
    const char *job, *name, *project, *schedule, *label_key, *label_value; /* or NULL */
};

/* RC_INVAL (E5301). */
enum rc team_rule_open(const struct store_rule *row, struct team_rule *out,
                       struct err *err) MUST_CHECK;
void team_rule_close(struct team_rule *r);
/* Of a new one: that nothing in it is without effect, and that jobs can have the names in it.
 * RC_INVAL (E5301).
 */
enum rc team_rule_check(const struct team_rule *r, struct err *err) MUST_CHECK;
const char *team_rule_on_name(enum team_rule_on on);

/* Labels are looked at by the caller: they lie elsewhere. */
bool team_rule_is_about(const struct team_rule *r, const struct store_job *j);
bool team_rule_wants_labels(const struct team_rule *r);
bool team_rule_wants_state(const struct team_rule *r, const char *state);
bool team_rule_wants_value(const struct team_rule *r, const char *metric, double v);
/* Bounded in time, whatever the pattern. */
bool team_rule_wants_line(const struct team_rule *r, struct str line);

/* What the message is about. */
struct team_rule_fact {
    const struct store_job *job;
    int64_t time;      /* ns */
    const char *what;  /* what makes it another one: the event's number, the attempt */
    const char *text;  /* one sentence for people */
    const char *extra; /* JSON members beside the usual ones, ", \"value\": 0.5"; "" */
};
/* The key of its delivery: the same for the same fact. */
void team_rule_key(const struct team_rule *r, const struct team_rule_fact *f,
                   char out[65]);
void team_rule_payload(const struct team_rule *r, const struct team_rule_fact *f,
                       struct buf *out);

#endif
