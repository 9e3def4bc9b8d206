/* SPDX-License-Identifier: Apache-2.0 */
/* index create: vectors of a table as an index that faiss opens, and the ids that belong to
 * its numbers. Both files are guarded before the table is read, and written last.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/index_types.h"
#include "io/guard.h"
#include "io/out.h"
#include "recall/faiss.h"
#include "recall/items.h"

#define ROWS 8192 /* at a time */
#define INDEX_FILE "faiss_index"
#define IDS_FILE "id_mapping"
#define IDS_MAX ((size_t)1 << 40)

struct index_conf {
    struct data_input in;
    const char *output_dir, *index_type, *id, *embedding;
    int64_t lists, links, ef_construction, threads, seed;
    bool json, overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct index_conf, output_dir, NULL,
              "write the files " INDEX_FILE " and " IDS_FILE " into this directory "
              "(required)"),
     .meta = "DIR", .alias = "index-output-dir"},
    {OPT_TEXT(struct index_conf, index_type, "IVFFlatIP", CMD_INDEX_TYPES),
     .meta = "TYPE"},
    {OPT_TEXT(struct index_conf, id, "item_id", "column of ids"), .meta = "COLUMN",
     .alias = "id-field"},
    {OPT_TEXT(struct index_conf, embedding, "item_tower_emb", "column of vectors"),
     .meta = "COLUMN", .alias = "embedding-field"},
    {OPT_INT(struct index_conf, lists, "1000", 1, KMEANS_CENTRES_MAX,
             "IVF: number of lists"),
     .alias = "ivf-nlist"},
    {OPT_INT(struct index_conf, links, "32", 2, 512, "HNSW: neighbours of a vector (M)"),
     .alias = "hnsw-M"},
    {OPT_INT(struct index_conf, ef_construction, "200", 1, 1000000,
             "HNSW: candidates for neighbours while the graph is built")},
    {OPT_INT(struct index_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU; HNSW uses one")},
    {OPT_INT(struct index_conf, seed, "1", 0, INT64_MAX,
             "random seed of lists and levels")},
    {OPT_BOOL(struct index_conf, json, "false", "print one JSON object")},
    DATA_OVERWRITE_OPT(struct index_conf),
    DATA_INPUT_OPTS(struct index_conf),
    {0},
};

static enum rc check_outputs(const struct index_conf *c, const char *path,
                             struct err *err)
{
    const char *names[] = {INDEX_FILE, IDS_FILE, NULL};
    struct fs_names files = {0};
    data_input_files(&path, 1, &files);
    enum rc rc = io_guard_files(c->output_dir, names, &files, c->overwrite, err);
    fs_names_release(&files);
    return rc;
}

static enum rc read_vectors(const struct index_conf *c, const char *path,
                            struct recall_items *out, struct err *err)
{
    struct recall_items_conf conf = {
        .what = "table of vectors", .id = c->id, .vector = c->embedding};
    struct dataset *d = NULL;
    enum rc rc = data_input_open(&c->in, &path, 1, ROWS, NULL, 0, &d, err);
    if (!rc)
        rc = recall_items_read(d, &conf, out, err);
    if (!rc)
        data_input_report(d);
    dataset_close(d);
    return rc;
}

/* A line per vector; an id with a line end in it would shift all that follow. */
static enum rc write_ids(const struct index_conf *c, const struct recall_items *items,
                         struct err *err)
{
    struct buf text;
    buf_init(&text, IDS_MAX);
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < items->n && !rc; i++) {
        size_t from = text.n;
        recall_value_print(recall_items_ids(items), i, &text);
        if (text.n > from && memchr(text.p + from, '\n', text.n - from))
            rc = err_coded(err, RC_INVAL, E2402,
                           "table of vectors: row %jd: the id has several lines",
                           (intmax_t)i + 1);
        buf_putc(&text, '\n');
    }
    char *path = fs_join(c->output_dir, IDS_FILE);
    if (!rc)
        rc = buf_check(&text, err);
    if (!rc)
        rc = io_write(path, buf_str(&text), text.n, err);
    mem_free(path);
    buf_release(&text);
    return rc;
}

