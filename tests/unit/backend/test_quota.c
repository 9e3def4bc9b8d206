/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas, shares and reservations: by hand, and by simulation of a machine with random
 * jobs whose promises are looked at in every moment.
 */
#include "backend/queue.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "tap.h"

#define S INT64_C(1000000000)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct backend_queue_need machine = {
    .cpu_milli = 8000, .memory = 64, .gpu = 4};

#define NONE .most = {-1, -1, -1}, .most_running = -1, .weight = 100

static struct backend_queue_job job(const char *id, const char *owner,
                                    const char *project, int64_t num, int64_t cpu,
                                    int64_t gpu)
{
    return (struct backend_queue_job){.id = id,
                                      .owner = owner,
                                      .project = project,
                                      .priority = 1,
                                      .num = num,
                                      .need = {.cpu_milli = cpu * 1000, .gpu = gpu}};
}

static void verdicts(const struct backend_queue_world *w, const char *want)
{
    struct backend_queue_verdict v[16];
    char got[17] = "";
    backend_queue_plan(w, v);
    for (size_t i = 0; i < w->n_waiting; i++)
        got[i] = "SFBNQ"[v[i].answer];
    CHECK_STR(got, want);
}

static void why(const struct backend_queue_world *w, size_t i, const char *want)
{
    struct backend_queue_verdict v[16];
    struct buf b;
    buf_init(&b, 1000);
    backend_queue_plan(w, v);
    backend_queue_why(w, i, &v[i], &b);
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
}

static void a_quota_holds_a_job_and_nobody_else(void)
{
    struct backend_queue_group g[] = {{.name = "ads", .project = true, NONE},
                                      {.name = "ann", NONE}};
    g[0].most.gpu = 2;
    const struct backend_queue_job r = job("r", "bob", "ads", 1, 1, 1);
    const struct backend_queue_job w[] = {job("a", "ann", "ads", 2, 1, 2),
                                          job("b", "ann", "ads", 3, 1, 1),
                                          job("c", "ann", "", 4, 1, 2)};
    struct backend_queue_world world = {.total = machine,
                                        .running = &r,
                                        .n_running = 1,
                                        .waiting = w,
                                        .n_waiting = 3,
                                        .groups = g,
                                        .n_groups = 2};
    verdicts(&world, "QSS");
    why(&world, 0,
        "the quota of project 'ads' is 2 GPUs; 1 GPU counts against it, and this job asks "
        "for 2 GPUs; it starts when a job of that project ends, or when the quota is "
        "raised");
    g[0].most.gpu = 1;
    why(&world, 0,
        "the quota of project 'ads' is 1 GPU, and the job alone asks for 2 GPUs; ask for "
        "less, or have the quota raised");
    g[0].most.gpu = -1;
    g[1].most_running = 1;
    verdicts(&world, "QQS"); /* the other project has less */
    why(&world, 1,
        "the quota of user 'ann' is 1 running job; 1 running job counts against it, and "
        "this job asks for 1 running job; it starts when a job of that user ends, or when "
        "the quota is raised");
    g[1].most_running = 0;
    verdicts(&world, "QQQ");
}

static void other_machines_count_against_a_quota(void)
{
    struct backend_queue_group g = {.name = "ann", NONE};
    const struct backend_queue_job far = job("r", "ann", "", 1, 6, 0);
    const struct backend_queue_job w = job("a", "ann", "", 2, 4, 0);
    struct backend_queue_world world = {.total = machine,
                                        .elsewhere = &far,
                                        .n_elsewhere = 1,
                                        .waiting = &w,
                                        .n_waiting = 1,
                                        .groups = &g,
                                        .n_groups = 1};
    verdicts(&world, "S");
    g.most.cpu_milli = 9000;
    verdicts(&world, "Q");
    g.most.cpu_milli = 10000;
    verdicts(&world, "S");
    g.most.memory = 0; /* a job that asks for none is not held */
    verdicts(&world, "S");
}

