/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules on a real store, with a clock that the test sets. No agent runs: the test
 * listens where it would.
 */
#include "team/fire.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/record.h"
#include "store/leases.h"
#include "store/users.h"
#include "tap.h"
#include "team/schedule_secrets.h"

struct yard {
    struct job_place p;
    char *dir, *db;
    int fifo;
    struct team_schedule_ticker ticker;
};

static const char *const no_env[] = {"PATH=/bin", NULL};

static void yard_open(struct yard *y)
{
    struct err err = {0};
    *y = (struct yard){.fifo = -1};
    CHECK_INT(fs_temp_dir("ty-fire", &y->dir, &err), RC_OK);
    y->db = fs_join(y->dir, "jobs.db");
    char *fifo = fs_join(y->dir, "agent.fifo");
    y->fifo = job_wake_open(fifo, &err);
    CHECK(y->fifo >= 0);
    mem_free(fifo);
    y->p =
        (struct job_place){.dir = y->dir, .where = y->db, .owner = "me", .node = "here"};
    CHECK_INT(store_open(y->db, &y->p.store, &err), RC_OK);
    CHECK_STR(err.msg, "");
}

static void yard_close(struct yard *y)
{
    store_close(y->p.store);
    close(y->fifo);
    CHECK_INT(fs_remove_all(y->dir, NULL), RC_OK);
    mem_free(y->db);
    mem_free(y->dir);
}

static int64_t moment(const char *text)
{
    int64_t ns = 0;
    CHECK(clock_from_rfc3339(str_c(text), &ns));
    return ns;
}

static struct store_schedule daily(const char *policy)
{
    return (struct store_schedule){
        .name = "daily",
        .owner = "ann",
        .project = "",
        .cron = "30 2 * * *",
        .zone = "Asia/Shanghai",
        .spec = "{\"command\": \"train ${bizdate} ${day} ${HOME}\", \"hp\": {\"dt\": "
                "\"${yyyy-mm-dd}\", \"n\": 3}, \"workdir\": \"/\"}",
        .params = "{\"day\": \"$[yyyymmdd]\"}",
        .catch_up = policy};
}

static void make(struct yard *y, const char *policy, const char *now)
{
    struct err err = {0};
    struct store_schedule x = daily(policy);
    CHECK_INT(team_schedule_create(&y->p, &x, NULL, moment(now), &err), RC_OK);
    CHECK_STR(err.msg, "");
}

static int64_t tick(struct yard *y, const char *now)
{
    struct err err = {0};
    int64_t fired = -1;
    y->ticker = (struct team_schedule_ticker){0};
    CHECK_INT(
        team_schedule_tick(&y->ticker, &y->p, no_env, true, moment(now), &fired, &err),
        RC_OK);
    CHECK_STR(err.msg, "");
    return fired;
}

/* Outcomes of the runs, the latest first, with ';' between them. */
static void history(struct yard *y, const char *want)
{
    struct store_run_rows l = {0};
    struct buf b;
    buf_init(&b, 10000);
    CHECK_INT(store_schedule_runs(y->p.store, "daily", 0, 0, &l, NULL), RC_OK);
    for (size_t i = 0; i < l.n; i++) {
        char text[CLOCK_TEXT_SIZE];
        clock_rfc3339(l.at[i].planned, text);
        size_t n = strcspn(l.at[i].outcome, ":");
        buf_printf(&b, "%s%.5s %.*s", i ? "; " : "", text + 5, (int)n, l.at[i].outcome);
    }
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
    store_run_rows_release(&l);
}

static size_t jobs(struct yard *y, struct store_jobs *l)
{
    struct store_filter f = {.oldest_first = true};
    *l = (struct store_jobs){.n = 0};
    CHECK_INT(store_list(y->p.store, &f, l, NULL), RC_OK);
    return l->n;
}

