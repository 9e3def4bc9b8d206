/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of NNI's REST interface. Keys, and values inside strings inside strings, are
 * as its clients expect them.
 */
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "text/json.h"
#include "tune/report.h"

static void put_key(struct buf *b, const char *key, const char *text)
{
    buf_printf(b, "\"%s\":", key);
    buf_json_str(b, text, strlen(text));
}

static void put_algorithm(struct buf *b, const char *role, const char *name,
                          const char *class_name, const char *dir,
                          const struct node *args)
{
    buf_printf(b, ",\"%s\":{", role);
    if (class_name) {
        put_key(b, "className", class_name);
        buf_puts(b, ",");
        put_key(b, "codeDirectory", dir);
    } else {
        put_key(b, "name", name);
    }
    if (args) {
        buf_puts(b, ",\"classArgs\":");
        json_print(args, 0, b);
    }
    buf_puts(b, "}");
}

void tune_report_nni_config(const struct experiment *e, struct buf *b)
{
    const struct exp_settings *s = &e->set;
    buf_puts(b, "{\"experimentType\":\"hpo\"");
    if (s->name[0]) {
        buf_puts(b, ",");
        put_key(b, "experimentName", s->name);
    }
    buf_puts(b, ",\"searchSpace\":");
    json_print(e->space_tree, 0, b);
    buf_puts(b, ",");
    put_key(b, "trialCommand", s->command);
    buf_puts(b, ",");
    put_key(b, "trialCodeDirectory", s->code_dir);
    buf_printf(b, ",\"trialConcurrency\":%jd", (intmax_t)e->limits.concurrency);
    if (s->gpu >= 0)
        buf_printf(b, ",\"trialGpuNumber\":%jd", (intmax_t)s->gpu);
    if (e->limits.trials > 0)
        buf_printf(b, ",\"maxTrialNumber\":%jd", (intmax_t)e->limits.trials);
    if (e->limits.seconds > 0)
        buf_printf(b, ",\"maxExperimentDuration\":\"%jds\"", (intmax_t)e->limits.seconds);
    if (e->limits.trial_seconds > 0)
        buf_printf(b, ",\"maxTrialDuration\":\"%jds\"",
                   (intmax_t)e->limits.trial_seconds);
    buf_puts(b, ",\"useAnnotation\":false,\"debug\":false,\"logLevel\":\"info\"");
    put_algorithm(b, "tuner", s->tuner, s->tuner_class, s->tuner_dir, s->tuner_args);
    if (s->assessor || s->assessor_class)
        put_algorithm(b, "assessor", s->assessor, s->assessor_class, s->assessor_dir,
                      s->assessor_args);
    buf_puts(b, ",\"trainingService\":{\"platform\":\"local\",");
    put_key(b, "trialCommand", s->command);
    buf_puts(b, ",");
    put_key(b, "trialCodeDirectory", s->code_dir);
    buf_puts(b, ",\"debug\":false}}");
}

static int64_t end_time(const struct experiment *e)
{
    int64_t last = 0;
    bool over =
        e->status == EXP_DONE || e->status == EXP_STOPPED || e->status == EXP_ERROR;
    for (size_t i = 0; over && i < e->trials.n; i++)
        last = e->trials.at[i].ended > last ? e->trials.at[i].ended : last;
    return last;
}

void tune_report_nni_profile(const struct experiment *e, struct buf *b)
{
    buf_puts(b, "{\"params\":");
    tune_report_nni_config(e, b);
    buf_puts(b, ",");
    put_key(b, "id", e->set.id);
    buf_printf(b, ",\"execDuration\":%jd,", (intmax_t)(e->spent_ms / 1000));
    put_key(b, "logDir", e->dir);
    buf_printf(b, ",\"startTime\":%jd", (intmax_t)e->set.created);
    if (end_time(e))
        buf_printf(b, ",\"endTime\":%jd", (intmax_t)end_time(e));
    buf_printf(b, ",\"nextSequenceId\":%zu,\"revision\":%zu}", e->trials.n,
               e->trials.n + 1);
}

void tune_report_nni_status(const struct experiment *e, struct buf *b)
{
    buf_puts(b, "{");
    put_key(b, "status", exp_status_name(e->status));
    buf_puts(b, ",\"errors\":[");
    if (e->error[0])
        buf_json_str(b, e->error, strlen(e->error));
    buf_puts(b, "]}");
}

void tune_report_nni_metadata(const struct experiment *e, bool alive, struct buf *b)
{
    bool gone = !alive && end_time(e) == 0;
    buf_puts(b, "{");
    put_key(b, "id", e->set.id);
    buf_printf(b, ",\"port\":0,\"startTime\":%jd,\"endTime\":", (intmax_t)e->set.created);
    if (end_time(e))
        buf_printf(b, "%jd,", (intmax_t)end_time(e));
    else
        buf_puts(b, "\"N/A\",");
    put_key(b, "status", gone ? "STOPPED" : exp_status_name(e->status));
    buf_puts(b, ",\"platform\":\"local\",");
    put_key(b, "experimentName", e->set.name);
    buf_puts(b, ",\"tag\":[],\"pid\":0,\"webuiUrl\":[],");
    put_key(b, "logDir", e->dir);
    buf_puts(b, ",\"prefixUrl\":null}");
}

