/* SPDX-License-Identifier: Apache-2.0 */
/* init: a config to start from. One pass over the file, as `data stats` makes it, feeds
 * the statistics of all columns; the texts of the first batches are looked into as well
 * (init_sample.c). From both init_guess.c plans what each column is, and init_write.c
 * writes the plan down. The label columns, the files of training and evaluation, and how
 * a CSV file is read are settled here, and so is that no file is overwritten unasked.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/init_private.h"
#include "io/guard.h"

#define ROWS 8192 /* at a time */
#define LOOKS 4   /* batches whose texts are taken apart */

struct init_conf {
    struct data_input in;
    const char *out, *label, *model;
    bool overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct init_conf, out, "pipeline.config", "file to write; '-': stdout"),
     .meta = "FILE"},
    {OPT_TEXT(struct init_conf, label, NULL,
              "label columns; default: found by name and values"),
     .meta = "A,B"},
    {OPT_CHOICE(struct init_conf, model, NULL,
                "deepfm|mmoe|multi_tower|multi_tower_din|wide_and_deep",
                "model to train; default: chosen by the columns")},
    {OPT_BOOL(struct init_conf, overwrite, "false", "replace an output that exists"),
     .alias = "force"},
    DATA_INPUT_OPTS(struct init_conf),
    {0},
};

static enum rc read_all(struct dataset *d, struct stats *s, struct init_texts *texts,
                        struct err *err)
{
    const struct batch *b = NULL;
    enum rc rc = dataset_next(d, &b, err);
    for (int k = 0; !rc && b; k++) {
        stats_add(s, b);
        for (size_t i = 0; k < LOOKS && i < b->n_cols; i++)
            init_look(&texts[i], &b->cols[i]);
        rc = dataset_next(d, &b, err);
    }
    return rc;
}

/* DIR/train stands beside DIR/eval, and DIR may stand for both. */
static void find_files(const char *path, struct arena *a, struct init_files *f)
{
    char *train = fs_join(path, "train"), *eval = fs_join(path, "eval");
    char *up = fs_dirname(path), *beside = fs_join(up, "eval");
    f->train = path;
    if (fs_is_dir(train) && fs_is_dir(eval)) {
        f->train = arena_strdup(a, train);
        f->eval = arena_strdup(a, eval);
    } else if (str_ends(path, "/train") && fs_is_dir(beside)) {
        f->eval = arena_strdup(a, beside);
    }
    mem_free(train);
    mem_free(eval);
    mem_free(up);
    mem_free(beside);
}

/* How the text file was read, so that training reads it likewise. */
static enum rc text_format(const struct init_conf *c, const struct dataset *d,
                           struct init_files *f, struct err *err)
{
    const char *format, *path = dataset_first_file(d, &format);
    const struct reader_ops *ops = reader_find(format);
    if (ops->no_training)
        return err_coded(err, RC_UNSUPPORTED, E1203,
                         "training cannot read %s: convert it to Parquet with "
                         "`trainyard data convert`",
                         ops->title);
    f->csv = ops->delimited;
    f->header = !c->in.no_header;
    if (f->csv && !f->header)
        return err_coded(err, RC_UNSUPPORTED, E1203,
                         "a CSV file without a header has no column names: convert it "
                         "to Parquet with `trainyard data convert --no-header`");
    if (!f->csv)
        return RC_OK;
    if (c->in.delimiter)
        return data_input_delimiter(c->in.delimiter, &f->delimiter, err);
    return reader_csv_delimiter(path, &f->delimiter, err);
}

