/* SPDX-License-Identifier: Apache-2.0 */
/* plan: whether a training run fits in memory. Builds the session as training would,
 * counts the rows of the data where its files tell, and prints the budget that
 * train/budget.c makes of both: each table, what it takes at most and what the data can
 * reach of it, and everything beside tables. The exit status says whether the expected
 * sum fits. With --ranks the placement of the planner comes first (plan_ranks.c).
 */
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/plan_ranks.h"
#include "cmd/train_config.h"
#include "cmd/train_show.h"
#include "data/dataset.h"
#include "dist/shards.h"
#include "train/budget.h"
#include "train/source.h"

struct plan_conf {
    const char *train_input, *edit_config_json;
    struct opt_list set;
    int64_t memory, threads, ranks, hosts;
    bool json;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct plan_conf, train_input, NULL, "override train_input_path"),
     .meta = "PATH", .alias = "train-input-path"},
    {OPT_LIST(struct plan_conf, set, "override a value of the config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct plan_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON"},
    {OPT_SIZE(struct plan_conf, memory, "0", 0, INT64_MAX,
              "memory the run may use, or each of its ranks; 0: what is free and allowed "
              "on this machine"),
     .meta = "SIZE"},
    {OPT_INT(struct plan_conf, ranks, "1", 1, DIST_SHARDS_MAX,
             "plan for this many ranks: figures are of the one that keeps most"),
     .meta = "N"},
    {OPT_INT(struct plan_conf, hosts, "1", 1, DIST_SHARDS_MAX,
             "with --ranks: on this many hosts, as many ranks on each"),
     .meta = "N"},
    {OPT_INT(struct plan_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU")},
    {OPT_BOOL(struct plan_conf, json, "false", "print one JSON object")},
    {0},
};

/* Rows of the training data when its files say so; -1 when they are not there yet or do
 * not tell.
 */
static int64_t data_rows(const struct train_session *s, size_t *files)
{
    struct arena a = {0};
    struct dataset_conf conf;
    struct dataset *d = NULL;
    int64_t rows = -1;
    *files = 0;
    if (train_source_conf(s->conf->data_config, s->plan, s->conf->train_input_path,
                          SOURCE_TRAIN, 0, (struct train_source_share){0}, &a, &conf,
                          NULL) == RC_OK &&
        dataset_open(&conf, &d, NULL) == RC_OK) {
        rows = dataset_rows(d);
        *files = dataset_files(d);
    }
    dataset_close(d);
    arena_release(&a);
    return rows;
}

static void print_tables(const struct train_budget *b, struct buf *out)
{
    char t[4][32];
    int width = 5;
    for (size_t i = 0; i < b->tables.n; i++) {
        int n = (int)plan_short_name(b->tables.at[i].table->name).n;
        width = n > width ? n : width;
    }
    buf_printf(out, "%-*s  %13s  %5s  %10s  %10s  %13s  feature\n", width, "table",
               "rows", "dim", "weights", "state", "rows in use");
    for (size_t i = 0; i < b->tables.n; i++) {
        const struct train_budget_table *x = &b->tables.at[i];
        struct str name = plan_short_name(x->table->name);
        buf_printf(
            out, "%-*.*s  %13s  %5jd  %10s  %10s  %13s  %s", width, (int)name.n, name.p,
            train_count_text((uint64_t)x->table->rows, t[0]), (intmax_t)x->table->dim,
            train_budget_text(x->weights, t[1]), train_budget_text(x->state, t[2]),
            train_count_text((uint64_t)x->used_rows, t[3]), x->feature ? x->feature : "");
        if (x->n_features > 1)
            buf_printf(out, " and %d more", x->n_features - 1);
        buf_putc(out, '\n');
    }
}

/* What each rank keeps, where there are several. */
static void print_ranks(const struct train_budget *whole, int ranks, struct buf *out)
{
    char t[32];
    if (ranks == 1)
        return;
    buf_puts(out, "rank  tables in use\n");
    for (int r = 0; r < ranks; r++)
        buf_printf(out, "%4d  %13s\n", r,
                   train_budget_text(train_budget_of_rank(whole, r, ranks), t));
    buf_puts(out, "\nOf the rank that keeps most:\n\n");
}

static void print_text(const struct train_budget *b, const struct train_session *s,
                       int64_t rows, size_t files, int64_t memory, struct buf *out)
{
    char t[2][32];
    print_tables(b, out);
    buf_printf(out,
               "\n"
               "tables       %10s of weights, %s of optimizer state\n"
               "",
               train_budget_text(b->weights, t[0]), train_budget_text(b->state, t[1]));
    buf_printf(out, "  in use     %10s at most", train_budget_text(b->used, t[0]));
    if (rows >= 0)
        buf_printf(out, ", by %s rows in %zu file%s\n",
                   train_count_text((uint64_t)rows, t[1]), files, files == 1 ? "" : "s");
    else
        buf_puts(out, "; the data does not tell how many\n");
    buf_printf(out, "dense        %10s, %s parameters of %s\n",
               train_budget_text(b->params, t[0]),
               train_count_text((uint64_t)b->n_params, t[1]), s->model->ops->name);
    buf_printf(out,
               "optimizer    %10s of gradients and state\n"
               "",
               train_budget_text(b->optimizer, t[0]));
    buf_printf(out, "activations  %10s for a batch of %u\n",
               train_budget_text(b->activations, t[0]), s->conf->data_config->batch_size);
    buf_printf(out,
               "batches      %10s prefetched\n"
               "",
               train_budget_text(b->batches, t[0]));
    buf_printf(out,
               "save         %10s for the copy that is written to a checkpoint\n"
               "",
               train_budget_text(b->save, t[0]));
    if (b->dump)
        buf_printf(out, "dumps        %10s for which rows were used since the last one\n",
                   train_budget_text(b->dump, t[0]));
    buf_printf(out, "expected     %10s, at most %s\n",
               train_budget_text(b->expected, t[0]), train_budget_text(b->most, t[1]));
    buf_printf(out, "memory       %10s: %s\n", train_budget_text(memory, t[0]),
               b->expected > memory ? "does not fit"
               : b->most > memory   ? "fits unless every page is used"
                                    : "fits");
}

static void print_json(const struct train_budget *b, const struct train_session *s,
                       int64_t rows, int64_t memory, struct buf *out)
{
    buf_printf(out, "{\"model\": \"%s\", \"data_rows\": %jd, \"tables\": [",
               s->model->ops->name, (intmax_t)rows);
    for (size_t i = 0; i < b->tables.n; i++) {
        const struct train_budget_table *x = &b->tables.at[i];
        buf_printf(out, "%s{\"name\": ", i ? ", " : "");
        buf_json_str(out, x->table->name, strlen(x->table->name));
        buf_printf(out,
                   ", \"rows\": %jd, \"dim\": %jd, \"weights\": %jd, \"state\": %jd, "
                   "\"rows_in_use\": %jd}",
                   (intmax_t)x->table->rows, (intmax_t)x->table->dim,
                   (intmax_t)x->weights, (intmax_t)x->state, (intmax_t)x->used_rows);
    }
    buf_printf(
        out,
        "], \"weights\": %jd, \"state\": %jd, \"in_use\": %jd, \"dense\": %jd, "
        "\"optimizer\": %jd, \"activations\": %jd, \"batches\": %jd, \"save\": %jd, "
        "\"dump\": %jd, "
        "\"expected\": %jd, \"most\": %jd, \"memory\": %jd, \"ranks\": %d, "
        "\"fits\": %s",
        (intmax_t)b->weights, (intmax_t)b->state, (intmax_t)b->used, (intmax_t)b->params,
        (intmax_t)b->optimizer, (intmax_t)b->activations, (intmax_t)b->batches,
        (intmax_t)b->save, (intmax_t)b->dump, (intmax_t)b->expected, (intmax_t)b->most,
        (intmax_t)memory, b->ranks, b->expected <= memory ? "true" : "false");
}

static enum rc plan_session(const struct plan_conf *c, const struct train_session *s,
                            struct err *err)
{
    struct train_budget b;
    struct buf out;
    size_t files;
    int64_t rows = data_rows(s, &files), memory = config_memory(c->memory);
    struct plan_ranks_conf ranks = {.ranks = (int)c->ranks,
                                    .hosts = (int)c->hosts,
                                    .memory = memory,
                                    .json = c->json};
    enum rc rc = RC_OK;
    train_budget_init(&b, s, rows);
    buf_init(&out, CMD_TEXT_MAX);
    if (!c->json && c->ranks > 1)
        rc = plan_ranks_print(s, &ranks, &out, err);
    if (!c->json)
        print_ranks(&b, (int)c->ranks, &out);
    if (c->ranks > 1)
        train_budget_spread(&b, (int)c->ranks);
    if (c->json)
        print_json(&b, s, rows, memory, &out);
    if (c->json && c->ranks > 1 && !rc)
        rc = plan_ranks_print(s, &ranks, &out, err);
    if (c->json)
        buf_puts(&out, "}\n");
    else
        print_text(&b, s, rows, files, memory, &out);
    if (!rc)
        rc = cmd_print(&out, err);
    if (!rc)
        rc = train_budget_check(&b, memory, err);
    buf_release(&out);
    train_budget_release(&b);
    return rc;
}

static enum rc plan_command(const void *conf, const struct opt_args *args,
                            struct err *err)
{
    const struct plan_conf *c = conf;
    struct conf config = {0};
    struct diags diags = {0};
    struct pool *pool = NULL;
    struct train_session *s = NULL;
    const struct config_override overrides[] = {
        {"--train-input", "train_input_path", c->train_input}};
    if (c->ranks % c->hosts != 0)
        return err_set(err, RC_INVAL,
                       "--hosts %jd: %jd ranks cannot be spread evenly over them",
                       (intmax_t)c->hosts, (intmax_t)c->ranks);
    enum rc rc = config_open(args->at[0], overrides, ARRAY_LEN(overrides), &c->set,
                             c->edit_config_json, &config, &diags, err);
    if (!rc)
        rc = pool_create(c->threads > 0 ? (int)c->threads : cpu_count(), &pool, err);
    if (!rc) {
        struct train_session_options so = {.pool = pool, .seed = 1, .training = true};
        rc = train_session_create(config.data, &so, &s, &diags, err);
        config_show(&diags);
    }
    if (!rc)
        rc = plan_session(c, s, err);
    train_session_destroy(s);
    pool_destroy(pool);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

static const struct cmd_example examples[] = {
    {"does it fit on this machine?", "trainyard plan pipeline.config"},
    {"on a machine with 64 GiB, with smaller batches",
     "trainyard plan pipeline.config --memory 64g --set data_config.batch_size=1024"},
    {"on four ranks with 64 GiB each",
     "trainyard plan pipeline.config --ranks 4 --memory 64g"},
    {"where tables go on two hosts with four ranks each",
     "trainyard plan pipeline.config --ranks 8 --hosts 2 --memory 64g"},
    {0},
};

const struct cmd cmd_plan = {
    .name = "plan",
    .args = "CONFIG",
    .summary = "show the tables and memory use of a training run",
    .description =
        "Lists every embedding table with its rows and bytes, the memory of optimizer "
        "state, activations and checkpoints, and whether the run fits. Nothing is "
        "allocated. Tables take memory page by page as rows are first used, so the "
        "size of the data bounds it. Exit status 1: the run is not expected to fit.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct plan_conf),
    .min_args = 1,
    .max_args = 1,
    .run = plan_command,
};
