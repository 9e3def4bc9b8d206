/* SPDX-License-Identifier: Apache-2.0 */
/* data gen: checks the request, has data/gen write the files, and shows per split and
 * label the rows, the share of positives and the best AUC and logloss that any model can
 * reach. Files of an earlier run are refused before anything is written: a directory is
 * read as a whole, so they would be mixed with the new ones.
 */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "data/gen/gen.h"
#include "io/guard.h"

struct gen_opts {
    int64_t rows, files, seed, threads;
    double eval_fraction;
    const char *out, *format, *compression;
    bool json, overwrite;
};

static const struct opt opts[] = {
    {OPT_INT(struct gen_opts, rows, "100000", 1, INT64_C(1000000000000),
             "rows in all files")},
    {OPT_TEXT(struct gen_opts, out, NULL, "output directory; created if needed"),
     .meta = "DIR"},
    {OPT_INT(struct gen_opts, files, "1", 1, 100000, "training files")},
    {OPT_NUM(struct gen_opts, eval_fraction, "0.1", 0, 0.9,
             "fraction of rows written to DIR/eval")},
    {OPT_INT(struct gen_opts, seed, "1", 0, INT64_MAX, "random seed")},
    {OPT_CHOICE(struct gen_opts, format, "parquet", WRITER_FILES, "of the files")},
    {OPT_TEXT(struct gen_opts, compression, NULL,
              "Parquet compression: none, snappy "
              "or zstd"),
     .meta = "NAME"},
    {OPT_INT(struct gen_opts, threads, "1", 1, 1024, "files written in parallel")},
    DATA_OVERWRITE_OPT(struct gen_opts),
    {OPT_BOOL(struct gen_opts, json, "false", "print the contents of DIR/gen.json")},
    {0},
};

static enum rc find_kind(const char *name, const struct gen_kind **out, struct err *err)
{
    size_t n;
    const struct gen_kind *const *all = gen_all(&n);
    *out = gen_find(name);
    if (*out)
        return RC_OK;
    struct buf names;
    buf_init(&names, 4096);
    for (size_t i = 0; i < n; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", gen_name(all[i]));
    enum rc rc = err_coded(err, RC_INVAL, E1214, "unknown kind '%.40s'; choose from %s",
                           name, buf_str(&names));
    buf_release(&names);
    return rc;
}

static void print_number(struct buf *out, double v)
{
    if (isnan(v))
        buf_printf(out, "  %12s", "-");
    else
        buf_printf(out, "  %12.4f", v);
}

static void print_text(const struct gen_conf *c, const struct gen_report *r,
                       struct buf *out)
{
    buf_printf(out, "%-8s %12s  %-10s %12s  %12s  %12s\n", "split", "rows", "label",
               "positive", "best AUC", "best logloss");
    for (size_t s = 0; s < r->n_splits; s++) {
        if (gen_labels(c->kind) == 0) /* those of candidates are lists */
            buf_printf(out, "%-8s %12jd  %-10s %12s  %12s  %12s\n", r->splits[s].name,
                       (intmax_t)r->splits[s].rows, "-", "-", "-", "-");
        for (size_t i = 0; i < gen_labels(c->kind); i++) {
            const struct gen_score *score = &r->splits[s].scores[i];
            buf_printf(out, "%-8s %12jd  %-10s", r->splits[s].name,
                       (intmax_t)r->splits[s].rows, gen_label(c->kind, i));
            double n = score->n ? (double)score->n : 1;
            buf_printf(out, " %10.2f %%", 100 * (double)score->n_pos / n);
            print_number(out, gen_score_auc(score));
            print_number(out, gen_score_logloss(score));
            buf_putc(out, '\n');
        }
    }
}

/* Files of an earlier run would be read together with the new ones. */
static enum rc check_output(const struct gen_opts *o, struct err *err)
{
    static const char *const names[] = {"gen.json", NULL};
    static const char *const splits[] = {"train", "eval"};
    enum rc rc = io_guard_files(o->out, names, NULL, o->overwrite, err);
    for (size_t i = 0; i < ARRAY_LEN(splits) && !rc && !o->overwrite; i++) {
        char *dir = fs_join(o->out, splits[i]);
        struct fs_names found = {0};
        if (!fs_list(dir, &found, NULL) && found.n)
            rc = io_guard_files(dir, (const char *[]){found.at[0], NULL}, NULL, false,
                                err);
        fs_names_release(&found);
        mem_free(dir);
    }
    return rc;
}

static enum rc data_gen_command(const void *conf, const struct opt_args *args,
                                struct err *err)
{
    const struct gen_opts *o = conf;
    struct gen_conf c = {
        .rows = o->rows,
        .files = o->files,
        .seed = (uint64_t)o->seed,
        .eval_fraction = o->eval_fraction,
        .threads = (int)o->threads,
        .out = o->out,
        .format = writer_find(o->format),
        .writer = {.compression = o->compression},
    };
    struct gen_report r = {0};
    struct buf out;
    enum rc rc = find_kind(args->at[0], &c.kind, err);
    if (rc)
        return rc;
    if (!o->out)
        return err_coded(err, RC_INVAL, E0605, "missing option --out DIR");
    if (!c.format)
        return err_coded(err, RC_INVAL, E1206, "this version does not write %s",
                         o->format);
    rc = check_output(o, err);
    if (!rc)
        rc = gen_run(&c, &r, err);
    if (rc)
        return rc;
    buf_init(&out, CMD_TEXT_MAX);
    if (o->json)
        gen_report_json(&c, &r, &out);
    else
        print_text(&c, &r, &out);
    rc = cmd_print(&out, err);
    buf_release(&out);
    gen_report_release(&r);
    return rc;
}

static const struct cmd_example examples[] = {
    {"a million rows for the DIN tutorial, 90 % of them for training",
     "trainyard data gen taobao --rows 1000000 --out data/taobao"},
    {"the same rows as text, in four files",
     "trainyard data gen criteo --rows 1000000 --files 4 --format csv --out data/criteo"},
    {0},
};

const struct cmd cmd_data_gen = {
    .name = "data gen",
    .args = "KIND",
    .summary = "generate a click log with a known best AUC",
    .description =
        "KIND is ccp, criteo, kuairand, movielens or taobao. The files have the columns of these "
        "datasets, long-tailed ids, and labels drawn from hidden effects of the "
        "values. Because the true probabilities are known, so is the highest AUC that "
        "any model can reach; it is printed and written to DIR/gen.json. The same seed "
        "gives the same bytes.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct gen_opts),
    .min_args = 1,
    .max_args = 1,
    .words = "ccp|criteo|kuairand|movielens|taobao",
    .run = data_gen_command,
};
