/* SPDX-License-Identifier: Apache-2.0 */
/* Which checkpoint: the one named, the latest, or the best of the evaluations so far. */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "text/json.h"
#include "text/prototext.h"
#include "train/best.h"
#include "train/export/export_private.h"

#define RESULTS_MAX ((size_t)64 << 20)

enum rc train_export_first_error(struct diags *diags, enum rc rc, struct err *err)
{
    struct buf b;
    struct str rest, line = {0};
    if (!rc || (err && err->msg[0]))
        return rc;
    buf_init(&b, (size_t)1 << 20);
    diags_sort(diags);
    diags_print(diags, &b, false);
    rest = str_c(buf_str(&b));
    while (str_split(&rest, '\n', &line))
        if (memmem(line.p, line.n, ": error[", 8))
            break;
    err_set(err, rc, "%.*s", (int)line.n, line.p);
    buf_release(&b);
    return rc;
}

enum rc train_export_parse(const char *name, const char *text, size_t n, struct doc *out,
                           struct err *err)
{
    struct diags diags = {0};
    *out = (struct doc){0};
    enum rc rc = source_from(name, text, n, &out->src, err);
    if (!rc && json_parse(out, &diags))
        rc = train_export_first_error(&diags, RC_FORMAT, err);
    diags_release(&diags);
    return rc;
}

/* The evaluations of a run, one object per line; NULL when there are none. */
static char *read_results(const struct pc_EasyRecConfig *conf, size_t *n)
{
    char *path = fs_join(conf->model_dir, TRAIN_RESULTS), *text = NULL;
    if (fs_read(path, RESULTS_MAX, &text, n, NULL))
        text = NULL;
    mem_free(path);
    return text;
}

static bool step_of(const struct doc *d, int64_t *step)
{
    const struct node *n = node_find(d->root, "global_step");
    return n && node_i64(n, step);
}

char *train_export_metrics(const struct pc_EasyRecConfig *conf, int64_t step)
{
    size_t n;
    char *text = read_results(conf, &n), *found = NULL;
    struct str rest = text ? str_of(text, n) : str_of("", 0), line;
    while (text && str_split(&rest, '\n', &line)) {
        struct doc d = {0};
        int64_t at;
        if (line.n && !train_export_parse(TRAIN_RESULTS, line.p, line.n, &d, NULL) &&
            step_of(&d, &at) && at == step) {
            mem_free(found);
            found = mem_strndup(line.p, line.n);
        }
        doc_release(&d);
    }
    mem_free(text);
    return found;
}

/* The config of the run itself says best, as --patience makes it, where `conf` says
 * nothing.
 */
static bool run_says_best(const struct pc_EasyRecConfig *conf)
{
    char *path = fs_join(conf->model_dir, "pipeline.config"), *text = NULL;
    struct diags unheard = {0};
    struct doc d = {0};
    size_t n = 0;
    bool best = false;
    if (!fs_read(path, SOURCE_MAX, &text, &n, NULL) &&
        !source_from(path, text, n, &d.src, NULL) && !prototext_parse(&d, &unheard)) {
        const struct node *x = node_find(d.root, "export_config");
        const struct node *type = x ? node_find(x, "exporter_type") : NULL;
        best = type && (type->kind == NODE_STR || type->kind == NODE_WORD) &&
               str_is(type->text, "best");
    }
    diags_release(&unheard);
    doc_release(&d);
    mem_free(text);
    mem_free(path);
    return best;
}

static bool takes_best(const struct pc_EasyRecConfig *conf)
{
    const struct pc_ExportConfig *c = conf->export_config;
    return c && c->has_exporter_type ? strcmp(c->exporter_type, "best") == 0
                                     : run_says_best(conf);
}

enum rc train_export_pick(const struct pc_EasyRecConfig *conf, const char *path,
                          char **out, char why[EXPORT_WHY_SIZE], struct err *err)
{
    const struct pc_ExportConfig *c = conf->export_config;
    struct train_best best = {.step = -1, .last_step = -1};
    enum rc rc = RC_OK;
    if (!path && takes_best(conf)) {
        train_best_init(&best, c);
        rc = train_best_read(&best, conf->model_dir, INT64_MAX, NULL, err);
    }
    if (!rc && !best.found && best.last_step >= 0 && best.metric[0])
        rc = err_set(err, RC_NOTFOUND,
                     "%s has no metric '%s' to choose the best checkpoint by",
                     TRAIN_RESULTS, best.metric);
    if (rc)
        return rc;
    snprintf(why, EXPORT_WHY_SIZE, "%s%s",
             path         ? "as named"
             : best.found ? "the best by "
                          : "the latest",
             best.found ? best.metric : "");
    *out = best.found ? ckpt_dir(conf->model_dir, best.step)
                      : mem_strdup(path ? path : conf->model_dir);
    return RC_OK;
}
