/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cpu.h"
#include "cmd/cmd.h"
#include "cmd/train_config.h"
#include "train/export/parity.h"

#define TOLERANCE_F32 1e-5
#define TOLERANCE_SMALL 0.05 /* tables of 16 and 8 bits are rounded */

struct parity_conf {
    const char *checkpoint;
    double tolerance;
    int64_t threads;
    bool json;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct parity_conf, checkpoint, NULL,
              "use this checkpoint instead of the one the export was made from"),
     .meta = "CKPT", .alias = "checkpoint-path"},
    {OPT_NUM(
        struct parity_conf, tolerance, "0", 0, 1e9,
        "tolerance of outputs, relative above 1; 0: 1e-5, or 0.05 for tables that are "
        "not f32")},
    {OPT_INT(struct parity_conf, threads, "0", 0, POOL_THREADS_MAX,
             "number of threads; 0: one per CPU")},
    {OPT_BOOL(struct parity_conf, json, "false", "print the result as one line of JSON")},
    {0},
};

static enum rc print_result(const struct parity_conf *c,
                            const struct train_parity_result *r, double tolerance,
                            struct err *err)
{
    struct buf b;
    char text[32];
    buf_init(&b, CMD_TEXT_MAX);
    str_from_f64(r->largest, text);
    if (c->json) {
        buf_printf(
            &b,
            "{\"rows\": %jd, \"features\": %zu, \"outputs\": %zu, \"tolerance\": %g, "
            "\"largest\": %s, \"where\": ",
            (intmax_t)r->rows, r->features, r->outputs, tolerance, text);
        buf_json_str(&b, r->where, strlen(r->where));
        buf_puts(&b, "}\n");
    } else {
        buf_printf(&b, "%jd rows: %zu features are the same, %zu outputs within %g\n",
                   (intmax_t)r->rows, r->features, r->outputs, tolerance);
        if (r->where[0])
            buf_printf(&b, "largest difference %s (%s)\n", text, r->where);
    }
    enum rc rc = cmd_print(&b, err);
    buf_release(&b);
    return rc;
}

static enum rc parity_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    const struct parity_conf *c = conf;
    struct diags diags = {0};
    struct pool *pool = NULL;
    struct train_export *x = NULL;
    struct train_parity_result result;
    struct train_parity_options o = {
        .input = args->at[1], .checkpoint = c->checkpoint, .tolerance = c->tolerance};
    enum rc rc = pool_create(c->threads > 0 ? (int)c->threads : cpu_count(), &pool, err);
    if (!rc)
        rc = train_export_open(args->at[0], 0, pool, &x, err);
    if (!rc) {
        o.pool = pool;
        if (o.tolerance <= 0)
            o.tolerance = train_export_tolerance(x) > 0 ? TOLERANCE_SMALL : TOLERANCE_F32;
        rc = train_parity_run(x, &o, &result, &diags, err);
    }
    if (!rc)
        rc = print_result(c, &result, o.tolerance, err);
    config_show(&diags);
    train_export_close(x);
    pool_destroy(pool);
    diags_release(&diags);
    return rc;
}

static const struct cmd_example examples[] = {
    {"on the rows of a file", "trainyard parity model day/part-0.parquet"},
    {0},
};

const struct cmd cmd_parity = {
    .name = "parity",
    .args = "DIR ROWS",
    .summary = "compare an export with its checkpoint on your rows",
    .description =
        "Runs each row through the checkpoint as in training and through the export as "
        "in serving. Features must be equal, and outputs must agree within the "
        "tolerance. Reports the first difference: row, feature or output, and both "
        "values.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct parity_conf),
    .min_args = 2,
    .max_args = 2,
    .run = parity_command,
};
