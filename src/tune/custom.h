/* SPDX-License-Identifier: Apache-2.0 */
/* tune/custom.h - a tuner, assessor or advisor that is a Python class.
 *
 * The class runs in a process of its own (python/trainyard_algorithm.py), which answers
 * one line of JSON for each line it gets; docs/tuning.md describes them. Every call here
 * is one such exchange and waits for the answer. What the process prints goes to a file.
 * One thread at a time.
 */
#ifndef TUNE_CUSTOM_H
#define TUNE_CUSTOM_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "text/node.h"

struct tune_custom;

struct tune_custom_conf {
    const char *python; /* the interpreter */
    const char *dir; /* of the experiment: the program is written there, and custom.log */
    const char *role;                   /* "tuner" (or an advisor) or "assessor" */
    const char *class_name, *class_dir; /* module.Class, and where it lies */
    const struct node *args;            /* classArgs, or NULL */
    const struct node *space;           /* for tuners */
};

/* RC_INVAL (E4011): no interpreter, no such class, or it failed; the message holds what
 * Python said. */
enum rc tune_custom_start(const struct tune_custom_conf *conf, struct tune_custom **out,
                          struct err *err) MUST_CHECK;
/* Whether the class, and the one that checks its arguments ("": none), can be loaded with `dir`
 * at the front of the path. RC_INVAL (E4011).
 */
enum rc tune_custom_check(const char *python, const char *class_name,
                          const char *validator, const char *dir,
                          struct err *err) MUST_CHECK;
void tune_custom_stop(struct tune_custom *c); /* NULL is fine */

/* A trial as the class knows it. */
struct tune_custom_trial {
    const char *id, *param_id, *params; /* param_id and params are JSON */
};

/* *given: `param_id` and `params` (JSON) hold something new; else there is nothing for
 * now. All can fail with E4011. */
enum rc tune_custom_ask(struct tune_custom *c, bool *given, struct buf *param_id,
                        struct buf *params, struct err *err) MUST_CHECK;
/* `json`: a final result as reported. */
enum rc tune_custom_tell(struct tune_custom *c, const struct tune_custom_trial *t,
                         const char *json, struct err *err) MUST_CHECK;
/* An intermediate one; *stop: an assessor says that the trial is to end. */
enum rc tune_custom_report(struct tune_custom *c, const struct tune_custom_trial *t,
                           int64_t step, const char *json, bool *stop,
                           struct err *err) MUST_CHECK;
enum rc tune_custom_end(struct tune_custom *c, const struct tune_custom_trial *t, bool ok,
                        const char *status, struct err *err) MUST_CHECK;
enum rc tune_custom_space(struct tune_custom *c, const struct node *space,
                          struct err *err) MUST_CHECK;

/* Ids of trials that an advisor wants ended, since this was last asked: the caller takes
 * them one by one; NULL when there is none. To mem_free(). */
char *tune_custom_take_kill(struct tune_custom *c);

#endif
