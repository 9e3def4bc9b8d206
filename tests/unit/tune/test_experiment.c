/* SPDX-License-Identifier: Apache-2.0 */
/* An experiment's log: what is applied when it is written is what reading it gives. */
#include "tune/experiment.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "space.h"
#include "tune/command.h"
#include "tune/report.h"

static const char space_text[] = "{\"x\": {\"_type\": \"uniform\", \"_value\": [0, 1]}}";

struct setup {
    char *dir;
    struct text space;
    struct experiment *e;
};

static void open_setup(struct setup *s, const struct tune_objectives *o)
{
    struct err err = {0};
    struct exp_settings set = {.id = "abc",
                               .command = "run {{x}}",
                               .code_dir = "/",
                               .tuner = "TPE",
                               .seed = 5,
                               .created = 1000,
                               .limits = {.concurrency = 2, .trials = 9}};
    *s = (struct setup){0};
    set.space = text_open(&s->space, space_text);
    if (o)
        set.objectives = *o;
    CHECK_INT(fs_temp_dir("experiment-", &s->dir, &err), RC_OK);
    CHECK_INT(experiment_create(s->dir, &set, &err), RC_OK);
    CHECK_INT(experiment_open(s->dir, &s->e, &err), RC_OK);
}

static void close_setup(struct setup *s)
{
    struct err err = {0};
    experiment_close(s->e);
    text_close(&s->space);
    CHECK_INT(fs_remove_all(s->dir, &err), RC_OK);
    mem_free(s->dir);
}

/* Everything that is shown of it. */
static void show(const struct experiment *e, struct buf *b)
{
    int64_t *order = tune_report_ranking(e);
    tune_report_trials(e, order, (int64_t)e->trials.n, b);
    tune_report_nni_profile(e, b);
    tune_report_nni_trials(e, NULL, b);
    tune_report_nni_metrics(e, &(struct tune_report_metrics){.last = INT64_MAX}, b);
    mem_free(order);
}

static void same_when_read_again(struct setup *s)
{
    struct buf now, again;
    struct experiment *other = NULL;
    struct err err = {0};
    buf_init(&now, 1 << 24);
    buf_init(&again, 1 << 24);
    CHECK_INT(experiment_open(s->dir, &other, &err), RC_OK);
    CHECK_STR(err.msg, "");
    show(s->e, &now);
    show(other, &again);
    CHECK_STR(buf_str(&again), buf_str(&now));
    experiment_close(other);
    buf_release(&now);
    buf_release(&again);
}

static void one_trial(struct experiment *e, const char *json)
{
    struct err err = {0};
    enum tuner_answer answer;
    int64_t trial = -1;
    bool stop = false;
    CHECK_INT(experiment_ask(e, &answer, &trial, &err), RC_OK);
    CHECK_INT(answer, TUNER_GIVES);
    CHECK_INT(experiment_running(e, trial, &err), RC_OK);
    CHECK_INT(experiment_result(e, trial, false, 0, "0.5", 1, &stop, &err), RC_OK);
    CHECK_INT(experiment_result(e, trial, true, 0, json, 2, &stop, &err), RC_OK);
    CHECK_INT(experiment_ended(e, trial, TS_SUCCEEDED, "", &err), RC_OK);
    CHECK(!stop);
}

static void the_log_is_all_there_is(void)
{
    struct setup s;
    struct err err = {0};
    bool stop;
    open_setup(&s, NULL);
    for (int i = 0; i < 12; i++)
        one_trial(s.e, i == 3 ? "{\"default\": 0.25, \"other\": \"a\\\"b\"}" : "1.5");
    CHECK_INT(s.e->best, 3);
    CHECK_INT(experiment_result(s.e, 0, true, 0, "-9", 3, &stop, &err), RC_OK);
    CHECK_INT(s.e->best, 3); /* it had ended */
    same_when_read_again(&s);
    close_setup(&s);
}

