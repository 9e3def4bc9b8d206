/* SPDX-License-Identifier: Apache-2.0 */
/* The config as a person would write it: a line of reason above each feature. It is
 * printed from the plan in the order in which it is read: paths, training, data,
 * features, columns that were left out, model. The members of a sequence group lie
 * anywhere among the columns; the group is written once, where its first one stands.
 * Names come from files of strangers: in fields they are quoted, in comments they cannot end
 * the line.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/init_private.h"
#include "job/quote.h"

#define DIM 8
#define MANY_ROWS 2000000 /* from here on fewer passes over larger batches */

static void init_write_quoted(struct buf *out, const char *s)
{
    buf_putc(out, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

/* "HEAD NAME: WHY". */
static void init_write_comment(struct buf *out, const char *head, const char *name,
                               const char *why)
{
    buf_puts(out, head);
    job_quote_terminal(str_c(name), out);
    buf_puts(out, ": ");
    job_quote_terminal(str_c(why), out);
    buf_putc(out, '\n');
}

static void text_field(struct buf *out, const char *field, const char *value)
{
    buf_printf(out, " %s: ", field);
    init_write_quoted(out, value);
}

static const char *side_of(const struct init_column *c)
{
    return strstr(c->name, "user") || c->group ? "user" : "item";
}

static void expression(struct buf *out, const struct init_column *c, const char *side)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_printf(&text, "%s:%s", side, c->column);
    text_field(out, "expression", buf_str(&text));
    buf_release(&text);
}

/* As many words in a line as fit. */
static void vocabulary(struct buf *out, const struct init_column *c)
{
    size_t line = 0;
    buf_puts(out, " vocab_list: [");
    for (size_t i = 0; i < c->n_vocab; i++) {
        size_t n = strlen(c->vocab[i]) + 4;
        bool cut = i == 0 || line + n > 90;
        line = cut ? n : line + n;
        buf_puts(out, cut ? (i ? ",\n    " : "\n    ") : ", ");
        init_write_quoted(out, c->vocab[i]);
    }
    buf_puts(out, "]");
}

static void rows_of_table(struct buf *out, const struct init_column *c)
{
    if (c->n_vocab) {
        buf_printf(out, " embedding_dim: %d", DIM);
        vocabulary(out, c);
        return;
    }
    buf_printf(out, " %s: %ju embedding_dim: %d",
               c->hash ? "hash_bucket_size" : "num_buckets", (uintmax_t)c->buckets, DIM);
    if (c->table)
        text_field(out, "embedding_name", c->table);
}

/* One number of a text format, as short as it reads back. */
static void put_limits(struct buf *out, const struct init_column *c)
{
    char text[40];
    buf_puts(out, " boundaries: [");
    for (size_t i = 0; i < c->n_limits; i++) {
        str_from_f32((float)c->limits[i], text);
        buf_printf(out, "%s%s", i ? ", " : "", text);
    }
    buf_puts(out, "]");
}

/* Columns that are ids and quantities at once have features beside the number. */
static void beside_number(struct buf *out, const struct init_column *c, const char *side)
{
    if (c->n_limits) {
        buf_puts(out, "feature_configs {\n  raw_feature {");
        text_field(out, "feature_name", c->bin_name);
        expression(out, c, side);
        if (c->missing)
            text_field(out, "default_value", c->missing);
        buf_printf(out, " embedding_dim: %d", DIM);
        put_limits(out, c);
        buf_puts(out, " }\n}\n");
    }
    if (c->exact) {
        buf_puts(out, "feature_configs {\n  id_feature {");
        text_field(out, "feature_name", c->exact_name);
        expression(out, c, side);
        buf_printf(out, " hash_bucket_size: %ju embedding_dim: %d }\n}\n",
                   (uintmax_t)c->exact, DIM);
    }
}

static void time_feature(struct buf *out, const struct init_column *c, const char *name,
                         int64_t seconds, const char *behind, int values)
{
    struct buf text;
    if (!name)
        return;
    buf_init(&text, 1 << 16);
    buf_printf(&text, "mod(floor(%s/%jd)%s,%d)", c->column,
               (intmax_t)(seconds * (c->ticks ? c->ticks : 1)), behind, values);
    buf_puts(out, "feature_configs {\n  expr_feature {");
    text_field(out, "feature_name", name);
    text_field(out, "expression", buf_str(&text));
    buf_clear(&text);
    buf_printf(&text, "item:%s", c->column);
    text_field(out, "variables", buf_str(&text));
    buf_printf(out, " embedding_dim: %d boundaries: [", DIM);
    for (int i = 1; i < values; i++)
        buf_printf(out, "%s%d.5", i > 1 ? ", " : "", i - 1);
    buf_puts(out, "] }\n}\n");
    buf_release(&text);
}

static void time_features(struct buf *out, const struct init_column *c)
{
    init_write_comment(out, "# ", c->name, c->why);
    time_feature(out, c, c->hour_name, 3600, "", 24);
    /* 1970-01-01 was a Thursday: 0 is Sunday */
    time_feature(out, c, c->weekday_name, 86400, "+4", 7);
}

static void separator(struct buf *out, const char *field, char sep)
{
    char text[2] = {sep, '\0'};
    if (sep)
        text_field(out, field, text);
}

static void init_write_feature(struct buf *out, const struct init_column *c)
{
    if (c->why)
        init_write_comment(out, "# ", c->name, c->why);
    buf_puts(out, "feature_configs {\n  ");
    bool ids = c->use == INIT_ID || c->use == INIT_IDS;
    buf_printf(out, "%s {", ids ? "id_feature" : "raw_feature");
    text_field(out, "feature_name", c->name);
    expression(out, c, side_of(c));
    if (ids) {
        if (c->use == INIT_IDS)
            separator(out, "separator", c->sep);
        rows_of_table(out, c);
        if (c->use == INIT_IDS || c->mean)
            buf_puts(out, " pooling: \"mean\"");
    }
    if (c->use == INIT_VECTOR) {
        buf_printf(out, " value_dim: %u", c->length);
        separator(out, "separator", c->sep);
    }
    if (c->normalizer)
        text_field(out, "normalizer", c->normalizer);
    buf_puts(out, " }\n}\n");
    if (c->use == INIT_NUMBER)
        beside_number(out, c, side_of(c));
}

/* All sequences of one group, at the place of the first. */
static void init_write_group(struct buf *out, const struct init_plan *p, size_t first)
{
    const struct init_column *c = &p->at[first];
    uint32_t length = 1;
    char sep = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].use == INIT_SEQUENCE && strcmp(p->at[i].group, c->group) == 0) {
            length = p->at[i].length > length ? p->at[i].length : length;
            sep = p->at[i].sep ? p->at[i].sep : sep;
        }
    buf_printf(out,
               "# a sequence of events, at most %u long; compared with the "
               "ids of the same name\n"
               "feature_configs {\n"
               "  sequence_feature {\n"
               "   ",
               length);
    text_field(out, "sequence_name", c->group);
    buf_printf(out, "\n    sequence_length: %u\n   ", length);
    if (sep) {
        separator(out, "sequence_delim", sep);
        buf_puts(out, "\n");
    } else {
        buf_puts(out, " sequence_delim: \";\"\n");
    }
    for (size_t i = first; i < p->n; i++) {
        const struct init_column *f = &p->at[i];
        if (f->use != INIT_SEQUENCE || strcmp(f->group, c->group) != 0)
            continue;
        if (f->why)
            init_write_comment(out, "    # ", f->column, f->why);
        buf_puts(out, "    features {\n      id_feature {");
        text_field(out, "feature_name", f->column);
        expression(out, f, "item");
        rows_of_table(out, f);
        buf_puts(out, " }\n    }\n");
    }
    buf_puts(out, "  }\n}\n");
}

