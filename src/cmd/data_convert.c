/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "data/writer.h"
#include "io/guard.h"

#define ROWS 8192 /* at a time */

struct convert_conf {
    struct data_input in;
    const char *to, *compression, *types;
    bool overwrite;
};

static const struct opt opts[] = {
    {OPT_CHOICE(struct convert_conf, to, NULL, WRITER_FILES,
                "output format; default: by the extension of OUT")},
    {OPT_TEXT(struct convert_conf, compression, NULL,
              "Parquet compression: none, snappy or zstd; default: the format's own"),
     .meta = "NAME"},
    {OPT_TEXT(struct convert_conf, types, NULL,
              "types of columns in text files: int32, int64, float, double or string; "
              "default: inferred, and string where a number would not keep the text"),
     .meta = "NAME=TYPE,..."},
    DATA_OVERWRITE_OPT(struct convert_conf),
    DATA_INPUT_OPTS(struct convert_conf),
    {0},
};

static enum rc data_convert_copy(struct dataset *d, struct writer *w, struct err *err)
{
    const struct batch *b = NULL;
    enum rc rc = dataset_next(d, &b, err);
    while (!rc && b) {
        rc = writer_add(w, b, err);
        if (!rc)
            rc = dataset_next(d, &b, err);
    }
    return rc;
}

/* Which columns have which type, where that was for us to decide. */
static void show_types(const struct dataset *d)
{
    const struct data_schema *s = dataset_schema(d);
    const char *format;
    dataset_first_file(d, &format);
    if (!reader_find(format)->text)
        return;
    for (size_t i = 0; i < s->n; i++) {
        struct buf type;
        size_t first = 0;
        while (!type_equal(&s->at[first].type, &s->at[i].type))
            first++;
        if (first < i)
            continue;
        buf_init(&type, CMD_TEXT_MAX);
        type_print(&s->at[i].type, &type);
        buf_puts(&type, ":");
        for (size_t k = i; k < s->n; k++)
            if (type_equal(&s->at[k].type, &s->at[i].type))
                buf_printf(&type, "%s %s", k > i ? "," : "", s->at[k].name);
        fprintf(stderr, "  %s\n", buf_str(&type));
        buf_release(&type);
    }
}

static enum rc data_convert_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    const struct convert_conf *c = conf;
    const char *out = args->at[args->n - 1];
    const struct writer_ops *ops = c->to ? writer_find(c->to) : writer_of_path(out);
    struct writer_conf wc = {.compression = c->compression};
    struct dataset *d = NULL;
    struct writer *w = NULL;
    if (!ops)
        return err_coded(err, RC_INVAL, E1206,
                         c->to ? "this version does not write %s"
                               : "'%.200s' has no known extension; use --to",
                         c->to ? c->to : out);
    struct fs_names files = {0};
    data_input_files(args->at, args->n - 1, &files);
    enum rc rc = io_guard_file(out, &files, c->overwrite, err);
    fs_names_release(&files);
    for (size_t i = 0; !rc && i + 1 < args->n; i++)
        rc = io_guard_outside(out, args->at[i], err);
    struct data_input in = c->in;
    in.types = c->types;
    in.exact = true;
    if (!rc)
        rc = data_input_open(&in, args->at, args->n - 1, ROWS, NULL, 0, &d, err);
    if (!rc)
        rc = writer_open(out, ops, dataset_schema(d), &wc, &w, err);
    if (!rc)
        rc = data_convert_copy(d, w, err);
    if (rc) {
        writer_abandon(w);
    } else {
        rc = writer_commit(w, err);
        data_input_report(d);
    }
    if (!rc) {
        struct dataset_counts counts;
        dataset_counts(d, &counts);
        fprintf(stderr, "%s: %jd rows\n", io_output_name(out), (intmax_t)counts.rows);
        show_types(d);
    }
    dataset_close(d);
    return rc;
}

static const struct cmd_example examples[] = {
    {"a CSV file as Parquet", "trainyard data convert train.csv train.parquet"},
    {"ids stay as they are written",
     "trainyard data convert --types user_id=string train.csv train.parquet"},
    {"merge many files into one", "trainyard data convert 'logs/*.csv.gz' all.parquet"},
    {"some columns as text",
     "trainyard data convert --columns clk,price a.parquet a.csv"},
    {0},
};

const struct cmd cmd_data_convert = {
    .name = "data convert",
    .args = "IN... OUT",
    .summary = "convert data files to another format",
    .description =
        "Between Parquet, CSV, TSV and JSON lines, row by row in bounded memory. OUT "
        "appears only when it is complete, and cannot be one of the inputs. `-` is "
        "stdout.\n\n"
        "In text files a column becomes numeric only if that loses nothing: with "
        "values such as 007, +5 or an integer beyond 64 bits it stays a string. Types "
        "are inferred from the first 64 MiB of the first file and printed. A later "
        "value that would not survive the conversion is an error; --types overrides "
        "the inference.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct convert_conf),
    .min_args = 2,
    .max_args = CMD_ANY,
    .run = data_convert_command,
};
