/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of answers about training runs, the stream of changes, and where jobs run. */
#include "http/schemas_private.h"

static const struct http_schema_item TrainingLine_items[] = {
    ITEM(id, STRING, "made from where it is", MUST),
    ITEM(name, STRING, "its directory, below that which the server shows", MUST),
    ITEM(root, STRING, "the directory that the server shows", MUST),
    ITEM(model, STRING, "empty: it does not say", MUST),
    ITEM(state, STRING,
         "Running, Succeeded, Failed, Stopped, Interrupted; empty: not known", MUST),
    ITEM(changed, TIME, "when it last wrote something"),
    {0}};
TABLE(TrainingLine, "a training run");

static const struct http_schema_item TrainingList_items[] = {
    ITEM(runs, LIST, "newest first", .of = &http_schema_TrainingLine, MUST),
    ITEM(more, BOOL, "there were too many to look at all of them", MUST),
    ITEM(shown, BOOL, "the server was told of directories", MUST),
    {0}};
TABLE(TrainingList, "training runs");

static const struct http_schema_item Checkpoint_items[] = {
    ITEM(step, INT, "after which it was made", MUST),
    ITEM(bytes, INT, "of its files", MUST),
    ITEM(files, INT, "how many", MUST),
    ITEM(changed, TIME, "when it was written"),
    {0}};
TABLE(Checkpoint, "a checkpoint of a run");

static const struct http_schema_item Training_items[] = {
    ITEM(id, STRING, "of the run, or of its job", MUST),
    ITEM(name, STRING, "its directory", MUST),
    ITEM(state, STRING,
         "Running, Succeeded, Failed, Stopped, Interrupted; empty: not known", MUST),
    ITEM(changed, TIME, "when it last wrote something"),
    ITEM(bytes, INT, "of its files", MUST),
    ITEM(files, INT, "how many", MUST),
    ITEM(more, BOOL, "there are more files than were looked at", MUST),
    ITEM(checkpoints, LIST, "by step", .of = &http_schema_Checkpoint, MUST),
    ITEM(evaluations, ANY,
         "list of objects: results by the names of metrics, and global_step", MUST),
    ITEM(
        importance, ANY,
        "list of {group, features: [{name, drop}]}, once `trainyard features select` has run",
        MUST),
    ITEM(config, STRING, "pipeline.config"),
    ITEM(about, OBJECT,
         "run.json: memory, tables, features, graph; see docs/training.md"),
    ITEM(end, OBJECT, "run_end.json: how it ended"),
    {0}};
TABLE(Training, "a training run with what its files say");

static const struct http_schema_item ChangesQuery_items[] = {
    ITEM(follow, BOOL, "go on for five minutes; default: one event"), {0}};
TABLE(ChangesQuery, "how long");

const struct http_schema_table http_schema_Changes = {
    .name = "Changes",
    .help =
        "events named changed: {\"jobs\", \"records\", \"experiments\", \"runs\"}, each a "
        "text that is another one when that list has changed",
    .kind = SCHEMA_PAGE,
    .json = "{\"text/event-stream\":" HTTP_SCHEMA_EVENT "}"};

#define CAPACITY                                              \
    ITEM(cpu_milli, INT, "thousandths of a processor", MUST), \
        ITEM(memory, INT, "bytes", MUST), ITEM(gpu, INT, "GPUs", MUST)

static const struct http_schema_item Capacity_items[] = {CAPACITY, {0}};
TABLE(Capacity, "what a machine gives to jobs");

static const struct http_schema_item ClusterUse_items[] = {
    ITEM(machine, STRING,
         "that runs them; for admins and auditors also the directory of its server",
         MUST),
    ITEM(backend, STRING, "local, container, slurm, kubernetes, mpi", MUST),
    ITEM(waiting, INT, "jobs that have no place yet", MUST),
    ITEM(running, INT, "jobs that have one", MUST),
    ITEM(workers, INT, "of those", MUST),
    CAPACITY,
    {0}};
TABLE(ClusterUse, "jobs of one machine in one backend, and what they were given");

static const struct http_schema_item ClusterNode_items[] = {
    ITEM(backend, STRING, "slurm, kubernetes, mpi", MUST),
    ITEM(node, STRING, "as the cluster calls it", MUST),
    ITEM(workers, INT, "that run there", MUST),
    ITEM(jobs, STRINGS, "ids of their jobs", MUST),
    {0}};
TABLE(ClusterNode, "a node of a cluster on which workers run");

static const struct http_schema_item Clusters_items[] = {
    ITEM(here, STRING, "this machine, likewise", MUST),
    ITEM(capacity, ONE, "of this machine; absent: nothing admits jobs here",
         .of = &http_schema_Capacity),
    ITEM(taken, ONE, "of that by jobs, those of others too", .of = &http_schema_Capacity),
    ITEM(use, LIST, "of jobs that have not ended", .of = &http_schema_ClusterUse, MUST),
    ITEM(nodes, LIST, "by backend and name", .of = &http_schema_ClusterNode, MUST),
    ITEM(more, BOOL, "there are more jobs than were looked at", MUST),
    {0}};
TABLE(Clusters, "where jobs run");