/* The manager may be writing it at this moment. */
static void who_only_looks_leaves_a_torn_line_alone(void)
{
    struct setup s;
    struct err err = {0};
    struct experiment *other = NULL;
    char *data = NULL;
    size_t before = 0, n = 0;
    open_setup(&s, NULL);
    one_trial(s.e, "1");
    char *log = fs_join(s.dir, "log.jsonl");
    CHECK_INT(fs_read(log, 1 << 20, &data, &before, &err), RC_OK);
    mem_free(data);
    CHECK_INT(fs_add_line(log, "{\"e\": \"lim", 10, &err), RC_OK);
    CHECK_INT(experiment_open(s.dir, &other, &err), RC_OK);
    CHECK_INT(other->trials.n, 1);
    CHECK_INT(fs_read(log, 1 << 20, &data, &n, &err), RC_OK);
    CHECK_INT(n, before + 10);
    mem_free(data);
    one_trial(other, "2"); /* who goes on with it starts a line of its own */
    experiment_close(s.e);
    s.e = other;
    same_when_read_again(&s);
    CHECK_INT(s.e->trials.n, 2);
    CHECK_INT(fs_read(log, 1 << 20, &data, &n, &err), RC_OK);
    CHECK(!strstr(data, "\"lim"));
    mem_free(data);
    mem_free(log);
    close_setup(&s);
}

static void a_folder_tells_its_id(void)
{
    struct setup s;
    struct err err = {0};
    struct exp_peek is = {.created = 0};
    open_setup(&s, NULL);
    CHECK_INT(experiment_peek(s.dir, &is, &err), RC_OK);
    CHECK_STR(is.id, "abc");
    CHECK_STR(is.owner, "");
    CHECK_INT(is.created, 1000);
    char *file = fs_join(s.dir, "experiment.json");
    CHECK_INT(fs_write(file, "{\"id\": 3}", 9, 0600, &err), RC_OK);
    CHECK_INT(experiment_peek(s.dir, &is, &err), RC_FORMAT);
    CHECK_INT(err.code, E4005);
    CHECK_INT(fs_write(file, "[", 1, 0600, &err), RC_OK);
    CHECK_INT(experiment_peek(s.dir, &is, &err), RC_FORMAT);
    CHECK_INT(experiment_peek("/nowhere", &is, &err), RC_NOTFOUND);
    CHECK_STR(err.msg, "there is no experiment in '/nowhere'");
    mem_free(file);
    close_setup(&s);
}

static void another_space_is_in_the_log(void)
{
    struct setup s;
    struct err err = {0};
    open_setup(&s, NULL);
    one_trial(s.e, "1");
    CHECK_INT(experiment_space(s.e, "{\"x\": {\"_type\": \"uniform\"}}", &err), RC_INVAL);
    CHECK_INT(err.code, E4012);
    CHECK_INT(experiment_space(s.e, "[]", &err), RC_INVAL);
    CHECK_STR(err.msg, "the search space is a list, not a map");
    CHECK_INT(s.e->spaces, 0);
    CHECK_INT(experiment_space(s.e,
                               "{\"x\": {\"_type\": \"uniform\", \"_value\": [0, 9]}, "
                               "\"y\": {\"_type\": \"choice\", \"_value\": [7]}}",
                               &err),
              RC_OK);
    for (int i = 0; i < 11; i++)
        one_trial(s.e, "2");
    CHECK(strstr(s.e->trials.at[1].params, "\"y\": 7"));
    CHECK_STR(s.e->trials.at[1].param_id, "1");
    same_when_read_again(&s);
    close_setup(&s);
}