/* Brings the oldest live job to its end. */
static void end_job(struct yard *y)
{
    struct store_jobs l;
    jobs(y, &l);
    for (size_t i = 0; i < l.n; i++) {
        if (strcmp(l.at[i].state, "Queuing") != 0)
            continue;
        struct job_record r;
        CHECK_INT(job_record_open(y->p.store, l.at[i].id, &r, NULL), RC_OK);
        CHECK_INT(job_record_move(&r, JOB_Failed, WHY_QueueTimeout, -1, 0, "", NULL),
                  RC_OK);
        CHECK_INT(job_record_flush(&r, NULL), RC_OK);
        job_record_release(&r);
        break;
    }
    store_jobs_release(&l);
}

static void a_run_has_its_dates_owner_and_token(void)
{
    struct yard y;
    struct store_jobs l;
    char *spec = NULL;
    yard_open(&y);
    make(&y, "last skip", "2026-03-01T00:00:00Z");
    CHECK_INT(tick(&y, "2026-03-01T18:29:59Z"), 0); /* 02:29:59 in Shanghai */
    CHECK_INT(tick(&y, "2026-03-01T18:30:00Z"), 1);
    CHECK_INT(jobs(&y, &l), 1);
    CHECK_STR(l.at[0].owner, "ann");
    CHECK_STR(l.at[0].name, "daily");
    CHECK(strlen(l.at[0].token) == 64);
    CHECK_INT(store_spec(y.p.store, l.at[0].id, &spec, NULL), RC_OK);
    CHECK_HAS(spec, "\"train 20260301 20260302 ${HOME}\"");
    CHECK_HAS(spec, "\"dt\": \"2026-03-01\"");
    CHECK_HAS(spec, "\"schedule\": \"daily\"");
    mem_free(spec);
    store_jobs_release(&l);
    history(&y, "03-01 submitted");
    /* The same moment again, and a clock that is set back and comes again: nothing. */
    CHECK_INT(tick(&y, "2026-03-01T18:30:00Z"), 0);
    CHECK_INT(tick(&y, "2026-03-01T18:29:00Z"), 0);
    CHECK_INT(tick(&y, "2026-03-01T18:30:00Z"), 0);
    CHECK_INT(jobs(&y, &l), 1);
    store_jobs_release(&l);
    yard_close(&y);
}

static void a_clock_set_back_by_a_year_does_not_stop_it(void)
{
    struct yard y;
    yard_open(&y);
    make(&y, "last allow", "2026-03-01T00:00:00Z");
    CHECK_INT(tick(&y, "2027-03-01T19:00:00Z"), 1); /* a wrong clock */
    CHECK_INT(tick(&y, "2026-03-02T00:00:00Z"), 0);
    CHECK_INT(tick(&y, "2026-03-02T18:30:05Z"), 1);
    history(&y, "03-01 submitted; 02-28 missed; 03-02 submitted");
    yard_close(&y);
}

static void missed_runs_are_made_up_for(void)
{
    struct yard y;
    yard_open(&y);
    make(&y, "all:2 allow", "2026-03-01T00:00:00Z");
    CHECK_INT(tick(&y, "2026-03-05T00:00:00Z"), 2);
    history(&y, "03-04 submitted; 03-03 submitted; 03-02 missed");
    CHECK_INT(
        team_schedule_pause(&y.p, "daily", true, moment("2026-03-05T00:00:00Z"), NULL),
        RC_OK);
    CHECK_INT(tick(&y, "2026-03-08T00:00:00Z"), 0);
    CHECK_INT(
        team_schedule_pause(&y.p, "daily", false, moment("2026-03-08T00:00:00Z"), NULL),
        RC_OK);
    CHECK_INT(tick(&y, "2026-03-08T12:00:00Z"), 0); /* not those of the pause */
    CHECK_INT(tick(&y, "2026-03-08T18:30:00Z"), 1);
    yard_close(&y);
}

