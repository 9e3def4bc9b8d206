/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/call.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

/* What the next call of each method answers. */
static struct {
    enum rc rc;
    enum backend_state state;
    struct backend_exit exit;
    struct backend_usage usage;
    bool start, more;
    int released, closed;
    char warning[200];
} as;

static enum rc fake_probe(const char *dir, struct err *err)
{
    return as.rc;
}

static enum rc fake_capacity(const char *slots, struct backend_queue_need *out,
                             struct err *err)
{
    *out = (struct backend_queue_need){.cpu_milli = 1000, .gpu = -1};
    return RC_OK;
}

static enum rc fake_open(struct backend_job *j, struct err *err)
{
    return as.rc;
}

static void fake_prepare(struct backend_job *j)
{
}

static void fake_address(const struct backend_job *j, int64_t worker,
                         char out[BACKEND_ADDRESS_SIZE])
{
}

static int64_t fake_port(const struct backend_job *j)
{
    return 1;
}

static void fake_signal(struct backend_job *j, struct backend_worker *w,
                        enum backend_signal s)
{
}

static void fake_clean(struct backend_job *j, int64_t worker, bool lost)
{
}

static enum rc fake_start(struct backend_job *j, struct backend_launch *at, size_t n,
                          struct err *err)
{
    for (size_t i = 0; i < n; i++)
        at[i].started = as.start;
    return as.rc;
}

static enum backend_state fake_reattach(struct backend_job *j, struct backend_worker *w)
{
    return as.state;
}

static enum backend_state fake_poll(struct backend_job *j, struct backend_worker *w,
                                    struct backend_exit *out)
{
    *out = as.exit;
    return as.state;
}

static bool fake_logs(struct backend_job *j, struct backend_worker *w,
                      struct backend_log *log)
{
    log->position += as.start;
    return as.more;
}

static void fake_usage(struct backend_job *j, struct backend_worker *const *w, size_t n,
                       struct backend_usage *out)
{
    out[0] = as.usage;
}

static void fake_release(struct backend_job *j, struct backend_worker *w)
{
    as.released++;
}

static void fake_close(struct backend_job *j, bool ended)
{
    as.closed++;
}

static void take_warning(struct backend_job *j, const char *text)
{
    snprintf(as.warning, sizeof(as.warning), "%s", text);
}

static const struct backend_ops fake = {.name = "fake",
                                        .probe = fake_probe,
                                        .capacity = fake_capacity,
                                        .open = fake_open,
                                        .prepare = fake_prepare,
                                        .address = fake_address,
                                        .port = fake_port,
                                        .start = fake_start,
                                        .reattach = fake_reattach,
                                        .poll = fake_poll,
                                        .signal = fake_signal,
                                        .logs = fake_logs,
                                        .usage = fake_usage,
                                        .release = fake_release,
                                        .clean = fake_clean,
                                        .close = fake_close};

static struct backend_job job_of(void)
{
    memset(&as, 0, sizeof(as));
    return (struct backend_job){.ops = &fake, .warn = take_warning};
}

static void a_failure_without_a_message_gets_one_and_old_words_do_not_stay(void)
{
    struct backend_job j = job_of();
    struct err err = {.code = E3203, .msg = "of an earlier call"};
    as.rc = RC_IO;
    CHECK_INT(backend_call_probe(&fake, "", &err), RC_IO);
    CHECK_STR(err.msg, "backend fake: probe failed without saying why");
    CHECK_INT(err.code, E3209);
    CHECK_INT(backend_call_open(&j, NULL), RC_IO);
    as.rc = (enum rc) - 99;
    CHECK_INT(backend_call_open(&j, &err), RC_INVAL);
    CHECK_STR(err.msg, "backend fake: open() answered -99, which is not an error code");
    CHECK_INT(err.code, E3208);
}

static void a_negative_capacity_is_refused_and_nothing_is_written(void)
{
    struct err err = {0};
    struct backend_queue_need n = {.gpu = 7};
    CHECK_INT(backend_call_capacity(&fake, NULL, &n, &err), RC_INVAL);
    CHECK_INT(n.gpu, 7);
    CHECK_STR(err.msg, "backend fake: capacity() gave a negative number");
}

