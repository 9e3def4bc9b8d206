/* SPDX-License-Identifier: Apache-2.0 */
/* hitrate: how many of the items that users met are among their nearest ones. Options and
 * outputs are checked before the tables are read, since reading takes long; then both
 * tables are loaded whole, an index is built over the items and searched for batches of
 * users (recall/hitrate.c). struct hit_run holds what the steps hand on. Timings go to
 * stderr, so that stdout is the result alone.
 *
 * Several ranks have the same tables and index, and a stretch of the users each; their
 * shares are added in the order of users, so that the result is that of one.
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
#include "cmd/predict.h"
#include "cmd/ranks.h"
#include "comm/comm.h"
#include "io/guard.h"
#include "recall/hitrate.h"

#define ROWS 8192 /* at a time */

struct hit_conf {
    struct data_input in;
    const char *users, *items, *index_type, *item_id, *item_embedding, *user_id, *truth,
        *user_embedding, *interests_field, *total, *details, *writer_type;
    int64_t top_k, lists, probes, links, ef_construction, ef_search, interests,
        batch_size, threads, seed;
    bool across, json, overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct hit_conf, users, NULL, "user table: id, vector, ground-truth items"),
     .meta = "PATH", .alias = "user-gt-input"},
    {OPT_TEXT(struct hit_conf, items, NULL, "item table: id, vector"), .meta = "PATH",
     .alias = "item-embedding-input"},
    {OPT_INT(struct hit_conf, top_k, "200", 1, 1000000,
             "number of nearest items to consider")},
    {OPT_TEXT(struct hit_conf, index_type, "FlatIP", CMD_INDEX_TYPES), .meta = "TYPE"},
    {OPT_INT(struct hit_conf, lists, "1000", 1, KMEANS_CENTRES_MAX,
             "number of IVF lists"),
     .alias = "ivf-nlist"},
    {OPT_INT(struct hit_conf, probes, "800", 1, KMEANS_CENTRES_MAX,
             "IVF lists to search per query"),
     .alias = "ivf-nprobe"},
    {OPT_INT(struct hit_conf, links, "32", 2, 512, "HNSW: neighbours of a vector (M)"),
     .alias = "hnsw-M"},
    {OPT_INT(struct hit_conf, ef_construction, "200", 1, 1000000,
             "HNSW: candidates for neighbours while the graph is built")},
    {OPT_INT(struct hit_conf, ef_search, "64", 1, 1000000,
             "HNSW: candidates kept during a search, at least --top-k")},
    {OPT_TEXT(struct hit_conf, item_id, "item_id",
              "column of item ids in the item table"),
     .meta = "COLUMN", .alias = "item-id-field"},
    {OPT_TEXT(struct hit_conf, item_embedding, "item_tower_emb",
              "column of vectors in the item table"),
     .meta = "COLUMN", .alias = "item-embedding-field"},
    {OPT_TEXT(struct hit_conf, user_id, "request_id",
              "column of user or request ids in the user table"),
     .meta = "COLUMN", .alias = "request-id-field"},
    {OPT_TEXT(struct hit_conf, truth, "gt_items",
              "ground-truth column of the user table: a list or comma-separated string "
              "of item ids"),
     .meta = "COLUMN", .alias = "gt-items-field"},
    {OPT_TEXT(struct hit_conf, user_embedding, "user_tower_emb",
              "column of vectors in the user table"),
     .meta = "COLUMN", .alias = "user-embedding-field"},
    {OPT_INT(struct hit_conf, interests, "1", 1, 4096, "vectors per user"),
     .alias = "num-interests"},
    {OPT_TEXT(struct hit_conf, interests_field, NULL,
              "column with the number of vectors of each user"),
     .meta = "COLUMN", .alias = "num-interests-field"},
    {OPT_BOOL(struct hit_conf, across, "false",
              "take the top k over all vectors of a user, not per vector"),
     .alias = "topk-across-interests"},
    {OPT_TEXT(struct hit_conf, total, NULL, "file or directory to write the totals to"),
     .meta = "PATH", .alias = "total-hitrate-output"},
    {OPT_TEXT(struct hit_conf, details, NULL,
              "file or directory to write results per user to"),
     .meta = "PATH", .alias = "hitrate-details-output"},
    {OPT_TEXT(struct hit_conf, writer_type, NULL, "parquet or jsonl (ParquetWriter)"),
     .meta = "TYPE"},
    {OPT_INT(struct hit_conf, batch_size, "1024", 1, 1 << 20, "users per batch")},
    {OPT_INT(struct hit_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU")},
    {OPT_INT(struct hit_conf, seed, "1", 0, INT64_MAX, "random seed of the IVF lists")},
    {OPT_BOOL(struct hit_conf, json, "false", "print one JSON object")},
    DATA_OVERWRITE_OPT(struct hit_conf),
    DATA_INPUT_OPTS(struct hit_conf),
    {0},
};

/* What a command is told, and what it works with. */
struct hit_run {
    const struct hit_conf *c;
    const struct cmd_index_type *type;
    const struct writer_ops *format;
    struct pool *pool;
    struct recall_items items, users;
    struct recall_index *index;
    int64_t build_ns, search_ns;
    const struct cmd_ranks *ranks;
};

static enum rc check_usage(const struct hit_conf *c, struct hit_run *r, struct err *err)
{
    if (!c->users || !c->items)
        return err_coded(err, RC_INVAL, E0605, "--%s PATH is missing",
                         c->users ? "items" : "users");
    enum rc rc = cmd_index_find(c->index_type, &r->type, err);
    return rc ? rc : predict_writer(c->writer_type, &r->format, err);
}

static enum rc read_table(const struct hit_run *r, const char *path,
                          const struct recall_items_conf *conf, struct recall_items *out,
                          struct err *err)
{
    struct dataset *d = NULL;
    enum rc rc = data_input_open(&r->c->in, &path, 1, ROWS, NULL, 0, &d, err);
    if (!rc)
        rc = recall_items_read(d, conf, out, err);
    if (!rc)
        data_input_report(d);
    dataset_close(d);
    return rc;
}

static enum rc read_tables(struct hit_run *r, struct err *err)
{
    const struct hit_conf *c = r->c;
    struct recall_items_conf items = {.what = "item table",
                                      .id = c->item_id,
                                      .vector = c->item_embedding,
                                      .unique = true};
    struct recall_items_conf users = {.what = "user table",
                                      .id = c->user_id,
                                      .vector = c->user_embedding,
                                      .list = c->truth,
                                      .attrs = &c->interests_field,
                                      .n_attrs = c->interests_field ? 1 : 0,
                                      .vectors = c->interests};
    enum rc rc = read_table(r, c->items, &items, &r->items, err);
    if (!rc)
        rc = read_table(r, c->users, &users, &r->users, err);
    return rc;
}

/* A directory gets part-0 of the format, or that of the rank; its suffix tells a file's. */
static enum rc output_path(const struct hit_run *r, const char *path, char **out,
                           const struct writer_ops **format, struct err *err)
{
    *format = writer_of_path(path);
    *out = mem_strdup(path);
    if (*format)
        return RC_OK;
    *format = r->format ? r->format : &writer_parquet;
    if (io_is_direct(path))
        return RC_OK;
    mem_free(*out);
    *out = mem_printf("%s/part-%d.%s", path, r->ranks->rank, (*format)->name);
    return fs_mkdirs(path, 0755, err);
}

/* Both outputs may be written; asked before the tables are read. */
static enum rc check_outputs(const struct hit_run *r, struct err *err)
{
    const char *const in[] = {r->c->users, r->c->items};
    const char *const outs[] = {r->c->total, r->c->details};
    const struct writer_ops *format;
    struct fs_names files = {0};
    enum rc rc = RC_OK;
    data_input_files(in, ARRAY_LEN(in), &files);
    for (size_t i = 0; i < ARRAY_LEN(outs) && !rc; i++) {
        char *path = NULL;
        if (!outs[i] || (outs[i] == r->c->total && r->ranks->rank > 0))
            continue;
        rc = output_path(r, outs[i], &path, &format, err);
        if (!rc)
            rc = io_guard_file(path, &files, r->c->overwrite, err);
        mem_free(path);
    }
    fs_names_release(&files);
    return rc;
}

static enum rc write_total(const struct hit_run *r, double rate, struct err *err)
{
    struct data_schema schema = {0};
    struct type f64 = type_of(TYPE_F64, false);
    const struct writer_ops *format = NULL;
    struct writer *w = NULL;
    struct batch b;
    char *path = NULL;
    data_schema_add(&schema, str_c("hitrate"), &f64);
    batch_init(&b, &schema);
    enum rc rc = output_path(r, r->c->total, &path, &format, err);
    if (!rc)
        rc = column_add_f64(&b.cols[0], rate, err);
    b.n = 1;
    if (!rc)
        rc = writer_open(path, format, &schema, &(struct writer_conf){0}, &w, err);
    if (!rc)
        rc = writer_add(w, &b, err);
    if (rc)
        writer_abandon(w);
    else
        rc = writer_commit(w, err);
    batch_release(&b);
    data_schema_release(&schema);
    mem_free(path);
    return rc;
}

/* What all ranks found, in the order of users: `rates` of this one's. */
static enum rc merge_ranks(const struct hit_run *r, const double *rates, int64_t n,
                           struct hitrate *h, struct err *err)
{
    int64_t sums[] = {h->users, h->skipped, h->truths, h->hits, h->lucky}, bytes = 0;
    struct comm *comm = r->ranks->comm;
    void *all = NULL;
    enum rc rc =
        comm_all_reduce(comm, comm_i64(sums), (int64_t)ARRAY_LEN(sums), COMM_SUM, err);
    if (!rc)
        rc = comm_gather_bytes(comm, rates, n * (int64_t)sizeof(*rates), &all, &bytes,
                               err);
    if (rc)
        return rc;
    *h = (struct hitrate){.users = sums[0],
                          .skipped = sums[1],
                          .truths = sums[2],
                          .hits = sums[3],
                          .lucky = sums[4]};
    const double *each = all;
    for (int64_t i = 0; i < bytes / (int64_t)sizeof(*each); i++)
        h->mean += each[i] >= 0 ? each[i] : 0;
    h->mean = h->users ? h->mean / (double)h->users : 0;
    mem_free(all);
    return RC_OK;
}

/* This rank's stretch of the users. */
static enum rc search_users(struct hit_run *r, struct hitrate_conf *how,
                            struct hitrate *out, struct err *err)
{
    int rank = r->ranks->rank, world = comm_world(r->ranks->comm);
    if (world == 1)
        return hitrate_run(r->index, &r->items, &r->users, how, out, err);
    how->from = r->users.n * rank / world;
    how->to = r->users.n * (rank + 1) / world;
    int64_t n = how->to - how->from;
    how->rates = mem_try_alloc((size_t)n + 1, sizeof(*how->rates));
    if (!how->rates)
        return err_set(err, RC_NOMEM, "no memory for %jd users", (intmax_t)n);
    if (how->to == 0) /* would be all */
        how->from = how->to = r->users.n;
    enum rc rc = hitrate_run(r->index, &r->items, &r->users, how, out, err);
    if (!rc)
        rc = merge_ranks(r, how->rates, n, out, err);
    mem_free(how->rates);
    return rc;
}

static enum rc hitrate_search(struct hit_run *r, struct hitrate *out, struct err *err)
{
    const struct hit_conf *c = r->c;
    struct recall_index_conf conf = {.metric = r->type->metric,
                                     .lists = r->type->lists ? c->lists : 0,
                                     .links = r->type->graph ? c->links : 0,
                                     .ef_construction = c->ef_construction,
                                     .seed = (uint64_t)c->seed,
                                     .pool = r->pool};
    struct hitrate_conf how = {.top_k = c->top_k < r->items.n ? c->top_k : r->items.n,
                               .probes = r->type->graph ? c->ef_search : c->probes,
                               .batch = c->batch_size,
                               .across = c->across,
                               .interests_at =
                                   c->interests_field ? r->users.attr_at[0] : -1,
                               .metric = r->type->metric,
                               .pool = r->pool};
    char *details = NULL;
    if (conf.lists > r->items.n)
        conf.lists = r->items.n;
    int64_t start = clock_mono_ns();
    enum rc rc = recall_index_create(r->items.vectors, r->items.n, r->items.width, &conf,
                                     &r->index, err);
    r->build_ns = clock_mono_ns() - start;
    if (!rc && c->details) {
        rc = output_path(r, c->details, &details, &how.format, err);
        how.details = details;
    }
    start = clock_mono_ns();
    if (!rc)
        rc = search_users(r, &how, out, err);
    r->search_ns = clock_mono_ns() - start;
    mem_free(details);
    return rc;
}

static void hitrate_report(const struct hit_run *r, const struct hitrate *h, double rate)
{
    const struct hit_conf *c = r->c;
    double seconds = (double)r->search_ns / (double)CLOCK_SECOND;
    fprintf(stderr, "%jd items, %jd users in %.3f s (%.0f/s), index %s in %.3f s\n",
            (intmax_t)r->items.n, (intmax_t)r->users.n, seconds,
            seconds > 0 ? (double)r->users.n / seconds : 0.0, c->index_type,
            (double)r->build_ns / (double)CLOCK_SECOND);
    if (h->skipped)
        fprintf(stderr,
                "skipped %jd users without ground-truth items\n"
                "",
                (intmax_t)h->skipped);
    double lucky = h->users ? (double)h->lucky / (double)h->users : 0;
    if (c->json)
        printf("{\"top_k\": %jd, \"hitrate\": %.9g, \"recall\": %.9g, \"users_hit\": "
               "%.9g, \"hits\": %jd, \"truths\": %jd, \"users\": %jd}\n",
               (intmax_t)c->top_k, rate, h->mean, lucky, (intmax_t)h->hits,
               (intmax_t)h->truths, (intmax_t)h->users);
    else
        printf("hitrate@%jd %.6f (%jd of %jd)\nrecall@%jd %.6f (mean of %jd users)\n"
               "users with a hit %.6f\n",
               (intmax_t)c->top_k, rate, (intmax_t)h->hits, (intmax_t)h->truths,
               (intmax_t)c->top_k, h->mean, (intmax_t)h->users, lucky);
}

static enum rc hitrate_here(const struct hit_conf *c, const struct cmd_ranks *ranks,
                            struct err *err)
{
    struct hit_run r = {.c = c, .ranks = ranks};
    struct hitrate h = {0};
    int64_t threads = c->threads > 0 ? c->threads
                      : ranks->comm  ? cmd_ranks_threads(ranks, 0)
                                     : cpu_count();
    enum rc rc = check_usage(c, &r, err);
    if (!rc)
        rc = check_outputs(&r, err);
    if (!rc)
        rc = pool_create((int)threads, &r.pool, err);
    if (!rc)
        rc = read_tables(&r, err);
    if (!rc)
        rc = hitrate_search(&r, &h, err);
    if (!rc && h.users == 0)
        rc = err_coded(err, RC_INVAL, E2402, "user table: nobody has items in '%s'",
                       c->truth);
    double rate = h.truths ? (double)h.hits / (double)h.truths : 0;
    if (!rc && c->total && ranks->rank == 0)
        rc = write_total(&r, rate, err);
    if (!rc && ranks->rank == 0)
        hitrate_report(&r, &h, rate);
    recall_index_destroy(r.index);
    recall_items_release(&r.items);
    recall_items_release(&r.users);
    pool_destroy(r.pool);
    return rc;
}

/* Several ranks share the users, and the parts of a directory of details; a single file of
 * them is written by the first rank alone.
 */
static enum rc hitrate_command(const void *conf, const struct opt_args *args,
                               struct err *err)
{
    const struct hit_conf *c = conf;
    struct cmd_ranks ranks = {0};
    bool alone = c->details && predict_is_one_file(c->details);
    if (alone && cmd_ranks_idle())
        return RC_OK;
    enum rc rc = alone ? RC_OK : cmd_ranks_open(&ranks, err);
    if (!rc)
        rc = hitrate_here(c, &ranks, err);
    return cmd_ranks_close(&ranks, rc, err);
}

static const struct cmd_example examples[] = {
    {"hit rate of the 200 nearest items",
     "trainyard hitrate --users users --items items --top-k 200"},
    {"approximate search with IVF lists",
     "trainyard hitrate --users u --items i --index-type IVFFlatIP --probes 50"},
    {0},
};

const struct cmd cmd_hitrate = {
    .name = "hitrate",
    .summary = "measure the hit rate of vector retrieval",
    .description =
        "Finds the nearest items of each user by inner product or L2 distance and "
        "compares them with the items the user interacted with. Prints the hit rate "
        "over all of these items, the mean recall per user, and the share of users "
        "with at least one hit.\n"
        "\n"
        "Vectors are lists of numbers, or strings of comma-separated numbers.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct hit_conf),
    .run = hitrate_command,
};
