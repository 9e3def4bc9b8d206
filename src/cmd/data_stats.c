/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "data/stats.h"

#define ROWS 8192 /* at a time */

struct stats_conf {
    struct data_input in;
    const char *label;
    bool json;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct stats_conf, label, NULL,
              "label columns; default: guessed from their names"),
     .meta = "A,B"},
    {OPT_BOOL(struct stats_conf, json, "false", "print one JSON object")},
    DATA_INPUT_OPTS(struct stats_conf),
    {0},
};

static void data_stats_print(const struct stats_conf *c, const struct dataset *d,
                             const struct stats *s, struct buf *out)
{
    struct dataset_counts counts;
    dataset_counts(d, &counts);
    size_t files = dataset_files(d), columns = dataset_schema(d)->n;
    if (c->json) {
        buf_printf(out, "{\"files\": %zu, \"malformed\": %jd, ", files,
                   (intmax_t)counts.malformed);
        stats_json(s, out);
        buf_puts(out, "}\n");
        return;
    }
    buf_printf(out, "%zu file%s, %jd rows, %zu columns\n\n", files, files == 1 ? "" : "s",
               (intmax_t)stats_rows(s), columns);
    stats_print(s, out);
}

static enum rc read_all(struct dataset *d, struct stats *s, struct err *err)
{
    const struct batch *b = NULL;
    enum rc rc = dataset_next(d, &b, err);
    while (!rc && b) {
        stats_add(s, b);
        rc = dataset_next(d, &b, err);
    }
    return rc;
}

static enum rc data_stats_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    const struct stats_conf *c = conf;
    struct dataset *d = NULL;
    const char **labels = NULL;
    char *text = NULL;
    struct buf out;
    size_t n = data_input_names(c->label, &labels, &text);
    enum rc rc = data_input_open(&c->in, args->at, args->n, ROWS, labels, n, &d, err);
    if (!rc) {
        struct stats *s = stats_create(dataset_schema(d), labels, n);
        buf_init(&out, CMD_TEXT_MAX);
        rc = read_all(d, s, err);
        if (!rc) {
            data_stats_print(c, d, s, &out);
            rc = cmd_print(&out, err);
            data_input_report(d);
        }
        buf_release(&out);
        stats_destroy(s);
    }
    dataset_close(d);
    mem_free(labels);
    mem_free(text);
    return rc;
}

static const struct cmd_example examples[] = {
    {"summarize some files", "trainyard data stats 'train/*.parquet'"},
    {"two columns, as JSON", "trainyard data stats --columns clk,price --json train.csv"},
    {0},
};

const struct cmd cmd_data_stats = {
    .name = "data stats",
    .args = "FILE...",
    .summary = "summarize the columns of data files",
    .description =
        "Makes one pass in bounded memory and prints, per column: type, share of "
        "nulls, number of distinct values, minimum, mean, maximum and standard "
        "deviation (of the length, for strings and lists), the most frequent values, "
        "and the label balance.\n"
        "\n"
        "Up to 1024 distinct values are counted exactly. Beyond that, a number with ~ "
        "is a HyperLogLog estimate with a standard error of 0.81 %, and the shares of "
        "frequent values are lower bounds.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct stats_conf),
    .min_args = 1,
    .max_args = CMD_ANY,
    .run = data_stats_command,
};
