/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/crash.h"

#include <signal.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

#define SECOND INT64_C(1000000000)

static struct backend_crash_death death(int signal, int code, const char *method)
{
    return (struct backend_crash_death){
        .exit = {.code = code, .signal = signal}, .method = method, .lived = SECOND};
}

static double weight(int signal, int code, const char *method)
{
    struct backend_crash_death d = death(signal, code, method);
    return backend_crash_weight(&d);
}

static void add(struct backend_crash *c, int signal, int64_t lived, int64_t at)
{
    struct backend_crash_death d = death(signal, -1, "poll");
    d.lived = lived;
    d.at = at;
    backend_crash_add(c, &d);
}

static void a_signal_from_outside_is_no_crash(void)
{
    CHECK(weight(SIGSEGV, -1, "") == 1);
    CHECK(weight(SIGABRT, -1, NULL) == 1);
    CHECK(weight(SIGKILL, -1, "") == 0);
    CHECK(weight(SIGTERM, -1, "") == 0);
    CHECK(weight(0, 1, "") == 0); /* it could not begin, and said why */
}

static void inside_a_method_every_end_is_one(void)
{
    CHECK(weight(0, 0, "poll") == 1);
    CHECK(weight(0, 7, "poll") == 1);
    CHECK(weight(SIGALRM, -1, "poll") == 1);
    CHECK(weight(SIGTERM, -1, "poll") == 0);
    CHECK(weight(SIGKILL, -1, "poll") > 0 && weight(SIGKILL, -1, "poll") <= 0.1);
}

static void how_it_ended_has_words(void)
{
    struct backend_crash c = {0};
    struct backend_crash_death d = death(0, 7, "poll");
    char words[BACKEND_CRASH_WORDS];
    backend_crash_add(&c, &d);
    backend_crash_words(&c, words);
    CHECK_STR(words, "in poll(): exit status 7");
    d.hung = true;
    backend_crash_add(&c, &d);
    backend_crash_words(&c, words);
    CHECK_STR(words, "in poll(): it did not return");
    CHECK(!backend_crash_over(&c));
    backend_crash_add(&c, &d);
    CHECK(backend_crash_over(&c));
}

/* What a supervisor notes is there after its end, and gone when the method returned. */
static void the_method_is_known_afterwards(void)
{
    struct backend_calling in, *c = NULL;
    char *dir = NULL;
    CHECK(fs_temp_dir("ty-calling", &dir, NULL) == RC_OK);
    CHECK(!backend_calling_read(dir, &in));
    c = backend_calling_open(dir);
    CHECK(c != NULL);
    CHECK(!backend_calling_read(dir, &in));
    backend_calling_enter(c, "reattach");
    CHECK(backend_calling_read(dir, &in));
    CHECK_STR(in.method, "reattach");
    CHECK_INT(in.pid, getpid());
    CHECK(in.since > 0);
    backend_calling_leave(c);
    CHECK(!backend_calling_read(dir, &in));
    backend_calling_close(c);
    backend_calling_enter(NULL, "poll");
    backend_calling_leave(NULL);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

static void crashes_in_a_row_end_at_the_limit(void)
{
    struct backend_crash c = {0};
    int n = 0;
    for (; !backend_crash_over(&c); n++)
        add(&c, SIGSEGV, SECOND, n * SECOND);
    CHECK_INT(n, BACKEND_CRASH_LIMIT);
    CHECK_INT(c.tries, 0);
    add(&c, SIGABRT, SECOND, n * SECOND);
    CHECK_INT(c.tries, 1);
    CHECK_INT(c.exit.signal, SIGABRT);
}

static void crashes_over_a_long_run_never_reach_it(void)
{
    struct backend_crash c = {0};
    for (int i = 0; i < 100; i++)
        add(&c, SIGSEGV, BACKEND_CRASH_CALM_NS, i);
    CHECK(!backend_crash_over(&c));
}

static void each_crash_makes_the_next_supervisor_wait_longer(void)
{
    struct backend_crash c = {0};
    CHECK(!backend_crash_waits(&c, 0));
    add(&c, SIGSEGV, 0, 9 * SECOND);
    CHECK(backend_crash_waits(&c, 10 * SECOND - 1));
    CHECK(!backend_crash_waits(&c, 10 * SECOND));
    add(&c, SIGSEGV, 0, 9 * SECOND);
    CHECK(backend_crash_waits(&c, 11 * SECOND - 1));
    CHECK(!backend_crash_waits(&c, 11 * SECOND));
    CHECK(!backend_crash_waits(&c, 8 * SECOND)); /* a clock that was set back */
}

static void the_count_outlives_the_agent(void)
{
    struct backend_crash c = {0}, d;
    char *dir = NULL;
    CHECK(fs_temp_dir("ty-crash", &dir, NULL) == RC_OK);
    backend_crash_read(dir, &d);
    CHECK_INT(d.exit.signal, 0);
    add(&c, SIGBUS, 0, 7 * SECOND);
    add(&c, SIGBUS, 0, 8 * SECOND);
    backend_crash_write(dir, &c);
    backend_crash_read(dir, &d);
    CHECK(d.count == c.count && d.tries == 0);
    CHECK_INT(d.exit.signal, SIGBUS);
    CHECK_INT(d.at, 8 * SECOND);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

static const struct tap_case cases[] = {
    TAP(a_signal_from_outside_is_no_crash),
    TAP(inside_a_method_every_end_is_one),
    TAP(how_it_ended_has_words),
    TAP(the_method_is_known_afterwards),
    TAP(crashes_in_a_row_end_at_the_limit),
    TAP(crashes_over_a_long_run_never_reach_it),
    TAP(each_crash_makes_the_next_supervisor_wait_longer),
    TAP(the_count_outlives_the_agent),
};
TAP_MAIN(cases)