static void shares_follow_weight_and_recent_use(void)
{
    struct backend_queue_group g[] = {{.name = "ads", .project = true, NONE},
                                      {.name = "feed", .project = true, NONE}};
    const struct backend_queue_job r[] = {job("r", "ann", "ads", 1, 2, 0),
                                          job("s", "bob", "feed", 2, 2, 0)};
    const struct backend_queue_job w[] = {job("a", "ann", "ads", 3, 3, 0),
                                          job("b", "bob", "feed", 4, 3, 0)};
    struct backend_queue_world world = {.total = machine,
                                        .running = r,
                                        .n_running = 2,
                                        .waiting = w,
                                        .n_waiting = 2,
                                        .groups = g,
                                        .n_groups = 2};
    verdicts(&world, "SF"); /* even: by age */
    g[1].weight = 200;
    verdicts(&world, "FS");
    g[1].weight = 100;
    g[0].recent = 0.1;
    verdicts(&world, "FS");
    g[1].recent = 0.2;
    verdicts(&world, "SF");
}

static void users_take_turns_in_a_project(void)
{
    const struct backend_queue_job w[] = {
        job("a1", "ann", "p", 1, 2, 0), job("a2", "ann", "p", 2, 2, 0),
        job("a3", "ann", "p", 3, 2, 0), job("b1", "bob", "p", 4, 2, 0),
        job("b2", "bob", "p", 5, 2, 0)};
    struct backend_queue_world world = {.total = machine, .waiting = w, .n_waiting = 5};
    verdicts(&world, "SSFSS");
    /* And projects take turns before users do. */
    struct backend_queue_job x[5];
    memcpy(x, w, sizeof(x));
    x[4].project = "q";
    world.waiting = x;
    verdicts(&world, "SSFSS");
    x[3].project = x[4].project = "";
    world.total.cpu_milli = 4000;
    verdicts(&world, "SFBSB");
}

/* A machine in time: jobs come, run for as long as they want, and go. */
struct sim {
    VEC(struct backend_queue_job) waiting, running;
    VEC(int64_t) ends; /* of running */
    struct backend_queue_group groups[6];
    struct rng rng;
    int64_t now, num;
    int started, late; /* the longest that any waited while first in line */
};

static const char *const owners[] = {"ann", "bob", "eve"};
static const char *const projects[] = {"ads", "feed", ""};
static const char *const ids[] = {"a", "b", "c", "d"};

static void sim_init(struct sim *s, uint64_t seed)
{
    *s = (struct sim){.num = 0};
    rng_init(&s->rng, seed, 0, 0, 0);
    for (size_t i = 0; i < 6; i++) {
        struct backend_queue_group g = {
            .name = i < 3 ? owners[i] : projects[i - 3], .project = i >= 3, NONE};
        if (rng_below(&s->rng, 2))
            g.most.cpu_milli = 2000 + 1000 * (int64_t)rng_below(&s->rng, 5);
        if (rng_below(&s->rng, 2))
            g.most.gpu = 1 + (int64_t)rng_below(&s->rng, 3);
        if (rng_below(&s->rng, 3) == 0)
            g.most_running = 1 + (int64_t)rng_below(&s->rng, 4);
        g.weight = 50 + (int64_t)rng_below(&s->rng, 3) * 50;
        g.recent = rng_f64(&s->rng);
        s->groups[i] = g;
    }
}

static void sim_submit(struct sim *s)
{
    struct backend_queue_job j =
        job(ids[rng_below(&s->rng, 4)], owners[rng_below(&s->rng, 3)],
            projects[rng_below(&s->rng, 3)], ++s->num, 1 + (int64_t)rng_below(&s->rng, 5),
            (int64_t)rng_below(&s->rng, 3));
    j.priority = 1 + (int64_t)rng_below(&s->rng, 3);
    j.timeout_s = rng_below(&s->rng, 2) ? 10 + (int64_t)rng_below(&s->rng, 600) : 0;
    j.since = s->now;
    VEC_PUSH(&s->waiting, j);
}