static void runs_that_overlap(void)
{
    static const struct {
        const char *policy;
        int64_t fired; /* while the first still waits */
        const char *history;
    } cases[] = {{"last skip", 0, "03-02 skipped; 03-01 submitted"},
                 {"last queue", 0, "03-02 waiting; 03-01 submitted"},
                 {"last replace", 1, "03-02 submitted; 03-01 submitted"},
                 {"last allow", 1, "03-02 submitted; 03-01 submitted"}};
    for (size_t i = 0; i < 4; i++) {
        struct yard y;
        struct store_jobs l;
        yard_open(&y);
        make(&y, cases[i].policy, "2026-03-01T00:00:00Z");
        CHECK_INT(tick(&y, "2026-03-01T18:30:00Z"), 1);
        CHECK_INT(tick(&y, "2026-03-02T18:30:00Z"), cases[i].fired);
        history(&y, cases[i].history);
        jobs(&y, &l);
        CHECK_STR(l.at[0].state, i == 2 ? "Stopped" : "Queuing");
        store_jobs_release(&l);
        if (i == 1) {
            CHECK_INT(tick(&y, "2026-03-03T18:30:00Z"), 0);
            end_job(&y);
            CHECK_INT(tick(&y, "2026-03-03T18:31:00Z"), 1);
            history(&y, "03-03 waiting; 03-02 submitted; 03-01 submitted");
            CHECK_INT(tick(&y, "2026-03-03T18:31:01Z"), 0);
            end_job(&y);
            CHECK_INT(tick(&y, "2026-03-03T18:32:00Z"), 1);
        }
        yard_close(&y);
    }
}

static void a_run_that_died_half_way_is_finished_once(void)
{
    struct yard y;
    struct store_jobs l;
    bool first;
    yard_open(&y);
    make(&y, "last skip", "2026-03-01T00:00:00Z");
    struct store_run_row row = {.schedule = "daily",
                                .planned = moment("2026-03-01T18:30:00Z"),
                                .job = "",
                                .outcome = "claimed"};
    CHECK_INT(store_schedule_claim(y.p.store, &row, &first, NULL), RC_OK);
    CHECK_INT(tick(&y, "2026-03-01T18:30:01Z"), 1);
    /* And one that died between the job and the row. */
    row.outcome = "claimed";
    CHECK_INT(store_schedule_settle(y.p.store, &row, NULL), RC_OK);
    bool moved;
    CHECK_INT(store_schedule_move(y.p.store, "daily", moment("2026-03-02T18:30:00Z"),
                                  row.planned, &moved, NULL),
              RC_OK);
    CHECK(moved);
    tick(&y, "2026-03-01T18:30:02Z");
    history(&y, "03-01 submitted");
    CHECK_INT(jobs(&y, &l), 1);
    store_jobs_release(&l);
    yard_close(&y);
}

static void a_failed_submission_is_written_down(void)
{
    struct yard y;
    struct err err = {0};
    yard_open(&y);
    struct store_schedule x = daily("last skip");
    x.spec = "{\"command\": \"true\", \"input\": {\"train\": \"/no/such/${bizdate}\"}}";
    CHECK_INT(team_schedule_create(&y.p, &x, NULL, moment("2026-03-01T00:00:00Z"), &err),
              RC_OK);
    CHECK_INT(tick(&y, "2026-03-01T18:30:00Z"), 0);
    struct store_run_rows l = {0};
    CHECK_INT(store_schedule_runs(y.p.store, "daily", 0, 0, &l, NULL), RC_OK);
    CHECK_HAS(l.at[0].outcome, "failed: ");
    CHECK_HAS(l.at[0].outcome, "/no/such/20260301");
    store_run_rows_release(&l);
    CHECK_INT(tick(&y, "2026-03-01T18:30:05Z"), 0);
    /* By hand it says why. */
    char id[JOB_ID_SIZE];
    bool existed;
    CHECK_INT(team_schedule_run(&y.p, no_env, "daily", moment("2026-03-01T18:30:00Z"), id,
                                &existed, &err),
              RC_INVAL);
    CHECK_HAS(err.msg, "/no/such/20260301");
    yard_close(&y);
}

