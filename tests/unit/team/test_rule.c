/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "tap.h"
#include "team/deliver.h"
#include "team/mail.h"
#include "team/rule.h"

static struct store_rule row(const char *condition)
{
    return (struct store_rule){
        .id = "nr-1", .owner = "ann", .kind = "webhook", .condition = condition};
}

static const struct store_job job = {.id = "jb-000000000001",
                                     .name = "nightly-din",
                                     .owner = "ann",
                                     .project = "ads",
                                     .state = "Failed",
                                     .reason = "UserExit"};

static void conditions_are_met_or_not(void)
{
    struct team_rule r;
    struct store_rule x =
        row("{\"on\": \"state\", \"states\": [\"Failed\", \"Stopped\"]}");
    CHECK_INT(team_rule_open(&x, &r, NULL), RC_OK);
    CHECK(team_rule_wants_state(&r, "Failed"));
    CHECK(!team_rule_wants_state(&r, "Succeeded"));
    CHECK(!team_rule_wants_value(&r, "auc", 0));
    team_rule_close(&r);
    x = row("{\"on\": \"metric\", \"metric\": \"auc\", \"below\": 0.7}");
    CHECK_INT(team_rule_open(&x, &r, NULL), RC_OK);
    CHECK(team_rule_wants_value(&r, "auc", 0.69));
    CHECK(!team_rule_wants_value(&r, "auc", 0.7));
    CHECK(!team_rule_wants_value(&r, "loss", 0.1));
    CHECK(!team_rule_wants_value(&r, "auc", NAN));
    team_rule_close(&r);
    x = row("{\"on\": \"log\", \"pattern\": \"CUDA (out of memory|error)\"}");
    CHECK_INT(team_rule_open(&x, &r, NULL), RC_OK);
    CHECK(team_rule_wants_line(&r, str_c("RuntimeError: CUDA out of memory.")));
    CHECK(!team_rule_wants_line(&r, str_c("CUDA is fine")));
    CHECK(!team_rule_wants_line(&r, str_c("\xff\xfe")));
    team_rule_close(&r);
    /* A pattern that would take for ever is cut off. */
    x = row("{\"on\": \"log\", \"pattern\": \"^(a+)+$\"}");
    CHECK_INT(team_rule_open(&x, &r, NULL), RC_OK);
    CHECK(!team_rule_wants_line(
        &r,
        str_c("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")));
    team_rule_close(&r);
}

static void rules_are_about_some_jobs(void)
{
    static const struct {
        const char *scope;
        bool about;
    } cases[] = {{"", true},
                 {", \"name\": \"din\"", true},
                 {", \"name\": \"dcn\"", false},
                 {", \"job\": \"jb-000000000001\"", true},
                 {", \"job\": \"jb-000000000002\"", false},
                 {", \"project\": \"ads\"", true},
                 {", \"project\": \"feed\"", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];
        struct team_rule r;
        snprintf(text, sizeof(text), "{\"on\": \"stall\", \"after_s\": 60%s}",
                 cases[i].scope);
        struct store_rule x = row(text);
        CHECK_INT(team_rule_open(&x, &r, NULL), RC_OK);
        CHECK(team_rule_is_about(&r, &job) == cases[i].about);
        struct store_job other = job;
        other.owner = "bob"; /* another's job only by its project */
        CHECK(team_rule_is_about(&r, &other) == (i == 5));
        team_rule_close(&r);
    }
}