static bool exceeds(const struct sim *s, const struct backend_queue_group *g)
{
    struct backend_queue_need used = {0};
    int64_t n = 0;
    for (size_t i = 0; i < s->running.n; i++) {
        const struct backend_queue_job *r = &s->running.at[i];
        if (strcmp(g->project ? r->project : r->owner, g->name) != 0)
            continue;
        used.cpu_milli += r->need.cpu_milli;
        used.gpu += r->need.gpu;
        n++;
    }
    return (g->most.cpu_milli >= 0 && used.cpu_milli > g->most.cpu_milli) ||
           (g->most.gpu >= 0 && used.gpu > g->most.gpu) ||
           (g->most_running >= 0 && n > g->most_running);
}

static void sim_check(const struct sim *s)
{
    struct backend_queue_need used = {0};
    for (size_t i = 0; i < s->running.n; i++) {
        used.cpu_milli += s->running.at[i].need.cpu_milli;
        used.gpu += s->running.at[i].need.gpu;
    }
    CHECK(used.cpu_milli <= machine.cpu_milli && used.gpu <= machine.gpu);
    for (size_t i = 0; i < COUNT(s->groups); i++)
        CHECK(!exceeds(s, &s->groups[i]));
}

static void sim_start(struct sim *s, const struct backend_queue_job *j)
{
    int64_t length = j->timeout_s
                         ? 1 + (int64_t)rng_below(&s->rng, (uint64_t)j->timeout_s)
                         : 5 + (int64_t)rng_below(&s->rng, 900);
    struct backend_queue_job r = *j;
    r.since = s->now;
    VEC_PUSH(&s->running, r);
    VEC_PUSH(&s->ends, s->now + length * S);
    s->started++;
}

static void sim_plan(struct sim *s)
{
    size_t n = s->waiting.n, kept = 0;
    struct backend_queue_verdict *v = mem_calloc(n + 1, sizeof(*v));
    struct backend_queue_world w = {.total = machine,
                                    .running = s->running.at,
                                    .n_running = s->running.n,
                                    .waiting = s->waiting.at,
                                    .n_waiting = n,
                                    .groups = s->groups,
                                    .n_groups = COUNT(s->groups),
                                    .now = s->now};
    int full = 0;
    backend_queue_plan(&w, v);
    for (size_t i = 0; i < n; i++) {
        full += v[i].answer == QUEUE_FULL;
        if (v[i].answer == QUEUE_START)
            sim_start(s, &s->waiting.at[i]);
        else
            s->waiting.at[kept++] = s->waiting.at[i];
    }
    CHECK(full <= 1); /* there is one first in line */
    s->waiting.n = kept;
    mem_free(v);
}

static void sim_end(struct sim *s)
{
    for (size_t i = s->running.n; i-- > 0;)
        if (s->ends.at[i] <= s->now) {
            s->running.at[i] = s->running.at[--s->running.n];
            s->ends.at[i] = s->ends.at[--s->ends.n];
        }
}

static void sim_release(struct sim *s)
{
    VEC_RELEASE(&s->waiting);
    VEC_RELEASE(&s->running);
    VEC_RELEASE(&s->ends);
}

static void quotas_and_the_machine_are_never_exceeded(void)
{
    int started = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim s;
        sim_init(&s, seed);
        for (int step = 0; step < 300; step++) {
            s.now += 7 * S;
            sim_end(&s);
            for (uint64_t n = rng_below(&s.rng, 3); n > 0 && s.num < 250; n--)
                sim_submit(&s);
            sim_plan(&s);
            sim_check(&s);
        }
        started += s.started;
        sim_release(&s);
    }
    CHECK(started > 500); /* else nothing was tried */
}

/* A job that needs the whole machine, of the highest priority, among an endless stream of
 * small ones of everybody: with and without known ends.
 */