static enum rc init_save(const struct init_conf *c, const struct init_plan *p,
                         struct buf *text, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += p->at[i].use != INIT_SKIP && p->at[i].use != INIT_LABEL;
    enum rc rc = buf_check(text, err);
    if (!rc)
        rc = strcmp(c->out, "-") == 0
                 ? cmd_print(text, err)
                 : fs_write(c->out, buf_str(text), text->n, 0644, err);
    if (rc)
        return rc;
    fprintf(stderr, "%s: %s on %zu features, label '%s'", c->out, p->model, n,
            p->labels.at[0]);
    if (p->binary)
        fprintf(stderr, " (%.2f %% positive)", 100 * p->positive);
    fputs("\n", stderr);
    if (strcmp(c->out, "-") != 0)
        fprintf(stderr, "next: trainyard check %s; trainyard train %s\n", c->out, c->out);
    return RC_OK;
}

static enum rc init_make(const struct init_conf *c, const char *path, struct dataset *d,
                         const char *const *labels, size_t n_labels,
                         struct init_files *files, struct err *err)
{
    struct init_plan p = {0};
    struct buf text;
    size_t n = dataset_schema(d)->n;
    struct init_texts *texts = mem_calloc(n + 1, sizeof(*texts));
    struct stats *s = stats_create(dataset_schema(d), labels, n_labels);
    buf_init(&text, CMD_TEXT_MAX);
    enum rc rc = text_format(c, d, files, err);
    if (!rc)
        rc = read_all(d, s, texts, err);
    if (!rc && !stats_rows(s))
        rc = err_coded(err, RC_INVAL, E1221, "'%s' has no rows", path);
    if (!rc)
        rc = init_guess(&p, s, texts, n, labels, n_labels, c->model, err);
    if (!rc) {
        init_write(&p, files, &text);
        rc = init_save(c, &p, &text, err);
        data_input_report(d);
    }
    buf_release(&text);
    stats_destroy(s);
    mem_free(texts);
    VEC_RELEASE(&p.labels);
    arena_release(&p.mem);
    return rc;
}

static enum rc init_command(const void *conf, const struct opt_args *args,
                            struct err *err)
{
    const struct init_conf *c = conf;
    struct dataset *d = NULL;
    struct init_files files = {0};
    struct arena mem = {0};
    const char **labels = NULL;
    char *text = NULL;
    if (!c->overwrite && strcmp(c->out, "-") != 0 && fs_exists(c->out))
        return err_coded(err, RC_INVAL, E1223,
                         "'%s' is there already; say --overwrite to replace it, or --out",
                         c->out);
    size_t n = data_input_names(c->label, &labels, &text);
    find_files(args->at[0], &mem, &files);
    struct fs_names inputs = {0};
    data_input_files(&files.train, 1, &inputs);
    enum rc rc = io_guard_file(c->out, &inputs, true, err);
    fs_names_release(&inputs);
    if (!rc)
        rc = data_input_open(&c->in, &files.train, 1, ROWS, labels, n, &d, err);
    if (!rc)
        rc = init_make(c, args->at[0], d, labels, n, &files, err);
    dataset_close(d);
    arena_release(&mem);
    mem_free(labels);
    mem_free(text);
    return rc;
}

static const struct cmd_example examples[] = {
    {"generate data and write a config for it",
     "trainyard data gen criteo --rows 100000 --out criteo && trainyard init criteo"},
    {"two labels, one multi-task model",
     "trainyard init --label clk,buy --model mmoe taobao"},
    {0},
};

const struct cmd cmd_init = {
    .name = "init",
    .args = "FILE",
    .summary = "write a config from a data file",
    .description =
        "Reads FILE once (a file, directory or pattern; Parquet or CSV), decides what "
        "each column is, and writes a commented pipeline.config that passes `check` "
        "and can be trained as it is. It is a starting point to edit: a comment above "
        "each feature gives the reason for it.\n"
        "\n"
        "The label is a column with a usual name (label, clk, click, ...) or the only "
        "column of zeros and ones. Integers become ids or numbers depending on name "
        "and range. Strings are hashed, or split if they contain separators. Sequence "
        "columns named GROUP__NAME become a grouped sequence next to the id NAME. "
        "Empty and constant columns, timestamps and free text are skipped and listed.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct init_conf),
    .min_args = 1,
    .max_args = 1,
    .run = init_command,
};
