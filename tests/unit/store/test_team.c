/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a team, on both databases. */
#include <unistd.h>

#include "base/str.h"
#include "databases.h"
#include "store/audit.h"
#include "store/leases.h"
#include "store/notify.h"
#include "store/projects.h"
#include "store/schedules.h"
#include "store/users.h"

static char *named(const char *what)
{
    static char names[16][48];
    static int at;
    char *out = names[at++ % 16];
    snprintf(out, 48, "%s-%d", what, round_number);
    return out;
}

static void users_are_made_changed_and_removed(void)
{
    struct store *s = open_store();
    struct err err = {0};
    struct store_users got = {0};
    struct store_user u = {
        .name = named("ann"), .role = "submitter", .projects = "ads,feed", .created = 7};
    CHECK_INT(store_user_create(s, &u, &err), RC_OK);
    CHECK_INT(store_user_create(s, &u, &err), RC_INVAL);
    CHECK_INT(err.code, E3110);
    CHECK_INT(store_user_get(s, u.name, &got, &err), RC_OK);
    CHECK_STR(got.n ? got.at[0].role : "", "submitter");
    CHECK_STR(got.n ? got.at[0].projects : "", "ads,feed");
    CHECK_INT(got.n ? got.at[0].created : 0, 7);
    store_users_release(&got);
    u.role = "admin";
    u.disabled = 9;
    CHECK_INT(store_user_update(s, &u, &err), RC_OK);
    CHECK_INT(store_user_get(s, NULL, &got, &err), RC_OK);
    bool found = false;
    for (size_t i = 0; i < got.n; i++)
        if (strcmp(got.at[i].name, u.name) == 0)
            found = strcmp(got.at[i].role, "admin") == 0 && got.at[i].disabled == 9;
    CHECK(found);
    store_users_release(&got);
    CHECK_INT(store_user_delete(s, u.name, &err), RC_OK);
    CHECK_INT(store_user_delete(s, u.name, &err), RC_NOTFOUND);
    CHECK_INT(err.code, E3111);
    CHECK_INT(store_user_get(s, u.name, &got, &err), RC_NOTFOUND);
    CHECK_INT(store_user_update(s, &u, &err), RC_NOTFOUND);
    store_close(s);
}

static void a_token_is_found_by_its_hash_and_goes_with_its_user(void)
{
    struct store *s = open_store();
    struct err err = {0};
    struct store_tokens got = {0};
    struct store_user u = {.name = named("bob"), .role = "viewer"};
    struct store_token t = {.id = named("tk"),
                            .hash = named("abcdef"),
                            .owner = u.name,
                            .role = "viewer",
                            .created = 1,
                            .expires = 2};
    CHECK_INT(store_user_create(s, &u, &err), RC_OK);
    CHECK_INT(store_token_create(s, &t, &err), RC_OK);
    CHECK_INT(store_token_create(s, &t, &err), RC_INVAL);
    CHECK_INT(store_token_touch(s, t.id, 77, &err), RC_OK);
    CHECK_INT(store_token_by_hash(s, t.hash, &got, &err), RC_OK);
    CHECK_STR(got.n ? got.at[0].id : "", t.id);
    CHECK_INT(got.n ? got.at[0].used : 0, 77);
    CHECK_INT(got.n ? got.at[0].expires : 0, 2);
    store_tokens_release(&got);
    CHECK_INT(store_token_by_hash(s, "none", &got, &err), RC_NOTFOUND);
    CHECK_STR(err.msg, "no such token"); /* not which */
    CHECK_INT(store_token_list(s, u.name, &got, &err), RC_OK);
    CHECK_INT(got.n, 1);
    store_tokens_release(&got);
    CHECK_INT(store_user_delete(s, u.name, &err), RC_OK);
    CHECK_INT(store_token_by_hash(s, t.hash, &got, &err), RC_NOTFOUND);
    CHECK_INT(store_token_delete(s, t.id, &err), RC_NOTFOUND);
    store_close(s);
}

