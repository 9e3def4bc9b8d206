/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments; tune/report.h writes them. */
#include "http/schemas_private.h"

static const char trial_words[] =
#define STATUS(name) "|" #name
#include "tune/trial_status.def"
#undef STATUS
    ;
static const char experiment_words[] =
#define STATUS(name) "|" #name
#include "tune/exp_status.def"
#undef STATUS
    ;

static const struct http_schema_item Experiment_items[] = {
    ITEM(id, STRING, "its id", MUST),
    ITEM(name, STRING, "empty: none", MUST),
    ITEM(owner, STRING, "whose it is; empty: made on the server's machine", MUST),
    ITEM(project, STRING, "whose members may control it; empty: none", MUST),
    ITEM(status, STRING,
         "in NNI's words; INTERRUPTED: what ran it is gone, and it can be resumed",
         .words = experiment_words + 1, MUST),
    ITEM(managed, BOOL, "a process runs it now", MUST),
    ITEM(trials, INTS, "how many are in each status", MUST),
    ITEM(best, ANY, "as /best has it; null: no trial has a result", MUST),
    ITEM(concurrency, INT, "trials at a time", MUST),
    ITEM(max_trials, INT, "trials in all; 0: no limit", MUST),
    ITEM(max_seconds, INT, "time for new trials; 0: no limit", MUST),
    ITEM(max_trial_seconds, INT, "longest run of a trial; 0: no limit", MUST),
    ITEM(seconds, INT, "that it ran, when its status changed last", MUST),
    ITEM(created, INT, "milliseconds since 1970", MUST),
    ITEM(tuner, STRING, "its name, or its Python class", MUST),
    ITEM(seed, INT, "of the tuner", MUST),
    ITEM(maximize, BOOL, "higher results are better; of the first objective", MUST),
    ITEM(error, STRING, "why it failed; empty: it did not", MUST),
    ITEM(dir, STRING, "its folder, on the server", MUST),
    ITEM(held, STRING,
         "why no further trial starts though it runs: its owner may not submit jobs; "
         "absent: they do"),
    ITEM(server, STRING, "address of the server that has it; absent: this one"),
    {0}};
TABLE(Experiment, "a search for good parameters");

static const struct http_schema_item ExperimentList_items[] = {
    ITEM(experiments, LIST,
         "newest first; on the last page those of other servers on the database follow",
         .of = &http_schema_Experiment, MUST),
    ITEM(total, INT, "how many there are", MUST),
    ITEM(next, INT, "give it as `offset` for the next page; absent: no more"),
    ITEM(unreachable, STRINGS, "why experiments of other servers are not in the list"),
    {0}};
TABLE(ExperimentList, "experiments of all servers on the database");

#define OFFSET ITEM(offset, INT, "leave out so many", .min = 0, .max = 1000000000)

static const struct http_schema_item ExperimentQuery_items[] = {OFFSET, LIMIT(1000), {0}};
TABLE(ExperimentQuery, "which experiments");

static const struct http_schema_item ExperimentBest_items[] = {
    ITEM(trial, INT, "its number"),
    ITEM(id, STRING, "its id"),
    ITEM(value, ANY, "the number that counts; null: not finite"),
    ITEM(values, OBJECT, "of all objectives, by metric"),
    ITEM(violation, ANY, "how far it breaks constraints; 0: not at all"),
    ITEM(parameters, OBJECT, "that it was given"),
    ITEM(expected, ANY,
         "results with noise: the trial that the tuner's model expects to be best, where "
         "that is another; with the same members"),
    ITEM(front, LIST, "with several objectives, instead: all that nothing beats",
         .of = &http_schema_ExperimentBest),
    {0}};
TABLE(ExperimentBest, "the best trial so far");

static const struct http_schema_item ExperimentUpdate_items[] = {
    ITEM(concurrency, INT, "trials at a time", .min = 1, .max = 100000),
    ITEM(max_trials, INT, "trials in all; 0: no limit", .min = 0, .max = 999999999),
    ITEM(max_seconds, INT, "time for new trials; 0: no limit", .min = 0,
         .max = 1000000000),
    ITEM(max_trial_seconds, INT, "longest run of a trial; 0: no limit", .min = 0,
         .max = 1000000000),
    ITEM(space, OBJECT, "another search space, as in an NNI file"),
    {0}};
TABLE(ExperimentUpdate, "other limits or another search space; what is not given stays");

static const struct http_schema_item ExperimentNew_items[] = {
    ITEM(settings, OBJECT, "as experiment.json has them", MUST),
    ITEM(source, STRING, "snapshot of the code, snapshot:SHA256", .min = 73, .max = 74),
    ITEM(project, STRING, "whose members may control it", NAME),
    {0}};
TABLE(ExperimentNew, "an experiment that the server runs for you");

static const struct http_schema_item PartQuery_items[] = {
    ITEM(offset, INT, "first byte", .min = 0, .max = INT64_C(1) << 50), {0}};
TABLE(PartQuery, "which part of a file");

static const struct http_schema_item ExperimentAsked_items[] = {
    ITEM(experiment, STRING, "its id, as it was given", MUST),
    ITEM(managed, BOOL,
         "a process runs it now and will do it; else the next one that does", MUST),
    {0}};
TABLE(ExperimentAsked, "what was asked for is written down");

static const struct http_schema_item Trial_items[] = {
    ITEM(trial, INT, "its number, from 0", MUST),
    ITEM(id, STRING, "its id", MUST),
    ITEM(status, STRING, "in NNI's words", .words = trial_words + 1, MUST),
    ITEM(value, ANY, "final result; null: none yet, or not finite", MUST),
    ITEM(values, OBJECT, "of all objectives, by metric"),
    ITEM(violation, ANY, "how far it breaks constraints; 0: not at all"),
    ITEM(parameters, OBJECT, "that it was given", MUST),
    ITEM(parameter_id, ANY, "the tuner's: a number or a text", MUST),
    ITEM(job, STRING, "id of its job; empty: not yet", MUST),
    ITEM(created, INT, "milliseconds since 1970", MUST),
    ITEM(started, INT, "milliseconds since 1970; 0: not yet", MUST),
    ITEM(ended, INT, "milliseconds since 1970; 0: not yet", MUST),
    ITEM(intermediate, ANY, "list of results on the way; null: not finite", MUST),
    ITEM(message, STRING, "why it failed", MUST),
    {0}};
TABLE(Trial, "one try of an experiment");

static const struct http_schema_item TrialList_items[] = {
    ITEM(trials, LIST, "in the order that was asked for", .of = &http_schema_Trial, MUST),
    ITEM(total, INT, "how many there are, of that status", MUST),
    ITEM(next, INT, "give it as `offset` for the next page; absent: no more"),
    {0}};
TABLE(TrialList, "trials of an experiment");

static const struct http_schema_item TrialQuery_items[] = {
    ITEM(status, STRING, "only these", .words = trial_words + 1),
    ITEM(order, STRING, "default number", .words = "number|best"),
    OFFSET,
    LIMIT(1000),
    {0}};
TABLE(TrialQuery, "which trials");

static const struct http_schema_item NniQuery_items[] = {
    ITEM(status, STRING, "of trial-jobs: only these", .words = trial_words + 1),
    ITEM(type, STRING, "of metric-data: only these", .words = "PERIODICAL|FINAL"),
    {0}};
TABLE(NniQuery, "what NNI's clients may add");

const struct http_schema_table http_schema_NniAnswer = {
    .name = "NniAnswer", .help = "as NNI answers it", .kind = SCHEMA_ANY_JSON};