static void close_follows_an_open_that_succeeded_once(void)
{
    struct backend_job j = job_of();
    as.rc = RC_IO;
    CHECK_INT(backend_call_open(&j, NULL), RC_IO);
    backend_call_close(&j, true);
    CHECK_INT(as.closed, 0);
    as.rc = RC_OK;
    CHECK_INT(backend_call_open(&j, NULL), RC_OK);
    backend_call_close(&j, true);
    backend_call_close(&j, true);
    CHECK_INT(as.closed, 1);
}

static void release_follows_each_start_and_reattach_once(void)
{
    struct backend_job j = job_of();
    struct backend_worker w = {.handle = "/no/such/handle", .fd = -1};
    struct backend_launch l = {.w = &w};
    backend_call_release(&j, &w);
    CHECK_INT(as.released, 0);
    as.rc = RC_IO;
    CHECK_INT(backend_call_start(&j, &l, 1, NULL), RC_IO);
    backend_call_release(&j, &w);
    backend_call_release(&j, &w);
    CHECK_INT(as.released, 1);
    CHECK_INT(backend_call_reattach(&j, &w), BACKEND_NONE);
    backend_call_release(&j, &w);
    CHECK_INT(as.released, 2);
}

static void success_means_that_all_were_started_and_have_handles(void)
{
    struct backend_job j = job_of();
    struct backend_worker w = {.index = 4, .handle = "/no/such/handle"};
    struct backend_launch l = {.w = &w};
    struct err err = {0};
    CHECK_INT(backend_call_start(&j, &l, 1, &err), RC_INVAL);
    CHECK_STR(err.msg,
              "backend fake: start() answered success, but worker 4 was not started");
    as.start = true;
    CHECK_INT(backend_call_start(&j, &l, 1, &err), RC_INVAL);
    CHECK_STR(err.msg, "backend fake: start() left no handle of worker 4");
    w.handle = "/";
    CHECK_INT(backend_call_start(&j, &l, 1, &err), RC_OK);
    CHECK_INT(w.state, BACKEND_RUNNING);
}

/* The answer to a poll of a worker that was `was`. */
static enum backend_state poll_as(enum backend_state was, enum backend_state now,
                                  struct backend_exit *out)
{
    struct backend_job j = {.ops = &fake};
    struct backend_worker w = {.state = was};
    as.state = now;
    return backend_call_poll(&j, &w, out);
}

static void a_worker_never_goes_back_to_an_earlier_state(void)
{
    static const struct {
        enum backend_state was, now, want;
    } moves[] = {{BACKEND_WAITING, BACKEND_WAITING, BACKEND_WAITING},
                 {BACKEND_WAITING, BACKEND_RUNNING, BACKEND_RUNNING},
                 {BACKEND_WAITING, BACKEND_ENDED, BACKEND_ENDED},
                 {BACKEND_RUNNING, BACKEND_RUNNING, BACKEND_RUNNING},
                 {BACKEND_RUNNING, BACKEND_LOST, BACKEND_LOST},
                 {BACKEND_ENDED, BACKEND_ENDED, BACKEND_ENDED},
                 {BACKEND_RUNNING, BACKEND_WAITING, BACKEND_LOST},
                 {BACKEND_ENDED, BACKEND_WAITING, BACKEND_LOST},
                 {BACKEND_ENDED, BACKEND_RUNNING, BACKEND_LOST},
                 {BACKEND_RUNNING, (enum backend_state)5, BACKEND_LOST},
                 {BACKEND_RUNNING, (enum backend_state) - 1, BACKEND_LOST}};
    struct backend_exit out;
    job_of();
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        CHECK_INT(poll_as(moves[i].was, moves[i].now, &out), moves[i].want);
        bool fault = moves[i].want == BACKEND_LOST && moves[i].now != BACKEND_LOST;
        CHECK_INT(out.why, fault ? WHY_BackendFault : WHY_None);
        CHECK((out.text[0] != '\0') == fault);
    }
}

