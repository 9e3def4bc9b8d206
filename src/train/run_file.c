/* SPDX-License-Identifier: Apache-2.0 */
/* The budget is worked out as `plan` does it, of a session that has seen no batch, so the text is
 * made before the first one and written when nothing can keep the run from beginning.
 */
#include "train/run_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "nn/describe.h"
#include "train/budget.h"

#define RUN_MAX ((size_t)64 << 20)
#define BEGIN "run.json"
#define END "run_end.json"

static void put_tables(const struct train_budget *b, struct json_out *j)
{
    json_open(j, "tables", '[');
    for (size_t i = 0; i < b->tables.n; i++) {
        const struct train_budget_table *x = &b->tables.at[i];
        json_open(j, NULL, '{');
        json_put_str(j, "name", x->table->name);
        json_put_int(j, "rows", x->table->rows);
        json_put_int(j, "dim", x->table->dim);
        json_put_int(j, "weights", x->weights);
        json_put_int(j, "state", x->state);
        json_put_int(j, "rows_in_use", x->used_rows);
        json_put_int(j, "in_use", x->used);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* The table of an input, or -1 when its numbers go into the graph. */
static int table_of(const struct model *m, const struct model_input *in)
{
    return in->slot < 0 || in->dense ? -1 : lookup_slot(m->lookup, in->slot)->table;
}

/* One line for each feature, though several groups may read it. */
static void put_features(const struct train_session *s, struct json_out *j)
{
    const struct model *m = s->model;
    json_open(j, "features", '[');
    for (size_t i = 0; i < feature_plan_count(s->plan); i++) {
        const struct pc_feature *f = feature_plan_info(s->plan, i)->conf;
        int uses = 0, table = -1;
        int64_t width = 0;
        for (size_t k = 0; k < m->inputs.n; k++) {
            if (strcmp(m->inputs.at[k].feature->name, f->name) != 0)
                continue;
            int one = table_of(m, &m->inputs.at[k]);
            table = one >= 0 ? one : table;
            width = m->inputs.at[k].width ? m->inputs.at[k].width : width;
            uses++;
        }
        json_open(j, NULL, '{');
        json_put_str(j, "name", f->name);
        json_put_str(j, "kind", f->kind->member);
        json_put_bool(j, "sequence", f->sequence);
        json_put_int(j, "uses", uses);
        json_put_int(j, "width", width);
        json_put_int(j, "table", table);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_memory(const struct train_budget *b, struct json_out *j)
{
    json_open(j, "memory", '{');
    json_put_int(j, "weights", b->weights);
    json_put_int(j, "state", b->state);
    json_put_int(j, "in_use", b->used);
    json_put_int(j, "dense", b->params);
    json_put_int(j, "optimizer", b->optimizer);
    json_put_int(j, "activations", b->activations);
    json_put_int(j, "batches", b->batches);
    json_put_int(j, "save", b->save);
    json_put_int(j, "expected", b->expected);
    json_put_int(j, "most", b->most);
    json_close(j, '}');
}

static enum rc write_file(const char *dir, const char *name, struct buf *b,
                          struct err *err)
{
    char *path = fs_join(dir, name);
    buf_putc(b, '\n');
    enum rc rc = buf_check(b, err);
    if (!rc)
        rc = fs_write(path, b->p, b->n, 0644, err);
    mem_free(path);
    return rc;
}

void train_run_file_describe(const struct train_session *s, int64_t data_rows,
                             struct buf *out)
{
    struct train_budget budget;
    buf_init(out, RUN_MAX);
    struct json_out j = {.out = out};
    train_budget_init(&budget, s, data_rows);
    json_open(&j, NULL, '{');
    json_put_str(&j, "format", "trainyard-run");
    json_put_int(&j, "version", 1);
    json_put_str(&j, "model", s->model->ops->name);
    json_put_time(&j, "started", clock_wall_ns());
    json_put_int(&j, "step", (int64_t)s->step);
    json_put_int(&j, "data_rows", data_rows);
    json_put_int(&j, "parameters", budget.n_params);
    put_memory(&budget, &j);
    put_tables(&budget, &j);
    put_features(s, &j);
    graph_describe(s->model->graph, "graph", &j);
    json_close(&j, '}');
    train_budget_release(&budget);
}

enum rc train_run_file_begin(const char *model_dir, struct buf *text, struct err *err)
{
    char *end = fs_join(model_dir, END);
    unlink(end);
    mem_free(end);
    return write_file(model_dir, BEGIN, text, err);
}

enum rc train_run_file_end(const char *model_dir, const struct train_session *s,
                           enum rc rc, const struct err *why, bool stopped,
                           struct err *err)
{
    char code[16];
    struct buf b;
    buf_init(&b, RUN_MAX);
    struct json_out j = {.out = &b};
    json_open(&j, NULL, '{');
    json_put_str(&j, "format", "trainyard-run-end");
    json_put_int(&j, "version", 1);
    json_put_time(&j, "ended", clock_wall_ns());
    json_put_str(&j, "state", rc ? "Failed" : stopped ? "Stopped" : "Succeeded");
    json_put_int(&j, "steps", (int64_t)s->step);
    json_put_int(&j, "rows", (int64_t)s->rows);
    if (rc && why) {
        enum code c = err_code_of(why, rc);
        snprintf(code, sizeof(code), "E%04d", (int)c);
        json_put_str(&j, "code", c ? code : "");
        json_put_bool(&j, "not_finite", c == E1404);
        json_put_str(&j, "message", why->msg);
    }
    json_close(&j, '}');
    rc = write_file(model_dir, END, &b, err);
    buf_release(&b);
    return rc;
}
