/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what goes in and out: snapshots, outputs. */
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
    ITEM(path, STRING, "below the channel", MUST),
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

static const struct http_schema_item OutputPath_items[] = {
    ITEM(path, STRING, "of the file, below the channel", .min = 1, .max = 4000, MUST),
    {0}};
TABLE(OutputPath, "which file");
