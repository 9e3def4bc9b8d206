/* SPDX-License-Identifier: Apache-2.0 */
#include "train/best.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "text/diag.h"
#include "text/json.h"

#define RESULTS_MAX ((size_t)1 << 30)
#define LOSS "loss"

void train_best_init(struct train_best *b, const struct pc_ExportConfig *c)
{
    *b = (struct train_best){.last_step = -1, .step = -1};
    if (c && c->has_best_exporter_metric)
        snprintf(b->metric, sizeof(b->metric), "%s", c->best_exporter_metric);
    b->smaller = c && !c->metric_larger_is_better;
}

static const struct train_score_line *find(const char *name,
                                           const struct train_score_line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(lines[i].name, name) == 0)
            return &lines[i];
    return NULL;
}

/* What to go by when the config does not say. */
static void choose(struct train_best *b, const struct train_score_line *lines, size_t n)
{
    const struct train_score_line *l = find("auc", lines, n);
    for (size_t i = 0; i < n && !l; i++)
        if (strncmp(lines[i].name, "auc", 3) == 0 ||
            strncmp(lines[i].name, "grouped_auc", 11) == 0)
            l = &lines[i];
    for (size_t i = 0; i < n && !l; i++)
        if (strncmp(lines[i].name, "recall", 6) == 0)
            l = &lines[i];
    if (!l && (l = find(LOSS, lines, n)))
        b->smaller = true;
    if (l)
        snprintf(b->metric, sizeof(b->metric), "%s", l->name);
}

const struct train_score_line *train_best_line(const struct train_best *b,
                                               const struct train_score_line *lines,
                                               size_t n)
{
    const struct train_score_line *l = b->metric[0] ? find(b->metric, lines, n) : NULL;
    return l && l->defined && isfinite(l->value) ? l : NULL;
}

bool train_best_data(struct train_best *b, const char *data)
{
    bool other = b->data[0] && data[0] && strcmp(b->data, data) != 0;
    if (other) {
        b->found = false;
        b->since = 0;
        b->step = -1;
    }
    if (data[0])
        snprintf(b->data, sizeof(b->data), "%s", data);
    return other;
}

bool train_best_take(struct train_best *b, int64_t step,
                     const struct train_score_line *lines, size_t n)
{
    if (!b->metric[0])
        choose(b, lines, n);
    const struct train_score_line *l = train_best_line(b, lines, n);
    if (!l) /* an evaluation that says nothing is no reason to stop */
        return false;
    b->since++;
    if (b->found && (b->smaller ? l->value >= b->value : l->value <= b->value))
        return false;
    b->found = true;
    b->since = 0;
    b->value = l->value;
    b->step = step;
    return true;
}

/* One line of the file: {"global_step": 7, "auc": 0.7, ...}; false when it is not whole
 * or beyond `last_step`.
 */
static bool take_text(struct train_best *b, struct str text, int64_t last_step)
{
    struct doc doc = {0};
    struct diags diags = {0};
    VEC(struct train_score_line) lines = {0};
    int64_t step = -1;
    const char *data = "";
    enum rc rc = source_from(TRAIN_RESULTS, text.p, text.n, &doc.src, NULL);
    if (!rc)
        rc = json_parse(&doc, &diags);
    const struct node *root = rc || doc.root->kind != NODE_MAP ? NULL : doc.root;
    for (size_t i = 0; root && i < root->map.n; i++) {
        const struct node_entry *e = &root->map.at[i];
        struct train_score_line l = {.name =
                                         arena_strndup(&doc.arena, e->key.p, e->key.n)};
        l.defined = node_number(e->value, &l.value);
        if (str_is(e->key, "global_step"))
            (void)!node_i64(e->value, &step);
        else if (str_is(e->key, TRAIN_RESULTS_DATA) && e->value->kind == NODE_STR)
            data = e->value->text.p;
        else
            VEC_PUSH(&lines, l);
    }
    bool whole = step >= 0 && step <= last_step;
    if (whole) {
        train_best_data(b, data);
        train_best_take(b, step, lines.at, lines.n);
        b->last_step = step;
    }
    VEC_RELEASE(&lines);
    diags_release(&diags);
    doc_release(&doc);
    return whole;
}

enum rc train_best_read(struct train_best *b, const char *model_dir, int64_t last_step,
                        struct buf *kept, struct err *err)
{
    char *path = fs_join(model_dir, TRAIN_RESULTS), *data = NULL;
    size_t n = 0;
    enum rc rc = fs_exists(path) ? fs_read(path, RESULTS_MAX, &data, &n, err) : RC_OK;
    struct str rest = str_of(data, n), line;
    while (!rc && data && rest.n && str_split(&rest, '\n', &line))
        if (line.n && take_text(b, line, last_step) && kept) {
            buf_add(kept, line.p, line.n);
            buf_putc(kept, '\n');
        }
    mem_free(data);
    mem_free(path);
    return rc;
}
