/* SPDX-License-Identifier: Apache-2.0 */
#include "job/isolation.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static char *dir;

static void a_user_keeps_the_number(void)
{
    struct job_isolation x = {.first = 5000, .count = 2};
    struct err err = {0};
    int64_t uid = 0;
    CHECK_INT(job_isolation_account(dir, &x, "ann", &uid, &err), RC_OK);
    CHECK_INT(uid, 5000);
    CHECK_INT(job_isolation_account(dir, &x, "bob", &uid, &err), RC_OK);
    CHECK_INT(uid, 5001);
    CHECK_INT(job_isolation_account(dir, &x, "ann", &uid, &err), RC_OK);
    CHECK_INT(uid, 5000);
    CHECK_INT(job_isolation_account(dir, &x, "eve", &uid, &err), RC_INVAL);
    CHECK_STR(err.msg, "all 2 accounts of jobs are given out; --job-uids takes a larger "
                       "range");
    CHECK_INT(uid, 5000);
}

static void a_name_cannot_be_two_lines(void)
{
    struct job_isolation x = {.first = 5000, .count = 100};
    struct err err = {0};
    int64_t uid = 0;
    CHECK_INT(job_isolation_account(dir, &x, "z\n0 root", &uid, &err), RC_INVAL);
    CHECK_INT(job_isolation_account(dir, &x, "", &uid, &err), RC_INVAL);
    CHECK_INT(job_isolation_account(dir, &x, "5000 ann", &uid, &err), RC_OK);
    CHECK_INT(uid, 5002);
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
    CHECK_INT(job_isolation_write(dir, &x, "ann", dir, &err), RC_OK);
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
    TAP(a_name_cannot_be_two_lines),
    TAP(what_a_job_runs_under_comes_back),
};

int main(int argc, char **argv)
{
    struct err err = {0};
    if (fs_temp_dir("isolation", &dir, &err))
        return 1;
    int rc = tap_run(cases, ARRAY_LEN(cases), argc, argv);
    enum rc gone = fs_remove_all(dir, NULL);
    (void)gone;
    mem_free(dir);
    return rc;
}