static bool group_was_written(const struct init_plan *p, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (p->at[i].use == INIT_SEQUENCE && strcmp(p->at[i].group, p->at[at].group) == 0)
            return true;
    return false;
}

static void features(struct buf *out, const struct init_plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct init_column *c = &p->at[i];
        if (c->use == INIT_SEQUENCE && !group_was_written(p, i))
            init_write_group(out, p, i);
        else if (c->use == INIT_TIME)
            time_features(out, c);
        else if (c->use != INIT_SKIP && c->use != INIT_LABEL && c->use != INIT_SEQUENCE)
            init_write_feature(out, c);
    }
    bool any = false;
    for (size_t i = 0; i < p->n; i++) {
        if (p->at[i].use != INIT_SKIP)
            continue;
        if (!any)
            buf_puts(out, "# Left out:\n");
        any = true;
        init_write_comment(out, "#   ", p->at[i].name, p->at[i].why);
    }
}

/* Which features a group takes: those with a table, or all. */
enum wanted { WITH_TABLE, ALL };

static void put_name(struct buf *out, const char *name, size_t *n)
{
    if (!name)
        return;
    buf_puts(out, *n == 0 ? "\n      " : *n % 6 ? ", " : ",\n      ");
    init_write_quoted(out, name);
    ++*n;
}

static void init_write_names(struct buf *out, const struct init_plan *p, enum wanted want)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct init_column *c = &p->at[i];
        bool id = c->use == INIT_ID || c->use == INIT_IDS;
        bool number = c->use == INIT_NUMBER || c->use == INIT_VECTOR;
        if (id || (number && want == ALL))
            put_name(out, c->name, &n);
        if (c->use == INIT_NUMBER) {
            put_name(out, c->n_limits ? c->bin_name : NULL, &n);
            put_name(out, c->exact ? c->exact_name : NULL, &n);
        }
        if (c->use == INIT_TIME) {
            put_name(out, c->hour_name, &n);
            put_name(out, c->weekday_name, &n);
        }
    }
}