static void by_hand_at_any_time_but_once(void)
{
    struct yard y;
    struct err err = {0};
    char id[JOB_ID_SIZE], again[JOB_ID_SIZE];
    bool existed = true;
    yard_open(&y);
    make(&y, "none skip", "2026-03-01T00:00:00Z");
    int64_t at = moment("2025-01-01T18:30:00Z");
    CHECK_INT(team_schedule_run(&y.p, no_env, "daily", at, id, &existed, &err), RC_OK);
    CHECK(!existed);
    CHECK_INT(team_schedule_run(&y.p, no_env, "daily", at, again, &existed, &err), RC_OK);
    CHECK(existed);
    CHECK_STR(again, id);
    CHECK_INT(team_schedule_run(&y.p, no_env, "nightly", at, id, &existed, &err),
              RC_NOTFOUND);
    CHECK_STR(err.msg, "no schedule 'nightly'");
    CHECK_INT(err.code, E5103);
    yard_close(&y);
}

static void bad_schedules_are_refused(void)
{
    struct yard y;
    yard_open(&y);
    static const struct {
        const char *name, *cron, *zone, *spec, *params, *policy;
        enum code code;
    } bad[] = {
        {"a b", "0 0 * * *", "UTC", "{\"command\": \"x\"}", "{}", "last skip", E5105},
        {"a", "0 0 * *", "UTC", "{\"command\": \"x\"}", "{}", "last skip", E5101},
        {"a", "0 0 * * *", "Mars", "{\"command\": \"x\"}", "{}", "last skip", E5102},
        {"a", "0 0 * * *", "UTC", "{\"command\": \"x\"}", "[]", "last skip", E5105},
        {"a", "0 0 * * *", "UTC", "{\"command\": \"x\"}", "{\"1\": \"x\"}", "last skip",
         E5105},
        {"a", "0 0 * * *", "UTC", "{\"command\": \"x\"}", "{\"x\": 1}", "last skip",
         E5105},
        {"a", "0 0 * * *", "UTC", "{\"command\": \"x\"}", "{}", "sometimes", E5105},
        {"a", "0 0 * * *", "UTC", "{}", "{}", "last skip", E3001},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        struct store_schedule x = {.name = bad[i].name,
                                   .owner = "ann",
                                   .project = "",
                                   .cron = bad[i].cron,
                                   .zone = bad[i].zone,
                                   .spec = bad[i].spec,
                                   .params = bad[i].params,
                                   .catch_up = bad[i].policy};
        CHECK(team_schedule_create(&y.p, &x, NULL, CLOCK_SECOND, &err) != RC_OK);
        CHECK_INT(err.code, bad[i].code);
        CHECK(err.msg[0]);
    }
    make(&y, "last skip", "2026-03-01T00:00:00Z");
    struct err err = {0};
    struct store_schedule x = daily("last skip");
    CHECK_INT(team_schedule_create(&y.p, &x, NULL, CLOCK_SECOND, &err), RC_INVAL);
    CHECK_STR(err.msg, "there is a schedule 'daily' already");
    CHECK_INT(err.code, E5104);
    yard_close(&y);
}

/* Somebody who led, slept, and wakes up after another took over. */
static void who_does_not_lead_any_more_fires_nothing(void)
{
    struct yard y;
    struct store *other = NULL;
    bool mine;
    int64_t epoch, later, fired;
    struct err err = {0};
    struct store_jobs l;
    yard_open(&y);
    make(&y, "last skip", "2026-03-01T00:00:00Z");
    CHECK_INT(store_lease_take(y.p.store, "leader", "a", 0, &mine, &epoch, &err), RC_OK);
    store_fence(y.p.store, "leader", "a", epoch);
    CHECK_INT(store_open(y.db, &other, &err), RC_OK);
    CHECK_INT(store_lease_take(other, "leader", "b", 100000, &mine, &later, &err), RC_OK);
    CHECK(mine && later == epoch + 1);
    CHECK_INT(team_schedule_tick(&y.ticker, &y.p, no_env, true,
                                 moment("2026-03-01T18:30:00Z"), &fired, &err),
              RC_INVAL);
    CHECK_STR(err.msg, "lease 'leader': another has it by now");
    CHECK_INT(err.code, E5401);
    CHECK_INT(jobs(&y, &l), 0);
    store_jobs_release(&l);
    history(&y, "");
    store_fence(y.p.store, NULL, NULL, 0);
    CHECK_INT(tick(&y, "2026-03-01T18:30:00Z"), 1);
    store_close(other);
    yard_close(&y);
}

