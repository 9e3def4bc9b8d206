/* SPDX-License-Identifier: Apache-2.0 */
/* init: a config to start from. One pass over the file, as `data stats` makes it, feeds
 * the statistics of all columns and a sample of rows (init_sample.c). From both
 * init_guess.c plans what each column is and init_label.c what the label is. A second pass
 * writes the rows to train on and those held out (init_prepare.c), unless the files can be
 * used as they are, and init_write.c writes the plan down. The files of training and
 * evaluation and how a CSV file is read are settled here, and so is that no file is
 * overwritten unasked.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/init_private.h"
#include "io/guard.h"
#include "job/quote.h"

#define ROWS 8192 /* at a time */
#define LOOKS 4   /* batches whose texts are taken apart */

struct init_conf {
    struct data_input in;
    const char *out, *label, *model, *positive, *holdout_by, *name;
    double holdout;
    bool copy, overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct init_conf, out, "pipeline.config", "file to write; '-': stdout"),
     .meta = "FILE"},
    {OPT_TEXT(struct init_conf, label, NULL,
              "label columns; default: found by name and values"),
     .meta = "A,B"},
    {OPT_TEXT(
         struct init_conf, positive, NULL,
         "which text of a two-valued text label is 1; default: the one that says yes, "
         "or the rarer one"),
     .meta = "TEXT"},
    {OPT_NUM(struct init_conf, holdout, "0.1", 0, 0.9,
             "share of rows to hold out for evaluation when there is no file for it; 0: "
             "none")},
    {OPT_TEXT(struct init_conf, holdout_by, NULL,
              "a column of times (the latest rows are held out), or 'hash'; default: the "
              "time column if there is one"),
     .meta = "COLUMN"},
    {OPT_CHOICE(struct init_conf, model, NULL,
                "deepfm|mmoe|multi_tower|multi_tower_din|wide_and_deep",
                "model to train; default: chosen by the columns")},
    {OPT_TEXT(
         struct init_conf, name, NULL,
         "what NAME-data and NAME-model are called, a path too; default: after FILE"),
     .meta = "NAME"},
    {OPT_BOOL(
        struct init_conf, copy, "false",
        "write the rows to NAME-data even where training could read FILE as it is")},
    {OPT_BOOL(struct init_conf, overwrite, "false", "replace outputs that exist"),
     .alias = "force"},
    DATA_INPUT_OPTS(struct init_conf),
    {0},
};

/* One call's work, released at its end. */
struct making {
    const struct init_conf *c;
    struct data_input in; /* c->in, with what was found out about the header */
    struct arena mem;
    struct init_files files;
    const char *name, *data_dir; /* "adult", "adult-data" */
    const char **labels;
    size_t n_labels;
    char *label_text;
    struct dataset *d;
    struct stats *stats;
    struct init_texts *texts;
    struct init_sample sample;
    struct init_plan plan;
    struct init_split split;
    bool prepared;
};

static enum rc read_all(struct making *m, struct err *err)
{
    const struct batch *b = NULL;
    enum rc rc = dataset_next(m->d, &b, err);
    for (int k = 0; !rc && b; k++) {
        stats_add(m->stats, b);
        init_sample_add(&m->sample, b);
        for (size_t i = 0; k < LOOKS && i < b->n_cols; i++)
            init_look(&m->texts[i], &b->cols[i]);
        rc = dataset_next(m->d, &b, err);
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

/* What the data is called: the file without its suffixes, or the directory of a pattern
 * or of files that are all called train.
 */
static const char *name_of(const char *path, struct arena *a)
{
    char *base = fs_basename(path), *up = fs_dirname(path);
    size_t n = strcspn(base, ".");
    bool pattern = strpbrk(base, "*?[,") || n == 0;
    bool generic = (n == 5 && strncmp(base, "train", 5) == 0) || pattern;
    const char *out = arena_strndup(a, base, n);
    if (generic && strcmp(up, ".") != 0 && strcmp(up, "/") != 0 && !strpbrk(up, "*?[,:"))
        out = name_of(up, a);
    else if (pattern)
        out = "data";
    mem_free(base);
    mem_free(up);
    return out;
}

/* ---- headers ---- */

static bool is_numbered(const struct data_schema *s)
{
    for (size_t i = 0; i < s->n; i++) {
        int64_t v;
        if (!str_to_i64(str_c(s->at[i].name), &v) || v != (int64_t)i)
            return false;
    }
    return true;
}

/* A header has no numbers among its names, unless they only count the columns. */
static bool header_is_data(const struct data_schema *s)
{
    double v;
    for (size_t i = 0; i < s->n; i++)
        if (str_to_f64(str_trim(str_c(s->at[i].name)), &v))
            return !is_numbered(s);
    return false;
}

/* Read without a header, a column is a number down to the first line. */
static bool any_number(const struct data_schema *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].type.id != TYPE_STR)
            return true;
    return false;
}

