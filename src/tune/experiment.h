/* SPDX-License-Identifier: Apache-2.0 */
/* tune/experiment.h - an experiment: its settings, its trials, and the log that both
 * follow from.
 *
 * A folder holds it:
 *
 *     experiment.json   what was asked for, written once
 *     log.jsonl         what happened, one JSON object per line, only ever added to
 *     trials/ID/        of one trial: parameter.cfg, .nni/metrics, job
 *     algorithm.py      runs tuners and assessors that are Python classes (tune/custom.h)
 *     lock              held by the manager
 *
 * Every change is first added to the log and then applied; opening the folder applies the
 * log again, which gives the tuner its results in the order in which they came. So what
 * is in memory is always a function of the two files.
 */
#ifndef TUNE_EXPERIMENT_H
#define TUNE_EXPERIMENT_H

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "text/nni/space.h"
#include "tune/assessor.h"
#include "tune/custom.h"
#include "tune/objective.h"
#include "tune/tuner.h"

enum exp_status {
#define STATUS(name) EXP_##name,
#include "tune/exp_status.def"
#undef STATUS
    EXP_STATUSES
};
enum trial_status {
#define STATUS(name) TS_##name,
#include "tune/trial_status.def"
#undef STATUS
    TRIAL_STATUSES
};
const char *exp_status_name(enum exp_status s);
const char *trial_status_name(enum trial_status s);
bool trial_status_ended(enum trial_status s);
/* Of an experiment whose log says `s`; `alive`: a process runs it. */
enum exp_status exp_status_now(enum exp_status s, bool alive);

#define EXP_ID_SIZE 40
#define TRIAL_ID_SIZE 8

struct exp_result {
    int64_t step, time; /* ms since 1970 */
    double value;
    const char *json; /* as it was reported; NULL: the number alone */
};

struct exp_trial {
    int64_t number; /* NNI's sequence id: from 0, in the order of the asks */
    char id[TRIAL_ID_SIZE];
    /* The tuner's number; -1: its tuner is custom, or stood for an earlier space, and
     * gets the result by the parameters */
    int64_t asked;
    char param_id[TUNER_ID_SIZE];
    const char *params; /* JSON object */
    const char *job;    /* id of its job, "" until there is one */
    enum trial_status status;
    bool stopping; /* it is to end before its time: `stopped_as` is how that is called */
    bool out_of_time; /* it ran longer than allowed, which is why */
    enum trial_status stopped_as;
    int64_t created, started, ended; /* ms since 1970; 0: not yet */
    VEC(struct exp_result) results;  /* intermediate */
    bool has_final;
    double final; /* of the first objective */
    double values[TUNE_OBJECTIVES_MAX];
    double violation;       /* of the constraints, 0: none */
    const char *final_json; /* as it was reported */
    int64_t final_time;
    const char *message; /* why it failed; "" */
    int64_t n_metrics;   /* records of its metrics file that the log holds */
    bool told, closed;   /* a custom tuner was given its result, its end */
};

/* What can be changed while it runs; 0: no limit. */
struct exp_limits {
    int64_t concurrency, trials, seconds, trial_seconds;
};

struct exp_settings {
    char id[EXP_ID_SIZE];
    const char *name;     /* "" */
    const char *config;   /* path of the file that it was made from */
    const char *command;  /* of a trial, for a shell */
    const char *code_dir; /* absolute; of a server's experiment: "" */
    /* Of an experiment that a server runs for somebody; "" otherwise. `source` is the
     * snapshot of the code, as a job has it. */
    const char *owner, *project, *source;
    int64_t gpu; /* -1: leave them alone */
    /* What else the job of a trial gets, in the words of a job file: {"image": ["..."],
     * "metric": ["default=auc: (\\S+)"]}; may be NULL. */
    const struct node *job;
    const char *tuner, *assessor; /* names; assessor may be NULL */
    /* Instead of the name, module.Class in a directory; NULL: the name counts. */
    const char *tuner_class, *tuner_dir, *assessor_class, *assessor_dir;
    const char *python; /* that runs them */
    const struct node *tuner_args, *assessor_args, *space;
    struct tune_objectives objectives;
    uint64_t seed;
    int64_t created; /* ms */
    struct exp_limits limits;
};

struct experiment {
    char *dir; /* absolute */
    struct exp_settings set;
    struct exp_limits limits; /* as they are now */
    enum exp_status status;
    const char *error; /* EXP_ERROR: why; "" */
    VEC(struct exp_trial) trials;
    int64_t spent_ms;       /* while it ran, when its status changed last */
    int64_t status_at;      /* ms since 1970 */
    int64_t best;           /* number of the best trial, -1: none yet */
    bool exhausted;         /* the tuner has nothing more */
    struct nni_space space; /* as it is now; not of a custom tuner */
    const struct node *space_tree;
    int64_t spaces;            /* how often it was changed */
    struct tuner *tuner;       /* NULL: custom */
    struct assessor *assessor; /* or NULL */
    /* Custom algorithms while a manager runs them (experiment_attach()), or NULL. */
    struct tune_custom *custom_tuner, *custom_assessor;
    bool dry; /* the custom tuner had nothing, and nothing has happened since */
    struct arena arena;
    struct doc doc;  /* experiment.json */
    int64_t torn_at; /* the log has a line from here on that was cut short; -1: none */
};

