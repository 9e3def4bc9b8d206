/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments as JSON in our own form; NNI's is in tune/report_nni.c. The text goes
 * straight into the caller's buffer, with no tree between: parameters are JSON already.
 * Numbers that JSON cannot hold become null. With one objective the best is a trial, with
 * several it is the Pareto front. A ranking puts trials with a result first, the front
 * before others, then less violation of constraints, then the better first objective; the
 * number of the trial settles ties.
 */
#include "tune/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void put_number(struct buf *b, double v)
{
    char text[32];
    str_from_f64(v, text);
    buf_puts(b, isfinite(v) ? text : "null");
}

static void put_key(struct buf *b, const char *key, const char *text)
{
    buf_printf(b, "\"%s\": ", key);
    buf_json_str(b, text, strlen(text));
}

/* {"auc": 0.7, "ms": 12}, where the experiment names its metrics. */
static void put_values(const struct experiment *e, const struct exp_trial *t,
                       struct buf *b)
{
    const struct tune_objectives *o = &e->set.objectives;
    buf_puts(b, "{");
    for (int64_t i = 0; i < o->n; i++) {
        buf_puts(b, i ? ", " : "");
        buf_json_str(b, o->at[i].metric, strlen(o->at[i].metric));
        buf_puts(b, ": ");
        put_number(b, t->values[i]);
    }
    buf_puts(b, "}");
}

static void put_result(const struct experiment *e, const struct exp_trial *t,
                       struct buf *b)
{
    buf_puts(b, "\"value\": ");
    if (t->has_final)
        put_number(b, t->final);
    else
        buf_puts(b, "null");
    if (e->set.objectives.n > 0 && t->has_final) {
        buf_puts(b, ", \"values\": ");
        put_values(e, t, b);
    }
    if (e->set.objectives.n_bounds > 0 && t->has_final) {
        buf_puts(b, ", \"violation\": ");
        put_number(b, t->violation);
    }
}

void tune_report_trial(const struct experiment *e, const struct exp_trial *t,
                       struct buf *b)
{
    buf_printf(b, "{\"trial\": %jd, ", (intmax_t)t->number);
    put_key(b, "id", t->id);
    buf_puts(b, ", ");
    put_key(b, "status", trial_status_name(t->status));
    buf_puts(b, ", ");
    put_result(e, t, b);
    buf_printf(b, ", \"parameters\": %s, \"parameter_id\": %s, ", t->params, t->param_id);
    put_key(b, "job", t->job);
    buf_printf(
        b, ", \"created\": %jd, \"started\": %jd, \"ended\": %jd, \"intermediate\": [",
        (intmax_t)t->created, (intmax_t)t->started, (intmax_t)t->ended);
    for (size_t i = 0; i < t->results.n; i++) {
        buf_puts(b, i ? ", " : "");
        put_number(b, t->results.at[i].value);
    }
    buf_puts(b, "], ");
    put_key(b, "message", t->message);
    buf_puts(b, "}");
}

void tune_report_trials(const struct experiment *e, const int64_t *order, int64_t n,
                        struct buf *out)
{
    buf_puts(out, "[");
    for (int64_t i = 0; i < n; i++) {
        buf_puts(out, i ? ",\n " : "");
        tune_report_trial(e, &e->trials.at[order[i]], out);
    }
    buf_puts(out, "]\n");
}

static void put_best(const struct experiment *e, const struct exp_trial *t, struct buf *b)
{
    buf_printf(b, "{\"trial\": %jd, \"id\": \"%s\", ", (intmax_t)t->number, t->id);
    put_result(e, t, b);
    buf_printf(b, ", \"parameters\": %s", t->params);
}

/* Under noise, the trial that the tuner's model expects to be best where that is another. */
static void put_expected(const struct experiment *e, struct buf *b)
{
    int64_t asked = e->tuner ? tuner_best(e->tuner) : -1;
    for (size_t i = 0; i < e->trials.n && asked >= 0; i++) {
        const struct exp_trial *t = &e->trials.at[i];
        if (t->asked != asked || t->number == e->best || !t->has_final)
            continue;
        buf_puts(b, ", \"expected\": ");
        put_best(e, t, b);
        buf_putc(b, '}');
    }
}

