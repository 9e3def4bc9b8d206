/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of jobs and what belongs to them: events, points of metrics, logs, and the
 * queries for each. Jobs, events and points come in pages: an answer has `next`, a query
 * takes it back as `cursor` or `after`. JobSpec has no items here, because its fields are
 * those of job files (text/job), which the parser of job files checks and the OpenAPI
 * document takes from there.
 */
#include "http/schemas_private.h"
#include "store/store.h"

static const struct http_schema_item Job_items[] = {
    ITEM(id, STRING, "jb- and twelve letters or digits", MUST),
    ITEM(name, STRING, "for people", MUST),
    ITEM(owner, STRING, "user who submitted it", MUST),
    ITEM(project, STRING, "project that it counts for; empty: none", MUST),
    ITEM(state, STRING, "see docs/jobs.md", MUST),
    ITEM(reason, STRING, "why it is in that state", MUST),
    ITEM(queue, STRING, "name of the queue", MUST),
    ITEM(backend, STRING, "where it runs", MUST),
    ITEM(priority, INT, "9 goes first", MUST),
    ITEM(workers, INT, "processes that run the command", MUST),
    ITEM(attempt, INT, "0 before the first", MUST),
    ITEM(cpu_milli, INT, "thousandths of a processor, all workers together", MUST),
    ITEM(memory, INT, "bytes, all workers together; 0: not counted", MUST),
    ITEM(gpu, INT, "GPUs, all workers together", MUST),
    ITEM(timeout_s, INT, "longest run in seconds; 0: no limit", MUST),
    ITEM(events, INT, "number of the last event", MUST),
    ITEM(cursor, INT, "place in lists, for the next page", MUST),
    ITEM(array, STRING, "the array that it is a job of; absent: none"),
    ITEM(array_index, INT, "its index there"),
    ITEM(created, TIME, "when it was submitted", MUST),
    ITEM(started, TIME, "when its first attempt began"),
    ITEM(finished, TIME, "when it ended"),
    ITEM(spec, OBJECT, "its specification; of one job alone"),
    ITEM(status, OBJECT, "workers, progress, exit; of one job alone"),
    ITEM(metrics, OBJECT, "the latest value of each metric; of one job alone"),
    {0}};
TABLE(Job, "a job; the second half of its fields comes when one job is asked for");

static const struct http_schema_item JobList_items[] = {
    ITEM(jobs, LIST, "newest first", .of = &http_schema_Job, MUST),
    ITEM(next, INT, "give it as `cursor` for the next page; absent: no more"),
    {0}};
TABLE(JobList, "a page of jobs");

#define STATES                                                              \
    "(Creating|Queuing|EnvPreparing|Running|Restarting|Suspended|Stopping|" \
    "Succeeded|Failed|Stopped|Unknown)"
static const struct http_schema_item JobQuery_items[] = {
    ITEM(state, STRING, "states, with ',' between them",
         .pattern = "^(" STATES "(," STATES ")*)?$"),
    ITEM(owner, STRING, "of this user"),
    ITEM(project, STRING, "of this project"),
    ITEM(queue, STRING, "of this queue"),
    ITEM(backend, STRING, "of this backend"),
    ITEM(name, STRING, "names that hold this text"),
    ITEM(id, STRING, "ids that begin so"),
    ITEM(label, STRING, "NAME or NAME=VALUE"),
    ITEM(without_label, STRING,
         "only jobs without a label of this name; trials have one named experiment"),
    ITEM(since, TIME, "created then or later"),
    ITEM(until, TIME, "created before"),
    ITEM(cursor, INT, "`next` of the page before", .min = 0, .max = INT64_MAX),
    LIMIT(1000),
    {0}};
TABLE(JobQuery, "which jobs");

static const struct http_schema_item Counts_items[] = {
    ITEM(counts, INTS, "number of jobs in each state", MUST), {0}};
TABLE(Counts, "how many jobs there are");

static const struct http_schema_item StopRequest_items[] = {
    ITEM(force, BOOL, "at once, without grace time"), {0}};
TABLE(StopRequest, "how to stop");

static const struct http_schema_item StateAnswer_items[] = {
    ITEM(id, STRING, "the job", MUST),
    ITEM(state, STRING, "its state as far as it is known already", MUST),
    ITEM(ended, BOOL, "it had ended before", MUST),
    {0}};
TABLE(StateAnswer, "what a request led to");

static const struct http_schema_item ExecNew_items[] = {
    ITEM(command, STRINGS, "program and arguments", MUST),
    ITEM(worker, INT, "beside which worker; default 0", .min = 0, .max = 1024),
    ITEM(terminal, BOOL, "on a terminal of its own"),
    ITEM(rows, INT, "of the terminal; default 24", .min = 1, .max = 1000),
    ITEM(columns, INT, "of the terminal; default 80", .min = 1, .max = 1000),
    ITEM(term, STRING, "kind of the terminal, such as xterm", .min = 0, .max = 60),
    {0}};
TABLE(ExecNew, "a program to run beside a worker");

static const struct http_schema_item ExecSession_items[] = {
    ITEM(session, STRING, "by which its output is read and its input written", MUST),
    {0}};
TABLE(ExecSession, "a program that runs");

static const struct http_schema_item ExecQuery_items[] = {
    ITEM(after, INT, "bytes of output that you have", .min = 0, .max = INT64_MAX), {0}};
TABLE(ExecQuery, "which output");

static const struct http_schema_item ExecInput_items[] = {
    ITEM(at, INT, "offset of the first byte", .min = 0, .max = INT64_MAX),
    ITEM(end, BOOL, "no more follows"),
    ITEM(rows, INT, "of the terminal", .min = 1, .max = 1000),
    ITEM(columns, INT, "of the terminal", .min = 1, .max = 1000),
    {0}};
