/* SPDX-License-Identifier: Apache-2.0 */
/* plan: whether a training run can begin, and fits in memory. Builds the session as
 * training would, looks at the data (train/look.c), and prints the budget that
 * train/budget.c makes of both: each table, what it takes at most and what the data can
 * reach of it, and everything beside tables. The exit status says whether the expected
 * sum fits. With --ranks the placement of the planner comes first (plan_ranks.c);
 * --simulate predicts steps on many ranks instead (plan_simulate.c).
 */
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/plan_ranks.h"
#include "cmd/plan_simulate.h"
#include "cmd/train_config.h"
#include "cmd/train_show.h"
#include "dist/shards.h"
#include "train/budget.h"
#include "train/look.h"

struct plan_conf {
    const char *train_input, *edit_config_json, *ranks_text, *link;
    struct opt_list set;
    int64_t memory, threads, hosts;
    bool json, simulate;
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
    {OPT_TEXT(
         struct plan_conf, ranks_text, "1",
         "plan for this many ranks; figures are for the rank that needs most memory; "
         "with --simulate also a range such as 8..1024"),
     .flag = "ranks", .meta = "N"},
    {OPT_BOOL(struct plan_conf, simulate, "false",
              "measure a few steps here and predict those of --ranks on --hosts")},
    {OPT_TEXT(struct plan_conf, link, "25Gbit,5us",
              "with --simulate: rate of a host's link and time one way between hosts"),
     .meta = "RATE,TIME"},
    {OPT_INT(
         struct plan_conf, hosts, "1", 1, DIST_SHARDS_MAX,
         "with --ranks: spread them evenly over this many hosts; of a range, its first "
         "number of ranks"),
     .meta = "N"},
    {OPT_INT(struct plan_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU")},
    {OPT_BOOL(struct plan_conf, json, "false", "print one JSON object")},
    {0},
};

/* What a look at the data of training and of evaluation told. */
struct looks {
    struct train_look train, eval;
};

/* As training would begin; what is wrong is said as there. */
static enum rc look_at_data(const struct train_session *s, struct looks *out,
                            struct err *err)
{
    struct diags diags = {0};
    const struct pc_EasyRecConfig *c = s->conf;
    enum rc rc =
        train_look_at(s, c->train_input_path, SOURCE_TRAIN, &out->train, &diags, err);
    config_show(&diags);
    if (rc)
        return rc;
    rc = train_look_at(s, c->eval_input_path, SOURCE_EVAL, &out->eval, &diags, err);
    config_show(&diags);
    return rc ? err_wrap(err, rc, "evaluation") : RC_OK;
}

static void print_look(const char *what, const char *path, const struct train_look *l,
                       struct buf *out)
{
    char t[2][32];
    struct str notes = str_c(l->notes ? l->notes : ""), line;
    if (!path[0])
        return;
    buf_printf(out, "%-12s '%s': ", what, path);
    if (l->why_not) {
        buf_printf(out, "not looked at: %s\n", l->why_not);
        return;
    }
    if (l->rows >= 0)
        buf_printf(out, "%s rows in ", train_count_text((uint64_t)l->rows, t[0]));
    buf_printf(out, "%zu file%s; columns, types and the first %s rows are good\n",
               l->files, l->files == 1 ? "" : "s",
               train_count_text((uint64_t)l->seen, t[1]));
    while (notes.n && str_split(&notes, '\n', &line))
        if (line.n)
            buf_printf(out, "%12s %.*s\n", "", (int)line.n, line.p);
}

static void print_look_json(const char *name, const struct train_look *l, struct buf *out)
{
    buf_printf(out, ", \"%s\": {\"looked_at\": %s, \"rows\": %jd, \"files\": %zu, ", name,
               l->why_not ? "false" : "true", (intmax_t)l->rows, l->files);
    buf_printf(out, "\"rows_seen\": %jd, \"why_not\": ", (intmax_t)l->seen);
    if (l->why_not)
        buf_json_str(out, l->why_not, strlen(l->why_not));
    else
        buf_puts(out, "null");
    struct str notes = str_c(l->notes ? l->notes : ""), line;
    buf_puts(out, ", \"notes\": [");
    for (bool first = true; notes.n && str_split(&notes, '\n', &line);) {
        if (line.n == 0)
            continue;
        buf_puts(out, first ? "" : ", ");
        buf_json_str(out, line.p, line.n);
        first = false;
    }
    buf_puts(out, "]}");
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
                       const struct looks *looks, int64_t memory, struct buf *out)
{
    char t[2][32];
    int64_t rows = looks->train.rows;
    size_t files = looks->train.files;
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
    print_look("data", s->conf->train_input_path, &looks->train, out);
    print_look("evaluation", s->conf->eval_input_path, &looks->eval, out);
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

static enum rc plan_session(const struct plan_conf *c, int n_ranks,
                            const struct train_session *s, const struct looks *looks,
                            struct err *err)
{
    struct train_budget b;
    struct buf out;
    int64_t rows = looks->train.rows, memory = config_memory(c->memory);
    struct plan_ranks_conf ranks = {
        .ranks = n_ranks, .hosts = (int)c->hosts, .memory = memory, .json = c->json};
    enum rc rc = RC_OK;
    train_budget_init(&b, s, rows);
    buf_init(&out, CMD_TEXT_MAX);
    if (!c->json && n_ranks > 1)
        rc = plan_ranks_print(s, &ranks, &out, err);
    if (!c->json)
        print_ranks(&b, n_ranks, &out);
    if (n_ranks > 1)
        train_budget_spread(&b, n_ranks);
    if (c->json)
        print_json(&b, s, rows, memory, &out);
    if (c->json && n_ranks > 1 && !rc)
        rc = plan_ranks_print(s, &ranks, &out, err);
    if (c->json)
        print_look_json("data", &looks->train, &out);
    if (c->json)
        print_look_json("eval_data", &looks->eval, &out);
    if (c->json)
        buf_puts(&out, "}\n");
    else
        print_text(&b, s, looks, memory, &out);
    if (!rc)
        rc = cmd_print(&out, err);
    if (!rc)
        rc = train_budget_check(&b, memory, err);
    buf_release(&out);
    train_budget_release(&b);
    return rc;
}

/* Of a config alone: --simulate trains a session of its own. */
static enum rc simulate(const struct plan_conf *c, const struct conf *config, int from,
                        int to, struct diags *diags, struct err *err)
{
    struct buf out;
    struct plan_simulate_conf conf = {
        .from = from, .to = to, .hosts = (int)c->hosts, .link = c->link, .json = c->json};
    buf_init(&out, CMD_TEXT_MAX);
    enum rc rc = plan_simulate_print(config->data, &conf, diags, &out, err);
    config_show(diags);
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    return rc;
}

static enum rc check_ranks(const struct plan_conf *c, int *from, int *to, struct err *err)
{
    enum rc rc = plan_ranks_range(c->ranks_text, from, to, err);
    if (!rc && *to > *from && !c->simulate)
        rc = err_coded(err, RC_INVAL, E0609,
                       "--ranks %s: several numbers need --simulate", c->ranks_text);
    if (!rc && *from % c->hosts != 0)
        rc = err_set(err, RC_INVAL,
                     "--hosts %jd: %d ranks cannot be spread evenly over them",
                     (intmax_t)c->hosts, *from);
    return rc;
}

static enum rc plan_here(const struct plan_conf *c, int ranks, const struct conf *config,
                         struct diags *diags, struct err *err)
{
    struct pool *pool = NULL;
    struct train_session *s = NULL;
    struct looks looks = {0};
    enum rc rc = pool_create(c->threads > 0 ? (int)c->threads : cpu_count(), &pool, err);
    if (!rc) {
        struct train_session_options so = {.pool = pool, .seed = 1, .training = true};
        rc = train_session_create(config->data, &so, &s, diags, err);
        config_show(diags);
    }
    if (!rc)
        rc = look_at_data(s, &looks, err);
    if (!rc)
        rc = plan_session(c, ranks, s, &looks, err);
    train_look_release(&looks.train);
    train_look_release(&looks.eval);
    train_session_destroy(s);
    pool_destroy(pool);
    return rc;
}

static enum rc plan_command(const void *conf, const struct opt_args *args,
                            struct err *err)
{
    const struct plan_conf *c = conf;
    struct conf config = {0};
    struct diags diags = {0};
    int from = 1, to = 1;
    const struct config_override overrides[] = {
        {"--train-input", "train_input_path", c->train_input}};
    enum rc rc = check_ranks(c, &from, &to, err);
    if (rc)
        return rc;
    rc = config_open(args->at[0], overrides, ARRAY_LEN(overrides), &c->set,
                     c->edit_config_json, &config, &diags, err);
    if (!rc)
        rc = c->simulate ? simulate(c, &config, from, to, &diags, err)
                         : plan_here(c, from, &config, &diags, err);
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
        "size of the data bounds it. The data is opened as `train` opens it: columns, "
        "types and labels that do not fit are errors; missing data is reported, and the "
        "plan goes on without it. Exit status 1: the run is not expected to fit; 2: it "
        "would be refused.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct plan_conf),
    .min_args = 1,
    .max_args = 1,
    .run = plan_command,
};