void tune_report_nni_statistics(const struct experiment *e, struct buf *b)
{
    int64_t n[TRIAL_STATUSES] = {0};
    bool first = true;
    for (size_t i = 0; i < e->trials.n; i++)
        n[e->trials.at[i].status]++;
    buf_puts(b, "[");
    for (int i = 0; i < TRIAL_STATUSES; i++)
        if (n[i]) {
            buf_printf(b, "%s{\"trialJobStatus\":\"%s\",\"trialJobNumber\":%jd}",
                       first ? "" : ",", trial_status_name((enum trial_status)i),
                       (intmax_t)n[i]);
            first = false;
        }
    buf_puts(b, "]");
}

/* A value as JSON, as it was reported. */
static void result_json(const struct exp_result *r, struct buf *out)
{
    char text[32];
    if (r->json) {
        buf_puts(out, r->json);
        return;
    }
    str_from_f64(r->value, text);
    buf_puts(out, isnan(r->value)   ? "NaN"
                  : isinf(r->value) ? r->value > 0 ? "Infinity" : "-Infinity"
                                    : text);
}

/* `data` holds JSON of a string that holds JSON. */
static void put_metric(const struct exp_trial *t, const char *type, int64_t sequence,
                       int64_t time, const char *json, struct buf *b)
{
    struct buf once;
    buf_init(&once, (size_t)1 << 24);
    buf_json_str(&once, json, strlen(json));
    buf_printf(b, "{\"timestamp\":%jd,", (intmax_t)time);
    put_key(b, "trialJobId", t->id);
    buf_puts(b, ",\"parameterId\":");
    if (t->param_id[0] == '"')
        buf_puts(b, t->param_id);
    else
        buf_printf(b, "\"%s\"", t->param_id);
    buf_printf(b, ",\"type\":\"%s\",\"sequence\":%jd,", type, (intmax_t)sequence);
    put_key(b, "data", buf_str(&once));
    buf_puts(b, "}");
    buf_release(&once);
}

static void put_final(const struct exp_trial *t, struct buf *b)
{
    put_metric(t, "FINAL", 0, t->final_time, t->final_json, b);
}

static void put_trial(const struct experiment *e, const struct exp_trial *t,
                      struct buf *b)
{
    struct buf record;
    char *dir = experiment_trial_dir(e, t);
    buf_init(&record, (size_t)1 << 26);
    experiment_record(t, &record);
    buf_puts(b, "{");
    put_key(b, "trialJobId", t->id);
    buf_puts(b, ",");
    put_key(b, "status", trial_status_name(t->status));
    buf_puts(b, ",\"hyperParameters\":[");
    buf_json_str(b, buf_str(&record), record.n);
    buf_puts(b, "],");
    put_key(b, "logPath", dir);
    buf_printf(b, ",\"startTime\":%jd", (intmax_t)(t->started ? t->started : t->created));
    if (t->ended)
        buf_printf(b, ",\"endTime\":%jd", (intmax_t)t->ended);
    buf_printf(b, ",\"sequenceId\":%jd", (intmax_t)t->number);
    if (t->message[0]) {
        buf_puts(b, ",");
        put_key(b, "message", t->message);
    }
    if (t->status == TS_SUCCEEDED && t->has_final) {
        buf_puts(b, ",\"finalMetricData\":[");
        put_final(t, b);
        buf_puts(b, "]");
    }
    if (t->status == TS_FAILED) {
        char *path = fs_join(dir, "stderr");
        buf_puts(b, ",");
        put_key(b, "stderrPath", path);
        mem_free(path);
    }
    buf_puts(b, "}");
    buf_release(&record);
    mem_free(dir);
}

void tune_report_nni_trials(const struct experiment *e, const char *status, struct buf *b)
{
    bool first = true;
    buf_puts(b, "[");
    for (size_t i = 0; i < e->trials.n; i++) {
        const struct exp_trial *t = &e->trials.at[i];
        if (status && strcmp(trial_status_name(t->status), status) != 0)
            continue;
        buf_puts(b, first ? "" : ",");
        put_trial(e, t, b);
        first = false;
    }
    buf_puts(b, "]");
}

bool tune_report_nni_trial(const struct experiment *e, const char *id, struct buf *b)
{
    for (size_t i = 0; i < e->trials.n; i++)
        if (strcmp(e->trials.at[i].id, id) == 0) {
            put_trial(e, &e->trials.at[i], b);
            return true;
        }
    return false;
}

