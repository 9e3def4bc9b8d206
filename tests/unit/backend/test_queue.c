/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/queue.h"
#include "tap.h"

#define S 1000000000ll

static const struct backend_queue_need machine = {
    .cpu_milli = 4000, .memory = 1000, .gpu = 2};

static struct backend_queue_job job(const char *id, const char *owner, int64_t priority,
                                    int64_t num, int64_t cpu)
{
    return (struct backend_queue_job){.id = id,
                                      .owner = owner,
                                      .priority = priority,
                                      .num = num,
                                      .need = {.cpu_milli = cpu * 1000}};
}

static void plan(const struct backend_queue_job *running, size_t n_running,
                 const struct backend_queue_job *waiting, size_t n, int64_t now,
                 const char *want)
{
    struct backend_queue_verdict v[16];
    char got[17] = "";
    struct backend_queue_world world = {.total = machine,
                                        .running = running,
                                        .n_running = n_running,
                                        .waiting = waiting,
                                        .n_waiting = n,
                                        .now = now};
    backend_queue_plan(&world, v);
    for (size_t i = 0; i < n; i++)
        got[i] = "SFBNQ"[v[i].answer];
    CHECK_STR(got, want);
}

static void what_fits_starts_in_order(void)
{
    const struct backend_queue_job w[] = {job("a", "u", 1, 1, 2), job("b", "u", 1, 2, 2),
                                          job("c", "u", 1, 3, 1)};
    plan(NULL, 0, w, 3, 0, "SSF");
    const struct backend_queue_job p[] = {job("a", "u", 1, 1, 3), job("b", "u", 9, 2, 3)};
    plan(NULL, 0, p, 2, 0, "FS");
}

static void all_workers_or_none(void)
{
    struct backend_queue_job r = job("r", "u", 1, 1, 1), w = job("w", "u", 1, 2, 4);
    plan(&r, 1, &w, 1, 0, "F");
    plan(NULL, 0, &w, 1, 0, "S");
    w.need.cpu_milli = 4001;
    plan(NULL, 0, &w, 1, 0, "N");
}

static void what_another_queue_runs_takes_nothing_and_waits_for_nothing_here(void)
{
    struct backend_queue_job r[] = {job("r", "u", 1, 1, 3), job("x", "u", 1, 2, 400)};
    struct backend_queue_job w[] = {job("a", "u", 1, 3, 4), job("b", "u", 1, 4, 64),
                                    job("c", "u", 1, 5, 1)};
    r[1].away = w[1].away = true;
    r[0].timeout_s = 10;
    plan(r, 2, w, 3, 0, "FSB"); /* c would delay a; b, behind a, starts */
    plan(r + 1, 1, w, 3, 0, "SSF");
}

static void the_user_with_less_goes_first(void)
{
    const struct backend_queue_job r = job("r", "ann", 1, 1, 2);
    const struct backend_queue_job w[] = {job("a", "ann", 1, 2, 2),
                                          job("b", "bob", 1, 3, 2)};
    plan(&r, 1, w, 2, 0, "FS");
    /* But priority comes before fairness. */
    const struct backend_queue_job p[] = {job("a", "ann", 2, 2, 2),
                                          job("b", "bob", 1, 3, 2)};
    plan(&r, 1, p, 2, 0, "SF");
}

static void a_gap_is_used_when_it_delays_nobody(void)
{
    struct backend_queue_job r = job("r", "u", 1, 1, 3);
    struct backend_queue_job w[] = {job("big", "u", 1, 2, 4), job("small", "u", 1, 3, 1)};
    r.timeout_s = 100;
    w[1].timeout_s = 50;
    plan(&r, 1, w, 2, 0, "FS");      /* ends before the big one could start */
    plan(&r, 1, w, 2, 60 * S, "FB"); /* would not */
    w[1].timeout_s = 0;
    plan(&r, 1, w, 2, 0, "FB");
    /* Nobody knows when the big one could start: it is passed for a while only. */
    r.timeout_s = 0;
    plan(&r, 1, w, 2, 10 * S, "FS");
    plan(&r, 1, w, 2, (QUEUE_PATIENCE_S + 1) * S, "FB");
}

static void the_reason_is_a_sentence(void)
{
    struct backend_queue_job r = job("r", "u", 1, 1, 3);
    struct backend_queue_job w[] = {job("a", "u", 1, 2, 2), job("b", "u", 1, 3, 9)};
    struct backend_queue_verdict v[2];
    struct buf b;
    buf_init(&b, 1000);
    w[1].need = (struct backend_queue_need){.cpu_milli = 1000, .gpu = 3};
    struct backend_queue_world world = {
        .total = machine, .running = &r, .n_running = 1, .waiting = w, .n_waiting = 2};
    backend_queue_plan(&world, v);
    backend_queue_why(&world, 0, &v[0], &b);
    CHECK_STR(
        buf_str(&b),
        "it is next in line and needs 2 processors; 3 processors of 4 processors are in "
        "use by 1 running job; it waits for 1 processor to become free");
    buf_clear(&b);
    backend_queue_why(&world, 1, &v[1], &b);
    CHECK_STR(
        buf_str(&b),
        "it will never start: it asks for 3 GPUs, and this machine has 2 GPUs; ask for "
        "less");
    buf_release(&b);
}

static void what_fits_beside_the_first_may_pass_it(void)
{
    struct backend_queue_job r = job("r", "u", 1, 1, 3);
    struct backend_queue_job w[] = {job("big", "u", 1, 2, 2), job("a", "u", 1, 3, 1),
                                    job("b", "u", 1, 4, 1)};
    r.timeout_s = 100;
    r.since = -10 * S;
    /* At 100 s three processors come free, two are kept: one long job may take the rest.
     */
    plan(&r, 1, w, 3, 0, "FSB");
    /* The same when nobody knows: 4 less the 2 that are kept, less what came since. */
    r.timeout_s = 0;
    plan(&r, 1, w, 3, (QUEUE_PATIENCE_S + 1) * S, "FSB");
    struct backend_queue_job two[] = {job("r", "u", 1, 1, 2), job("x", "u", 1, 5, 1)};
    two[0].since = -10 * S;
    two[1].since = 10 * S;
    w[0].need.cpu_milli = 3000;
    plan(two, 2, w, 2, (QUEUE_PATIENCE_S + 1) * S, "FB");
}

static void who_waits_for_long_goes_before_the_fair_share(void)
{
    const struct backend_queue_job r = job("r", "ann", 1, 1, 2);
    struct backend_queue_job w[] = {job("a", "ann", 1, 2, 2), job("b", "bob", 1, 3, 2)};
    w[1].since = (QUEUE_STARVING_S - 10) * S;
    plan(&r, 1, w, 2, QUEUE_STARVING_S * S, "SF");
    plan(&r, 1, w, 2, (QUEUE_STARVING_S - 1) * S, "FS");
}

static const struct tap_case cases[] = {
    TAP(what_fits_starts_in_order),
    TAP(all_workers_or_none),
    TAP(what_another_queue_runs_takes_nothing_and_waits_for_nothing_here),
    TAP(the_user_with_less_goes_first),
    TAP(a_gap_is_used_when_it_delays_nobody),
    TAP(what_fits_beside_the_first_may_pass_it),
    TAP(who_waits_for_long_goes_before_the_fair_share),
    TAP(the_reason_is_a_sentence),
};
TAP_MAIN(cases)
