/* SPDX-License-Identifier: Apache-2.0 */
#include "job/contract.h"

#include <string.h>

#include "base/mem.h"
#include "job/hp.h"
#include "job/metric.h"
#include "job/quote.h"
#include "job/retry.h"
#include "tap.h"

static void load(const char *json, struct job_spec *s)
{
    struct err err = {0};
    enum rc rc = job_spec_from_json(json, s, &err);
    if (rc)
        printf("# %s\n", err.msg);
    CHECK_INT(rc, RC_OK);
}

static const char *const hosts[] = {"h0", "h1", "h2", "h3"};

static void variables_follow_the_worked_vector(void)
{
    struct job_spec s;
    struct job_channels c = {0};
    struct job_contract_env e = {0};
    struct job_contract_worker w = {.job = "jb-1",
                                    .index = 1,
                                    .count = 4,
                                    .attempt = 2,
                                    .restarts = 1,
                                    .hosts = hosts,
                                    .port = 4000,
                                    .root = "/ml",
                                    .work = "/ml/usercode"};
    load("{\"command\": \"x\", \"hp\": {\"epochs\": 10, \"batch-size\": 32, "
         "\"train.learning_rate\": 0.001, \"flag\": true}, \"env\": {\"A\": \"b\"}}",
         &s);
    job_contract_env_fill(&e, &s, &c, &w);
    const char *const want[][2] = {
        {"PAI_HPS_EPOCHS", "10"},
        {"PAI_HPS_BATCH_SIZE", "32"},
        {"PAI_HPS_TRAIN_LEARNING_RATE", "0.001"},
        {"PAI_HPS_FLAG", "True"},
        {"PAI_USER_ARGS",
         "--epochs 10 --batch-size 32 --train.learning_rate 0.001 --flag True"},
        {"PAI_HPS", "{\"epochs\": \"10\", \"batch-size\": \"32\", "
                    "\"train.learning_rate\": \"0.001\", \"flag\": \"True\"}"},
        {"PAI_WORKING_DIR", "/ml/usercode/"},
        {"PAI_CONFIG_DIR", "/ml/input/config/"},
        {"WORLD_SIZE", "4"},
        {"RANK", "1"},
        {"NNODES", "4"},
        {"NODE_RANK", "1"},
        {"MASTER_ADDR", "h0"},
        {"MASTER_PORT", "4000"},
        {"NPROC_PER_NODE", "1"},
        {"TRAINYARD_RESTART_COUNT", "1"},
        {"A", "b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK_STR(job_contract_env_get(&e, want[i][0]), want[i][1]);
    CHECK_INT(e.warnings.n, 0);
    job_contract_env_release(&e);
    job_spec_release(&s);
}

static void workers_have_roles(void)
{
    struct job_spec s;
    int64_t index = -1;
    load(
        "{\"command\": \"x\", \"cpu\": \"2\", \"role\": {\"ps\": \"2,cpu=500m\", \"worker\": "
        "\"count=3,memory=1Gi,gpu=2\", \"master\": \"1\"}}",
        &s);
    CHECK_INT(s.workers, 6);
    CHECK_INT(s.total_cpu, 2000 + 3 * 2000 + 2 * 500);
    CHECK_INT(s.total_mem, INT64_C(3) << 30);
    CHECK_INT(s.total_gpu, 6);
    CHECK_STR(job_spec_role_of(&s, 0, &index)->name, "master");
    CHECK_STR(job_spec_role_of(&s, 3, &index)->name, "worker");
    CHECK_INT(index, 2);
    CHECK_INT(job_spec_role_of(&s, 3, NULL)->nproc, 2);
    CHECK(job_spec_role_of(&s, 5, &index)->serves);
    CHECK_INT(index, 1);
    CHECK_INT(job_spec_worker_find(&s, "worker-1"), 2);
    CHECK_INT(job_spec_worker_find(&s, "ps-1"), 5);
    CHECK_INT(job_spec_worker_find(&s, "ps-2"), -1);
    CHECK_INT(job_spec_worker_find(&s, "worker"), -1);
    CHECK_INT(job_spec_worker_find(&s, "work-0"), -1);
    job_spec_release(&s);
}

static void roles_that_cannot_be_are_refused(void)
{
    static const struct {
        const char *role, *want;
    } bad[] = {
        {"{\"rower\": \"1\"}", "'rower' is not a kind of worker"},
        {"{\"worker\": \"many\"}", "role 'worker': 'many' is not COUNT"},
        {"{\"worker\": \"2,cpu=0\"}", "role 'worker': '2,cpu=0' is not COUNT"},
        {"{\"master\": \"2\", \"worker\": \"1\"}", "role 'master': there is one at most"},
        {"{\"worker\": \"1000\", \"ps\": \"1000\"}", "the roles have 2000 workers"},
        {"{\"ps\": \"1\"}", "none of the roles ends by itself"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct job_spec s;
        struct err err = {0};
        char *text = mem_printf("{\"command\": \"x\", \"role\": %s}", bad[i].role);
        CHECK(job_spec_from_json(text, &s, &err) != RC_OK);
        CHECK(strstr(err.msg, bad[i].want) != NULL);
        job_spec_release(&s);
        mem_free(text);
    }
}

static void values_are_what_python_would_print(void)
{
    struct job_spec s;
    struct buf b;
    load("{\"command\": [\"x\"], \"hp\": {\"a\": 1e-05, \"b\": null, \"c\": [64, 32], "
         "\"d\": {\"k\": 1}, \"e\": \"\", \"f\": \"\\u4e2d\", \"g\": [\"x\", true]}}",
         &s);
    const char *const want[] = {"1e-05", "None",         "[64, 32]",   "{\"k\": 1}",
                                "",      "\xe4\xb8\xad", "['x', True]"};
    CHECK_INT(s.n_hp, ARRAY_LEN(want));
    for (size_t i = 0; i < s.n_hp && i < ARRAY_LEN(want); i++)
        CHECK_STR(s.hp[i].value, want[i]);
    buf_init(&b, 1 << 20);
    job_hp_json(s.hp + 4, 2, &b);
    CHECK_STR(buf_str(&b), "{\"e\": \"\", \"f\": \"\\u4e2d\"}");
    buf_release(&b);
    job_spec_release(&s);
}

static void names_and_words_are_quoted_once(void)
{
    const struct {
        const char *in, *mangled, *shell;
    } cases[] = {
        {"batch-size", "BATCH_SIZE", "batch-size"},
        {"binary:logistic", "BINARY_LOGISTIC", "binary:logistic"},
        {"a b", "A_B", "'a b'"},
        {"", "", "''"},
        {"*.csv", "__CSV", "'*.csv'"},
        {"it's", "IT_S", "'it'\"'\"'s'"},
        {"\xe4\xb8\xad", "_", "'\xe4\xb8\xad'"},
        {"$(rm -rf /)", "__RM__RF___", "'$(rm -rf /)'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b;
        buf_init(&b, 1000);
        job_quote_mangle(str_c(cases[i].in), &b);
        CHECK_STR(buf_str(&b), cases[i].mangled);
        buf_clear(&b);
        job_quote_shell(str_c(cases[i].in), &b);
        CHECK_STR(buf_str(&b), cases[i].shell);
        buf_release(&b);
    }
    struct buf b;
    buf_init(&b, 1000);
    job_quote_terminal(str_c("a\x1b[2J\n\xc2\x9b\xff\xc3\xa9"), &b);
    CHECK_STR(buf_str(&b), "a?[2J???\xc3\xa9");
    buf_release(&b);
}

static void names_that_collide_are_warned_about(void)
{
    struct job_spec s;
    struct job_channels c = {0};
    struct job_contract_env e = {0};
    struct job_contract_worker w = {
        .job = "j", .count = 1, .hosts = hosts, .root = "/ml", .work = "/"};
    load("{\"command\": \"t $PAI_USER_ARGS\", \"hp\": {\"a-b\": 1, \"a.b\": \"x y\"}}",
         &s);
    job_contract_env_fill(&e, &s, &c, &w);
    CHECK_STR(job_contract_env_get(&e, "PAI_HPS_A_B"), "x y");
    CHECK_INT(e.warnings.n, 2);
    CHECK_HAS(e.warnings.n ? e.warnings.at[0] : "",
              "two names become the variable PAI_HPS_A_B");
    CHECK_HAS(e.warnings.n > 1 ? e.warnings.at[1] : "", "'a.b' needs quotes");
    job_contract_env_release(&e);
    job_spec_release(&s);
}

static void tensorflow_jobs_get_their_own_variable(void)
{
    struct job_spec s;
    struct job_channels c = {0};
    struct job_contract_env e = {0};
    struct job_contract_worker w = {.job = "j",
                                    .index = 1,
                                    .count = 2,
                                    .hosts = hosts,
                                    .port = 5,
                                    .root = "/ml",
                                    .work = "/"};
    load("{\"command\": \"x\", \"job_type\": \"TFJob\", \"workers\": 2}", &s);
    job_contract_env_fill(&e, &s, &c, &w);
    CHECK_STR(
        job_contract_env_get(&e, "TF_CONFIG"),
        "{\"cluster\": {\"worker\": [\"h0:5\", \"h1:6\"]}, \"task\": {\"type\": \"worker\", "
        "\"index\": 1}, \"environment\": \"cloud\"}");
    job_contract_env_release(&e);
    job_spec_release(&s);
}

static void ends_are_sorted_into_classes(void)
{
    struct job_spec s;
    load(
        "{\"command\": \"x\", \"retries\": 2, \"backoff\": \"1s\", \"backoff_max\": \"3s\"}",
        &s);
    const struct {
        int code, signal;
        bool unseen;
        enum job_reason why;
        bool retry;
    } cases[] = {
        {0, 0, false, WHY_None, false},
        {1, 0, false, WHY_UserExit, false},
        {75, 0, false, WHY_UserExit, true},
        {200, 0, false, WHY_UserExit, true},
        {127, 0, false, WHY_LaunchFailure, false},
        {-1, 9, false, WHY_Signal, true},
        {-1, 9, true, WHY_NodeFailure, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum job_reason why =
            job_retry_reason(cases[i].code, cases[i].signal, false, cases[i].unseen);
        CHECK_INT(why, cases[i].why);
        CHECK_INT(job_retry_wanted(&s, why, cases[i].code, cases[i].signal, 1),
                  cases[i].retry);
        CHECK(!job_retry_wanted(&s, why, cases[i].code, cases[i].signal, 2));
    }
    CHECK(!job_retry_wanted(&s, WHY_OutOfMemory, -1, 9, 0));
    CHECK(!job_retry_wanted(&s, WHY_Timeout, -1, 15, 0));
    CHECK_NEAR(job_retry_delay(&s, 0), 1, 0);
    CHECK_NEAR(job_retry_delay(&s, 1), 2, 0);
    CHECK_NEAR(job_retry_delay(&s, 5), 3, 0);
    job_spec_release(&s);
}

struct heard {
    char text[400];
};

static void on_value(void *arg, const char *name, double v, int64_t step)
{
    struct heard *h = arg;
    size_t n = strlen(h->text);
    snprintf(h->text + n, sizeof(h->text) - n, "%s=%g@%jd ", name, v, (intmax_t)step);
}

static void on_progress(void *arg, double percent, int64_t eta_s, int64_t step)
{
    struct heard *h = arg;
    size_t n = strlen(h->text);
    snprintf(h->text + n, sizeof(h->text) - n, "[%g %jd %jd] ", percent, (intmax_t)eta_s,
             (intmax_t)step);
}

static void metrics_are_found_in_lines(void)
{
    struct job_spec s;
    struct job_metric_set *m = NULL;
    load("{\"command\": \"x\", \"metric\": {\"loss\": \"loss[: ]+(-?[\\\\d.e+-]+)\", "
         "\"slow\": \"(x+x+)+y\"}}",
         &s);
    CHECK_INT(job_metric_open(&s, &m, NULL), RC_OK);
    const char *const cases[][2] = {
        {"step 3 loss: 0.25 auc 0.7", "loss=0.25@-1 "},
        {"loss: -1e-3\r", "loss=-0.001@-1 "},
        {"loss: .", ""},
        {"nothing", ""},
        {"::trainyard progress=45 eta=120 step=900 auc=0.71",
         "[45 120 900] auc=0.71@900 "},
        {"::trainyard progress=250", "[100 -1 -1] "},
        {"::trainyard bad=nan x=inf y=1e999 =5 a/b=2 \x1b[2J=3", "a/b=2@900 "},
        {"x ::trainyard progress=1", ""},
        /* A pattern that would take for ever is given up. */
        {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", ""},
    };
    for (size_t i = 0; m && i < ARRAY_LEN(cases); i++) {
        struct heard h = {""};
        struct job_metric_sink sink = {&h, on_value, on_progress};
        job_metric_line(m, str_c(cases[i][0]), &sink);
        CHECK_STR(h.text, cases[i][1]);
    }
    job_metric_close(m);
    job_spec_release(&s);
}

static const struct tap_case cases[] = {
    TAP(variables_follow_the_worked_vector),
    TAP(values_are_what_python_would_print),
    TAP(names_and_words_are_quoted_once),
    TAP(names_that_collide_are_warned_about),
    TAP(tensorflow_jobs_get_their_own_variable),
    TAP(workers_have_roles),
    TAP(roles_that_cannot_be_are_refused),
    TAP(ends_are_sorted_into_classes),
    TAP(metrics_are_found_in_lines),
};
TAP_MAIN(cases)