static void feature_group(struct buf *out, const struct init_plan *p, const char *name,
                          const char *type, enum wanted want)
{
    buf_printf(out,
               "  feature_groups {\n    group_name: \"%s\"\n    group_type: %s\n    "
               "feature_names: [",
               name, type);
    init_write_names(out, p, want);
    buf_puts(out, "\n    ]\n  }\n");
}

/* The ids that sequences are compared with, then the sequences. */
static void sequence_group(struct buf *out, const struct init_plan *p, const char *of)
{
    buf_puts(out, "  feature_groups {\n   ");
    text_field(out, "group_name", of);
    buf_puts(out, "\n    group_type: SEQUENCE\n    feature_names: [\n      ");
    for (int pass = 0, n = 0; pass < 2; pass++)
        for (size_t i = 0; i < p->n; i++) {
            const struct init_column *c = &p->at[i];
            if (c->use != INIT_SEQUENCE || strcmp(c->group, of) != 0)
                continue;
            buf_puts(out, n++ ? ", " : "");
            init_write_quoted(out, pass ? c->name : c->column);
        }
    buf_puts(out, "\n    ]\n  }\n");
}

static void init_write_losses(struct buf *out, const struct init_plan *p,
                              const char *indent)
{
    if (p->binary)
        buf_printf(out, "%slosses { binary_cross_entropy {} }\n%smetrics { auc {} }\n",
                   indent, indent);
    else
        buf_printf(
            out,
            "%s# the label is a number other than 0 and 1\n%slosses { l2_loss {} }\n"
            "%smetrics { mean_squared_error {} }\n",
            indent, indent, indent);
}

static void mmoe(struct buf *out, const struct init_plan *p)
{
    feature_group(out, p, "all", "DEEP", ALL);
    buf_puts(
        out,
        "  mmoe {\n    expert_mlp { hidden_units: [256, 128] }\n    num_expert: 3\n");
    for (size_t i = 0; i < p->labels.n; i++) {
        buf_puts(out, "    task_towers {\n     ");
        text_field(out, "tower_name", p->labels.at[i]);
        text_field(out, "label_name", p->labels.at[i]);
        buf_puts(out, "\n      mlp { hidden_units: [128, 64] }\n");
        init_write_losses(out, p, "      ");
        buf_puts(out, "    }\n");
    }
    buf_puts(out, "  }\n");
}

static void din(struct buf *out, const struct init_plan *p)
{
    feature_group(out, p, "deep", "DEEP", ALL);
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].use == INIT_SEQUENCE && !group_was_written(p, i))
            sequence_group(out, p, p->at[i].group);
    buf_puts(
        out,
        "  multi_tower_din {\n    towers { input: \"deep\" mlp { hidden_units: [256, 128] } }\n");
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].use == INIT_SEQUENCE && !group_was_written(p, i)) {
            buf_puts(out, "    din_towers {");
            text_field(out, "input", p->at[i].group);
            buf_puts(out, " attn_mlp { hidden_units: [128, 64] } }\n");
        }
    buf_puts(out, "    final { hidden_units: 64 }\n  }\n");
}

static void init_write_model(struct buf *out, const struct init_plan *p)
{
    buf_puts(out, "model_config {\n");
    if (strcmp(p->model, "mmoe") == 0) {
        mmoe(out, p);
    } else if (strcmp(p->model, "multi_tower_din") == 0) {
        din(out, p);
    } else if (strcmp(p->model, "multi_tower") == 0) {
        feature_group(out, p, "deep", "DEEP", ALL);
        buf_puts(
            out,
            "  multi_tower {\n    towers { input: \"deep\" mlp { hidden_units: [256, "
            "128] } }\n    final { hidden_units: 64 }\n  }\n");
    } else {
        feature_group(out, p, "wide", "WIDE", WITH_TABLE);
        if (strcmp(p->model, "deepfm") == 0)
            feature_group(out, p, "fm", "DEEP", WITH_TABLE);
        feature_group(out, p, "deep", "DEEP", ALL);
        buf_printf(
            out,
            "  %s {\n    deep { hidden_units: [128, 64] }\n    final { hidden_units: "
            "32 }\n    wide_init_fn: \"nn.init.zeros_\"\n  }\n",
            p->model);
    }
    if (strcmp(p->model, "mmoe") != 0)
        init_write_losses(out, p, "  ");
    buf_puts(out, "}\n");
}