static void fires(const struct job_place *p, bool leads, const char *now, int64_t want)
{
    struct team_schedule_ticker ticker = {0};
    struct err err = {0};
    int64_t fired = -1;
    CHECK_INT(team_schedule_tick(&ticker, p, no_env, leads, moment(now), &fired, &err),
              RC_OK);
    CHECK_STR(err.msg, "");
    CHECK_INT(fired, want);
}

/* A file of secrets is there, and old. */
static bool secrets_left(const struct yard *y, int64_t now)
{
    struct fs_names names = {0};
    char *dir = fs_join(y->p.dir, "schedules");
    CHECK_INT(fs_list(dir, &names, NULL), RC_OK);
    for (size_t i = 0; i < names.n; i++) {
        char *path = fs_join(dir, names.at[i]);
        const struct timespec old[2] = {{.tv_sec = now / CLOCK_SECOND - 3600},
                                        {.tv_sec = now / CLOCK_SECOND - 3600}};
        CHECK_INT(utimensat(AT_FDCWD, path, old, 0), 0);
        mem_free(path);
    }
    bool any = names.n > 0;
    fs_names_release(&names);
    mem_free(dir);
    return any;
}

/* Two servers on one store; secrets that were sent lie at one of them. */
static void who_has_the_files_of_a_schedule_runs_it(void)
{
    struct yard y;
    struct err err = {0};
    char id[JOB_ID_SIZE];
    bool existed;
    yard_open(&y);
    static const char *const sent[] = {"KEY=hushhushhush", NULL};
    struct store_schedule x = daily("last skip");
    x.spec = "{\"command\": \"true\", \"secret\": [\"KEY\"]}";
    int64_t now = moment("2026-03-01T00:00:00Z");
    CHECK_INT(team_schedule_create(&y.p, &x, sent, now, &err), RC_OK);
    CHECK_STR(x.node, y.p.node);
    struct job_place other = y.p;
    other.node = "elsewhere:/yard";
    fires(&other, true, "2026-03-01T18:30:00Z", 0);
    history(&y, "");
    CHECK_INT(team_schedule_run(&other, no_env, "daily", now, id, &existed, &err),
              RC_INVAL);
    CHECK_INT(err.code, E5108);
    CHECK_HAS(err.msg, "the files of schedule 'daily' are at ");
    fires(&y.p, false, "2026-03-01T18:30:00Z", 1);
    /* Deleted by the other one, which has no file to remove. */
    CHECK(secrets_left(&y, now));
    team_schedule_secrets_sweep(&y.p, now);
    CHECK(secrets_left(&y, now));
    CHECK_INT(store_schedule_delete(y.p.store, "daily", &err), RC_OK);
    team_schedule_secrets_sweep(&y.p, now);
    CHECK(!secrets_left(&y, now));
    yard_close(&y);
}

static void without_files_it_is_whose_turn_it_is(void)
{
    struct yard y;
    yard_open(&y);
    make(&y, "last skip", "2026-03-01T00:00:00Z");
    fires(&y.p, false, "2026-03-01T18:30:00Z", 0);
    struct job_place other = y.p;
    other.node = "elsewhere:/yard";
    fires(&other, true, "2026-03-01T18:30:00Z", 1);
    yard_close(&y);
}

static void put_user(struct yard *y, const char *role, const char *projects, bool off)
{
    struct err err = {0};
    struct store_user u = {
        .name = "ann", .role = role, .projects = projects, .disabled = off};
    CHECK_INT(store_user_update(y->p.store, &u, &err), RC_OK);
}

