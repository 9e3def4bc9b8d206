/* SPDX-License-Identifier: Apache-2.0 */
/* tune export: results of an experiment as NNI writes them, JSON or CSV, or what is
 * needed to run one trial again: command, directory, parameters, seed. A CSV has the
 * union of all parameters as columns, in the order in which trials first had them, since
 * a nested search space gives trials different ones. An output that exists is refused
 * before anything is read.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/tune_at.h"
#include "cmd/tune_common.h"
#include "io/guard.h"
#include "io/out.h"
#include "text/json.h"
#include "tune/command.h"
#include "tune/report.h"

struct export_conf {
    struct job_where where;
    const char *dir, *type, *file;
    int64_t trial;
    bool intermediate, overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct export_conf, dir, NULL, "experiment directory"), .meta = "DIR"},
    {OPT_CHOICE(struct export_conf, type, "json", "json|csv", "output format")},
    {OPT_TEXT(struct export_conf, file, NULL, "output file; default: stdout"),
     .meta = "FILE"},
    {OPT_INT(struct export_conf, trial, "-1", -1, INT64_MAX,
             "print how to rerun this trial: command, parameters, seed"),
     .meta = "N"},
    {OPT_BOOL(struct export_conf, intermediate, "false",
              "JSON: include intermediate results")},
    DATA_OVERWRITE_OPT(struct export_conf),
    TUNE_SERVER_OPT(struct export_conf),
    {0},
};

static void put_csv(const char *s, size_t n, struct buf *b)
{
    bool plain = !memchr(s, ',', n) && !memchr(s, '"', n) && !memchr(s, '\n', n);
    if (!plain)
        buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            buf_putc(b, '"');
        buf_putc(b, s[i]);
    }
    if (!plain)
        buf_putc(b, '"');
}

static void put_cell(const struct node *v, struct buf *b)
{
    struct buf text;
    buf_init(&text, CMD_TEXT_MAX);
    if (v && v->kind == NODE_STR)
        buf_add(&text, v->text.p, v->text.n);
    else if (v)
        json_print(v, 0, &text);
    put_csv(buf_str(&text), text.n, b);
    buf_release(&text);
}

/* Parameters of a trial as a tree; NULL when they cannot be read. To doc_release(). */
static const struct node *params_of(const struct exp_trial *t, struct doc *d)
{
    struct diags unheard = {0};
    *d = (struct doc){0};
    enum rc rc = source_from("parameters", t->params, strlen(t->params), &d->src, NULL);
    if (!rc)
        rc = json_parse(d, &unheard);
    diags_release(&unheard);
    return rc ? NULL : d->root;
}

/* Columns: the union of the parameters, then reward and trialJobId, as NNI writes them.
 */
static void print_csv(const struct experiment *e, struct buf *b)
{
    struct map names = {0};
    struct doc d;
    for (size_t i = 0; i < e->trials.n; i++) {
        const struct node *p = params_of(&e->trials.at[i], &d);
        for (size_t k = 0; p && p->kind == NODE_MAP && k < p->map.n; k++)
            map_put(&names, p->map.at[k].key);
        doc_release(&d);
    }
    for (size_t k = 0; k < names.n; k++) {
        put_csv(names.at[k].key, names.at[k].key_len, b);
        buf_putc(b, ',');
    }
    buf_puts(b, "reward,trialJobId\n");
    for (size_t i = 0; i < e->trials.n; i++) {
        const struct exp_trial *t = &e->trials.at[i];
        if (!t->has_final)
            continue;
        const struct node *p = params_of(t, &d);
        for (size_t k = 0; k < names.n; k++) {
            put_cell(node_find(p, names.at[k].key), b);
            buf_putc(b, ',');
        }
        put_csv(t->final_json, strlen(t->final_json), b);
        buf_printf(b, ",%s\n", t->id);
        doc_release(&d);
    }
    map_release(&names);
}

static enum rc print_trial(const struct experiment *e, int64_t number, struct buf *b,
                           struct err *err)
{
    char *command = NULL;
    if (number >= (int64_t)e->trials.n)
        return err_coded(err, RC_NOTFOUND, E4008, "experiment %s has no trial %jd",
                         e->set.id, (intmax_t)number);
    const struct exp_trial *t = &e->trials.at[number];
    enum rc rc = tune_command_of(e->set.command, t->params, &command, err);
    if (rc)
        return rc;
    buf_puts(b, "{\"command\": ");
    buf_json_str(b, command, strlen(command));
    /* At a server the code is a snapshot, which `job submit --source` takes. */
    const char *code = *e->set.code_dir ? e->set.code_dir : e->set.source;
    buf_printf(b, ", \"%s\": ", *e->set.code_dir ? "directory" : "source");
    buf_json_str(b, code, strlen(code));
    buf_printf(b, ", \"parameters\": %s, \"parameter_id\": %s, \"seed\": %ju}\n",
               t->params, t->param_id, (uintmax_t)experiment_seed(e));
    mem_free(command);
    return RC_OK;
}

static void print_all(const struct export_conf *o, const struct experiment *e,
                      struct buf *b)
{
    if (strcmp(o->type, "csv") == 0) {
        print_csv(e, b);
        return;
    }
    tune_report_nni_export(e, o->intermediate, b);
    buf_putc(b, '\n');
}

static enum rc tune_export_command(const void *conf, const struct opt_args *args,
                                   struct err *err)
{
    const struct export_conf *o = conf;
    struct experiment *e = NULL;
    struct tune_at at = {.dir = NULL};
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    enum rc rc = o->file ? io_guard_file(o->file, NULL, o->overwrite, err) : RC_OK;
    if (!rc)
        rc = tune_at_open(&o->where, o->dir, args->n ? args->at[0] : NULL, &at, err);
    if (!rc)
        rc = tune_at_experiment(&at, &e, err);
    if (!rc && o->trial >= 0)
        rc = print_trial(e, o->trial, &b, err);
    else if (!rc)
        print_all(o, e, &b);
    if (!rc)
        rc = buf_check(&b, err);
    if (!rc)
        rc = o->file ? io_write(o->file, buf_str(&b), b.n, err) : cmd_print(&b, err);
    buf_release(&b);
    experiment_close(e);
    tune_at_close(&at);
    return rc;
}

static const struct cmd_example export_examples[] = {
    {"a CSV table", "trainyard tune export --type csv --file results.csv"},
    {"how to rerun trial 17", "trainyard tune export --trial 17"},
    {0},
};

const struct cmd cmd_tune_export = {
    .name = "tune export",
    .args = "[ID]",
    .summary = "export results as JSON or CSV, or one trial to rerun",
    .examples = export_examples,
    .opts = opts,
    .conf_size = sizeof(struct export_conf),
    .max_args = 1,
    .run = tune_export_command,
};
