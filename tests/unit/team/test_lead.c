/* SPDX-License-Identifier: Apache-2.0 */
/* Two leaders-to-be on one store, in one process. */
#include "team/lead.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "store/notify.h"
#include "tap.h"

static char *dir, *db;

static struct store *store(void)
{
    struct store *s = NULL;
    CHECK_INT(store_open(db, &s, NULL), RC_OK);
    return s;
}

/* The database's clock cannot be set: the lease itself is made older. */
static void let_it_run_out(struct team_lead *l, struct store *s)
{
    bool mine;
    int64_t epoch;
    CHECK_INT(store_lease_take(s, LEAD_LEASE, l->holder, -1000, &mine, &epoch, NULL),
              RC_OK);
    CHECK(mine);
}

static void one_leads_until_it_is_gone(void)
{
    struct store *sa = store(), *sb = store();
    struct team_lead a, b;
    struct err err = {0};
    team_lead_init(&a);
    team_lead_init(&b);
    CHECK(strcmp(a.holder, b.holder) != 0);
    CHECK(!team_lead_is(&a));
    CHECK_INT(team_lead_renew(&a, sa, &err), RC_OK);
    CHECK_INT(team_lead_renew(&b, sb, &err), RC_OK);
    CHECK(team_lead_is(&a) && !team_lead_is(&b));
    CHECK_INT(team_lead_renew(&a, sa, &err), RC_OK);
    CHECK(team_lead_is(&a));
    CHECK_INT(atomic_load(&a.epoch), 1);

    /* a stops for longer than its lease, b takes over. */
    let_it_run_out(&a, sa);
    CHECK_INT(team_lead_renew(&b, sb, &err), RC_OK);
    CHECK(team_lead_is(&b));
    CHECK_INT(atomic_load(&b.epoch), 2);
    /* a wakes up in the middle of something and believes that it still leads. */
    CHECK_INT(store_fence_begin(sa, &err), RC_INVAL);
    CHECK_INT(err.code, E5401);
    CHECK_INT(team_lead_renew(&a, sa, &err), RC_OK);
    CHECK(!team_lead_is(&a) && team_lead_is(&b));

    /* b gives up: a leads at once, with another epoch. */
    team_lead_give_up(&b, sb);
    CHECK(!team_lead_is(&b));
    CHECK_INT(team_lead_renew(&a, sa, &err), RC_OK);
    CHECK(team_lead_is(&a));
    CHECK_INT(atomic_load(&a.epoch), 3);
    team_lead_give_up(&a, sa);
    store_close(sa);
    store_close(sb);
}

static void a_fence_holds_all_writes_or_none(void)
{
    struct store *sa = store(), *sb = store();
    struct team_lead a, b;
    struct err err = {0};
    int64_t value = 0;
    team_lead_init(&a);
    team_lead_init(&b);
    CHECK_INT(team_lead_renew(&a, sa, NULL), RC_OK);
    CHECK_INT(store_fence_begin(sa, NULL), RC_OK);
    CHECK_INT(store_fence_end(sa, store_mark_set(sa, "m", 7, NULL), NULL), RC_OK);
    CHECK_INT(store_mark_get(sb, "m", &value, NULL), RC_OK);
    CHECK_INT(value, 7);
    /* What failed inside is undone. */
    CHECK_INT(store_fence_begin(sa, NULL), RC_OK);
    CHECK_INT(store_mark_set(sa, "m", 8, NULL), RC_OK);
    CHECK_INT(store_fence_end(sa, RC_IO, NULL), RC_IO);
    CHECK_INT(store_mark_get(sb, "m", &value, NULL), RC_OK);
    CHECK_INT(value, 7);
    let_it_run_out(&a, sa);
    CHECK_INT(team_lead_renew(&b, sb, NULL), RC_OK);
    /* The record of jobs is behind the same fence. */
    struct store_job row = {.id = "jb-a", .state = "Queuing"};
    struct store_new job = {.row = &row, .spec = "{}"};
    bool existed;
    CHECK_INT(store_create(sa, &job, &existed, &err), RC_INVAL);
    CHECK_STR(err.msg, "lease 'leader': another has it by now");
    CHECK_INT(store_create(sb, &job, &existed, &err), RC_OK);
    row.seq = 0;
    CHECK_INT(store_append(sa, &row, NULL, 0, &err), RC_INVAL);
    team_lead_give_up(&b, sb);
    store_close(sa);
    store_close(sb);
}

static void with_a_new_database(void (*const run)(void))
{
    CHECK_INT(fs_temp_dir("ty-lead", &dir, NULL), RC_OK);
    db = fs_join(dir, "jobs.db");
    run();
    CHECK_INT(fs_remove_all(dir, NULL), RC_OK);
    mem_free(db);
    mem_free(dir);
}

static void leading(void)
{
    with_a_new_database(one_leads_until_it_is_gone);
}

static void fencing(void)
{
    with_a_new_database(a_fence_holds_all_writes_or_none);
}

static const struct tap_case cases[] = {TAP(leading), TAP(fencing)};
TAP_MAIN(cases)