static void a_project_is_put_twice_and_changed(void)
{
    struct store *s = open_store();
    struct store_projects got = {0};
    bool made = false;
    struct store_project p = {
        .name = named("ads"), .cpu_milli = 4000, .memory = -1, .gpu = 2, .running = 5};
    CHECK_INT(store_project_put(s, &p, &made, NULL), RC_OK);
    CHECK(made);
    p.gpu = 3;
    p.weight = 200;
    CHECK_INT(store_project_put(s, &p, &made, NULL), RC_OK);
    CHECK(!made);
    CHECK_INT(store_project_get(s, p.name, &got, NULL), RC_OK);
    CHECK_INT(got.n ? got.at[0].gpu : 0, 3);
    CHECK_INT(got.n ? got.at[0].weight : 0, 200);
    CHECK_INT(got.n ? got.at[0].memory : 0, -1);
    store_projects_release(&got);
    CHECK_INT(store_project_delete(s, p.name, NULL), RC_OK);
    CHECK_INT(store_project_get(s, p.name, &got, NULL), RC_NOTFOUND);
    store_close(s);
}

static void add_job(struct store *s, const char *id, const char *owner,
                    const char *project, int64_t started, int64_t finished)
{
    static const struct store_event first = {.type = "Submitted", .worker = -1};
    struct store_job row = {.id = id,
                            .name = "t",
                            .owner = owner,
                            .project = project,
                            .state = finished ? "Succeeded" : "Running",
                            .status = "{}",
                            .started = started,
                            .finished = finished,
                            .cpu_milli = 2000,
                            .memory = 3 << 20,
                            .gpu = 1};
    struct store_new job = {.row = &row, .spec = "{}", .events = &first, .n_events = 1};
    bool existed = true;
    CHECK_INT(store_create(s, &job, &existed, NULL), RC_OK);
}

#define SECOND INT64_C(1000000000)

static void usage_adds_up_by_owner_and_by_project(void)
{
    struct store *s = open_store();
    struct store_usages got = {0};
    const char *owner = named("cyd"), *project = named("feed");
    add_job(s, named("jb-a"), owner, project, 100 * SECOND, 160 * SECOND);
    add_job(s, named("jb-b"), owner, project, 150 * SECOND, 0);
    add_job(s, named("jb-c"), owner, "", 10 * SECOND, 20 * SECOND); /* too early */
    CHECK_INT(store_usage_get(s, STORE_BY_OWNER, 110 * SECOND, 200 * SECOND, &got, NULL),
              RC_OK);
    size_t i = 0;
    while (i < got.n && strcmp(got.at[i].name, owner) != 0)
        i++;
    CHECK(i < got.n);
    if (i < got.n) { /* 50 s of the first, 50 s of the second */
        CHECK_INT(got.at[i].jobs, 2);
        CHECK_INT(got.at[i].running, 1);
        CHECK_INT(got.at[i].cpu_milli_s, 200000);
        CHECK_INT(got.at[i].gpu_s, 100);
        CHECK_INT(got.at[i].memory_mib_s, 300);
    }
    store_usages_release(&got);
    CHECK_INT(store_usage_get(s, STORE_BY_PROJECT, 0, 200 * SECOND, &got, NULL), RC_OK);
    for (i = 0; i < got.n && strcmp(got.at[i].name, project) != 0; i++)
        continue;
    CHECK_INT(i < got.n ? got.at[i].gpu_s : 0, 110);
    store_usages_release(&got);
    store_close(s);
}

