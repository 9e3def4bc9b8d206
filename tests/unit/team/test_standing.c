/* SPDX-License-Identifier: Apache-2.0 */
/* Who may still act: role x membership x what they would do. */
#include "team/standing.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static char *dir;
static struct store *store;

static void set_up(void)
{
    struct err err = {0};
    CHECK_INT(fs_temp_dir("ty-standing", &dir, &err), RC_OK);
    char *db = fs_join(dir, "jobs.db");
    CHECK_INT(store_open(db, &store, &err), RC_OK);
    mem_free(db);
}

static void tear_down(void)
{
    store_close(store);
    CHECK_INT(fs_remove_all(dir, NULL), RC_OK);
    mem_free(dir);
}

static void add(const char *name, const char *role, const char *projects,
                int64_t disabled)
{
    struct err err = {0};
    struct store_user u = {
        .name = name, .role = role, .projects = projects, .disabled = disabled};
    CHECK_INT(store_user_create(store, &u, &err), RC_OK);
}

static void what_an_owner_may_still_do(void)
{
    static const struct {
        const char *owner, *project, *runs, *looks; /* NULL: may */
    } rows[] = {
        {"adam", "", NULL, NULL},
        {"adam", "ads", NULL, NULL},
        {"sam", "", NULL, NULL},
        {"sam", "ads", NULL, NULL},
        {"sam", "feed", NULL, NULL}, /* as its admin */
        {"sam", "ad", "'sam' is not a member of the project 'ad' any more",
         "'sam' is not a member of the project 'ad' any more"},
        {"sam", "feed:admin",
         "'sam' is not a member of the project 'feed:admin' any more",
         "'sam' is not a member of the project 'feed:admin' any more"},
        {"vera", "", "'vera' may not submit jobs", NULL},
        {"vera", "ads", "'vera' may not submit jobs", NULL},
        {"dora", "", "'dora' is disabled", "'dora' is disabled"},
        {"gone", "", "'gone' is not a user of this server any more",
         "'gone' is not a user of this server any more"},
        {"nobody", "", "'nobody' is not a user of this server any more",
         "'nobody' is not a user of this server any more"},
        {"op", "", NULL, NULL},
        {"root", "ads", NULL, NULL},
    };
    struct err err = {0};
    struct team_standing t;
    set_up();
    add("adam", "admin", "", 0);
    add("sam", "submitter", "ads,feed:admin", 0);
    add("vera", "viewer", "ads", 0);
    add("dora", "admin", "", 1);
    add("gone", "admin", "", 0);
    CHECK_INT(store_user_delete(store, "gone", &err), RC_OK);
    CHECK_INT(team_standing_open(store, "op", &t, &err), RC_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_STR(team_standing_wrong(&t, rows[i].owner, rows[i].project, true),
                  rows[i].runs);
        CHECK_STR(team_standing_wrong(&t, rows[i].owner, rows[i].project, false),
                  rows[i].looks);
    }
    team_standing_close(&t);
    CHECK_INT(team_standing_open(store, NULL, &t, &err), RC_OK);
    CHECK_STR(team_standing_wrong(&t, "op", "", true),
              "'op' is not a user of this server any more");
    CHECK_STR(team_standing_wrong(&t, "root", "", true),
              "'root' is not a user of this server any more");
    team_standing_close(&t);
    tear_down();
}

static void a_store_without_users_is_somebodys_own(void)
{
    struct err err = {0};
    struct team_standing t;
    set_up();
    CHECK_INT(team_standing_open(store, NULL, &t, &err), RC_OK);
    CHECK_STR(team_standing_wrong(&t, "anybody", "ads", true), NULL);
    CHECK(store_user_is_local(store, NULL, "anybody"));
    team_standing_close(&t);
    tear_down();
}

/* What belongs to a name keeps it from being given out. */
static void a_name_with_belongings_is_not_given_out(void)
{
    struct err err = {0};
    struct store_user u = {.name = "ann", .role = "viewer", .projects = ""};
    struct store_rule r = {
        .id = "nr-1", .owner = "ann", .kind = "mail", .target = "a@b", .condition = "{}"};
    bool former = true;
    set_up();
    CHECK_INT(store_rule_create(store, &r, &err), RC_OK);
    CHECK_INT(store_user_create(store, &u, &err), RC_INVAL);
    CHECK_INT(err.code, E3112);
    CHECK_INT(store_user_create(store, &u, &err),
              RC_INVAL); /* nothing was left half done */
    u.inherits = true;
    CHECK_INT(store_user_create(store, &u, &err), RC_OK);
    CHECK_INT(store_user_former(store, "ann", &former, &err), RC_OK);
    CHECK(!former);
    CHECK_INT(store_user_delete(store, "ann", &err), RC_OK);
    CHECK_INT(store_user_former(store, "ann", &former, &err), RC_OK);
    CHECK(former);
    CHECK_INT(store_rule_delete(store, "nr-1", &err), RC_OK);
    u.inherits = false;
    CHECK_INT(store_user_create(store, &u, &err), RC_OK);
    CHECK_INT(store_user_former(store, "ann", &former, &err), RC_OK);
    CHECK(!former);
    tear_down();
}

static const struct tap_case cases[] = {
    TAP(what_an_owner_may_still_do),
    TAP(a_store_without_users_is_somebodys_own),
    TAP(a_name_with_belongings_is_not_given_out),
};
TAP_MAIN(cases)