static void a_large_job_of_high_priority_is_not_starved(void)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct sim s;
        sim_init(&s, seed);
        for (size_t i = 0; i < COUNT(s.groups); i++)
            s.groups[i] = (struct backend_queue_group){
                .name = s.groups[i].name, .project = s.groups[i].project, NONE};
        int64_t came = 0, began = 0;
        for (int step = 0; step < 800 && !began; step++) {
            s.now += 10 * S;
            sim_end(&s);
            for (int n = 0; n < 2; n++) {
                sim_submit(&s);
                struct backend_queue_job *j = &s.waiting.at[s.waiting.n - 1];
                j->need = (struct backend_queue_need){.cpu_milli = 1000};
                if (seed % 2)
                    j->timeout_s = 0;
            }
            if (step == 20) {
                struct backend_queue_job big = job("big", "ann", "ads", ++s.num, 8, 0);
                big.priority = 9;
                big.since = came = s.now;
                VEC_PUSH(&s.waiting, big);
            }
            sim_plan(&s);
            for (size_t i = 0; i < s.running.n; i++)
                if (strcmp(s.running.at[i].id, "big") == 0)
                    began = s.now;
        }
        /* All that ran or passed it in the first minutes ends within 905 s. */
        CHECK(came && began && began - came <= (QUEUE_PATIENCE_S + 905 + 20) * S);
        sim_release(&s);
    }
}

/* The same for an ordinary job of a user who has much already, against others' streams:
 * after QUEUE_STARVING_S it is first in line.
 */
static void an_ordinary_job_is_not_starved_by_the_fair_share(void)
{
    struct sim s;
    sim_init(&s, 5);
    for (size_t i = 0; i < COUNT(s.groups); i++)
        s.groups[i] = (struct backend_queue_group){
            .name = s.groups[i].name, .project = s.groups[i].project, NONE};
    s.groups[0].recent = 1; /* ann */
    int64_t came = S, began = 0;
    struct backend_queue_job big = job("big", "ann", "", ++s.num, 7, 0);
    big.since = s.now = came;
    VEC_PUSH(&s.waiting, big);
    for (int step = 0; step < 1000 && !began; step++) {
        s.now += 10 * S;
        sim_end(&s);
        sim_submit(&s);
        struct backend_queue_job *j = &s.waiting.at[s.waiting.n - 1];
        *j = job("small", "bob", "", s.num, 2, 0);
        j->since = s.now;
        sim_plan(&s);
        for (size_t i = 0; i < s.running.n; i++)
            if (strcmp(s.running.at[i].id, "big") == 0)
                began = s.now;
    }
    CHECK(began > 0);
    CHECK(began - came <= (QUEUE_STARVING_S + 905 + 20) * S);
    sim_release(&s);
}

static void many_owners_are_no_problem(void)
{
    enum { N = 10000 };
    struct backend_queue_job *w = mem_calloc(N, sizeof(*w));
    struct backend_queue_verdict *v = mem_calloc(N, sizeof(*v));
    char(*names)[16] = mem_calloc(N, sizeof(*names));
    size_t started = 0;
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof(names[i]), "u%d", i);
        w[i] = job(names[i], names[i], "", i, 1, 0);
    }
    struct backend_queue_world world = {.total = machine, .waiting = w, .n_waiting = N};
    backend_queue_plan(&world, v);
    for (int i = 0; i < N; i++)
        started += v[i].answer == QUEUE_START;
    CHECK_INT(started, 8);
    mem_free(names);
    mem_free(v);
    mem_free(w);
}

static const struct tap_case cases[] = {
    TAP(a_quota_holds_a_job_and_nobody_else),
    TAP(other_machines_count_against_a_quota),
    TAP(shares_follow_weight_and_recent_use),
    TAP(users_take_turns_in_a_project),
    TAP(quotas_and_the_machine_are_never_exceeded),
    TAP(a_large_job_of_high_priority_is_not_starved),
    TAP(an_ordinary_job_is_not_starved_by_the_fair_share),
    TAP(many_owners_are_no_problem),
};
TAP_MAIN(cases)