/* What text is read as: otherwise the first rows of whichever file is read would say. */
static void input_fields(struct buf *out, const struct init_plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct init_column *c = &p->at[i];
        if (c->use == INIT_SKIP)
            continue;
        buf_puts(out, "  input_fields {");
        text_field(out, "input_name", c->name);
        buf_printf(out, " input_type: %s }\n",
                   c->type == TYPE_I64   ? "INT64"
                   : c->type == TYPE_F64 ? "DOUBLE"
                                         : "STRING");
    }
}

/* The rows to train on have numbers; those of the user's own file are read alike. */
static void label_texts(struct buf *out, const struct init_column *c)
{
    buf_puts(out, "  label_texts {");
    const char *const fields[][2] = {
        {"label_name", c->name}, {"one", c->one}, {"zero", c->zero}};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        text_field(out, fields[i][0], fields[i][1]);
    buf_puts(out, " }\n");
}

static void init_write_data(struct buf *out, const struct init_plan *p,
                            const struct init_files *f)
{
    buf_printf(out,
               "data_config {\n  batch_size: %d\n  dataset_type: %s\n  fg_mode: FG_DAG\n"
               "  shuffle: true\n",
               p->rows < MANY_ROWS ? 256 : 2048,
               f->csv ? "CsvDataset" : "ParquetDataset");
    if (f->csv) {
        char delim[2] = {f->delimiter, '\0'};
        buf_puts(out, " ");
        text_field(out, "delimiter", delim);
        buf_printf(out, "\n  with_header: %s\n", f->header ? "true" : "false");
        input_fields(out, p);
    }
    if (f->tidied)
        buf_puts(out, "  # as the rows to train on: no blanks and quotes around texts, "
                      "dates in text are seconds\n  tidy_text: true\n");
    buf_puts(out, "  label_fields: [");
    for (size_t i = 0; i < p->labels.n; i++) {
        buf_puts(out, i ? ", " : "");
        init_write_quoted(out, p->labels.at[i]);
    }
    buf_puts(out, "]\n");
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].use == INIT_LABEL && p->at[i].one)
            label_texts(out, &p->at[i]);
    buf_puts(out, "}\n");
}

/* Passes: a small file is read often, a large one once or twice. */
static void init_write_training(struct buf *out, const struct init_plan *p,
                                const struct init_files *f)
{
    buf_puts(out, "train_config {\n");
    if (f->eval)
        buf_puts(out,
                 "  # `train --patience 3` ends the run when three evaluations in a row "
                 "bring nothing\n");
    buf_printf(
        out,
        "  num_epochs: %d\n  save_checkpoints_epochs: 1\n  keep_checkpoint_max: 5\n"
        "  log_step_count_steps: 100\n"
        "  sparse_optimizer { adam_optimizer { lr: 0.001 } constant_learning_rate "
        "{} }\n"
        "  dense_optimizer { adam_optimizer { lr: 0.001 } constant_learning_rate {} "
        "}\n}\n",
        p->rows < MANY_ROWS ? 20 : 2);
}

static void init_write_label(struct buf *out, const struct init_plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct init_column *c = &p->at[i];
        if (c->use == INIT_LABEL && c->one) {
            struct buf why;
            buf_init(&why, 1 << 16);
            buf_puts(&why, "1 stands for ");
            init_write_quoted(&why, c->one);
            buf_puts(&why, ", 0 for ");
            init_write_quoted(&why, c->zero);
            init_write_comment(out, "# label ", c->name, buf_str(&why));
            buf_release(&why);
        }
    }
    if (p->binary) {
        char share[40];
        snprintf(share, sizeof(share), "%.2f %% are 1", 100 * p->positive);
        init_write_comment(out, "# label ", p->labels.at[0], share);
    }
}

void init_write(const struct init_plan *p, const struct init_files *files,
                struct buf *out)
{
    buf_printf(
        out,
        "# Written by `trainyard init` from %jd rows; a start, not a verdict. What to "
        "look at first:\n#   which columns are features at all (nothing that is known "
        "only after the label),\n#   which integers are ids and which are quantities.\n",
        (intmax_t)p->rows);
    buf_puts(out, "train_input_path: ");
    init_write_quoted(out, files->train);
    if (files->held_out) {
        buf_puts(out, "\n# ");
        job_quote_terminal(str_c(files->held_out), out);
    }
    if (files->eval) {
        buf_puts(out, "\neval_input_path: ");
        init_write_quoted(out, files->eval);
    }
    buf_puts(out, "\nmodel_dir: ");
    init_write_quoted(out, files->model_dir);
    buf_puts(out, "\n");
    init_write_training(out, p, files);
    if (files->eval)
        buf_puts(out, "# the checkpoint with the best evaluation is kept and exported\n"
                      "export_config { exporter_type: \"best\" }\n");
    init_write_label(out, p);
    init_write_data(out, p, files);
    features(out, p);
    init_write_model(out, p);
}
