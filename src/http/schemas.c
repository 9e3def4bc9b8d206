/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all schemas, from http/schemas.def, and the tables of people, datasets,
 * projects, the audit log and the server itself; jobs, schedules, notifications and
 * experiments have files of their own. Each table is an array of items that ends with an
 * empty one: name, shape, limits, and the sentence for the OpenAPI document. The same
 * table checks a body and describes it. Those at the end have no items: bodies that are
 * bytes, text or nothing.
 */
#include "http/role.h"
#include "http/schemas_private.h"
#include "store/users.h"

static const struct http_schema_table *const all[] = {
#define SCHEMA(n, file) &http_schema_##n,
#include "http/schemas.def"
#undef SCHEMA
};

const struct http_schema_table *const *http_schema_all(size_t *n)
{
    *n = ARRAY_LEN(all);
    return all;
}

const char *http_schema_name_check(struct str v)
{
    bool fine = v.n > 0 && v.n <= 128 && v.p[0] != '-' && v.p[0] != '.';
    for (size_t i = 0; i < v.n && fine; i++) {
        char c = v.p[i], low = (char)(c | 0x20);
        fine = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-' || c == '.';
    }
    return fine ? NULL : "names have letters, digits, '_', '.' and '-', at most 128";
}

const char *http_schema_membership_check(struct str v)
{
    return http_schema_name_check(store_user_project(v, NULL));
}

static const struct http_schema_item Problem_items[] = {
    ITEM(code, STRING, "`trainyard explain CODE` tells more"),
    ITEM(line, INT, "in the body"),
    ITEM(column, INT, "in the body"),
    ITEM(message, STRING, "what is wrong", MUST),
    ITEM(hint, STRING, "what may help"),
    {0}};
TABLE(Problem, "one of several things that are wrong with a request");

static const struct http_schema_item Error_items[] = {
    ITEM(code, STRING, "stable; `trainyard explain CODE` tells more", MUST),
    ITEM(title, STRING, "what kind of failure", MUST),
    ITEM(message, STRING, "what exactly", MUST),
    ITEM(problems, LIST, "all of them, where there are several",
         .of = &http_schema_Problem),
    {0}};
TABLE(Error, "a request that failed");

static const struct http_schema_item Health_items[] = {
    ITEM(status, STRING, "ok, or what is wrong", MUST),
    ITEM(version, STRING, "of the program"),
    ITEM(store, STRING, "kind of the record of jobs"),
    ITEM(queue, BOOL, "this server admits jobs"),
    {0}};
TABLE(Health, "whether the server works");

static const struct http_schema_item Me_items[] = {
    ITEM(name, STRING, "the user that the token speaks for", MUST),
    ITEM(role, STRING, "what the token may do", .words = ROLE_WORDS, MUST),
    ITEM(projects, STRINGS, "whose jobs are seen, too", MUST),
    ITEM(leads, STRINGS, "those of them that are administered", MUST),
    ITEM(token, STRING, "id of the token", MUST),
    ITEM(expires, TIME, "when the token expires; absent: never"),
    {0}};
TABLE(Me, "who asks");

static const struct http_schema_item Dataset_items[] = {
    ITEM(name, STRING, "unique", MUST),
    ITEM(id, STRING, "d- and twelve letters or digits", MUST),
    ITEM(type, STRING, "kind of storage", MUST),
    ITEM(path, STRING, "where the data lies", MUST),
    ITEM(mount, STRING, "where jobs see it", MUST),
    ITEM(owner, STRING, "user who made it", MUST),
    ITEM(writable, BOOL, "users' jobs may write there; else they only read", MUST),
    ITEM(created, TIME, "when"),
    {0}};
TABLE(Dataset, "data with a name and a place in jobs");

static const struct http_schema_item DatasetList_items[] = {
    ITEM(datasets, LIST, "by name", .of = &http_schema_Dataset, MUST), {0}};
TABLE(DatasetList, "all datasets");

static const struct http_schema_item DatasetNew_items[] = {
    ITEM(name, STRING, "unique", NAME, MUST),
    ITEM(type, STRING,
         "local and nas, directories of the server's machine, are for admins",
         .words = "local|nas|oss|s3|odps"),
    ITEM(path, STRING, "a directory, or a URI", .min = 1, .max = 4096, MUST),
    ITEM(mount, STRING, "where jobs see it; default /mnt/data", .min = 2, .max = 1024,
         .pattern = "^/"),
    ITEM(writable, BOOL,
         "users' jobs may write there, to a store with the server's keys; for admins"),
    {0}};
TABLE(DatasetNew, "a new dataset");

