/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/metrics.h"

#include "base/mem.h"
#include "tap.h"
#include "tune/command.h"

#define FINAL                                                                          \
    "ME000094{\"parameter_id\": 0, \"trial_job_id\": \"AbCdE\", \"type\": \"FINAL\", " \
    "\"sequence\": 0, \"value\": \"0.93\"}\n"
#define STEP                                                                                \
    "ME000129{\"parameter_id\": 0, \"trial_job_id\": \"AbCdE\", \"type\": \"PERIODICAL\", " \
    "\"sequence\": 3, \"value\": \"{\\\"default\\\": 0.5, \\\"loss\\\": 1.25}\"}\n"

struct seen {
    struct tune_metric last;
    char json[100];
    int n;
};

static void note(void *arg, const struct tune_metric *m)
{
    struct seen *s = arg;
    s->last = *m;
    snprintf(s->json, sizeof(s->json), "%s", m->json);
    s->n++;
}

static void records_of_nnis_client_are_read(void)
{
    struct seen s = {0};
    size_t used = 0;
    CHECK_INT(tune_metrics_read(FINAL, strlen(FINAL), note, &s, &used, NULL), RC_OK);
    CHECK_INT(used, strlen(FINAL));
    CHECK(s.n == 1 && s.last.type == METRIC_FINAL && s.last.number &&
          s.last.value == 0.93);
    CHECK_INT(tune_metrics_read(STEP FINAL, strlen(STEP FINAL), note, &s, &used, NULL),
              RC_OK);
    CHECK_INT(s.n, 3);
    CHECK_INT(tune_metrics_read(STEP, strlen(STEP), note, &s, &used, NULL), RC_OK);
    CHECK(s.last.type == METRIC_PERIODICAL && s.last.sequence == 3 &&
          s.last.value == 0.5);
    CHECK_STR(s.json, "{\"default\": 0.5, \"loss\": 1.25}");
}

static void a_record_that_is_not_whole_waits(void)
{
    const char *text = FINAL STEP;
    for (size_t n = 0; n < strlen(FINAL STEP); n++) {
        struct seen s = {0};
        size_t used = 99999;
        CHECK_INT(tune_metrics_read(text, n, note, &s, &used, NULL), RC_OK);
        CHECK_INT(used, n < strlen(FINAL) ? 0 : strlen(FINAL));
        CHECK_INT(s.n, n >= strlen(FINAL));
    }
}

static void what_is_no_record_is_said(void)
{
    struct seen s = {0};
    struct err err = {0};
    size_t used = 0;
    CHECK_INT(
        tune_metrics_read(FINAL "ME00x094{}", strlen(FINAL) + 10, note, &s, &used, &err),
        RC_FORMAT);
    CHECK_STR(err.msg, "no record of a metric at byte 102");
    CHECK_INT(s.n, 1);
    CHECK_INT(used, strlen(FINAL));
    CHECK_INT(tune_metrics_read("ME000003[1]", 11, note, &s, &used, &err), RC_FORMAT);
    CHECK_STR(err.msg, "the record of a metric at byte 0 holds no JSON object");
    CHECK_INT(used, 11);
}

static void values_as_python_writes_them(void)
{
    double v = 0;
    CHECK(tune_metrics_value("NaN", &v) && isnan(v));
    CHECK(tune_metrics_value("-Infinity", &v) && v == -INFINITY);
    CHECK(tune_metrics_value(" 7 ", &v) && v == 7);
    CHECK(tune_metrics_value("{\"default\": 1e-3}", &v) && v == 1e-3);
    CHECK(!tune_metrics_value("{\"loss\": 1}", &v));
    CHECK(!tune_metrics_value("\"0.5\"", &v));
    CHECK(!tune_metrics_value("", &v));
    CHECK(!tune_metrics_value("{\"__nni_obj__\": \"gASV\"}", &v));
}

static void check_fill(const char *command, const char *want)
{
    char *out = NULL;
    CHECK_INT(tune_command_of(
                  command,
                  "{\"lr\": 0.1, \"name\": \"it's; rm\", \"net\": {\"_name\": \"a\", "
                  "\"n\": 3}, \"flag\": true}",
                  &out, NULL),
              RC_OK);
    CHECK_STR(out, want);
    mem_free(out);
}

static void placeholders_are_filled_and_quoted(void)
{
    char *out = NULL;
    struct err err = {0};
    check_fill("train --lr {{lr}} --n {{ net.n }}{{flag}}", "train --lr 0.1 --n 3true");
    check_fill("train {{name}}", "train 'it'\\''s; rm'");
    check_fill("train {{net}}", "train '{\"_name\": \"a\", \"n\": 3}'");
    check_fill("train \"x={{name}}\" {{name}}", "train \"x=it's; rm\" 'it'\\''s; rm'");
    check_fill("train 'x={{name}}'", "train 'x=it'\\''s; rm'");
    check_fill("echo \\\"{{name}}", "echo \\\"'it'\\''s; rm'");
    CHECK_INT(
        tune_command_of("echo \"lr={{lr}}\"", "{\"lr\": \"$(id)`id`\\\"\"}", &out, &err),
        RC_OK);
    CHECK_STR(out, "echo \"lr=\\$(id)\\`id\\`\\\"\"");
    mem_free(out);
    out = NULL;
    check_fill("awk '{print $1}' }} {{", "awk '{print $1}' }} {{");
    CHECK_INT(tune_command_of("a {{net.m}}", "{\"net\": {}}", &out, &err), RC_INVAL);
    CHECK_STR(err.msg, "the trial command uses {{net.m}}, which is not a parameter");
    CHECK(!out);
}

static const struct tap_case cases[] = {
    TAP(records_of_nnis_client_are_read),    TAP(a_record_that_is_not_whole_waits),
    TAP(what_is_no_record_is_said),          TAP(values_as_python_writes_them),
    TAP(placeholders_are_filled_and_quoted),
};
TAP_MAIN(cases)
