/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures were computed with Python's hmac and base64 from the services' documents. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tap.h"
#include "team/chat.h"

#define NOW (INT64_C(1599360473) * CLOCK_SECOND + INT64_C(123000000))

static const char payload[] =
    "{\"id\": \"k\", \"rule\": \"nr-1\", \"on\": \"state\", \"time\": "
    "\"2020-09-06T02:47:53Z\", \"text\": \"job jb-1 (a_b) is Failed: <x> & y\", \"job\": "
    "{\"id\": \"jb-1\", \"name\": \"a_b\", \"owner\": \"ann\", \"project\": \"ads\", "
    "\"state\": \"Failed\", \"reason\": \"UserExit\"}}";

static void slack_gets_text_and_blocks(void)
{
    struct team_chat_message m;
    team_chat_make(team_chat_find("slack"), "https://hooks.slack.com/services/T/B/X",
                   payload, NOW, &m);
    CHECK_STR(m.url, "https://hooks.slack.com/services/T/B/X");
    CHECK_STR(m.body,
              "{\"text\":\"job jb-1 (a_b) is Failed: &lt;x&gt; &amp; y\",\"blocks\":[{"
              "\"type\":\"section\",\"text\":{\"type\":\"mrkdwn\",\"text\":\"*a_b Failed*"
              "\\njob jb-1 (a_b) is Failed: &lt;x&gt; &amp; y\"}},{\"type\":\"context\","
              "\"elements\":[{\"type\":\"mrkdwn\",\"text\":\"jb-1, ann, project ads, "
              "2020-09-06T02:47:53Z\"}]}]}");
    team_chat_release(&m);
}

static void dingtalk_is_signed_in_the_url(void)
{
    struct team_chat_message m;
    team_chat_make(team_chat_find("dingtalk"),
                   "https://oapi.dingtalk.com/robot/send?access_token=T#secret=SEC123",
                   payload, NOW, &m);
    CHECK_STR(m.url,
              "https://oapi.dingtalk.com/robot/send?access_token=T&timestamp="
              "1599360473123&sign=mI17x4kxmiozAc3LErmKW6uxEePSC2r%2FnAFZb7GtMZU%3D");
    CHECK_STR(
        m.body,
        "{\"msgtype\":\"markdown\",\"markdown\":{\"title\":\"a_b Failed\",\"text\":"
        "\"#### a\\\\_b Failed\\n\\njob jb-1 (a\\\\_b) is Failed: \\\\<x\\\\> & y\\n\\n> "
        "jb-1, ann, project ads, 2020-09-06T02:47:53Z\"}}");
    team_chat_release(&m);
    team_chat_make(team_chat_find("dingtalk"), "https://x/send?access_token=T", payload,
                   NOW, &m);
    CHECK_STR(m.url, "https://x/send?access_token=T");
    team_chat_release(&m);
}

static void feishu_is_signed_in_the_body(void)
{
    struct team_chat_message m;
    team_chat_make(team_chat_find("feishu"),
                   "https://open.feishu.cn/open-apis/bot/v2/hook/H#secret=demo", payload,
                   NOW, &m);
    CHECK_STR(m.url, "https://open.feishu.cn/open-apis/bot/v2/hook/H");
    CHECK_STR(
        m.body,
        "{\"timestamp\":\"1599360473\",\"sign\":\"l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8=\",\"msg_type\":"
        "\"interactive\",\"card\":{\"header\":{\"title\":{\"tag\":\"plain_text\","
        "\"content\":\"a_b Failed\"},\"template\":\"red\"},\"elements\":[{\"tag\":"
        "\"div\",\"text\":{\"tag\":\"plain_text\",\"content\":\"job jb-1 (a_b) is "
        "Failed: <x> & y\"}},{\"tag\":\"note\",\"elements\":[{\"tag\":\"plain_text\","
        "\"content\":\"jb-1, ann, project ads, 2020-09-06T02:47:53Z\"}]}]}}");
    team_chat_release(&m);
}

static void refusals_come_with_status_200(void)
{
    struct err err = {0};
    const struct team_chat *d = team_chat_find("dingtalk"), *f = team_chat_find("feishu");
    CHECK_INT(team_chat_judge(d, "{\"errcode\":0,\"errmsg\":\"ok\"}", &err), RC_OK);
    CHECK_INT(
        team_chat_judge(d, "{\"errcode\":310000,\"errmsg\":\"sign not match\"}", &err),
        RC_INVAL);
    CHECK_STR(err.msg, "the robot answered 310000: sign not match");
    CHECK_INT(team_chat_judge(d, "{\"errcode\":130101,\"errmsg\":\"too fast\"}", &err),
              RC_IO);
    CHECK_INT(
        team_chat_judge(f, "{\"StatusCode\":0,\"StatusMessage\":\"success\"}", &err),
        RC_OK);
    CHECK_INT(team_chat_judge(f, "{\"code\":19021,\"msg\":\"sign match fail\"}", &err),
              RC_INVAL);
    CHECK_INT(err.code, E5303);
    CHECK_INT(team_chat_judge(team_chat_find("slack"), "ok", &err), RC_OK);
    CHECK(!team_chat_find("webhook"));
}

static void a_secret_is_not_shown(void)
{
    char *shown = team_chat_shown("https://x/y?z#secret=abc");
    CHECK_STR(shown, "https://x/y?z#secret=...");
    mem_free(shown);
    shown = team_chat_shown("https://x/y#part");
    CHECK_STR(shown, "https://x/y#part");
    mem_free(shown);
}

static const struct tap_case cases[] = {
    TAP(slack_gets_text_and_blocks),   TAP(dingtalk_is_signed_in_the_url),
    TAP(feishu_is_signed_in_the_body), TAP(refusals_come_with_status_200),
    TAP(a_secret_is_not_shown),
};
TAP_MAIN(cases)
