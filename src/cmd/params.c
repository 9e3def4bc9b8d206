/* SPDX-License-Identifier: Apache-2.0 */
/* params: opens a checkpoint, a model_dir or a .safetensors file, which verifies it
 * unless told not to, and lists its tensors and the totals of each part, as a table or as
 * JSON. Of a config it is the checkpoint that eval, export and predict take. Only the headers are printed, never the values. Names are made harmless for the
 * terminal, since a file may come from anybody.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "ckpt/ckpt.h"
#include "cmd/cmd.h"
#include "cmd/train_config.h"
#include "text/json_out.h"
#include "train/export/export.h"

struct params_conf {
    const char *part, *model_dir, *edit_config_json;
    struct opt_list set;
    bool json, verify;
};

static const struct opt opts[] = {
    {OPT_CHOICE(struct params_conf, part, "all", "all|model|optimizer|state",
                "only this part")},
    {OPT_BOOL(struct params_conf, json, "false", "print one JSON object")},
    {OPT_BOOL(struct params_conf, verify, "true", "verify checksums first")},
    {OPT_TEXT(struct params_conf, model_dir, NULL, "override model_dir of a config"),
     .meta = "DIR", .filled = true},
    {OPT_LIST(struct params_conf, set, "override a value of a config"),
     .meta = "PATH=VALUE"},
    {OPT_TEXT(struct params_conf, edit_config_json, NULL,
              "override several values: an object of paths and values"),
     .meta = "JSON", .filled = true},
    {0},
};

struct totals {
    int64_t tensors, values, bytes;
};

static int64_t values_of(const struct ckpt_st_tensor *t)
{
    return t->bytes / (int64_t)ckpt_st_type_size(t->type);
}

static bool wanted(const struct params_conf *c, enum ckpt_part part)
{
    return strcmp(c->part, "all") == 0 || strcmp(c->part, ckpt_part_name(part)) == 0;
}

static void add_totals(const struct ckpt *k, struct totals out[CKPT_PARTS])
{
    for (size_t i = 0; i < ckpt_count(k); i++) {
        struct totals *t = &out[ckpt_part_at(k, i)];
        t->tensors++;
        t->values += values_of(ckpt_at(k, i));
        t->bytes += ckpt_at(k, i)->bytes;
    }
}

static void print_size(int64_t bytes, struct buf *out)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    size_t u = 0;
    while (v >= 1024 && u + 1 < ARRAY_LEN(units)) {
        v /= 1024;
        u++;
    }
    buf_printf(out, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

static void print_totals(const struct params_conf *c, const struct totals *all,
                         struct buf *out)
{
    for (int p = 0; p < CKPT_PARTS; p++) {
        const struct totals *t = &all[p];
        if (!t->tensors || !wanted(c, (enum ckpt_part)p))
            continue;
        buf_printf(out, "%s: %jd tensor%s, %jd values, ",
                   ckpt_part_name((enum ckpt_part)p), (intmax_t)t->tensors,
                   t->tensors == 1 ? "" : "s", (intmax_t)t->values);
        print_size(t->bytes, out);
        buf_putc(out, '\n');
    }
}

static char *shape_text(const struct ckpt_st_tensor *t)
{
    struct buf b;
    buf_init(&b, 4096);
    ckpt_st_print_shape(NULL, t->dims, t->n_dims, &b);
    return buf_take(&b);
}

/* Files of strangers may hold names that steer a terminal. */
static void print_name(const char *name, int width, struct buf *out)
{
    size_t from = out->n;
    buf_printf(out, "%-*s", width, name);
    for (size_t i = from; !out->failed && i < out->n; i++)
        if ((unsigned char)out->p[i] < ' ' || out->p[i] == 0x7f)
            out->p[i] = '?';
}

static int wider(int width, size_t n)
{
    return (size_t)width < n ? (int)n : width;
}

static void print_rows(const struct params_conf *c, const struct ckpt *k, struct buf *out)
{
    int name = 4, shape = 5;
    for (size_t i = 0; i < ckpt_count(k); i++) {
        char *text = shape_text(ckpt_at(k, i));
        if (wanted(c, ckpt_part_at(k, i))) {
            name = wider(name, strlen(ckpt_at(k, i)->name));
            shape = wider(shape, strlen(text));
        }
        mem_free(text);
    }
    buf_printf(out, "%-*s  type  %-*s  %14s  part\n", name, "name", shape, "shape",
               "bytes");
    for (size_t i = 0; i < ckpt_count(k); i++) {
        const struct ckpt_st_tensor *t = ckpt_at(k, i);
        if (!wanted(c, ckpt_part_at(k, i)))
            continue;
        char *text = shape_text(t);
        print_name(t->name, name, out);
        buf_printf(out, "  %-4s  %-*s  %14jd  %s\n", ckpt_st_type_name(t->type), shape,
                   text, (intmax_t)t->bytes, ckpt_part_name(ckpt_part_at(k, i)));
        mem_free(text);
    }
}

static void print_text(const struct params_conf *c, const struct ckpt *k,
                       const struct totals *all, struct buf *out)
{
    buf_puts(out, ckpt_path(k));
    if (ckpt_step(k) >= 0)
        buf_printf(out, ": step %jd, epoch %jd", (intmax_t)ckpt_step(k),
                   (intmax_t)ckpt_epoch(k));
    buf_puts(out, "\n\n");
    print_rows(c, k, out);
    buf_putc(out, '\n');
    print_totals(c, all, out);
}

