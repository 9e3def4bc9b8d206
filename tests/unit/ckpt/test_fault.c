/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses each call to the system in turn: model_dir always holds a checkpoint that
 * loads.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "ckpt/ckpt.h"
#include "tap.h"

static struct err err;

struct fault {
    int64_t at, seen;
    int action; /* an errno, FS_SHORT; 0: the process ends there */
    bool hit;
    enum fs_call call;
};

static int strike(void *arg, enum fs_call call)
{
    struct fault *f = arg;
    if (++f->seen != f->at)
        return 0;
    f->hit = true;
    f->call = call;
    if (f->action == 0)
        _exit(9);
    return f->action;
}

static float values[6] = {1, 2, 3, 4, 5, 6};

static enum rc save(const char *dir, int64_t step, float first)
{
    struct ckpt_writer_conf conf = {.step = step, .shard_bytes = 8};
    struct ckpt_writer *w = ckpt_writer_open(dir, &conf);
    values[0] = first;
    ckpt_add_f32(w, CKPT_MODEL, "a", (int64_t[]){2, 2}, 2, values, 3);
    ckpt_add_f32(w, CKPT_MODEL, "b", (int64_t[]){2}, 1, values, 1);
    ckpt_add_json(w, "cursor", "[1]");
    return ckpt_commit(w, &err);
}

/* The first value of the checkpoint that loads; 0 when none does. */
static float loaded(const char *dir, int64_t *step)
{
    struct ckpt *c = NULL;
    struct err why = {0};
    float v = 0;
    if (ckpt_open(dir, 0, &c, NULL, &why)) {
        printf("# %s\n", why.msg);
        return 0;
    }
    CHECK(ckpt_st_read_f32(ckpt_find(c, "b"), 0, 1, &v, 1, &why) == RC_OK);
    *step = ckpt_step(c);
    ckpt_close(c);
    return v;
}

static size_t entries(const char *dir)
{
    struct fs_names names;
    CHECK(fs_list(dir, &names, &err) == RC_OK);
    size_t n = names.n;
    fs_names_release(&names);
    return n;
}

static void a_refused_call_leaves_the_old_checkpoint(void)
{
    static const int actions[] = {ENOSPC, EIO, FS_SHORT};
    int64_t live = mem_live(), step = 0;
    for (size_t k = 0; k < ARRAY_LEN(actions); k++) {
        int late = 0; /* failures after the fact */
        for (int64_t at = 1;; at++) {
            struct fault f = {.at = at, .action = actions[k]};
            char *dir = NULL;
            CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
            CHECK(save(dir, 5, 50) == RC_OK);
            fs_set_hook(strike, &f);
            enum rc rc = save(dir, 6, 60);
            fs_set_hook(NULL, NULL);
            float want = entries(dir) == 1 ? 50 : 60;
            late += rc && want == 60;
            CHECK(loaded(dir, &step) == want);
            CHECK_INT(step, want == 50 ? 5 : 6);
            CHECK(entries(dir) <= 2 && (rc || want == 60)); /* nothing half-done */
            CHECK(!f.hit || rc == (actions[k] == FS_SHORT ? RC_OK : RC_IO));
            if (rc) {
                CHECK_HAS(err.msg, "model.ckpt-6' was not saved: ");
                CHECK_HAS(err.msg, actions[k] == EIO ? "Input/output error"
                                                     : "No space left on device");
                CHECK_INT(err.code, E1509);
            }
            CHECK(fs_remove_all(dir, &err) == RC_OK);
            mem_free(dir);
            if (!f.hit) {
                CHECK(at > 25);
                break;
            }
        }
        /* Opening and syncing model_dir itself, when all is in place. */
        CHECK_INT(late, actions[k] == FS_SHORT ? 0 : 2);
    }
    CHECK_INT(mem_live(), live);
}

/* Also with the one that is being replaced. */
static void a_killed_process_leaves_a_checkpoint(void)
{
    for (int same = 0; same < 2; same++) {
        for (int64_t at = 1;; at++) {
            struct fault f = {.at = at};
            char *dir = NULL;
            int status = 0;
            int64_t step = 0;
            CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
            CHECK(save(dir, 5, 50) == RC_OK);
            pid_t pid = fork();
            if (pid == 0) {
                fs_set_hook(strike, &f);
                _exit(save(dir, same ? 5 : 6, 60) == RC_OK ? 0 : 1);
            }
            CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
            float got = loaded(dir, &step);
            CHECK(got == 50 || got == 60);
            CHECK(save(dir, 7, 70) == RC_OK); /* and the next one is saved */
            CHECK(loaded(dir, &step) == 70);
            CHECK(entries(dir) <= 3);
            CHECK(fs_remove_all(dir, &err) == RC_OK);
            mem_free(dir);
            if (WEXITSTATUS(status) != 9) {
                CHECK_INT(WEXITSTATUS(status), 0);
                CHECK(got == 60 && at > 25);
                break;
            }
        }
    }
}

static void pruning_leaves_no_half_checkpoint(void)
{
    int64_t step = 0;
    for (int64_t at = 1;; at++) {
        struct fault f = {.at = at, .action = EIO};
        char *dir = NULL;
        struct ckpt_list list;
        CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
        for (int i = 1; i < 4; i++)
            CHECK(save(dir, i, (float)i) == RC_OK);
        fs_set_hook(strike, &f);
        enum rc rc = ckpt_prune(dir, 1, -1, &err);
        fs_set_hook(NULL, NULL);
        CHECK((rc == RC_OK) == !f.hit);
        CHECK(loaded(dir, &step) == 3);
        CHECK(ckpt_list(dir, &list, &err) == RC_OK);
        for (size_t i = 0; i < list.n; i++) {
            char *path = ckpt_dir(dir, list.steps[i]);
            CHECK(loaded(path, &step) == (float)list.steps[i]);
            mem_free(path);
        }
        CHECK(f.hit || list.n == 1);
        ckpt_list_release(&list);
        CHECK(fs_remove_all(dir, &err) == RC_OK);
        mem_free(dir);
        if (!f.hit) {
            CHECK(at > 4);
            break;
        }
    }
}

static void missing_memory_is_reported(void)
{
    char *dir = NULL;
    int64_t step = 0;
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
    CHECK(save(dir, 1, 10) == RC_OK);
    int64_t live = mem_live();
    for (int64_t at = 1;; at++) {
        struct ckpt *c = NULL;
        mem_fail_at(at);
        enum rc rc = save(dir, 2, 20);
        if (!rc)
            rc = ckpt_open(dir, 0, &c, NULL, &err);
        mem_fail_at(0);
        ckpt_close(c);
        CHECK_INT(mem_live(), live);
        float got = loaded(dir, &step);
        CHECK(got == 10 || got == 20);
        if (!rc) {
            CHECK(at > 3);
            break;
        }
        CHECK(rc == RC_NOMEM);
    }
    CHECK(fs_remove_all(dir, &err) == RC_OK);
    mem_free(dir);
}

static const struct tap_case cases[] = {
    TAP(a_refused_call_leaves_the_old_checkpoint),
    TAP(a_killed_process_leaves_a_checkpoint),
    TAP(pruning_leaves_no_half_checkpoint),
    TAP(missing_memory_is_reported),
};
TAP_MAIN(cases)
