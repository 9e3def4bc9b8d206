/* SPDX-License-Identifier: Apache-2.0 */
#include "job/record.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "job/ignore.h"
#include "job/snapshot.h"
#include "tap.h"

static struct store *open_store(char **dir)
{
    struct store *s = NULL;
    CHECK(fs_temp_dir("ty-record", dir, NULL) == RC_OK);
    char *path = fs_join(*dir, "jobs.db");
    CHECK_INT(store_open(path, &s, NULL), RC_OK);
    mem_free(path);
    const struct store_event first[] = {{.time = 5, .type = "Submitted", .worker = -1},
                                        {.time = 6,
                                         .type = "StateChanged",
                                         .worker = -1,
                                         .reason = "JobEnqueued",
                                         .data = "{\"state\": \"Queuing\"}"}};
    struct store_job row = {.id = "jb-a", .state = "Queuing"};
    struct store_new job = {.row = &row, .spec = "{}", .events = first, .n_events = 2};
    bool existed;
    CHECK_INT(store_create(s, &job, &existed, NULL), RC_OK);
    return s;
}

static void close_store(struct store *s, char *dir)
{
    store_close(s);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

static void every_move_is_in_the_table(void)
{
    CHECK(job_state_may(JOB_Queuing, JOB_EnvPreparing));
    CHECK(!job_state_may(JOB_Queuing, JOB_Succeeded));
    for (int to = 0; to < JOB_STATES; to++) {
        CHECK(!job_state_may(JOB_Succeeded, (enum job_state)to));
        CHECK(!job_state_may(JOB_Failed, (enum job_state)to));
        CHECK(!job_state_may(JOB_Stopped, (enum job_state)to));
    }
}

static void a_life_is_folded(void)
{
    char *dir;
    struct store *s = open_store(&dir);
    struct job_record r, again;
    CHECK_INT(job_record_open(s, "jb-a", &r, NULL), RC_OK);
    CHECK_INT(r.now.state, JOB_Queuing);
    CHECK_INT(job_record_move(&r, JOB_EnvPreparing, WHY_Admitted, -1, 0, "", NULL),
              RC_OK);
    struct job_record_note w = {.worker = 1,
                                .data = "{\"pid\": 77, \"role\": \"worker\"}"};
    CHECK_INT(job_record_add(&r, EV_WorkerStarted, &w, NULL), RC_OK);
    CHECK_INT(job_record_move(&r, JOB_Running, WHY_WorkersStarted, -1, 0, "", NULL),
              RC_OK);
    CHECK_INT(job_record_flush(&r, NULL), RC_OK);
    CHECK_INT(job_record_move(&r, JOB_Failed, WHY_UserExit, 3, 0, "worker 1", NULL),
              RC_OK);
    struct err err = {0};
    CHECK_INT(job_record_move(&r, JOB_Running, WHY_None, -1, 0, "", &err), RC_FORMAT);
    CHECK_STR(err.msg, "a job cannot go from Failed to Running");
    CHECK_INT(job_record_flush(&r, NULL), RC_OK);
    CHECK_INT(job_record_open(s, "jb-a", &again, NULL), RC_OK);
    CHECK_INT(again.now.state, JOB_Failed);
    CHECK_INT(again.now.code, 3);
    CHECK_INT(again.now.attempt, 1);
    CHECK_INT(again.now.seq, 6);
    CHECK_INT(again.now.n_workers, 2);
    CHECK_INT(again.now.workers[1].pid, 77);
    CHECK_STR(again.row.state, "Failed");
    CHECK_STR(again.row.reason, "UserExit");
    job_record_release(&again);
    job_record_release(&r);
    close_store(s, dir);
}

static void a_request_in_between_is_met(void)
{
    char *dir;
    struct store *s = open_store(&dir);
    struct job_record owner, other;
    CHECK_INT(job_record_open(s, "jb-a", &owner, NULL), RC_OK);
    CHECK_INT(job_record_open(s, "jb-a", &other, NULL), RC_OK);
    CHECK_INT(job_record_add(&other, EV_StopRequested, NULL, NULL), RC_OK);
    CHECK_INT(job_record_flush(&other, NULL), RC_OK);
    CHECK_INT(job_record_move(&owner, JOB_EnvPreparing, WHY_Admitted, -1, 0, "", NULL),
              RC_OK);
    CHECK_INT(job_record_flush(&owner, NULL), RC_OK);
    CHECK(owner.now.stop);
    CHECK_INT(owner.now.state, JOB_EnvPreparing);
    CHECK_INT(owner.now.seq, 4);
    /* What cannot follow is dropped, not written. */
    CHECK_INT(job_record_refresh(&other, NULL), RC_OK);
    CHECK_INT(job_record_move(&other, JOB_Failed, WHY_Lost, -1, 0, "", NULL), RC_OK);
    CHECK_INT(job_record_flush(&other, NULL), RC_OK);
    CHECK_INT(job_record_move(&owner, JOB_Running, WHY_None, -1, 0, "", NULL), RC_OK);
    CHECK_INT(job_record_flush(&owner, NULL), RC_CANCELED);
    CHECK_INT(owner.pending.n, 0);
    CHECK_INT(owner.now.state, JOB_Failed);
    job_record_release(&other);
    job_record_release(&owner);
    close_store(s, dir);
}

static void unknown_events_do_not_fold(void)
{
    struct job_status s;
    struct err err = {0};
    job_status_init(&s);
    struct store_event e = {.type = "Forged", .data = "", .reason = "", .message = ""};
    CHECK_INT(job_fold(&s, &e, &err), RC_FORMAT);
    CHECK_STR(err.msg, "unknown event 'Forged'");
    e = (struct store_event){.type = "StateChanged",
                             .data = "{\"state\": \"Succeeded\"}",
                             .reason = "",
                             .message = ""};
    CHECK_INT(job_fold(&s, &e, &err), RC_FORMAT);
    e.data = "not json";
    CHECK_INT(job_fold(&s, &e, &err), RC_FORMAT);
    CHECK_INT(s.seq, 0);
    job_status_release(&s);
}

static void a_snapshot_comes_back_as_it_was(void)
{
    char *dir;
    struct job_snapshot a, b;
    struct err err = {0};
    CHECK(fs_temp_dir("ty-snap", &dir, NULL) == RC_OK);
    char *src = fs_join(dir, "src"), *sub = fs_join(src, "pkg"),
         *objects = fs_join(dir, "o");
    char *file = fs_join(sub, "m.py"), *skip = fs_join(src, "x.log"),
         *to = fs_join(dir, "to");
    char *ignore = fs_join(src, ".trainyardignore"), *back = fs_join(to, "pkg/m.py");
    CHECK(fs_mkdirs(sub, 0755, NULL) == RC_OK);
    CHECK(fs_write(file, "print(1)\n", 9, 0755, NULL) == RC_OK);
    CHECK(fs_write(skip, "no", 2, 0644, NULL) == RC_OK);
    CHECK(fs_write(ignore, "*.log\n", 6, 0644, NULL) == RC_OK);
    CHECK_INT(job_snapshot_take(objects, src, &a, &err), RC_OK);
    CHECK_INT(a.files, 2);
    CHECK_INT(a.bytes, 15);
    CHECK_INT(job_snapshot_take(objects, src, &b, &err), RC_OK);
    CHECK_STR(a.id, b.id);
    CHECK_INT(job_snapshot_restore(objects, a.id, to, NULL, &err), RC_OK);
    char *text = NULL;
    size_t n = 0;
    CHECK(fs_read(back, 100, &text, &n, NULL) == RC_OK);
    CHECK_STR(text, "print(1)\n");
    mem_free(text);
    CHECK_INT(job_snapshot_take(objects, skip, &b, &err), RC_NOTFOUND);
    CHECK_HAS(err.msg, "is not a directory");
    CHECK_INT(err.code, E3004);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    char *all[] = {src, sub, objects, file, skip, to, ignore, back, dir};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        mem_free(all[i]);
}

static void sha256_gives_the_published_values(void)
{
    const struct {
        const char *text;
        size_t times;
        const char *want;
    } cases[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"aaaaaaaaaa", 100000,
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sha256 s;
        char got[SHA256_TEXT_SIZE];
        sha256_init(&s);
        for (size_t k = 0; k < cases[i].times; k++)
            sha256_add(&s, cases[i].text, strlen(cases[i].text));
        sha256_text(&s, got);
        CHECK_STR(got, cases[i].want);
    }
}

static const struct tap_case cases[] = {
    TAP(every_move_is_in_the_table),      TAP(a_life_is_folded),
    TAP(a_request_in_between_is_met),     TAP(unknown_events_do_not_fold),
    TAP(a_snapshot_comes_back_as_it_was), TAP(sha256_gives_the_published_values),
};
TAP_MAIN(cases)
