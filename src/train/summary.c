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

struct train_summary {
    struct train_events *train;
    struct train_events *eval; /* opened by the first evaluation */
    char *eval_dir;
    int64_t resumed_step;
    bool norms, gradients, parameters;
    struct buf tag;
};

/* As a block of code, which Markdown shows as it is. */
static void put_config(struct train_events *e, const char *config)
{
    struct buf b;
    struct str rest = str_c(config), line;
    buf_init(&b, (size_t)256 << 20);
    while (rest.n && str_split(&rest, '\n', &line)) {
        buf_puts(&b, "    ");
        buf_add(&b, line.p, line.n);
        buf_putc(&b, '\n');
    }
    train_events_text(e, 0, "pipeline.config", buf_str(&b));
    buf_release(&b);
}

enum rc train_summary_open(const struct train_session *s, const char *config,
                           int64_t resumed_step, struct train_summary **out,
                           struct err *err)
{
    const struct pc_TrainConfig *t = s->conf->train_config;
    if (!t->use_tensorboard)
        return RC_OK;
    struct train_summary *y = mem_calloc(1, sizeof(*y));
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
    enum rc rc = train_events_open(s->conf->model_dir, &y->train, err);
    if (!rc && resumed_step >= 0)
        train_events_restart(y->train, resumed_step);
    if (!rc) {
        put_config(y->train, config);
        rc = train_events_flush(y->train, err);
    }
    if (rc)
        train_summary_close(y);
    else
        *out = y;
    return rc;
}

void train_summary_close(struct train_summary *y)
{
    if (!y)
        return;
    train_events_close(y->train);
    train_events_close(y->eval);
    mem_free(y->eval_dir);
    buf_release(&y->tag);
    mem_free(y);
}

static const char *tag(struct train_summary *y, const char *a, const char *b)
{
    buf_clear(&y->tag);
    buf_puts(&y->tag, a);
    buf_puts(&y->tag, b);
    return buf_str(&y->tag);
}

static void put_lines(struct train_summary *y, struct train_events *e, int64_t step,
                      const struct train_score_line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lines[i].defined && isfinite(lines[i].value))
            train_events_scalar(e, step, tag(y, "metric/", lines[i].name),
                                lines[i].value);
}

/* Rates that the step just done used. */
static void put_rates(struct train_summary *y, const struct train_session *s,
                      int64_t step)
{
    char name[32];
    uint64_t at = s->step - 1 - s->schedule_step, pass = s->epoch - s->schedule_epoch;
    train_events_scalar(y->train, step, "lr/g0",
                        nn_schedule_at(&s->sparse.schedule, at, pass));
    for (size_t g = 0; g < optim_groups(s->optim); g++) {
        snprintf(name, sizeof(name), "lr/g%zu", g + 1);
        train_events_scalar(y->train, step, name, optim_lr(s->optim, g, at, pass));
    }
}

static double norm_of(const float *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)v[i] * (double)v[i];
    return sqrt(sum);
}

static void put_params(struct train_summary *y, const struct train_session *s,
                       int64_t step)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    for (size_t i = 0; i < n; i++) {
        struct param *p = params[i];
        if (y->parameters)
            train_events_histogram(y->train, step, p->name, param_read(p), p->n);
        if (!p->grad)
            continue;
        if (y->gradients)
            train_events_histogram(y->train, step, tag(y, p->name, "/gradient"),
                                   param_read_grad(p), p->n);
        if (y->norms)
            train_events_scalar(y->train, step, tag(y, p->name, "/gradient_norm"),
                                norm_of(param_read_grad(p), p->n));
    }
}

static void put_losses(struct train_summary *y, const struct graph *g, int64_t step)
{
    for (size_t i = 0; i < graph_n_losses(g); i++)
        train_events_scalar(y->train, step, tag(y, "loss/", graph_loss_name(g, i)),
                            graph_loss_at(g, i));
}

enum rc train_summary_progress(struct train_summary *y, const struct train_session *s,
                               const struct train_progress *p, struct err *err)
{
    int64_t step = (int64_t)p->step;
    if (!y)
        return RC_OK;
    put_losses(y, s->model->graph, step);
    train_events_scalar(y->train, step, "loss/total", p->loss);
    put_rates(y, s, step);
    put_lines(y, y->train, step, p->lines, p->n);
    train_events_scalar(y->train, step, "samples_per_second", p->rows_per_s);
    train_events_scalar(y->train, step, "wait_percent", p->wait * 100);
    train_events_scalar(y->train, step, "global_gradient_norm",
                        optim_grads_norm(optim_params(s->optim), 2));
    if (y->norms || y->gradients || y->parameters)
        put_params(y, s, step);
    return train_events_flush(y->train, err);
}

enum rc train_summary_evaluation(struct train_summary *y,
                                 const struct train_evaluation *e, struct err *err)
{
    if (!y)
        return RC_OK;
    if (!y->eval) {
        enum rc rc = train_events_open(y->eval_dir, &y->eval, err);
        if (rc)
            return rc;
        if (y->resumed_step >= 0)
            train_events_restart(y->eval, y->resumed_step);
    }
    put_lines(y, y->eval, e->step, e->lines, e->n);
    return train_events_flush(y->eval, err);
}