static enum rc open_with(struct making *m, bool labels, struct err *err)
{
    dataset_close(m->d);
    m->d = NULL;
    return data_input_open(&m->in, &m->files.train, 1, ROWS, labels ? m->labels : NULL,
                           labels ? m->n_labels : 0, &m->d, err);
}

/* With nothing said about a header, the first line is one unless it looks like data: it
 * holds numbers, or the same text twice in a file with columns of numbers.
 */
static enum rc open_input(struct making *m, struct err *err)
{
    const char *format = "csv";
    if (m->in.header || data_input_bare(&m->in))
        return open_with(m, true, err);
    enum rc rc = open_with(m, false, err);
    bool twice = rc && err->code == E1109;
    if (rc && !twice)
        return rc;
    if (!rc)
        dataset_first_file(m->d, &format);
    if (twice ||
        (reader_find(format)->delimited && header_is_data(dataset_schema(m->d)))) {
        struct err kept = *err;
        m->in.no_header = true;
        rc = open_with(m, false, err);
        if (!rc && twice && !any_number(dataset_schema(m->d))) {
            *err = kept;
            return RC_FORMAT;
        }
        if (!rc)
            fprintf(stderr, "note: the first line is taken for data, not for a header; "
                            "columns are called c0, c1, ... (--names, --header line)\n");
    }
    return rc ? rc : open_with(m, true, err);
}

/* How the text file was read, so that training reads it likewise. */
static enum rc text_format(struct making *m, struct err *err)
{
    const char *format, *path = dataset_first_file(m->d, &format);
    struct init_files *f = &m->files;
    f->csv = reader_find(format)->delimited;
    f->header = true;
    if (!f->csv)
        return RC_OK;
    if (m->in.delimiter)
        return data_input_delimiter(m->in.delimiter, &f->delimiter, err);
    return reader_csv_delimiter(path, &f->delimiter, err);
}

/* ---- rows that are held out ---- */

/* Training reads neither text formats without names nor JSON lines. */
static bool unfit(const struct making *m)
{
    const char *format;
    dataset_first_file(m->d, &format);
    const struct reader_ops *ops = reader_find(format);
    return ops->no_training || (ops->delimited && data_input_bare(&m->in)) ||
           init_must_prepare(&m->plan, &(struct init_seen){.sample = &m->sample},
                             dataset_schema(m->d));
}

/* One file from `from`, with the same settings as the first pass. */
static enum rc copy_rows(struct making *m, const char *from, struct init_split *split,
                         const char *train, const char *eval, struct err *err)
{
    struct dataset *d = NULL;
    enum rc rc = data_input_open(&m->in, &from, 1, ROWS, NULL, 0, &d, err);
    if (!rc)
        rc = init_prepare(d, &m->plan, split, train, eval, err);
    dataset_close(d);
    return rc;
}

static void say_held_out(struct making *m)
{
    const struct init_split *s = &m->split;
    const char *how = "chosen by a hash of their features";
    if (s->by_time >= 0)
        how = arena_printf(&m->mem, "the latest by '%s'", m->plan.at[s->by_time].name);
    if (s->share > 0)
        m->files.held_out = arena_printf(
            &m->mem, "held out: %jd of %jd rows, %s; training never sees them",
            (intmax_t)s->eval_rows, (intmax_t)(s->train_rows + s->eval_rows), how);
    else
        m->files.held_out = m->c->holdout > 0
                                ? "too few rows to hold any out: nothing is evaluated"
                                : "no rows are held out: nothing is evaluated";
}