static void json_tensor(struct json_out *j, const struct ckpt_st_tensor *t,
                        enum ckpt_part part)
{
    json_open(j, NULL, '{');
    json_put_str(j, "name", t->name);
    json_put_str(j, "dtype", ckpt_st_type_name(t->type));
    json_open(j, "shape", '[');
    for (int i = 0; i < t->n_dims; i++)
        json_put_int(j, NULL, t->dims[i]);
    json_close(j, ']');
    json_put_int(j, "bytes", t->bytes);
    json_put_str(j, "part", ckpt_part_name(part));
    json_put_str(j, "file", t->file);
    json_put_int(j, "offset", t->offset);
    json_close(j, '}');
}

static void print_json(const struct params_conf *c, const struct ckpt *k,
                       const struct totals *all, struct buf *out)
{
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    json_put_str(&j, "path", ckpt_path(k));
    if (ckpt_step(k) < 0) {
        json_put_null(&j, "step");
    } else {
        json_put_int(&j, "step", ckpt_step(k));
        json_put_int(&j, "epoch", ckpt_epoch(k));
    }
    json_open(&j, "tensors", '[');
    for (size_t i = 0; i < ckpt_count(k); i++)
        if (wanted(c, ckpt_part_at(k, i)))
            json_tensor(&j, ckpt_at(k, i), ckpt_part_at(k, i));
    json_close(&j, ']');
    json_open(&j, "totals", '{');
    for (int p = 0; p < CKPT_PARTS; p++) {
        if (!wanted(c, (enum ckpt_part)p))
            continue;
        json_open(&j, ckpt_part_name((enum ckpt_part)p), '{');
        json_put_int(&j, "tensors", all[p].tensors);
        json_put_int(&j, "values", all[p].values);
        json_put_int(&j, "bytes", all[p].bytes);
        json_close(&j, '}');
    }
    json_close(&j, '}');
    json_close(&j, '}');
    buf_putc(out, '\n');
}

/* Only configs have values to override. */
static bool is_config(const struct params_conf *c, const char *path)
{
    return c->model_dir || c->set.n || c->edit_config_json ||
           (str_ends(path, ".config") && !fs_is_dir(path));
}

/* The checkpoint that eval, export and predict take under a config, the caller's. */
static enum rc pick_checkpoint(const struct params_conf *c, const char *path, char **out,
                               struct err *err)
{
    struct conf config = {0};
    struct diags diags = {0};
    char why[EXPORT_WHY_SIZE] = "";
    const struct config_override overrides[] = {
        {"--model-dir", "model_dir", c->model_dir}};
    enum rc rc = config_read(path, overrides, ARRAY_LEN(overrides), &c->set,
                             c->edit_config_json, &config, &diags, err);
    if (rc)
        config_show(&diags);
    else
        rc = train_export_pick(config.data, NULL, out, why, err);
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

static enum rc params_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    const struct params_conf *c = conf;
    struct totals all[CKPT_PARTS] = {0};
    struct ckpt *k = NULL;
    struct buf out;
    char *note = NULL, *picked = NULL;
    enum rc rc =
        is_config(c, args->at[0]) ? pick_checkpoint(c, args->at[0], &picked, err) : RC_OK;
    if (!rc)
        rc = ckpt_open(picked ? picked : args->at[0], c->verify ? 0 : CKPT_NO_CHECKSUMS,
                       &k, &note, err);
    mem_free(picked);
    if (rc)
        return rc;
    if (note)
        fprintf(stderr, "trainyard params: %s\n", note);
    buf_init(&out, CMD_TEXT_MAX);
    add_totals(k, all);
    if (c->json)
        print_json(c, k, all, &out);
    else
        print_text(c, k, all, &out);
    rc = buf_check(&out, err);
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    ckpt_close(k);
    mem_free(note);
    return rc;
}

static const struct cmd_example examples[] = {
    {"contents of the latest checkpoint", "trainyard params experiments/din"},
    {"the checkpoint that eval, export and predict take",
     "trainyard params --part model pipeline.config"},
    {"names for a parameter map", "trainyard params --part model "
                                  "experiments/din/model.ckpt-1000"},
    {"for a program", "trainyard params --json pretrained.safetensors"},
    {0},
};

const struct cmd cmd_params = {
    .name = "params",
    .args = "CKPT|CONFIG",
    .summary = "list the tensors of a checkpoint",
    .description =
        "CKPT is a checkpoint (model.ckpt-N), a model_dir (its latest checkpoint is "
        "used), or a single .safetensors file. Of a config (NAME.config, or any with one of "
        "the last three options) it is the checkpoint that "
        "eval, export and predict take: the best if export_config says so or the run was "
        "trained with --patience, else the latest. The checkpoint is verified first: "
        "sizes, names and checksums.\n"
        "\n"
        "Parts: `model` holds the weights, `optimizer` the optimizer state, `state` "
        "what else is needed to resume training.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct params_conf),
    .min_args = 1,
    .max_args = 1,
    .run = params_command,
};
