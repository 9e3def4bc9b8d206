/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backend/pods_logs.h"
#include "backend/pods_news.h"
#include "tap.h"
#include "text/json.h"

#define HEAD                                                                                   \
    "{\"metadata\":{\"name\":\"jb-x-1-0-abc\",\"uid\":\"u1\",\"labels\":{"                     \
    "\"trainyard.io/object\":\"jb-x-1\",\"batch.kubernetes.io/job-completion-index\":\"3\"}}," \
    "\"spec\":{\"nodeName\":\"n1\"},\"status\":"

static void read_pod(const char *status, struct pods_pod *out)
{
    struct doc d = {0};
    char text[4000];
    snprintf(text, sizeof(text), HEAD "%s}", status);
    CHECK(json_read("a pod", text, strlen(text), &d, NULL) == RC_OK);
    CHECK(pods_pod_read(d.root, out));
    doc_release(&d);
}

static void states_of_pods_have_reasons_and_words(void)
{
    static const struct {
        const char *status;
        enum pods_state state;
        enum job_reason why;
        int code;
        const char *words;
    } rows[] = {
        {"{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
         "\"False\",\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes\"}]}",
         PODS_WAITING, WHY_None, -1,
         "no node can take it yet (Unschedulable): 0/1 nodes"},
        {"{\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{"
         "\"reason\":\"ImagePullBackOff\",\"message\":\"no\"}}}]}",
         PODS_WAITING, WHY_ImagePull, -1,
         "its image cannot be had (ImagePullBackOff): no"},
        {"{\"phase\":\"Running\",\"containerStatuses\":[{\"state\":{\"running\":{}}}]}",
         PODS_RUNNING, WHY_None, -1, ""},
        {"{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"state\":{\"terminated\":{"
         "\"exitCode\":0,\"reason\":\"Completed\"}}}]}",
         PODS_ENDED, WHY_None, 0, ""},
        {"{\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":{\"terminated\":{"
         "\"exitCode\":7,\"reason\":\"Error\"}}}]}",
         PODS_ENDED, WHY_None, 7, ""},
        {"{\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":{\"terminated\":{"
         "\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}",
         PODS_ENDED, WHY_OutOfMemory, 137,
         "needed more memory than its limit (OOMKilled)"},
        {"{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"disk\"}", PODS_ENDED,
         WHY_Evicted, -1, "the node removed it (Evicted): disk"},
        {"{\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":{\"terminated\":{"
         "\"exitCode\":128,\"reason\":\"StartError\",\"message\":\"no /bin/sh\"}}}]}",
         PODS_ENDED, WHY_LaunchFailure, 128,
         "its container could not be started (StartError): no /bin/sh"},
        {"{\"phase\":\"Failed\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":"
         "\"True\",\"reason\":\"PreemptionByScheduler\"}],\"containerStatuses\":[{\"state\":{"
         "\"terminated\":{\"exitCode\":143,\"reason\":\"Error\"}}}]}",
         PODS_ENDED, WHY_Preempted, 143,
         "its node is for a pod of higher priority (PreemptionByScheduler)"},
        {"{\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\",\"containerStatuses\":[{"
         "\"state\":{\"running\":{}}}]}",
         PODS_RUNNING, WHY_None, -1, ""},
        {"{}", PODS_WAITING, WHY_None, -1, "its container is being made"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pods_pod p;
        read_pod(rows[i].status, &p);
        CHECK(p.state == rows[i].state);
        CHECK(p.why == rows[i].why);
        CHECK(p.code == rows[i].code);
        CHECK(p.worker == 3 && p.placed);
        CHECK_STR(p.text, rows[i].words);
    }
}

static void pods_of_others_are_none_of_ours(void)
{
    static const char *const rows[] = {
        "{}", "[]", "{\"metadata\":7}", "{\"metadata\":{\"name\":\"x\"}}",
        "{\"metadata\":{\"name\":\"x\",\"labels\":{\"trainyard.io/object\":\"y\","
        "\"trainyard.io/worker\":\"-1\"}}}"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct doc d = {0};
        struct pods_pod p;
        CHECK(json_read("a pod", rows[i], strlen(rows[i]), &d, NULL) == RC_OK);
        CHECK(!pods_pod_read(d.root, &p));
        doc_release(&d);
    }
}

static void each_kind_says_which_worker_a_pod_is(void)
{
#define POD(more) \
    "{\"metadata\":{\"name\":\"x\",\"labels\":{\"trainyard.io/object\":\"y\"" more
#define KUBEFLOW(by, role, index)                           \
    POD(",\"training.kubeflow.org/operator-name\":\"" by    \
        "\",\"training.kubeflow.org/replica-type\":\"" role \
        "\",\"training.kubeflow.org/replica-index\":\"" index "\"}}}")
    static const struct {
        const char *pod;
        int64_t worker; /* -1: it is none of ours */
    } rows[] = {
        {POD(",\"trainyard.io/worker\":\"4\"}}}"), 4},
        {POD(",\"batch.kubernetes.io/job-completion-index\":\"2\"}}}"), 2},
        {POD("},\"annotations\":{\"volcano.sh/task-index\":\"5\"}}}"), 5},
        {KUBEFLOW("pytorchjob-controller", "master", "0"), 0},
        {KUBEFLOW("pytorchjob-controller", "worker", "0"), 1},
        {KUBEFLOW("mpi-operator", "worker", "1"), 1},
        {KUBEFLOW("mpi-operator", "worker", "-1"), -1},
        {POD("}}}"), -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct doc d = {0};
        struct pods_pod p;
        CHECK(json_read("a pod", rows[i].pod, strlen(rows[i].pod), &d, NULL) == RC_OK);
        CHECK(pods_pod_read(d.root, &p) == (rows[i].worker >= 0));
        CHECK(rows[i].worker < 0 || p.worker == rows[i].worker);
        doc_release(&d);
    }
#undef KUBEFLOW
#undef POD
}

static void ends_of_objects_are_known(void)
{
    static const struct {
        const char *status;
        bool over;
    } rows[] = {
        {"{\"conditions\":[{\"type\":\"FailureTarget\",\"status\":\"True\"}]}", false},
        {"{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}", true},
        {"{\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\"}]}", true},
        {"{\"conditions\":[{\"type\":\"Succeeded\",\"status\":\"True\"}]}", true},
        {"{\"conditions\":[{\"type\":\"Failed\",\"status\":\"False\"}]}", false},
        {"{\"state\":{\"phase\":\"Pending\"}}", false},
        {"{\"state\":{\"phase\":\"Aborted\"}}", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct doc d = {0};
        char text[400], words[PODS_TEXT_SIZE];
        snprintf(text, sizeof(text), "{\"status\":%s}", rows[i].status);
        CHECK(json_read("an object", text, strlen(text), &d, NULL) == RC_OK);
        CHECK(pods_job_read(d.root, words) == rows[i].over);
        doc_release(&d);
    }
}

static void news_read_back_as_they_were(void)
{
    struct pods_news n = {.pods = {0}}, got;
    struct pods_pod p = {.worker = 2,
                         .state = PODS_ENDED,
                         .code = 7,
                         .ended = 12345,
                         .why = WHY_OutOfMemory,
                         .placed = true};
    struct pods_job j = {.over = true};
    struct pods_event e;
    struct buf b;
    snprintf(p.owner, sizeof(p.owner), "jb-x-1");
    snprintf(p.text, sizeof(p.text), "a\tb\nc");
    snprintf(j.name, sizeof(j.name), "jb-x-1");
    snprintf(e.object, sizeof(e.object), "jb-x-1-2-q");
    snprintf(e.text, sizeof(e.text), "FailedMount: x");
    VEC_PUSH(&n.pods, p);
    VEC_PUSH(&n.jobs, j);
    VEC_PUSH(&n.events, e);
    buf_init(&b, 10000);
    pods_news_print(&n, &b);
    CHECK(pods_news_parse(buf_str(&b), b.n, &got, NULL) == RC_OK);
    const struct pods_pod *q = pods_news_pod(&got, "jb-x-1", 2);
    CHECK(q && q->code == 7 && q->ended == 12345 && q->why == WHY_OutOfMemory &&
          q->placed);
    CHECK_STR(q ? q->text : "", "a b c");
    CHECK(pods_news_job(&got, "jb-x-1") && pods_news_job(&got, "jb-x-1")->over);
    CHECK_STR(pods_news_event(&got, "jb-x-1-2"), "FailedMount: x");
    CHECK(!pods_news_pod(&got, "jb-x-1", 3) && !pods_news_job(&got, "jb-x"));
    pods_news_release(&got);
    CHECK(pods_news_parse("P\tx\n", 4, &got, NULL) == RC_FORMAT);
    pods_news_release(&got);
    pods_news_release(&n);
    buf_release(&b);
}

static void lines_of_output_have_times(void)
{
    struct str text;
    CHECK(pods_logs_time(str_c("1970-01-01T00:00:01.5Z a b\n"), &text) == 1500000000);
    CHECK(str_is(text, "a b\n"));
    CHECK(pods_logs_time(str_c("unable to retrieve logs\n"), &text) == 0);
    CHECK(pods_logs_time(str_c(""), &text) == 0);
}

static const struct tap_case cases[] = {
    TAP(states_of_pods_have_reasons_and_words), TAP(pods_of_others_are_none_of_ours),
    TAP(each_kind_says_which_worker_a_pod_is),  TAP(ends_of_objects_are_known),
    TAP(news_read_back_as_they_were),           TAP(lines_of_output_have_times),
};
TAP_MAIN(cases)