/* Makes the folder and the first line of the log. `set` is copied. RC_INVAL (E4004) when
 * there is an experiment already. */
enum rc experiment_create(const char *dir, const struct exp_settings *set,
                          struct err *err) MUST_CHECK;
/* Reads settings and log. E4005: not an experiment; E4002. A last line that was cut short
 * is not there. */
enum rc experiment_open(const char *dir, struct experiment **out,
                        struct err *err) MUST_CHECK;
void experiment_close(struct experiment *e); /* NULL is fine */
/* Settings as experiment.json has them. What is read lies in `n`; RC_FORMAT (E4005) when
 * something is missing. */
void experiment_settings_print(const struct exp_settings *s, struct buf *out);
enum rc experiment_settings_read(const struct node *n, struct exp_settings *s,
                                 struct err *err) MUST_CHECK;

/* Eight letters and digits at random. */
void experiment_new_id(char out[EXP_ID_SIZE]);

/* What is known of the experiment in `dir` without its log. E4005. */
#define EXP_NAME_SIZE 129
#define EXP_SOURCE_SIZE 96 /* "snapshot:" and an id */
struct exp_peek {
    char id[EXP_ID_SIZE];
    char owner[EXP_NAME_SIZE], project[EXP_NAME_SIZE]; /* "": nobody's, none */
    int64_t created;                                   /* ms since 1970 */
    char source[EXP_SOURCE_SIZE];                      /* "": a directory */
};
enum rc experiment_peek(const char *dir, struct exp_peek *out,
                        struct err *err) MUST_CHECK;
/* Starts the Python classes of the experiment, if it has any, and tells them everything
 * that the log holds, in its order, so that they stand where they stood. What they answer
 * does not count then: the log does. E4011: the class cannot be had or failed.
 */
enum rc experiment_attach(struct experiment *e, struct err *err) MUST_CHECK;

/* The manager's verbs: each adds to the log and applies. */
enum rc experiment_ask(struct experiment *e, enum tuner_answer *answer, int64_t *trial,
                       struct err *err) MUST_CHECK;
enum rc experiment_job(struct experiment *e, int64_t trial, const char *job,
                       struct err *err) MUST_CHECK;
enum rc experiment_running(struct experiment *e, int64_t trial,
                           struct err *err) MUST_CHECK;
/* `json`: the value as reported. `records`: metric records of the trial that are now
 * dealt with. *stop: the assessor has seen enough. */
enum rc experiment_result(struct experiment *e, int64_t trial, bool final, int64_t step,
                          const char *json, int64_t records, bool *stop,
                          struct err *err) MUST_CHECK;
/* Asks for the end of a trial, which will be called `as`. `out_of_time`: because it runs
 * too long. */
enum rc experiment_stop_trial(struct experiment *e, int64_t trial, enum trial_status as,
                              bool out_of_time, struct err *err) MUST_CHECK;
enum rc experiment_ended(struct experiment *e, int64_t trial, enum trial_status status,
                         const char *message, struct err *err) MUST_CHECK;
enum rc experiment_limits(struct experiment *e, const struct exp_limits *limits,
                          struct err *err) MUST_CHECK;
/* Another search space from now on. A built-in tuner starts over with it, and is given
 * the results so far that lie in it. `json`: the space. RC_INVAL (E4012): not a space, or
 * none for this tuner; nothing changes.
 */
enum rc experiment_space(struct experiment *e, const char *json,
                         struct err *err) MUST_CHECK;
/* Whether it would be taken; nothing changes either way. The same codes. */
enum rc experiment_space_check(const struct experiment *e, const char *json,
                               struct err *err) MUST_CHECK;
/* `spent_ms`: time that it ran so far. */
enum rc experiment_status(struct experiment *e, enum exp_status status, const char *error,
                          int64_t spent_ms, struct err *err) MUST_CHECK;

int64_t experiment_live(const struct experiment *e); /* trials that have not ended */
bool experiment_maximizes(const struct experiment *e, int64_t objective);
int64_t experiment_objectives(const struct experiment *e); /* at least 1 */
/* Whether a trial with a result is one that no other beats: the best, or with several
 * objectives a member of the Pareto front. Those that break constraints count only when
 * nothing else is there. */
bool experiment_in_front(const struct experiment *e, const struct exp_trial *t);
uint64_t experiment_seed(const struct experiment *e);
/* By its id or its number; NULL: there is none. Borrowed. */
const struct exp_trial *experiment_trial_find(const struct experiment *e,
                                              const char *name);
/* The same to be stopped. RC_NOTFOUND (E4008), RC_CANCELED (E4021: it has ended). */
enum rc experiment_trial_live(const struct experiment *e, const char *name,
                              const struct exp_trial **out, struct err *err) MUST_CHECK;
char *experiment_trial_dir(const struct experiment *e, const struct exp_trial *t);
/* {"parameter_id": ..., "parameter_source": "algorithm", "parameters": {...}, ...} */
void experiment_record(const struct exp_trial *t, struct buf *out);

#endif
