/* SPDX-License-Identifier: Apache-2.0 */
#include "job/isolation.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static char *dir;
static struct job_place place; /* of the store in it */

static void a_user_keeps_the_number(void)
{
    struct job_isolation x = {.first = 5000, .count = 2};
    struct err err = {0};
    int64_t uid = 0;
    CHECK_INT(job_isolation_account(&place, &x, "ann", &uid, &err), RC_OK);
    CHECK_INT(uid, 5000);
    CHECK_INT(job_isolation_account(&place, &x, "bob", &uid, &err), RC_OK);
    CHECK_INT(uid, 5001);
    CHECK_INT(job_isolation_account(&place, &x, "ann", &uid, &err), RC_OK);
    CHECK_INT(uid, 5000);
    CHECK_INT(job_isolation_account(&place, &x, "eve", &uid, &err), RC_INVAL);
    CHECK_STR(err.msg, "all 2 accounts of jobs are given out; --job-uids takes a larger "
                       "range");
    CHECK_INT(uid, 5000);
}

static void a_name_cannot_be_a_number_that_was_given_up(void)
{
    struct job_isolation x = {.first = 5000, .count = 100};
    struct err err = {0};
    int64_t uid = 0;
    CHECK_INT(job_isolation_account(&place, &x, "#5000", &uid, &err), RC_INVAL);
    CHECK_INT(job_isolation_account(&place, &x, "", &uid, &err), RC_INVAL);
    CHECK_INT(job_isolation_account(&place, &x, "5000 ann", &uid, &err), RC_OK);
    CHECK_INT(uid, 5002);
}

/* Two directories of one store, each as it had been by itself. */
static void servers_of_a_store_give_each_name_one_number(void)
{
    struct job_isolation x = {.first = 6000, .count = 100};
    struct job_place other = place;
    struct err err = {0};
    int64_t uid = 0, again = 0;
    static const char old[] = "6000 vic\n6001 ###\n6002 zoe\n";
    char *sub = fs_join(dir, "other"), *file = fs_join(sub, "accounts");
    other.dir = sub;
    CHECK_INT(fs_mkdirs(sub, 0700, &err), RC_OK);
    CHECK_INT(fs_write(file, old, sizeof(old) - 1, 0600, &err), RC_OK);
    CHECK_INT(job_isolation_account(&place, &x, "xan", &uid, &err), RC_OK);
    CHECK_INT(uid, 6000);
    /* The other one's vic had 6000 as well: that is xan's now, so vic gets a new one. */
    CHECK_INT(job_isolation_account(&other, &x, "vic", &uid, &err), RC_OK);
    CHECK_INT(uid, 6003);
    CHECK_INT(job_isolation_account(&place, &x, "vic", &again, &err), RC_OK);
    CHECK_INT(again, 6003);
    CHECK_INT(job_isolation_account(&place, &x, "zoe", &uid, &err), RC_OK);
    CHECK_INT(uid, 6002);
    CHECK(!fs_exists(file));
    /* A name that is used anew gets a number of its own. */
    CHECK_INT(job_isolation_retire(&other, "zoe", &err), RC_OK);
    CHECK_INT(job_isolation_account(&place, &x, "zoe", &uid, &err), RC_OK);
    CHECK_INT(uid, 6004);
    mem_free(file);
    mem_free(sub);
}

static void what_a_job_runs_under_comes_back(void)
{
    struct job_isolation x = {.first = 5000,
                              .count = 9,
                              .processes = 7,
                              .file_bytes = 1 << 20,
                              .no_network = 1,
                              .held = {.memory = true}};
    struct job_isolation_job j = {0};
    struct err err = {0};
    struct stat st;
    bool found = true;
    CHECK_INT(job_isolation_read(dir, &j, &found, &err), RC_OK);
    CHECK(!found);
    CHECK_INT(job_isolation_write(&place, &x, dir, &err), RC_OK);
    CHECK_INT(job_isolation_read(dir, &j, &found, &err), RC_OK);
    CHECK(found && j.no_network);
    CHECK(j.held.memory && !j.held.cpu && !j.held.processes);
    CHECK_INT(j.uid, 5000);
    CHECK_INT(j.processes, 7);
    CHECK_INT(j.file_bytes, 1 << 20);
    char *path = fs_join(dir, "isolation.json");
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    /* Damaged: the job must not run without it. */
    CHECK_INT(fs_write(path, "{", 1, 0600, &err), RC_OK);
    CHECK_INT(job_isolation_read(dir, &j, &found, &err), RC_IO);
    mem_free(path);
}

static const struct tap_case cases[] = {
    TAP(a_user_keeps_the_number),
    TAP(a_name_cannot_be_a_number_that_was_given_up),
    TAP(servers_of_a_store_give_each_name_one_number),
    TAP(what_a_job_runs_under_comes_back),
};

int main(int argc, char **argv)
{
    struct err err = {0};
    if (fs_temp_dir("isolation", &dir, &err))
        return 1;
    char *db = fs_join(dir, "jobs.db");
    place = (struct job_place){.dir = dir, .owner = "ann"};
    if (store_open(db, &place.store, &err))
        return 1;
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    enum rc gone = fs_remove_all(dir, NULL);
    (void)gone;
    store_close(place.store);
    mem_free(db);
    mem_free(dir);
    return rc;
}