static void a_list_shows_what_somebody_may_see(void)
{
    struct store *s = open_store();
    struct store_jobs got = {0};
    const char *me = named("dot"), *project = named("shared");
    add_job(s, named("jb-mine"), me, "", 1, 2);
    add_job(s, named("jb-ours"), named("eve"), project, 1, 2);
    add_job(s, named("jb-theirs"), named("eve"), named("other"), 1, 2);
    char *projects = mem_printf("nothing,%s", project);
    struct store_filter f = {.seen_by = me, .seen_projects = projects};
    CHECK_INT(store_list(s, &f, &got, NULL), RC_OK);
    CHECK_INT(got.n, 2);
    store_jobs_release(&got);
    f.project = project;
    CHECK_INT(store_list(s, &f, &got, NULL), RC_OK);
    CHECK_INT(got.n, 1);
    CHECK_STR(got.n ? got.at[0].project : "", project);
    store_jobs_release(&got);
    f = (struct store_filter){.seen_by = me, .seen_projects = ""};
    CHECK_INT(store_list(s, &f, &got, NULL), RC_OK);
    CHECK_INT(got.n, 1);
    store_jobs_release(&got);
    mem_free(projects);
    store_close(s);
}

static void a_planned_run_is_claimed_once(void)
{
    struct store *s = open_store(), *other = open_store();
    struct store_schedules got = {0};
    struct store_run_rows runs = {0};
    struct err err = {0};
    bool first = false, moved = false;
    struct store_schedule x = {.name = named("daily"),
                               .node = "yard:/a",
                               .owner = "ann",
                               .cron = "0 3 * * *",
                               .zone = "UTC",
                               .spec = "{}",
                               .params = "{}",
                               .catch_up = "last",
                               .next = 1000};
    CHECK_INT(store_schedule_create(s, &x, &err), RC_OK);
    CHECK_INT(store_schedule_create(s, &x, &err), RC_INVAL);
    CHECK_INT(store_schedule_due(s, 999, &got, &err), RC_OK);
    CHECK_INT(got.n, 0);
    store_schedules_release(&got);
    CHECK_INT(store_schedule_due(s, 1000, &got, &err), RC_OK);
    CHECK_INT(got.n, 1);
    store_schedules_release(&got);
    struct store_run_row r = {.schedule = x.name, .planned = 1000, .fired = 1001};
    CHECK_INT(store_schedule_claim(s, &r, &first, &err), RC_OK);
    CHECK(first);
    CHECK_INT(store_schedule_claim(other, &r, &first, &err), RC_OK);
    CHECK(!first);
    CHECK_INT(store_schedule_move(s, x.name, 1000, 2000, &moved, &err), RC_OK);
    CHECK(moved);
    CHECK_INT(store_schedule_move(other, x.name, 1000, 2000, &moved, &err), RC_OK);
    CHECK(!moved);
    r.job = "jb-1";
    r.outcome = "submitted";
    CHECK_INT(store_schedule_settle(s, &r, &err), RC_OK);
    CHECK_INT(store_schedule_runs(s, x.name, 0, 10, &runs, &err), RC_OK);
    CHECK_INT(runs.n, 1);
    CHECK_STR(runs.n ? runs.at[0].job : "", "jb-1");
    store_run_rows_release(&runs);
    x.paused = 1;
    x.next = 5;
    x.created++; /* another schedule of the same name */
    CHECK_INT(store_schedule_update(s, &x, &err), RC_NOTFOUND);
    x.created--;
    CHECK_INT(store_schedule_update(s, &x, &err), RC_OK);
    CHECK_INT(store_schedule_due(s, 9999, &got, &err), RC_OK);
    CHECK_INT(got.n, 0); /* paused */
    store_schedules_release(&got);
    CHECK_INT(store_schedule_delete(s, x.name, &err), RC_OK);
    CHECK_INT(store_schedule_get(s, x.name, &got, &err), RC_NOTFOUND);
    CHECK_INT(store_schedule_runs(s, x.name, 0, 0, &runs, &err), RC_OK);
    CHECK_INT(runs.n, 0);
    store_run_rows_release(&runs);
    store_close(other);
    store_close(s);
}

