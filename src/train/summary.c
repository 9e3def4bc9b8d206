/* SPDX-License-Identifier: Apache-2.0 */
/* What a run tells TensorBoard: scalars of progress and evaluations, norms of gradients
 * and parameters where the config asks for them, and the config itself as text. Events of
 * evaluations go to a directory of their own, opened by the first of them.
 */
#include "train/summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "train/events.h"

struct summary {
    struct events *train;
    struct events *eval; /* opened by the first evaluation */
    char *eval_dir;
    int64_t resumed_step;
    bool norms, gradients, parameters;
    struct buf tag;
};

/* As a block of code, which Markdown shows as it is. */
static void put_config(struct events *e, const char *config)
{
    struct buf b;
    struct str rest = str_c(config), line;
    buf_init(&b, (size_t)256 << 20);
    while (rest.n && str_split(&rest, '\n', &line)) {
        buf_puts(&b, "    ");
        buf_add(&b, line.p, line.n);
        buf_putc(&b, '\n');
    }
    events_text(e, 0, "pipeline.config", buf_str(&b));
    buf_release(&b);
}

enum rc summary_open(const struct session *s, const char *config, int64_t resumed_step,
                     struct summary **out, struct err *err)
{
    const struct pc_TrainConfig *t = s->conf->train_config;
    if (!t->use_tensorboard)
        return RC_OK;
    struct summary *y = mem_calloc(1, sizeof(*y));
    y->resumed_step = resumed_step;
    y->eval_dir = fs_join(s->conf->model_dir, "eval_val");
    buf_init(&y->tag, 1 << 16);
    for (int64_t i = 0; i < t->n_tensorboard_summaries; i++) {
        y->norms = y->norms || strcmp(t->tensorboard_summaries[i], "gradient_norm") == 0;
        y->gradients =
            y->gradients || strcmp(t->tensorboard_summaries[i], "gradient") == 0;
        y->parameters =
            y->parameters || strcmp(t->tensorboard_summaries[i], "parameter") == 0;
    }
    enum rc rc = events_open(s->conf->model_dir, &y->train, err);
    if (!rc && resumed_step >= 0)
        events_restart(y->train, resumed_step);
    if (!rc) {
        put_config(y->train, config);
        rc = events_flush(y->train, err);
    }
    if (rc)
        summary_close(y);
    else
        *out = y;
    return rc;
}

void summary_close(struct summary *y)
{
    if (!y)
        return;
    events_close(y->train);
    events_close(y->eval);
    mem_free(y->eval_dir);
    buf_release(&y->tag);
    mem_free(y);
}

static const char *tag(struct summary *y, const char *a, const char *b)
{
    buf_clear(&y->tag);
    buf_puts(&y->tag, a);
    buf_puts(&y->tag, b);
    return buf_str(&y->tag);
}

static void put_lines(struct summary *y, struct events *e, int64_t step,
                      const struct score_line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lines[i].defined && isfinite(lines[i].value))
            events_scalar(e, step, tag(y, "metric/", lines[i].name), lines[i].value);
}

/* Rates that the step just done used. */
static void put_rates(struct summary *y, const struct session *s, int64_t step)
{
    char name[32];
    uint64_t at = s->step - 1 - s->schedule_step, pass = s->epoch - s->schedule_epoch;
    events_scalar(y->train, step, "lr/g0", schedule_at(&s->sparse.schedule, at, pass));
    for (size_t g = 0; g < optim_groups(s->optim); g++) {
        snprintf(name, sizeof(name), "lr/g%zu", g + 1);
        events_scalar(y->train, step, name, optim_lr(s->optim, g, at, pass));
    }
}

static double norm_of(const float *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)v[i] * (double)v[i];
    return sqrt(sum);
}

static void put_params(struct summary *y, const struct session *s, int64_t step)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    for (size_t i = 0; i < n; i++) {
        struct param *p = params[i];
        if (y->parameters)
            events_histogram(y->train, step, p->name, param_read(p), p->n);
        if (!p->grad)
            continue;
        if (y->gradients)
            events_histogram(y->train, step, tag(y, p->name, "/gradient"),
                             param_read_grad(p), p->n);
        if (y->norms)
            events_scalar(y->train, step, tag(y, p->name, "/gradient_norm"),
                          norm_of(param_read_grad(p), p->n));
    }
}

static void put_losses(struct summary *y, const struct graph *g, int64_t step)
{
    for (size_t i = 0; i < graph_n_losses(g); i++)
        events_scalar(y->train, step, tag(y, "loss/", graph_loss_name(g, i)),
                      graph_loss_at(g, i));
}

enum rc summary_progress(struct summary *y, const struct session *s,
                         const struct train_progress *p, struct err *err)
{
    int64_t step = (int64_t)p->step;
    if (!y)
        return RC_OK;
    put_losses(y, s->model->graph, step);
    events_scalar(y->train, step, "loss/total", p->loss);
    put_rates(y, s, step);
    put_lines(y, y->train, step, p->lines, p->n);
    events_scalar(y->train, step, "samples_per_second", p->rows_per_s);
    events_scalar(y->train, step, "wait_percent", p->wait * 100);
    events_scalar(y->train, step, "global_gradient_norm",
                  grads_norm(optim_params(s->optim), 2));
    if (y->norms || y->gradients || y->parameters)
        put_params(y, s, step);
    return events_flush(y->train, err);
}

enum rc summary_evaluation(struct summary *y, const struct train_evaluation *e,
                           struct err *err)
{
    if (!y)
        return RC_OK;
    if (!y->eval) {
        enum rc rc = events_open(y->eval_dir, &y->eval, err);
        if (rc)
            return rc;
        if (y->resumed_step >= 0)
            events_restart(y->eval, y->resumed_step);
    }
    put_lines(y, y->eval, e->step, e->lines, e->n);
    return events_flush(y->eval, err);
}