static void wrong_conditions_are_refused(void)
{
    static const struct {
        const char *text, *msg;
    } bad[] = {
        {"", "rule: the condition is not a JSON object: ''"},
        {"[]", "rule: the condition is not a JSON object: '[]'"},
        {"{}", "rule: on is state, metric, log or stall: ''"},
        {"{\"on\": \"moon\"}", "rule: on is state, metric, log or stall: 'moon'"},
        {"{\"on\": \"state\"}", "rule: states is a list of states: ''"},
        {"{\"on\": \"state\", \"states\": [\"Dead\"]}", "rule: no such state: 'Dead'"},
        {"{\"on\": \"metric\", \"metric\": \"auc\"}",
         "rule: above or below is the number to compare with: 'auc'"},
        {"{\"on\": \"metric\", \"below\": 1}",
         "rule: metric names the value to look at: ''"},
        {"{\"on\": \"log\", \"pattern\": \"(\"}",
         "rule: pattern '(': missing closing parenthesis at character 2"},
        {"{\"on\": \"stall\", \"after_s\": 0}",
         "rule: after_s is a number of seconds, at most a year: ''"},
        {"{\"on\": \"stall\", \"after_s\": 9, \"label\": \"x\"}",
         "rule: label is written key=value: 'x'"},
        {"{\"on\": \"stall\", \"after_s\": 9, \"who\": \"x\"}",
         "rule: no such key: 'who'"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct team_rule r;
        struct err err = {0};
        struct store_rule x = row(bad[i].text);
        CHECK_INT(team_rule_open(&x, &r, &err), RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        CHECK_INT(err.code, E5301);
    }
}

static void the_same_fact_has_the_same_key(void)
{
    struct team_rule r;
    char a[65], b[65];
    struct buf out;
    struct store_rule x = row("{\"on\": \"state\", \"states\": [\"Failed\"]}");
    struct team_rule_fact f = {.job = &job,
                               .time = CLOCK_SECOND,
                               .what = "event/7",
                               .text = "job \"x\" failed\n",
                               .extra = ", \"value\": 1"};
    CHECK_INT(team_rule_open(&x, &r, NULL), RC_OK);
    team_rule_key(&r, &f, a);
    team_rule_key(&r, &f, b);
    CHECK_STR(a, b);
    buf_init(&out, 10000);
    team_rule_payload(&r, &f, &out);
    CHECK_HAS(buf_str(&out),
              "\"text\": \"job \\\"x\\\" failed\\n\", \"value\": 1, \"job\": "
              "{\"id\": \"jb-000000000001\", \"name\": \"nightly-din\"");
    CHECK_HAS(buf_str(&out), a);
    f.what = "event/8";
    team_rule_key(&r, &f, b);
    CHECK(strcmp(a, b) != 0);
    buf_release(&out);
    team_rule_close(&r);
}

static void pauses_grow_up_to_an_hour(void)
{
    CHECK_INT(team_deliver_pause(1), 10 * CLOCK_SECOND);
    CHECK_INT(team_deliver_pause(2), 20 * CLOCK_SECOND);
    CHECK_INT(team_deliver_pause(9), 2560 * CLOCK_SECOND);
    CHECK_INT(team_deliver_pause(10), 3600 * CLOCK_SECOND);
    CHECK_INT(team_deliver_pause(1000), 3600 * CLOCK_SECOND);
    int64_t sum = 0;
    for (int64_t i = 1; i < DELIVER_TRIES; i++)
        sum += team_deliver_pause(i);
    CHECK(sum > 20 * 3600 * CLOCK_SECOND && sum < 28 * 3600 * CLOCK_SECOND);
}

static void addresses_of_mail_hold_no_tricks(void)
{
    CHECK(!team_mail_check("me@example.com"));
    CHECK(!team_mail_check("a.b+c@x-y.example"));
    static const char *const bad[] = {"",        "me",         "@x",    "me@",
                                      "-f@x",    "a@b@c",      "a b@c", "a@b\nBcc: x",
                                      "a@b,c@d", "\"a\"@b",    "<a@b>", "a;b@c",
                                      "a@b`id`", "a@b\xc3\xa4"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(team_mail_check(bad[i]));
    struct err err = {0};
    struct team_mail_message m = {.to = "me@x", .subject = "s", .text = "t", .key = "k"};
    CHECK_INT(team_mail_send(NULL, &m, &err), RC_INVAL);
    CHECK_STR(err.msg, "mail: no command for mail is set");
    CHECK_INT(team_mail_send("/no/such/mailer -t", &m, &err), RC_IO);
    CHECK_INT(err.code, E5305);
    CHECK_INT(team_mail_send("/bin/false", &m, &err), RC_IO);
    CHECK_STR(err.msg, "mail: '/bin/false': exit status 1: ");
}

static const struct tap_case cases[] = {
    TAP(conditions_are_met_or_not),    TAP(rules_are_about_some_jobs),
    TAP(wrong_conditions_are_refused), TAP(the_same_fact_has_the_same_key),
    TAP(pauses_grow_up_to_an_hour),    TAP(addresses_of_mail_hold_no_tricks),
};
TAP_MAIN(cases)