static void the_same_news_is_delivered_once(void)
{
    struct store *s = open_store();
    struct store_rules rules = {0};
    struct store_deliveries got = {0};
    bool added = false;
    int64_t mark = 9;
    struct store_rule r = {.id = named("nr"),
                           .owner = named("fay"),
                           .kind = "webhook",
                           .target = "https://example.com/hook",
                           .condition = "{\"state\": \"Failed\"}"};
    CHECK_INT(store_rule_create(s, &r, NULL), RC_OK);
    CHECK_INT(store_rule_create(s, &r, NULL), RC_INVAL);
    CHECK_INT(store_rule_get(s, NULL, r.owner, &rules, NULL), RC_OK);
    CHECK_INT(rules.n, 1);
    store_rules_release(&rules);
    struct store_delivery d = {.key = named("nr/jb-1/3"),
                               .rule = r.id,
                               .job = "jb-1",
                               .payload = "{}",
                               .state = "pending",
                               .due = 50};
    CHECK_INT(store_delivery_add(s, &d, &added, NULL), RC_OK);
    CHECK(added);
    CHECK_INT(store_delivery_add(s, &d, &added, NULL), RC_OK);
    CHECK(!added);
    CHECK_INT(store_delivery_due(s, 49, 10, &got, NULL), RC_OK);
    CHECK_INT(got.n, 0);
    store_deliveries_release(&got);
    CHECK_INT(store_delivery_due(s, 50, 10, &got, NULL), RC_OK);
    CHECK_INT(got.n, 1);
    store_deliveries_release(&got);
    d.state = "sent";
    d.tries = 1;
    CHECK_INT(store_delivery_update(s, &d, NULL), RC_OK);
    CHECK_INT(store_delivery_due(s, 100, 10, &got, NULL), RC_OK);
    CHECK_INT(got.n, 0);
    store_deliveries_release(&got);
    CHECK_INT(store_delivery_list(s, r.id, 10, &got, NULL), RC_OK);
    CHECK_STR(got.n ? got.at[0].state : "", "sent");
    store_deliveries_release(&got);
    CHECK_INT(store_rule_delete(s, r.id, NULL), RC_OK);
    CHECK_INT(store_rule_delete(s, r.id, NULL), RC_NOTFOUND);
    CHECK_INT(store_mark_get(s, named("seen"), &mark, NULL), RC_OK);
    CHECK_INT(mark, 0);
    CHECK_INT(store_mark_set(s, named("seen"), 41, NULL), RC_OK);
    CHECK_INT(store_mark_set(s, named("seen"), 42, NULL), RC_OK);
    CHECK_INT(store_mark_get(s, named("seen"), &mark, NULL), RC_OK);
    CHECK_INT(mark, 42);
    store_close(s);
}

static void a_lease_has_one_holder(void)
{
    struct store *s = open_store(), *other = open_store();
    struct store_leases got = {0};
    const char *name = named("leader");
    bool mine = false;
    int64_t epoch = 0;
    CHECK_INT(store_lease_get(s, name, &got, NULL), RC_NOTFOUND);
    CHECK_INT(store_lease_take(s, name, "a", 60000, &mine, &epoch, NULL), RC_OK);
    CHECK(mine);
    CHECK_INT(epoch, 1);
    CHECK_INT(store_lease_take(other, name, "b", 60000, &mine, &epoch, NULL), RC_OK);
    CHECK(!mine);
    CHECK_INT(epoch, 1);
    CHECK_INT(store_lease_take(s, name, "a", 60000, &mine, &epoch, NULL), RC_OK);
    CHECK(mine); /* renewed */
    CHECK_INT(epoch, 1);
    CHECK_INT(store_lease_get(other, name, &got, NULL), RC_OK);
    CHECK_STR(got.n ? got.at[0].holder : "", "a");
    CHECK(got.n && got.at[0].until_ms > got.at[0].now_ms &&
          got.at[0].until_ms <= got.at[0].now_ms + 60000);
    store_leases_release(&got);
    CHECK_INT(store_lease_drop(other, name, "b", NULL), RC_OK); /* not b's: stays */
    CHECK_INT(store_lease_take(other, name, "b", 60000, &mine, &epoch, NULL), RC_OK);
    CHECK(!mine);
    /* Over: taken for no time at all. */
    CHECK_INT(store_lease_take(s, name, "a", 0, &mine, &epoch, NULL), RC_OK);
    CHECK(mine);
    CHECK_INT(store_lease_take(other, name, "b", 60000, &mine, &epoch, NULL), RC_OK);
    CHECK(mine);
    CHECK_INT(epoch, 2);
    CHECK_INT(store_lease_drop(other, name, "b", NULL), RC_OK);
    CHECK_INT(store_lease_take(s, name, "a", 60000, &mine, &epoch, NULL), RC_OK);
    CHECK(mine);
    CHECK_INT(epoch, 3);
    store_close(other);
    store_close(s);
}