static void metrics_by_name(void)
{
    struct setup s;
    struct tune_objectives o = {.n = 2, .n_bounds = 1};
    o.at[0] = (struct tune_objective){"auc", true};
    o.at[1] = (struct tune_objective){"ms", false};
    o.bounds[0] = (struct tune_constraint){"size", -INFINITY, 10};
    open_setup(&s, &o);
    one_trial(s.e, "{\"auc\": 0.7, \"ms\": 3, \"size\": 1}");
    one_trial(s.e, "{\"auc\": 0.8, \"ms\": 4, \"size\": 1}");
    one_trial(s.e, "{\"auc\": 0.6, \"ms\": 5, \"size\": 1}");  /* beaten in both */
    one_trial(s.e, "{\"auc\": 0.9, \"ms\": 1, \"size\": 11}"); /* too large */
    one_trial(s.e, "0.9");
    CHECK(experiment_in_front(s.e, &s.e->trials.at[0]));
    CHECK(experiment_in_front(s.e, &s.e->trials.at[1]));
    CHECK(!experiment_in_front(s.e, &s.e->trials.at[2]));
    CHECK(!experiment_in_front(s.e, &s.e->trials.at[3]));
    CHECK(fabs(s.e->trials.at[3].violation - 0.1) < 1e-12);
    CHECK(!s.e->trials.at[4].has_final);
    CHECK_INT(s.e->best, 1);
    same_when_read_again(&s);
    close_setup(&s);
}

static void paths_of_nni(void)
{
    struct setup s;
    struct buf b;
    open_setup(&s, NULL);
    one_trial(s.e, "0.93");
    buf_init(&b, 1 << 20);
    CHECK(tune_report_nni_path(s.e, false, "/job-statistics", "", &b));
    CHECK_STR(buf_str(&b), "[{\"trialJobStatus\":\"SUCCEEDED\",\"trialJobNumber\":1}]");
    buf_clear(&b);
    CHECK(tune_report_nni_path(s.e, false, "/trial-jobs", "status=FAILED", &b));
    CHECK_STR(buf_str(&b), "[]");
    buf_clear(&b);
    CHECK(tune_report_nni_path(s.e, false, "/metric-data", "a=b&type=FINAL", &b));
    CHECK(strstr(buf_str(&b),
                 "\"type\":\"FINAL\",\"sequence\":0,\"data\":\"\\\"0.93\\\"\""));
    CHECK(!strstr(buf_str(&b), "PERIODICAL"));
    CHECK(!tune_report_nni_path(s.e, false, "/trial-jobs/none", "", &b));
    CHECK(!tune_report_nni_path(s.e, false, "/metric-data-range/x/y", "", &b));
    CHECK(!tune_report_nni_path(s.e, false, "/", "", &b));
    buf_release(&b);
    close_setup(&s);
}

static void a_training_gets_every_parameter(void)
{
    char *out = NULL;
    struct err err = {0};
    const char *params = "{\"a.b[0].lr\": 0.5, \"name\": \"it's\"}";
    CHECK_INT(tune_command_of("/bin/trainyard train c.config", params, &out, &err),
              RC_OK);
    CHECK_STR(out, "/bin/trainyard train c.config --model-dir \"$NNI_OUTPUT_DIR/model\" "
                   "--set 'a.b[0].lr=0.5' --set 'name=it'\\''s'");
    mem_free(out);
    CHECK_INT(tune_command_of("trainyard train c --model-dir m", params, &out, &err),
              RC_OK);
    CHECK(str_starts(out, "trainyard train c --model-dir m --set "));
    mem_free(out);
    CHECK_INT(
        tune_command_of("trainyard train c --set lr={{a.b[0].lr}}", params, &out, &err),
        RC_OK);
    CHECK_STR(out, "trainyard train c --set lr=0.5");
    mem_free(out);
    CHECK_INT(tune_command_of("mytrainyard train c", params, &out, &err), RC_OK);
    CHECK_STR(out, "mytrainyard train c");
    mem_free(out);
}

static void nothing_is_leaked(void)
{
    int64_t before = mem_live();
    the_log_is_all_there_is();
    another_space_is_in_the_log();
    metrics_by_name();
    paths_of_nni();
    CHECK_INT(mem_live(), before);
}

static const struct tap_case cases[] = {
    TAP(the_log_is_all_there_is),
    TAP(who_only_looks_leaves_a_torn_line_alone),
    TAP(a_folder_tells_its_id),
    TAP(another_space_is_in_the_log),
    TAP(metrics_by_name),
    TAP(paths_of_nni),
    TAP(a_training_gets_every_parameter),
    TAP(nothing_is_leaked),
};
TAP_MAIN(cases)
