/* SPDX-License-Identifier: Apache-2.0 */
/* Routine runs. */
#include "http/schemas_private.h"

static const struct http_schema_item Run_items[] = {
    ITEM(outcome, STRING, "claimed, waiting, submitted, skipped, missed or failed", MUST),
    ITEM(planned, TIME, "the moment that it stands for"),
    ITEM(fired, TIME, "when it was dealt with"),
    ITEM(job, STRING, "id of its job"),
    ITEM(message, STRING, "more about the outcome"),
    {0}};
TABLE(Run, "a planned run of a schedule");

static const struct http_schema_item RunList_items[] = {
    ITEM(runs, LIST, "the latest first", .of = &http_schema_Run, MUST),
    ITEM(next, TIME, "give it as `before` for the next page; absent: no more"),
    {0}};
TABLE(RunList, "history of planned runs");

static const struct http_schema_item RunQuery_items[] = {
    ITEM(before, TIME, "planned before then"), LIMIT(1000), {0}};
TABLE(RunQuery, "which runs");

static const struct http_schema_item RunRequest_items[] = {
    ITEM(planned, TIME, "the moment that it stands for; absent: now"), {0}};
TABLE(RunRequest, "a run out of turn");

static const struct http_schema_item RunAnswer_items[] = {
    ITEM(job, STRING, "id of its job", MUST),
    ITEM(existed, BOOL, "this planned time had been run before", MUST),
    {0}};
TABLE(RunAnswer, "the job of a run");

static const struct http_schema_item Schedule_items[] = {
    ITEM(name, STRING, "unique", MUST),
    ITEM(owner, STRING, "user in whose name its jobs are submitted", MUST),
    ITEM(project, STRING, "empty: none", MUST),
    ITEM(cron, STRING, "when", MUST),
    ITEM(zone, STRING, "time zone that `cron` is read in", MUST),
    ITEM(catch_up, STRING, "what happens to times that were missed", MUST),
    ITEM(overlap, STRING, "what happens when the run before has not ended", MUST),
    ITEM(paused, BOOL, "nothing is submitted", MUST),
    ITEM(stopped, STRING, "why its owner may not run it; absent: may"),
    ITEM(node, STRING,
         "machine and directory of the server that has its files; absent: all"),
    ITEM(late, STRING, "why a planned time was not run"),
    ITEM(created, TIME, "when"),
    ITEM(next, TIME, "the next planned time"),
    ITEM(params, TEXTS, "parameters", MUST),
    ITEM(job, OBJECT, "specification of its jobs", MUST),
    ITEM(runs, LIST, "the latest; of one schedule alone", .of = &http_schema_Run),
    {0}};
TABLE(Schedule, "a job that is run again and again");

static const struct http_schema_item ScheduleList_items[] = {
    ITEM(schedules, LIST, "by name", .of = &http_schema_Schedule, MUST), {0}};
TABLE(ScheduleList, "schedules visible to you");

static const struct http_schema_item ScheduleNew_items[] = {
    ITEM(name, STRING, "unique", NAME, MUST),
    ITEM(cron, STRING, "minute hour day month weekday, or @daily and the like", .min = 1,
         .max = 200, MUST),
    ITEM(zone, STRING, "time zone; default UTC", .min = 1, .max = 64),
    ITEM(catch_up, STRING, "none, last (default), all or all:N", .min = 1, .max = 20),
    ITEM(overlap, STRING, "default skip", .words = "skip|queue|replace|allow"),
    ITEM(paused, BOOL, "make it, but do not start"),
    ITEM(params, TEXTS, "name: value, with ${yyyymmdd-1} and the like"),
    ITEM(
        job, OBJECT,
        "as for a submission, with ${bizdate} and the like; secret_values are kept until "
        "the schedule is deleted, and never shown",
        MUST),
    {0}};
TABLE(ScheduleNew, "a new schedule");

static const struct http_schema_item ScheduleChange_items[] = {
    ITEM(cron, STRING, "as of a new one", .min = 1, .max = 200),
    ITEM(zone, STRING, "time zone", .min = 1, .max = 64),
    ITEM(catch_up, STRING, "none, last, all or all:N", .min = 1, .max = 20),
    ITEM(overlap, STRING, "when the job before has not ended",
         .words = "skip|queue|replace|allow"),
    ITEM(params, TEXTS, "in place of the old ones"),
    ITEM(job, OBJECT, "in place of the old one, of the schedule's owner alone"),
    {0}};
TABLE(ScheduleChange, "what changes of a schedule; absent: it stays");