/* Files that training can read: what is held out, and both when they must be changed. */
static enum rc prepare(struct making *m, struct err *err)
{
    struct init_files *f = &m->files;
    struct init_seen seen = {.stats = m->stats, .sample = &m->sample};
    const char *train = arena_printf(&m->mem, "%s/train.parquet", m->data_dir);
    const char *eval = arena_printf(&m->mem, "%s/eval.parquet", m->data_dir);
    const char *eval_from = f->eval;
    bool change = m->c->copy || unfit(m);
    enum rc rc = RC_OK;
    if (!f->eval)
        rc = init_split_choose(&m->plan, &seen, m->c->holdout_by, m->c->holdout,
                               &m->split, err);
    if (rc || (!change && (f->eval || m->split.share <= 0))) {
        if (!rc && !f->eval)
            say_held_out(m);
        return rc ? rc : text_format(m, err);
    }
    rc = fs_mkdirs(m->data_dir, 0755, err);
    if (!rc)
        rc = copy_rows(m, f->train, f->eval ? NULL : &m->split, train, eval, err);
    if (!rc && eval_from)
        rc = copy_rows(m, eval_from, NULL, eval, NULL, err);
    if (rc)
        return rc;
    m->prepared = true;
    f->tidied = init_has_tidied(&m->plan, &seen, dataset_schema(m->d));
    f->train = train;
    f->eval = eval_from || m->split.share > 0 ? eval : NULL;
    if (!eval_from)
        say_held_out(m);
    return RC_OK;
}

/* ---- what was found ---- */

/* A line with names and texts of the data, which say nothing to the terminal. */
static void init_say(const char *line)
{
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    job_quote_terminal(str_c(line), &b);
    fprintf(stderr, "%s\n", buf_str(&b));
    buf_release(&b);
}

static void show_label(struct making *m)
{
    for (size_t i = 0; i < m->plan.n; i++) {
        const struct init_column *c = &m->plan.at[i];
        if (c->use == INIT_LABEL && c->one)
            init_say(arena_printf(
                &m->mem, "label '%s': '%s' is 1, '%s' is 0; --positive says otherwise",
                c->name, c->one, c->zero));
    }
}

static void show_left_out(struct making *m)
{
    for (size_t i = 0; i < m->plan.n; i++)
        if (m->plan.at[i].use == INIT_SKIP)
            init_say(arena_printf(&m->mem, "left out '%s': %s", m->plan.at[i].name,
                                  m->plan.at[i].why));
}

static void show_next(const struct making *m)
{
    const char *out = m->c->out, *dir = m->files.model_dir;
    if (strcmp(out, "-") == 0)
        return;
    char *config = fs_join(dir, "pipeline.config"),
         *export = mem_printf("%s-export", m->name);
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    buf_puts(&b, "next:\n  ");
    cmd_put_words(&b, "trainyard", "check", out, NULL);
    buf_puts(&b, "\n  ");
    cmd_put_words(&b, "trainyard", "train", out, NULL);
    buf_puts(&b, m->files.eval ? " --patience 3\n  " : "\n  ");
    cmd_put_words(&b, "trainyard", "export", config, "--export-dir", export, NULL);
    buf_puts(&b, "\n  ");
    cmd_put_words(&b, "trainyard", "serve", "--model", export, NULL);
    fprintf(stderr, "%s\n", buf_str(&b));
    buf_release(&b);
    mem_free(export);
    mem_free(config);
}

static void show_result(struct making *m)
{
    const struct init_plan *p = &m->plan;
    const char *share = "";
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += p->at[i].use != INIT_SKIP && p->at[i].use != INIT_LABEL;
    show_label(m);
    show_left_out(m);
    if (m->prepared)
        fprintf(stderr, "%s: rows as training reads them, in Parquet\n", m->data_dir);
    if (m->files.held_out)
        init_say(m->files.held_out);
    if (p->binary)
        share = arena_printf(&m->mem, " (%.2f %% positive)", 100 * p->positive);
    init_say(arena_printf(&m->mem, "%s: %s on %zu columns, label '%s'%s", m->c->out,
                          p->model, n, p->labels.at[0], share));
    show_next(m);
}

static enum rc save_config(struct making *m, struct err *err)
{
    struct buf text;
    buf_init(&text, CMD_TEXT_MAX);
    init_write(&m->plan, &m->files, &text);
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = strcmp(m->c->out, "-") == 0
                 ? cmd_print(&text, err)
                 : fs_write(m->c->out, buf_str(&text), text.n, 0644, err);
    buf_release(&text);
    if (!rc) {
        show_result(m);
        data_input_report(m->d);
    }
    return rc;
}

static enum rc init_make(struct making *m, const char *path, struct err *err)
{
    struct init_wish wish = {.labels = m->labels,
                             .n_labels = m->n_labels,
                             .model = m->c->model,
                             .positive = m->c->positive};
    size_t n = dataset_schema(m->d)->n;
    m->texts = mem_calloc(n + 1, sizeof(*m->texts));
    m->stats = stats_create(dataset_schema(m->d), m->labels, m->n_labels);
    init_sample_init(&m->sample, n);
    enum rc rc = read_all(m, err);
    if (!rc && !stats_rows(m->stats))
        rc = err_coded(err, RC_INVAL, E1221, "'%s' has no rows", path);
    if (!rc)
        rc = init_guess(&m->plan,
                        &(struct init_seen){
                            .stats = m->stats, .texts = m->texts, .sample = &m->sample},
                        &wish, err);
    if (!rc)
        rc = prepare(m, err);
    return rc ? rc : save_config(m, err);
}