void tune_report_nni_metrics(const struct experiment *e,
                             const struct tune_report_metrics *w, struct buf *b)
{
    bool first = true;
    struct buf json;
    buf_init(&json, (size_t)1 << 24);
    buf_puts(b, "[");
    for (size_t i = 0; i < e->trials.n; i++) {
        const struct exp_trial *t = &e->trials.at[i];
        if ((w->trial && strcmp(w->trial, t->id) != 0) || t->number < w->first ||
            t->number > w->last)
            continue;
        bool some = !w->type || strcmp(w->type, "PERIODICAL") == 0;
        size_t from = w->latest && t->results.n ? t->results.n - 1 : 0;
        for (size_t k = from; some && k < t->results.n; k++) {
            const struct exp_result *r = &t->results.at[k];
            buf_clear(&json);
            result_json(r, &json);
            buf_puts(b, first ? "" : ",");
            put_metric(t, "PERIODICAL", r->step, r->time, buf_str(&json), b);
            first = false;
        }
        if (t->has_final && (!w->type || strcmp(w->type, "FINAL") == 0)) {
            buf_puts(b, first ? "" : ",");
            put_final(t, b);
            first = false;
        }
    }
    buf_puts(b, "]");
    buf_release(&json);
}

void tune_report_nni_export(const struct experiment *e, bool intermediate, struct buf *b)
{
    bool first = true;
    buf_puts(b, "[");
    for (size_t i = 0; i < e->trials.n; i++) {
        const struct exp_trial *t = &e->trials.at[i];
        if (!t->has_final)
            continue;
        buf_printf(b, "%s{\"parameter\": %s, ", first ? "" : ",\n ", t->params);
        put_key(b, "value", t->final_json);
        buf_puts(b, ", ");
        put_key(b, "trialJobId", t->id);
        if (intermediate) {
            buf_puts(b, ", \"intermediate\": [");
            for (size_t k = 0; k < t->results.n; k++) {
                struct buf one;
                buf_init(&one, (size_t)1 << 24);
                result_json(&t->results.at[k], &one);
                buf_puts(b, k ? ", " : "");
                buf_json_str(b, buf_str(&one), one.n);
                buf_release(&one);
            }
            buf_puts(b, "]");
        }
        buf_puts(b, "}");
        first = false;
    }
    buf_puts(b, "]");
}

/* The value of `name` in "a=1&b=2"; it lies in `out`, NULL when it is not there. */
static const char *query_value(const char *query, const char *name, char out[32])
{
    struct str rest = str_c(query), part, key;
    while (rest.n && str_split(&rest, '&', &part)) {
        if (!str_split(&part, '=', &key) || !str_is(key, name) || part.n >= 32)
            continue;
        memcpy(out, part.p, part.n);
        out[part.n] = 0;
        return out;
    }
    return NULL;
}

static bool answer_metrics(const struct experiment *e, const char *path,
                           const char *query, struct buf *out)
{
    char type[32];
    struct tune_report_metrics w = {.type = query_value(query, "type", type),
                                    .last = INT64_MAX};
    if (strcmp(path, "/metric-data-latest") == 0) {
        w.latest = true;
    } else if (str_starts(path, "/metric-data-range/")) {
        struct str rest = str_c(path + 19), part;
        if (!str_split(&rest, '/', &part) || !str_to_i64(part, &w.first) ||
            !str_to_i64(rest, &w.last))
            return false;
    } else if (str_starts(path, "/metric-data/")) {
        w.trial = path + 13;
    } else if (strcmp(path, "/metric-data") != 0) {
        return false;
    }
    tune_report_nni_metrics(e, &w, out);
    return true;
}

bool tune_report_nni_path(const struct experiment *e, bool alive, const char *path,
                          const char *query, struct buf *out)
{
    char status[32];
    if (strcmp(path, "/experiment") == 0)
        tune_report_nni_profile(e, out);
    else if (strcmp(path, "/check-status") == 0)
        tune_report_nni_status(e, out);
    else if (strcmp(path, "/version") == 0)
        buf_puts(out, "3.0");
    else if (strcmp(path, "/experiment-metadata") == 0)
        tune_report_nni_metadata(e, alive, out);
    else if (strcmp(path, "/experiment/imported-data") == 0)
        buf_puts(out, "[]");
    else if (strcmp(path, "/job-statistics") == 0)
        tune_report_nni_statistics(e, out);
    else if (strcmp(path, "/export-data") == 0)
        tune_report_nni_export(e, false, out);
    else if (strcmp(path, "/trial-jobs") == 0)
        tune_report_nni_trials(e, query_value(query, "status", status), out);
    else if (str_starts(path, "/trial-jobs/"))
        return tune_report_nni_trial(e, path + 12, out);
    else
        return answer_metrics(e, path, query, out);
    return true;
}