static const struct http_schema_item User_items[] = {
    ITEM(name, STRING, "unique", MUST),
    ITEM(role, STRING, "what they may do", .words = ROLE_WORDS, MUST),
    ITEM(projects, STRINGS,
         "whose jobs they see and control, too; NAME:admin: as an admin of the project",
         MUST),
    ITEM(disabled, BOOL, "their tokens are refused", MUST),
    ITEM(uid, INT, "that their jobs run under; absent: none was needed yet"),
    ITEM(created, TIME, "when"),
    {0}};
TABLE(User, "somebody who may ask");

static const struct http_schema_item UserList_items[] = {
    ITEM(users, LIST, "by name", .of = &http_schema_User, MUST), {0}};
TABLE(UserList, "all users");

static const struct http_schema_item UserNew_items[] = {
    ITEM(name, STRING, "unique", NAME, MUST),
    ITEM(role, STRING, "what they may do", .words = ROLE_WORDS, MUST),
    ITEM(projects, STRINGS,
         "whose jobs they see and control, too; NAME:admin: as an admin of the project",
         MEMBERSHIP),
    ITEM(inherit, BOOL, "give them what a former user of that name left"),
    {0}};
TABLE(UserNew, "a new user");

static const struct http_schema_item UserDeleteQuery_items[] = {
    ITEM(purge, BOOL,
         "with jobs, schedules, rules, models, uploads, experiments and names of "
         "datasets; also of a user who was deleted before"),
    {0}};
TABLE(UserDeleteQuery, "what goes with the user");

static const struct http_schema_item UserChange_items[] = {
    ITEM(role, STRING, "what they may do", .words = ROLE_WORDS),
    ITEM(projects, STRINGS, "all of them, old ones included", MEMBERSHIP),
    ITEM(disabled, BOOL, "refuse their tokens, and let no job of theirs start"),
    ITEM(stop_jobs, BOOL, "true: their jobs that have not ended are stopped"),
    ITEM(oidc, BOOL,
         "true: the next login through the OpenID provider under this name is theirs; "
         "false: none is"),
    {0}};
TABLE(UserChange, "what is to be different; what is absent stays");

static const struct http_schema_item Token_items[] = {
    ITEM(id, STRING, "not the token itself, which is told once", MUST),
    ITEM(owner, STRING, "user that it speaks for", MUST),
    ITEM(role, STRING, "what it can do: never more than its user",
         .words = "none|" ROLE_WORDS, MUST),
    ITEM(note, STRING, "its name, for people", MUST),
    ITEM(created, TIME, "when"),
    ITEM(expires, TIME, "absent: never"),
    ITEM(used, TIME, "last time, to the minute; absent: never"),
    {0}};
TABLE(Token, "a token, without its secret");

static const struct http_schema_item TokenList_items[] = {
    ITEM(tokens, LIST, "by age", .of = &http_schema_Token, MUST), {0}};
TABLE(TokenList, "tokens of a user, or of all");

static const struct http_schema_item TokenNew_items[] = {
    ITEM(role, STRING, "at most this; absent: the user's", .words = ROLE_WORDS),
    ITEM(note, STRING, "for people", .min = 0, .max = 200),
    ITEM(expires_s, INT, "seconds from now; absent: never", .min = 1,
         .max = INT64_C(3155760000)),
    {0}};
TABLE(TokenNew, "a new token");

static const struct http_schema_item TokenMade_items[] = {
    ITEM(id, STRING, "for lists and deletion", MUST),
    ITEM(token, STRING, "the secret; it is not kept and never told again", MUST),
    ITEM(owner, STRING, "user that it speaks for", MUST),
    ITEM(role, STRING, "it can do no more than this", .words = ROLE_WORDS, MUST),
    ITEM(expires, TIME, "absent: never"),
    {0}};
TABLE(TokenMade, "a token, told once");

static const struct http_schema_item Audit_items[] = {
    ITEM(cursor, INT, "place in the log", MUST),
    ITEM(time, TIME, "when"),
    ITEM(who, STRING, "user; empty: unknown", MUST),
    ITEM(action, STRING, "operation", MUST),
    ITEM(object, STRING, "on what", MUST),
    ITEM(outcome, STRING, "HTTP status", MUST),
    ITEM(address, STRING, "from where", MUST),
    {0}};
TABLE(Audit, "something that somebody did, or was refused");

static const struct http_schema_item AuditList_items[] = {
    ITEM(entries, LIST, "latest first", .of = &http_schema_Audit, MUST),
    ITEM(next, INT, "give it as `cursor` for the next page; absent: no more"),
    {0}};
TABLE(AuditList, "a page of the audit log");

static const struct http_schema_item AuditQuery_items[] = {
    ITEM(who, STRING, "of this user"),
    ITEM(action, STRING, "of this operation"),
    ITEM(since, TIME, "then or later"),
    ITEM(cursor, INT, "`next` of the page before", .min = 0, .max = INT64_MAX),
    LIMIT(1000),
    {0}};
