/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of requests and answers about data: datasets, uploads, outputs, models, room on the disk
 * and what is kept how long. One table per shape, a row per member; the same tables check requests
 * and print the OpenAPI document (schema.h).
 */
#include "http/schemas_private.h"

static const struct http_schema_item Snapshot_items[] = {
    ITEM(id, STRING,
         "use it as \"source\": \"snapshot:ID\", or as an input: \"snapshot:ID\", "
         "\"snapshot:ID/FILE\" for one file",
         MUST),
    ITEM(files, INT, "in it", MUST),
    ITEM(bytes, INT, "of those that are here", MUST),
    ITEM(missing_count, INT, "objects that are still to be sent", MUST),
    ITEM(missing, STRINGS, "the first 20000 of them", MUST),
    {0}};
TABLE(Snapshot,
      "a copy of a directory. The list that is sent is a JSON array; its entries are "
      "{\"file\": SHA256, \"path\": P}, {\"exec\": SHA256, \"path\": P} (executable), "
      "{\"parts\": [SHA256, ...], \"path\": P} and exec_parts (a large file, cut into "
      "objects of 16 MiB), {\"link\": TARGET, \"path\": P}. Paths are relative");

static const struct http_schema_item Output_items[] = {
    ITEM(channel, STRING, "output channel", MUST),
    ITEM(path, STRING, "below the channel; bytes that are not UTF-8 are U+FFFD in it",
         MUST),
    ITEM(
        path_hex, STRING,
        "the bytes of the path in hexadecimal; only where it holds control characters or "
        "is not UTF-8"),
    ITEM(bytes, INT, "its size", MUST),
    ITEM(changed, TIME, "when it was last written; absent: not known"),
    ITEM(sha256, STRING, "absent until the job has succeeded"),
    ITEM(where, STRING, "where it was sent; absent: on this server"),
    {0}};
TABLE(Output, "a file that a job has written");

static const struct http_schema_item OutputList_items[] = {
    ITEM(outputs, LIST, "by channel and path", .of = &http_schema_Output, MUST), {0}};
TABLE(OutputList, "what a job has written so far");

static const struct http_schema_item OutputQuery_items[] = {
    ITEM(channel, STRING, "of this channel"), {0}};
TABLE(OutputQuery, "which outputs");

static const struct http_schema_item OutputName_items[] = {
    ITEM(path, STRING, "of the file, below the channel", .min = 1, .max = 4000),
    ITEM(path_hex, STRING, "the same as hexadecimal digits, for names that are no text",
         .pattern = "^(0[1-9a-f]|[1-9a-f][0-9a-f])+$", .min = 2, .max = 8000),
    {0}};
TABLE(OutputName, "which file: path, or path_hex, which counts where both are given");

static const struct http_schema_item OutputPath_items[] = {
    ITEM(path, STRING, "of the file, below the channel", .min = 1, .max = 4000, MUST),
    {0}};
TABLE(OutputPath, "which file");

static const struct http_schema_item StorageUse_items[] = {
    ITEM(name, STRING, "user or project; empty: none", MUST),
    ITEM(jobs, INT, "whose files are on this server", MUST),
    ITEM(job_bytes, INT, "of their directories", MUST),
    ITEM(models, INT, "versions of models", MUST),
    ITEM(stored_bytes, INT, "uploads and models; of users alone", MUST),
    ITEM(experiments, INT, "whose folders are on this server", MUST),
    ITEM(experiment_bytes, INT, "of their folders", MUST),
    {0}};
TABLE(StorageUse, "what somebody takes of the disk");

static const struct http_schema_item Storage_items[] = {
    ITEM(total, INT, "bytes of the disk", MUST),
    ITEM(free, INT, "bytes that can still be written", MUST),
    ITEM(min_free, INT, "below this no job starts and nothing is taken", MUST),
    ITEM(admits, BOOL, "jobs can start", MUST),
    ITEM(here_bytes, INT, "contents of jobs that were submitted on the machine itself",
         MUST),
    ITEM(use, LIST, "largest first", .of = &http_schema_StorageUse, MUST),
    {0}};
TABLE(Storage, "the disk of a server");

static const struct http_schema_item StorageQuery_items[] = {
    ITEM(by, STRING, "default owner", .words = "owner|project"), {0}};
