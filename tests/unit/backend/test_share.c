/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas and recent use, from a store to what the queue sees. */
#include "backend/share.h"

#include "base/fs.h"
#include "base/mem.h"
#include "store/projects.h"
#include "tap.h"

#define HOUR (INT64_C(3600) * 1000000000)

static const struct backend_queue_need machine = {
    .cpu_milli = 2000, .memory = 1 << 30, .gpu = 0};
static const int64_t now = INT64_C(100) * 24 * HOUR;

static void add_job(struct store *s, const char *id, const char *owner,
                    const char *project, int64_t started, int64_t finished)
{
    struct store_job row = {.id = id,
                            .owner = owner,
                            .project = project,
                            .node = "there",
                            .state = finished ? "Succeeded" : "Running",
                            .attempt = 1,
                            .started = started,
                            .finished = finished,
                            .cpu_milli = 1000};
    struct store_new job = {.row = &row, .spec = "{}"};
    bool existed;
    CHECK_INT(store_create(s, &job, &existed, NULL), RC_OK);
}

static const struct backend_queue_group *find(const struct backend_share *s,
                                              const char *name, bool project)
{
    for (size_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i].project == project && strcmp(s->groups.at[i].name, name) == 0)
            return &s->groups.at[i];
    return NULL;
}

static void what_was_agreed_on_and_used(void)
{
    char *dir = NULL;
    struct store *s = NULL;
    struct backend_share share = {.limited = false};
    struct store_jobs jobs = {0};
    struct store_filter all = {.limit = 0};
    CHECK_INT(fs_temp_dir("ty-share", &dir, NULL), RC_OK);
    char *db = fs_join(dir, "jobs.db");
    CHECK_INT(store_open(db, &s, NULL), RC_OK);
    /* Half the machine for the last 12 hours; for a day, two days ago; long gone. */
    add_job(s, "jb-1", "ann", "ads", now - 12 * HOUR, 0);
    add_job(s, "jb-2", "bob", "", now - 48 * HOUR, now - 24 * HOUR);
    add_job(s, "jb-3", "eve", "", now - 480 * HOUR, now - 400 * HOUR);
    CHECK_INT(store_list(s, &all, &jobs, NULL), RC_OK);
    CHECK_INT(backend_share_refresh(&share, s, &machine, &jobs, now, NULL), RC_OK);
    CHECK(!share.limited);
    const struct backend_queue_group *ann = find(&share, "ann", false);
    const struct backend_queue_group *ads = find(&share, "ads", true);
    const struct backend_queue_group *bob = find(&share, "bob", false);
    CHECK(ann && ads && bob && !find(&share, "eve", false));
    if (ann && ads && bob) {
        CHECK_NEAR(ann->recent, 0.25 * 64 / 127, 1e-6);
        CHECK_NEAR(ads->recent, ann->recent, 1e-9);
        CHECK_NEAR(bob->recent, 0.25 * 48 / 127, 1e-6);
        CHECK_INT(ann->most_running, -1);
    }
    /* A quota for one, and one for everybody else. */
    struct store_project rows[] = {{.name = "ads",
                                    .cpu_milli = -1,
                                    .memory = -1,
                                    .gpu = 2,
                                    .running = -1,
                                    .weight = 200},
                                   {.name = "@ann",
                                    .cpu_milli = 4000,
                                    .memory = -1,
                                    .gpu = -1,
                                    .running = -1,
                                    .weight = 100},
                                   {.name = "@*",
                                    .cpu_milli = -1,
                                    .memory = -1,
                                    .gpu = -1,
                                    .running = 3,
                                    .weight = 100}};
    for (int i = 0; i < 3; i++)
        CHECK_INT(store_project_put(s, &rows[i], NULL, NULL), RC_OK);
    CHECK_INT(backend_share_refresh(&share, s, &machine, &jobs, now, NULL), RC_OK);
    CHECK(share.limited);
    ann = find(&share, "ann", false);
    ads = find(&share, "ads", true);
    bob = find(&share, "bob", false);
    CHECK(ann && ann->most.cpu_milli == 4000 && ann->most_running == -1 &&
          ann->recent > 0);
    CHECK(ads && ads->most.gpu == 2 && ads->weight == 200);
    CHECK(bob && bob->most_running == 3);
    CHECK(!find(&share, "*", false));
    /* What runs on other machines. */
    struct backend_share_elsewhere e;
    CHECK_INT(backend_share_elsewhere_read(s, "here", &e, NULL), RC_OK);
    CHECK_INT(e.at.n, 1);
    CHECK_STR(e.at.n ? e.at.at[0].id : "", "jb-1");
    backend_share_elsewhere_release(&e);
    CHECK_INT(backend_share_elsewhere_read(s, "there", &e, NULL), RC_OK);
    CHECK_INT(e.at.n, 0);
    backend_share_elsewhere_release(&e);
    backend_share_release(&share);
    store_jobs_release(&jobs);
    store_close(s);
    CHECK_INT(fs_remove_all(dir, NULL), RC_OK);
    mem_free(db);
    mem_free(dir);
}

static const struct tap_case cases[] = {TAP(what_was_agreed_on_and_used)};
TAP_MAIN(cases)