TABLE(AuditQuery, "which entries");

static const struct http_schema_item Usage_items[] = {
    ITEM(name, STRING, "user or project; empty: none", MUST),
    ITEM(jobs, INT, "that ran in that time", MUST),
    ITEM(running, INT, "of them still running", MUST),
    ITEM(cpu_s, NUMBER, "seconds of a processor", MUST),
    ITEM(gpu_s, INT, "seconds of a GPU", MUST),
    ITEM(memory_mib_s, INT, "seconds of a MiB of memory", MUST),
    {0}};
TABLE(Usage, "what somebody's jobs held");

static const struct http_schema_item UsageList_items[] = {
    ITEM(usage, LIST, "largest use of processors first", .of = &http_schema_Usage, MUST),
    ITEM(since, TIME, "from"),
    ITEM(until, TIME, "to"),
    {0}};
TABLE(UsageList, "who used what");

static const struct http_schema_item UsageQuery_items[] = {
    ITEM(by, STRING, "default owner", .words = "owner|project"),
    ITEM(since, TIME, "default: 30 days ago"),
    ITEM(until, TIME, "default: now"),
    {0}};
TABLE(UsageQuery, "which use");

static const struct http_schema_item Project_items[] = {
    ITEM(name, STRING, "unique", MUST), QUOTA_HELD, {0}};
TABLE(Project, "what people share");

static const struct http_schema_item ProjectList_items[] = {
    ITEM(projects, LIST, "by name", .of = &http_schema_Project, MUST), {0}};
TABLE(ProjectList, "all projects");

#define ANY_LIMIT .min = -1, .max = INT64_C(1) << 60
static const struct http_schema_item ProjectPut_items[] = {
    QUOTA_LIMITS(ANY_LIMIT),
    ITEM(weight, INT, "of the fair share; default 100", .min = 1, .max = 100000),
    {0}};
TABLE(ProjectPut, "quotas of a project; what is absent has no limit");

#define SNAPSHOT_FILE(key, text)                                                           \
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"" key             \
    "\",\"path\"],\"properties\":{\"" key "\":{\"type\":\"string\"," text                  \
    "},\"path\":{\"type\":\"string\",\"description\":\"relative, without empty, . and .. " \
    "parts; not below a link of the list\"}}}"
#define SNAPSHOT_OBJECT                               \
    "\"pattern\":\"^[0-9a-f]{64}$\",\"description\":" \
    "\"SHA-256 of the file, which is uploaded to /api/v1/objects\""
/* Bytes, not a JSON body: their hash is the name. */
const struct http_schema_table http_schema_SnapshotFiles = {
    .name = "SnapshotFiles",
    .help = "the files of a source directory",
    .kind = SCHEMA_BYTES,
    .json =
        "{\"type\":\"array\",\"description\":\"JSON text of at most 64 MiB, whose SHA-256 is "
        "the snapshot's id: one entry per file, executable file or symbolic link, in "
        "the order of paths\",\"items\":{\"oneOf\":[" SNAPSHOT_FILE("file", SNAPSHOT_OBJECT) "," SNAPSHOT_FILE(
            "exec",
            SNAPSHOT_OBJECT) "," SNAPSHOT_FILE("link",
                                               "\"description\":\"target of the link\"") "]}}"};

const struct http_schema_table http_schema_Bytes = {
    .name = "Bytes", .help = "bytes as they are", .kind = SCHEMA_BYTES};
const struct http_schema_table http_schema_Text = {
    .name = "Text", .help = "a text", .kind = SCHEMA_TEXT};
const struct http_schema_table http_schema_LogText = {
    .name = "LogText", .help = "a log, or its events", .kind = SCHEMA_STREAM};
const struct http_schema_table http_schema_Nothing = {
    .name = "Nothing", .help = "nothing", .kind = SCHEMA_NOTHING};
const struct http_schema_table http_schema_Document = {
    .name = "Document", .help = "a JSON document", .kind = SCHEMA_DOCUMENT};
const struct http_schema_table http_schema_Page = {
    .name = "Page",
    .help = "a page for browsers",
    .kind = SCHEMA_PAGE,
    .json = "{\"text/html\":{\"schema\":{\"type\":\"string\"}}}"};
const struct http_schema_table http_schema_Asset = {
    .name = "Asset",
    .help = "what a page needs",
    .kind = SCHEMA_PAGE,
    .json = "{\"text/javascript\":{\"schema\":{\"type\":\"string\"}},"
            "\"text/css\":{\"schema\":{\"type\":\"string\"}}}"};