TABLE(ExecInput, "what the body is");

static const struct http_schema_item ExecTaken_items[] = {
    ITEM(taken, INT, "bytes of input that the program has got so far", MUST), {0}};
TABLE(ExecTaken, "how far the input came");

const struct http_schema_table http_schema_ExecOutput = {
    .name = "ExecOutput",
    .help = "frames",
    .kind = SCHEMA_BYTES,
    .json =
        "{\"type\":\"string\",\"format\":\"binary\",\"description\":\"frames: a byte (1 "
        "output, 2 errors, 3 the exit status as a text: the last), four bytes of "
        "length, most significant first, and so many bytes; a frame may come in "
        "several answers\"}"};

static const struct http_schema_item Why_items[] = {
    ITEM(id, STRING, "the job", MUST),
    ITEM(state, STRING, "its state", MUST),
    ITEM(why, STRING, "one sentence: what it waits for, or how it ended", MUST),
    {0}};
TABLE(Why, "why a job waits or how it ended");

static const struct http_schema_item Event_items[] = {
    ITEM(seq, INT, "1, 2, 3 ... without holes", MUST),
    ITEM(time, TIME, "when"),
    ITEM(type, STRING, "what happened", MUST),
    ITEM(attempt, INT, "in which attempt", MUST),
    ITEM(worker, INT, "to which worker; absent: to the job"),
    ITEM(reason, STRING, "why"),
    ITEM(message, STRING, "for people"),
    ITEM(data, OBJECT, "for programs"),
    {0}};
TABLE(Event, "an event of a job");

static const struct http_schema_item EventList_items[] = {
    ITEM(events, LIST, "in order", .of = &http_schema_Event, MUST),
    ITEM(next, INT, "give it as `after` for the next page; absent: no more for now"),
    {0}};
TABLE(EventList, "a page of events");

static const struct http_schema_item EventQuery_items[] = {
    ITEM(after, INT, "only events with a higher number", .min = 0, .max = INT64_MAX),
    LIMIT(1000),
    {0}};
TABLE(EventQuery, "which events");

static const struct http_schema_item Point_items[] = {
    ITEM(name, STRING, "of the metric", MUST),
    ITEM(value, NUMBER, "absent when it is not a finite number"),
    ITEM(step, INT, "-1: none", MUST),
    ITEM(attempt, INT, "of the job", MUST),
    ITEM(worker, INT, "who said it", MUST),
    ITEM(time, TIME, "when"),
    {0}};
TABLE(Point, "one value of a metric");

static const struct http_schema_item PointList_items[] = {
    ITEM(points, LIST, "in order of arrival", .of = &http_schema_Point, MUST),
    ITEM(next, INT, "give it as `after` for the next page; absent: no more for now"),
    {0}};
TABLE(PointList, "a page of values");

static const struct http_schema_item PointQuery_items[] = {
    ITEM(name, STRING, "of this metric"),
    ITEM(after, INT, "`next` of the page before", .min = 0, .max = INT64_MAX),
    LIMIT(10000),
    {0}};
TABLE(PointQuery, "which values");

static const struct http_schema_item Series_items[] = {
    ITEM(name, STRING, "of the metric", MUST),
    ITEM(worker, INT, "who said it", MUST),
    ITEM(total, INT, "how many values there are, of which these were chosen", MUST),
    ITEM(steps, ANY, "list of steps; -1: none", MUST),
    ITEM(times, ANY, "list of times, milliseconds since 1970", MUST),
    ITEM(values, ANY, "list of values", MUST),
    {0}};
TABLE(Series, "the curve of a metric");

static const struct http_schema_item SeriesList_items[] = {
    ITEM(series, LIST, "in order of first appearance", .of = &http_schema_Series, MUST),
    ITEM(more, BOOL, "there are more than two hundred; ask by name", MUST),
    {0}};
TABLE(SeriesList, "curves of a job or a training run");

static const struct http_schema_item SeriesQuery_items[] = {
    ITEM(name, STRING, "of this metric"),
    ITEM(points, INT, "at most so many values of each; default 1000", .min = 4,
         .max = 20000),
    {0}};
TABLE(SeriesQuery, "which curves");

static const struct http_schema_item Log_items[] = {
    ITEM(log, STRING, "worker's number, or prepare", MUST),
    ITEM(attempt, INT, "of the job", MUST),
    ITEM(bytes, INT, "size by now", MUST),
    {0}};
TABLE(Log, "a log file of a job");

static const struct http_schema_item LogList_items[] = {
    ITEM(logs, LIST, "by attempt", .of = &http_schema_Log, MUST), {0}};
TABLE(LogList, "the log files of a job");

static const struct http_schema_item LogQuery_items[] = {
    ITEM(attempt, INT,
         "of this attempt; absent: the latest, and when following all "
         "that come",
         .min = 1, .max = 1000000),
    ITEM(offset, INT, "first byte", .min = 0, .max = INT64_MAX),
    ITEM(limit, INT, "at most so many bytes", .min = 1, .max = 4 << 20),
    ITEM(tail, INT, "only the last lines; then offset is not looked at", .min = 0,
         .max = 100000),
    ITEM(since, INT,
         "from what was written then on, in milliseconds since 1970; then offset is not "
         "looked at",
         .min = 0, .max = INT64_MAX),
    ITEM(follow, BOOL, "as server-sent events, until the job has ended"),
    {0}};
TABLE(LogQuery, "which part of a log");

const struct http_schema_table http_schema_JobSpec = {
    .name = "JobSpec",
    .help = "a job file; see docs/jobs.md. Beside its fields: secret_values",
    .kind = SCHEMA_JOB_SPEC};