TABLE(StorageQuery, "which view");

static const struct http_schema_item CollectRequest_items[] = {
    ITEM(dry_run, BOOL, "only count"),
    ITEM(older_than_s, INT, "leave alone what was sent or used since; default a day",
         .min = 0, .max = INT64_C(3155760000)),
    {0}};
TABLE(CollectRequest, "how to collect");

static const struct http_schema_item CollectAnswer_items[] = {
    ITEM(jobs, INT, "deleted by policy", MUST),
    ITEM(job_bytes, INT, "of them", MUST),
    ITEM(objects, INT, "contents removed", MUST),
    ITEM(object_bytes, INT, "of them", MUST),
    ITEM(orphans, INT, "directories without a job", MUST),
    ITEM(experiments, INT, "experiments that policies no longer keep", MUST),
    ITEM(experiment_bytes, INT, "and their size", MUST),
    {0}};
TABLE(CollectAnswer, "what was removed");

#define KEPT(how)                                                                      \
    ITEM(age_s, INT, "seconds since the end; -1: no limit", how),                      \
        ITEM(jobs, INT, "the latest so many jobs, or experiments, stay; -1: no limit", \
             how),                                                                     \
        ITEM(bytes, INT, "the latest that take no more together stay; -1: no limit",   \
             how)
static const struct http_schema_item Retention_items[] = {
    ITEM(name, STRING,
         "user:NAME, project:NAME, or default: users without their own; with "
         "experiments: before it, of experiments",
         MUST),
    KEPT(MUST),
    {0}};
TABLE(Retention, "how long jobs, or experiments, that have ended are kept");

static const struct http_schema_item RetentionList_items[] = {
    ITEM(policies, LIST, "by name", .of = &http_schema_Retention, MUST), {0}};
TABLE(RetentionList, "all policies");

#define ANY_KEPT .min = -1, .max = INT64_C(1) << 60
static const struct http_schema_item RetentionPut_items[] = {KEPT(ANY_KEPT), {0}};
TABLE(RetentionPut, "a policy; what is absent has no limit");

static const struct http_schema_item Model_items[] = {
    ITEM(name, STRING, "unique on the server", MUST),
    ITEM(version, INT, "1, 2, 3 ...; never given twice", MUST),
    ITEM(owner, STRING, "user who registered it", MUST),
    ITEM(project, STRING, "whose members see it; empty: none", MUST),
    ITEM(job, STRING, "where it came from", MUST),
    ITEM(channel, STRING, "output channel of that job", MUST),
    ITEM(snapshot, STRING, "of its files", MUST),
    ITEM(files, INT, "number of them", MUST),
    ITEM(bytes, INT, "of them", MUST),
    ITEM(note, STRING, "for people", MUST),
    ITEM(created, TIME, "when it was registered", MUST),
    ITEM(
        lineage, OBJECT,
        "command, image, source, data, hp, inputs (name, from, model) and metrics of the "
        "job; of one version alone"),
    ITEM(outputs, LIST, "its files; of one version alone", .of = &http_schema_Output),
    {0}};
TABLE(Model, "a version of a model: outputs of a job under a name");

static const struct http_schema_item ModelList_items[] = {
    ITEM(models, LIST, "by name, latest version first", .of = &http_schema_Model, MUST),
    {0}};
TABLE(ModelList, "versions of models");

static const struct http_schema_item ModelNew_items[] = {
    ITEM(name, STRING, "a new one, or one of yours", NAME, MUST),
    ITEM(job, STRING, "a job that has ended", .pattern = "^jb-[a-z0-9]{12}$", .min = 15,
         .max = 15, MUST),
    ITEM(channel, STRING, "output channel; default model", .min = 1, .max = 128),
    ITEM(note, STRING, "for people", .min = 0, .max = 1000),
    {0}};
TABLE(ModelNew, "a new version of a model");

static const struct http_schema_item Serving_items[] = {
    ITEM(name, STRING, "as --serving calls it", MUST),
    ITEM(url, STRING, "where it answers", MUST),
    {0}};
TABLE(Serving, "a model server");

static const struct http_schema_item ServingList_items[] = {
    ITEM(serving, LIST, "in the order of the flags", .of = &http_schema_Serving, MUST),
    {0}};
TABLE(ServingList, "model servers that this server was told of");