bool tune_report_best(const struct experiment *e, struct buf *out)
{
    bool first = true;
    if (e->best < 0)
        return false;
    if (experiment_objectives(e) == 1) {
        put_best(e, &e->trials.at[e->best], out);
        put_expected(e, out);
        buf_putc(out, '}');
        return true;
    }
    buf_puts(out, "{\"front\": [");
    for (size_t i = 0; i < e->trials.n; i++)
        if (experiment_in_front(e, &e->trials.at[i])) {
            buf_puts(out, first ? "" : ",\n ");
            put_best(e, &e->trials.at[i], out);
            buf_putc(out, '}');
            first = false;
        }
    buf_puts(out, "]}");
    return true;
}

void tune_report_experiment(const struct experiment *e, bool alive, const char *held,
                            struct buf *b)
{
    int64_t n[TRIAL_STATUSES] = {0};
    for (size_t i = 0; i < e->trials.n; i++)
        n[e->trials.at[i].status]++;
    buf_puts(b, "{");
    put_key(b, "id", e->set.id);
    buf_puts(b, ", ");
    put_key(b, "name", e->set.name);
    buf_puts(b, ", ");
    put_key(b, "owner", e->set.owner);
    buf_puts(b, ", ");
    put_key(b, "project", e->set.project);
    buf_puts(b, ", ");
    put_key(b, "status", exp_status_name(exp_status_now(e->status, alive)));
    buf_printf(b, ", \"managed\": %s, \"trials\": {", alive ? "true" : "false");
    for (int i = 0; i < TRIAL_STATUSES; i++)
        buf_printf(b, "%s\"%s\": %jd", i ? ", " : "",
                   trial_status_name((enum trial_status)i), (intmax_t)n[i]);
    buf_printf(b, "}, \"best\": ");
    if (!tune_report_best(e, b))
        buf_puts(b, "null");
    buf_printf(b,
               ", \"concurrency\": %jd, \"max_trials\": %jd, \"max_seconds\": %jd, "
               "\"max_trial_seconds\": %jd, \"seconds\": %jd, \"created\": %jd, ",
               (intmax_t)e->limits.concurrency, (intmax_t)e->limits.trials,
               (intmax_t)e->limits.seconds, (intmax_t)e->limits.trial_seconds,
               (intmax_t)(e->spent_ms / 1000), (intmax_t)e->set.created);
    put_key(b, "tuner", e->set.tuner_class ? e->set.tuner_class : e->set.tuner);
    buf_printf(b, ", \"seed\": %ju, \"maximize\": %s, ", (uintmax_t)experiment_seed(e),
               experiment_maximizes(e, 0) ? "true" : "false");
    put_key(b, "error", e->error);
    buf_puts(b, ", ");
    put_key(b, "dir", e->dir);
    if (held) {
        buf_puts(b, ", ");
        put_key(b, "held", held);
    }
    buf_puts(b, "}\n");
}

struct ranked {
    const struct experiment *e;
    const struct exp_trial *t;
    bool front;
};

static int by_result(const void *a, const void *b)
{
    const struct ranked *p = a, *q = b;
    const struct exp_trial *x = p->t, *y = q->t;
    if (x->has_final != y->has_final)
        return x->has_final ? -1 : 1;
    if (p->front != q->front)
        return p->front ? -1 : 1;
    if (x->has_final && x->violation != y->violation)
        return x->violation < y->violation ? -1 : 1;
    if (x->has_final && isnan(x->final) != isnan(y->final))
        return isnan(x->final) ? 1 : -1;
    if (x->has_final && x->final != y->final && !isnan(x->final))
        return (x->final > y->final) == experiment_maximizes(p->e, 0) ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

int64_t *tune_report_ranking(const struct experiment *e)
{
    size_t n = e->trials.n;
    bool several = experiment_objectives(e) > 1;
    struct ranked *all = mem_calloc(n + 1, sizeof(*all));
    int64_t *order = mem_calloc(n + 1, sizeof(*order));
    for (size_t i = 0; i < n; i++)
        all[i] =
            (struct ranked){.e = e,
                            .t = &e->trials.at[i],
                            .front = several && experiment_in_front(e, &e->trials.at[i])};
    qsort(all, n, sizeof(*all), by_result);
    for (size_t i = 0; i < n; i++)
        order[i] = all[i].t->number;
    mem_free(all);
    return order;
}