/* Said before any rows are written. */
static enum rc can_be_written(const char *out, struct err *err)
{
    char *dir = fs_dirname(out);
    enum rc rc = RC_OK;
    if (strcmp(out, "-") != 0 && !fs_is_dir(dir))
        rc = err_coded(err, RC_NOTFOUND, E0005, "'%s': there is no directory '%s'", out,
                       dir);
    else if (strcmp(out, "-") != 0 && access(dir, W_OK) != 0)
        rc = err_sys(err, errno, "cannot write '%s'", out);
    mem_free(dir);
    return rc;
}

static enum rc check_outputs(struct making *m, struct err *err)
{
    static const char *const names[] = {"train.parquet", "eval.parquet", NULL};
    const struct init_conf *c = m->c;
    const char *const from[] = {m->files.train, m->files.eval};
    struct fs_names inputs = {0};
    if (!c->overwrite && strcmp(c->out, "-") != 0 && fs_exists(c->out))
        return err_coded(err, RC_INVAL, E1223,
                         "'%s' is there already; say --overwrite to replace it, or --out",
                         c->out);
    if (c->name && !*c->name)
        return err_coded(err, RC_INVAL, E0603, "--name: it is empty");
    data_input_files(from, ARRAY_LEN(from), &inputs);
    enum rc rc = can_be_written(c->out, err);
    if (!rc)
        rc = io_guard_file(c->out, &inputs, true, err);
    if (!rc)
        rc = io_guard_files(m->data_dir, names, &inputs, c->overwrite, err);
    fs_names_release(&inputs);
    return rc;
}

static void making_release(struct making *m)
{
    dataset_close(m->d);
    stats_destroy(m->stats);
    init_sample_release(&m->sample);
    mem_free(m->texts);
    VEC_RELEASE(&m->plan.labels);
    arena_release(&m->plan.mem);
    arena_release(&m->mem);
    mem_free(m->labels);
    mem_free(m->label_text);
}

static enum rc init_command(const void *conf, const struct opt_args *args,
                            struct err *err)
{
    struct making m = {.c = conf};
    m.in = m.c->in;
    m.n_labels = data_input_names(m.c->label, &m.labels, &m.label_text);
    find_files(args->at[0], &m.mem, &m.files);
    m.name = m.c->name ? m.c->name : name_of(args->at[0], &m.mem);
    m.data_dir = arena_printf(&m.mem, "%s-data", m.name);
    m.files.model_dir = arena_printf(&m.mem, "%s-model", m.name);
    enum rc rc = check_outputs(&m, err);
    if (!rc)
        rc = open_input(&m, err);
    if (!rc)
        rc = init_make(&m, args->at[0], err);
    making_release(&m);
    return rc;
}

static const struct cmd_example examples[] = {
    {"generate data and write a config for it",
     "trainyard data gen criteo --rows 100000 --out criteo && trainyard init criteo"},
    {"a raw file without a header, the label as text",
     "trainyard init adult.data --names age,workclass,fnlwgt,education,income --label "
     "income"},
    {"two labels, one multi-task model",
     "trainyard init --label clk,buy --model mmoe taobao"},
    {0},
};

const struct cmd cmd_init = {
    .name = "init",
    .args = "FILE",
    .summary = "write a config from a data file",
    .description =
        "Reads FILE (a file, directory or pattern; Parquet, CSV or JSON lines), decides "
        "what each column is, and writes a commented pipeline.config that passes `check` "
        "and can be trained as it is. It is a starting point to edit: a comment above "
        "each feature gives the reason for it.\n"
        "\n"
        "A tenth of the rows is held out for evaluation: the latest ones if a column tells "
        "the time, else by a hash of the features. Both parts are written to NAME-data, "
        "where text labels are 0 and 1 and dates are seconds since 1970; FILE stays as it "
        "is. Where DIR/train and DIR/eval exist they are used instead.\n"
        "\n"
        "The label is a column with a usual name (label, clk, click, ...) or the only one "
        "with two values. Columns that give it away, ids that differ in every row, weights "
        "of rows, empty and constant columns and free text are left out and listed.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct init_conf),
    .min_args = 1,
    .max_args = 1,
    .run = init_command,
};
