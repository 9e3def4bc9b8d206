/* SPDX-License-Identifier: Apache-2.0 */
/* Opens an export, runs the search of train/export/retrieve.h over the rows of the input and
 * reports the recall. Ranks that were started together share the parts of the output, as
 * those of `predict` do.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/predict.h"
#include "cmd/ranks.h"
#include "cmd/train_config.h"
#include "train/export/export.h"
#include "train/export/retrieve.h"

struct retrieval_conf {
    const char *model, *input, *output, *reserved_columns, *writer_type, *tree;
    int64_t items, branch, batch_size, part_rows, threads;
    bool overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct retrieval_conf, model, NULL, "export of a TDM model"), .meta = "DIR",
     .alias = "scripted-model-path"},
    {OPT_TEXT(struct retrieval_conf, input, NULL, "user rows to retrieve for"),
     .meta = "PATH", .alias = "predict-input-path"},
    {OPT_TEXT(struct retrieval_conf, output, NULL,
              "a directory, written in parts, or a .parquet or .jsonl file"),
     .meta = "PATH", .alias = "predict-output-path"},
    {OPT_INT(struct retrieval_conf, items, "200", 1, 1000000,
             "items to retrieve per row"),
     .alias = "recall-num"},
    {OPT_INT(struct retrieval_conf, branch, "2", 2, 256,
             "children per node, as the tree was built"),
     .alias = "n-cluster"},
    {OPT_TEXT(struct retrieval_conf, tree, NULL,
              "directory of the tree; default: from tdm_sampler in the config"),
     .meta = "DIR"},
    {OPT_TEXT(struct retrieval_conf, reserved_columns, NULL,
              "input columns to copy to the output, comma-separated"),
     .meta = "NAMES"},
    {OPT_INT(struct retrieval_conf, part_rows, "0", 0, INT64_MAX,
             "rows per part of an output directory; 0: 1000000, or 65536 with several "
             "ranks")},
    {OPT_INT(struct retrieval_conf, batch_size, "64", 1, 1 << 20, "rows per batch")},
    {OPT_INT(struct retrieval_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU")},
    {OPT_TEXT(struct retrieval_conf, writer_type, NULL,
              "parquet or jsonl (ParquetWriter); default: as the input"),
     .meta = "TYPE"},
    {OPT_BOOL(struct retrieval_conf, overwrite, "false",
              "replace an output that exists")},
    {0},
};

static enum rc check_usage(const struct retrieval_conf *c, struct err *err)
{
    const char *missing = !c->model    ? "--model DIR"
                          : !c->input  ? "--input PATH"
                          : !c->output ? "--output PATH"
                                       : NULL;
    return missing ? err_coded(err, RC_INVAL, E0605, "%s is missing", missing) : RC_OK;
}

static void tdm_retrieval_report(const struct retrieval_conf *c,
                                 const struct train_retrieve_summary *s, int64_t ns)
{
    double seconds = (double)ns / (double)CLOCK_SECOND;
    if (s->predict.done_before) {
        fprintf(stderr,
                "%s is already complete: %jd rows\n"
                "",
                c->output, (intmax_t)s->predict.before);
        return;
    }
    fprintf(stderr, "levels %jd to %jd of a tree of %jd items, %.0f rows/s\n",
            (intmax_t)s->first_level, (intmax_t)(s->levels - 1), (intmax_t)s->leaves,
            seconds > 0 ? (double)s->rows / seconds : 0.0);
    printf("recall@%jd %.6f (%jd of %jd rows)\n", (intmax_t)c->items,
           s->rows ? (double)s->found / (double)s->rows : 0.0, (intmax_t)s->found,
           (intmax_t)s->rows);
}

static enum rc retrieve_rows(const struct retrieval_conf *c, struct cmd_ranks *ranks,
                             struct err *err)
{
    struct pool *pool = NULL;
    struct train_export *x = NULL;
    struct diags diags = {0};
    struct train_retrieve_summary summary = {0};
    struct train_retrieve_options o = {.items = c->items, .branch = c->branch};
    char *model = NULL, *nodes = NULL, *children = NULL;
    int64_t threads = cmd_ranks_threads(ranks, c->threads), start = 0;
    threads = threads > 0 ? threads : cpu_count();
    enum rc rc = check_usage(c, err);
    if (!rc)
        rc = predict_writer(c->writer_type, &o.predict.format, err);
    if (!rc)
        rc = pool_create((int)threads, &pool, err);
    if (!rc) {
        model = predict_model_dir(c->model, NULL);
        rc = train_export_open(model, 0, pool, &x, err);
    }
    if (!rc) {
        o.predict.input = c->input;
        o.predict.output = c->output;
        o.predict.data = train_export_conf(x)->data_config;
        o.predict.model = train_export_id(x);
        o.predict.reserved = c->reserved_columns;
        o.predict.threads = threads;
        o.predict.batch_size = c->batch_size;
        o.predict.part_rows = c->part_rows;
        o.predict.overwrite = c->overwrite;
        o.predict.comm = ranks->comm;
        o.nodes = nodes = c->tree ? fs_join(c->tree, "node_table.txt") : NULL;
        o.children = children =
            c->tree ? fs_join(c->tree, "predict_edge_table.txt") : NULL;
        start = clock_mono_ns();
        rc = train_retrieve_run(train_export_session(x), &o, &summary, &diags, err);
    }
    if (!rc)
        tdm_retrieval_report(c, &summary, clock_mono_ns() - start);
    config_show(&diags);
    diags_release(&diags);
    train_export_close(x);
    pool_destroy(pool);
    mem_free(model);
    mem_free(nodes);
    mem_free(children);
    return rc;
}

/* Several ranks share the parts of a directory; one file is the first one's. */
static enum rc tdm_retrieval_command(const void *conf, const struct opt_args *args,
                                     struct err *err)
{
    const struct retrieval_conf *c = conf;
    struct cmd_ranks ranks = {0};
    bool alone = predict_is_one_file(c->output);
    if (alone && cmd_ranks_idle())
        return RC_OK;
    enum rc rc = alone ? RC_OK : cmd_ranks_open(&ranks, err);
    if (!rc)
        rc = retrieve_rows(c, &ranks, err);
    return cmd_ranks_close(&ranks, rc, err);
}

static const struct cmd_example examples[] = {
    {"200 items for each row of a day",
     "trainyard tdm retrieval --model export --input day --output found"},
    {0},
};

const struct cmd cmd_tdm_retrieval = {
    .name = "tdm retrieval",
    .summary = "retrieve items with the tree of a TDM model",
    .description =
        "Beam search: starts at the first level of the tree with at least 2 * branch * "
        "items nodes, keeps the best 2 * items nodes per level, and returns the best "
        "items among the leaves. The output has the reserved columns and recall_ids. "
        "Prints the share of rows whose own item was retrieved.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct retrieval_conf),
    .run = tdm_retrieval_command,
};