static void an_end_has_a_status_a_signal_or_a_reason_that_exist(void)
{
    static const struct {
        int code, signal, why;
        bool fault;
    } ends[] = {{0, 0, WHY_None, false},  {255, 0, WHY_None, false},
                {-1, 9, WHY_None, false}, {-1, 0, WHY_NodeFailure, false},
                {256, 0, WHY_None, true}, {-2, 0, WHY_None, true},
                {-1, 0, WHY_None, true},  {-1, 65, WHY_None, true},
                {-1, -1, WHY_None, true}, {0, 0, JOB_REASONS, true},
                {0, 0, -1, true}};
    struct backend_exit out;
    job_of();
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        as.exit = (struct backend_exit){.code = ends[i].code,
                                        .signal = ends[i].signal,
                                        .why = (enum job_reason)ends[i].why};
        CHECK_INT(poll_as(BACKEND_RUNNING, BACKEND_ENDED, &out), BACKEND_ENDED);
        CHECK_INT(out.why == WHY_BackendFault, ends[i].fault);
        CHECK(!ends[i].fault || strstr(out.text, "backend fake: poll() gave the "));
    }
}

static void a_reason_beats_an_exit_status_of_0(void)
{
    struct backend_exit out;
    job_of();
    as.exit = (struct backend_exit){.code = 0, .why = WHY_Timeout};
    CHECK_INT(poll_as(BACKEND_RUNNING, BACKEND_ENDED, &out), BACKEND_ENDED);
    CHECK_INT(out.code, -1);
    CHECK_INT(out.why, WHY_Timeout);
}

static void words_about_an_end_are_one_line_that_ends(void)
{
    struct backend_exit out;
    job_of();
    memset(as.exit.text, 'x', sizeof(as.exit.text));
    as.exit.text[3] = '\n';
    as.exit.text[5] = '\xff';
    CHECK_INT(poll_as(BACKEND_RUNNING, BACKEND_LOST, &out), BACKEND_LOST);
    CHECK_INT(strlen(out.text), sizeof(out.text) - 1);
    CHECK(strncmp(out.text, "xxx?x?x", 7) == 0);
}

static void numbers_that_make_no_sense_are_dropped(void)
{
    struct backend_exit out;
    struct backend_job j = job_of();
    struct backend_worker w = {.index = 0}, *list[] = {&w};
    struct backend_usage use[1] = {{.rss = 0}};
    as.exit = (struct backend_exit){.cpu_s = NAN, .rss_bytes = -1, .ended = -1};
    CHECK_INT(poll_as(BACKEND_RUNNING, BACKEND_ENDED, &out), BACKEND_ENDED);
    CHECK(out.cpu_s == 0 && out.rss_bytes == 0 && out.ended == 0);
    as.usage = (struct backend_usage){.rss = -5, .cpu_s = INFINITY};
    backend_call_usage(&j, list, 1, use);
    CHECK(use[0].rss == 0 && use[0].cpu_s == 0);
}

static void a_log_that_promises_more_and_brings_nothing_is_over(void)
{
    struct backend_job j = job_of();
    struct backend_worker w = {.index = 2};
    struct backend_log log = {.position = 0};
    as.more = as.start = true;
    CHECK(backend_call_logs(&j, &w, &log));
    CHECK_STR(as.warning, "");
    as.start = false;
    CHECK(!backend_call_logs(&j, &w, &log));
    CHECK_STR(as.warning, "backend fake: logs() says that there is more of worker 2, "
                          "but brings nothing");
}

static const struct tap_case cases[] = {
    TAP(a_failure_without_a_message_gets_one_and_old_words_do_not_stay),
    TAP(a_negative_capacity_is_refused_and_nothing_is_written),
    TAP(close_follows_an_open_that_succeeded_once),
    TAP(release_follows_each_start_and_reattach_once),
    TAP(success_means_that_all_were_started_and_have_handles),
    TAP(a_worker_never_goes_back_to_an_earlier_state),
    TAP(an_end_has_a_status_a_signal_or_a_reason_that_exist),
    TAP(a_reason_beats_an_exit_status_of_0),
    TAP(words_about_an_end_are_one_line_that_ends),
    TAP(numbers_that_make_no_sense_are_dropped),
    TAP(a_log_that_promises_more_and_brings_nothing_is_over),
};
TAP_MAIN(cases)