static void the_audit_log_is_paged_from_its_end(void)
{
    struct store *s = open_store();
    struct store_audits got = {0};
    struct store_audit rows[5];
    const char *who = named("gus");
    for (int i = 0; i < 5; i++)
        rows[i] = (struct store_audit){.time = i,
                                       .who = who,
                                       .action = "job.stop",
                                       .object = "jb-1'; DROP TABLE audit --",
                                       .outcome = "200",
                                       .address = "127.0.0.1"};
    CHECK_INT(store_audit_add(s, rows, 5, NULL), RC_OK);
    CHECK_INT(store_audit_get(s, &(struct store_audit_filter){.who = who, .limit = 3},
                              &got, NULL),
              RC_OK);
    CHECK_INT(got.n, 3);
    CHECK(got.n == 3 && got.at[0].time == 4 && got.at[2].time == 2);
    CHECK_STR(got.n ? got.at[0].object : "", "jb-1'; DROP TABLE audit --");
    int64_t last = got.n ? got.at[got.n - 1].num : 0;
    store_audits_release(&got);
    CHECK_INT(store_audit_get(
                  s,
                  &(struct store_audit_filter){.who = who, .before = last, .limit = 100},
                  &got, NULL),
              RC_OK);
    CHECK_INT(got.n, 2);
    store_audits_release(&got);
    CHECK_INT(store_audit_get(s, &(struct store_audit_filter){.limit = 1}, &got, NULL),
              RC_OK);
    CHECK_INT(got.n, 1);
    store_audits_release(&got);
    store_close(s);
}

static void (*const contract[])(void) = {
    users_are_made_changed_and_removed,
    a_token_is_found_by_its_hash_and_goes_with_its_user,
    a_project_is_put_twice_and_changed,
    usage_adds_up_by_owner_and_by_project,
    a_list_shows_what_somebody_may_see,
    a_planned_run_is_claimed_once,
    the_same_news_is_delivered_once,
    a_lease_has_one_holder,
    the_audit_log_is_paged_from_its_end,
};

static void sqlite_keeps_the_tables_of_a_team(void)
{
    char *path = fs_join(temp, "team.db");
    where = path;
    run_contract(contract, ARRAY_LEN(contract));
    mem_free(path);
}

static void postgresql_keeps_the_tables_of_a_team(void)
{
    on_postgresql(contract, ARRAY_LEN(contract));
}

static const struct tap_case cases[] = {
    TAP(sqlite_keeps_the_tables_of_a_team),
    TAP(postgresql_keeps_the_tables_of_a_team),
};

int main(int argc, char **argv)
{
    if (fs_temp_dir("ty-team", &temp, NULL))
        return 1;
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    if (fs_remove_all(temp, NULL))
        rc = 1;
    mem_free(temp);
    return rc;
}