static enum rc write_files(const struct index_conf *c, const struct recall_items *items,
                           const struct recall_index *x, struct err *err)
{
    char *path = fs_join(c->output_dir, INDEX_FILE);
    enum rc rc = io_make_dirs(c->output_dir, err);
    if (!rc)
        rc = recall_faiss_write(x, path, err);
    if (!rc)
        rc = write_ids(c, items, err);
    mem_free(path);
    return rc;
}

static enum rc build_index(const struct index_conf *c, const struct cmd_index_type *type,
                           const struct recall_items *items, struct recall_index **out,
                           struct err *err)
{
    struct pool *pool = NULL;
    struct recall_index_conf conf = {.metric = type->metric,
                                     .lists = type->lists ? c->lists : 0,
                                     .links = type->graph ? c->links : 0,
                                     .ef_construction = c->ef_construction,
                                     .seed = (uint64_t)c->seed};
    if (!items->n)
        return err_coded(err, RC_INVAL, E2402, "table of vectors: it has no rows");
    if (conf.lists > items->n)
        conf.lists = items->n;
    enum rc rc = pool_create(c->threads > 0 ? (int)c->threads : cpu_count(), &pool, err);
    conf.pool = pool;
    if (!rc)
        rc = recall_index_create(items->vectors, items->n, items->width, &conf, out, err);
    pool_destroy(pool);
    return rc;
}

static void index_report(const struct index_conf *c, const struct recall_items *items,
                         double seconds)
{
    if (c->json)
        printf("{\"index_type\": \"%s\", \"vectors\": %jd, \"width\": %jd, \"seconds\": "
               "%.3f}\n",
               c->index_type, (intmax_t)items->n, (intmax_t)items->width, seconds);
    else
        printf("%s of %jd vectors of %jd numbers in %.3f s, written to %s\n",
               c->index_type, (intmax_t)items->n, (intmax_t)items->width, seconds,
               c->output_dir);
}

static enum rc index_create_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    const struct index_conf *c = conf;
    const struct cmd_index_type *type = NULL;
    struct recall_items items = {0};
    struct recall_index *x = NULL;
    if (!c->output_dir || !c->output_dir[0])
        return err_coded(err, RC_INVAL, E0605, "--output-dir DIR is missing");
    enum rc rc = cmd_index_find(c->index_type, &type, err);
    if (!rc)
        rc = check_outputs(c, args->at[0], err);
    if (!rc)
        rc = read_vectors(c, args->at[0], &items, err);
    int64_t start = clock_mono_ns();
    if (!rc)
        rc = build_index(c, type, &items, &x, err);
    double seconds = (double)(clock_mono_ns() - start) / (double)CLOCK_SECOND;
    if (!rc)
        rc = write_files(c, &items, x, err);
    if (!rc)
        index_report(c, &items, seconds);
    recall_index_destroy(x);
    recall_items_release(&items);
    return rc;
}

static const struct cmd_example examples[] = {
    {"an inverted file over the item vectors that predict wrote",
     "trainyard index create item_emb --output-dir index --lists 1000"},
    {"a graph for search by distance",
     "trainyard index create item_emb --output-dir index --index-type HNSWFlatL2"},
    {0},
};

const struct cmd cmd_index_create = {
    .name = "index create",
    .args = "TABLE",
    .summary = "create a vector index that faiss can read",
    .description =
        "Writes " INDEX_FILE ", for faiss.read_index(), and " IDS_FILE
        ", which lists the id of each vector in the order of their numbers. `trainyard "
        "hitrate` measures the hit rate of such an index.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct index_conf),
    .min_args = 1,
    .max_args = 1,
    .run = index_create_command,
};