/* Each line is a day: what the owner is on it, and how many runs there are after it. */
static void a_schedule_runs_only_while_its_owner_may(void)
{
    static const struct {
        const char *now, *role, *projects;
        bool disabled;
        int64_t fired;
    } days[] = {{"2026-03-01T18:30:00Z", "submitter", "ads,feed", false, 1},
                {"2026-03-02T18:30:00Z", "submitter", "ads", true, 0},
                {"2026-03-03T18:30:00Z", "submitter", "feed", false, 0},
                {"2026-03-04T18:30:00Z", "viewer", "ads", false, 0},
                {"2026-03-05T18:30:00Z", "admin", "", false, 1},
                {"2026-03-06T18:30:00Z", "submitter", "adsx", false, 0},
                /* hours behind the planned time: nothing is made up for */
                {"2026-03-07T10:00:00Z", "submitter", "ads", false, 0},
                {"2026-03-07T18:30:00Z", "submitter", "ads", false, 1}};
    struct yard y;
    struct err err = {0};
    struct store_user ann = {.name = "ann", .role = "submitter", .projects = "ads"};
    yard_open(&y);
    CHECK_INT(store_user_create(y.p.store, &ann, &err), RC_OK);
    struct store_schedule x = daily("all allow");
    x.project = "ads";
    CHECK_INT(team_schedule_create(&y.p, &x, NULL, moment("2026-03-01T00:00:00Z"), &err),
              RC_OK);
    for (size_t i = 0; i < ARRAY_LEN(days); i++) {
        put_user(&y, days[i].role, days[i].projects, days[i].disabled);
        CHECK_INT(tick(&y, days[i].now), days[i].fired);
    }
    yard_close(&y);
}

static void the_schedule_of_a_deleted_user_is_refused_by_name(void)
{
    struct yard y;
    struct err err = {0};
    char id[JOB_ID_SIZE];
    bool existed;
    struct store_user ann = {.name = "ann",
                             .role = "submitter",
                             .projects = "",
                             .inherits = true},
                      bob = {.name = "bob", .role = "admin", .projects = ""};
    yard_open(&y);
    y.p.account = "ann"; /* even if the server's account has that name */
    make(&y, "last skip", "2026-03-01T00:00:00Z");
    CHECK_INT(store_user_create(y.p.store, &bob, &err), RC_OK);
    CHECK_INT(tick(&y, "2026-03-01T18:30:00Z"), 1); /* made at the command line */
    CHECK_INT(store_user_create(y.p.store, &ann, &err), RC_OK);
    CHECK_INT(store_user_delete(y.p.store, "ann", &err), RC_OK);
    CHECK_INT(tick(&y, "2026-03-02T18:30:00Z"), 0);
    CHECK_INT(team_schedule_run(&y.p, no_env, "daily", moment("2026-04-01T00:00:00Z"), id,
                                &existed, &err),
              RC_INVAL);
    CHECK_INT(err.code, E5107);
    CHECK_STR(err.msg,
              "schedule 'daily' is stopped: 'ann' is not a user of this server any more");
    yard_close(&y);
}

static const struct tap_case cases[] = {
    TAP(a_run_has_its_dates_owner_and_token),
    TAP(a_clock_set_back_by_a_year_does_not_stop_it),
    TAP(missed_runs_are_made_up_for),
    TAP(runs_that_overlap),
    TAP(a_run_that_died_half_way_is_finished_once),
    TAP(a_failed_submission_is_written_down),
    TAP(by_hand_at_any_time_but_once),
    TAP(bad_schedules_are_refused),
    TAP(who_does_not_lead_any_more_fires_nothing),
    TAP(who_has_the_files_of_a_schedule_runs_it),
    TAP(without_files_it_is_whose_turn_it_is),
    TAP(a_schedule_runs_only_while_its_owner_may),
    TAP(the_schedule_of_a_deleted_user_is_refused_by_name),
};
TAP_MAIN(cases)
