/* SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/saver.h"
#include "embed/embed.h"

#include <errno.h>

#include "base/fs.h"
#include "base/mem.h"
#include "ckpt/state.h"
#include "tap.h"

static struct err err;
static char *dir;
static float values[1000];
static struct embed *embed;

static struct ckpt_writer *writer(int64_t step)
{
    struct ckpt_writer_conf conf = {.step = step};
    struct ckpt_writer *w = ckpt_writer_open(dir, &conf);
    struct ckpt_array a = {CKPT_OPTIMIZER, "a", 2, {10, 100}, values};
    ckpt_add_state(w, &(struct ckpt_state){
                          .lookup = embed_lookup(embed), .arrays = &a, .n_arrays = 1});
    return w;
}

static void begin(void)
{
    struct embed_table_conf conf = {.name = "t",
                                    .rows = 1000,
                                    .dim = 4,
                                    .a = -1,
                                    .b = 1,
                                    .trainable = true,
                                    .opt = {.kind = ROW_ADAM},
                                    .seed = 3};
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
    embed = embed_create(NULL);
    CHECK(embed_add_table(embed, &conf, &err) == 0);
    for (int i = 0; i < 1000; i++)
        values[i] = (float)i;
    for (int64_t r = 0; r < 1000; r += 1 + r % 5)
        embed_table_use(embed_table_at(embed, 0), r);
}

static void end(void)
{
    embed_destroy(embed);
    CHECK(fs_remove_all(dir, &err) == RC_OK);
    mem_free(dir);
}

static void disturb(void)
{
    struct embed_table *t = embed_table_at(embed, 0);
    for (int i = 0; i < 1000; i++)
        values[i] = -1;
    for (int64_t r = 0; r < 1000; r++) {
        if (!embed_table_used(t, r))
            embed_table_use(t, r);
        embed_table_row(t, r)[0] += 1;
    }
}

/* A manifest holds the checksums of all data. */
static char *manifest(int64_t step)
{
    char *path = ckpt_dir(dir, step), *file = fs_join(path, "manifest.json"),
         *text = NULL;
    size_t n;
    CHECK(fs_read(file, 1 << 20, &text, &n, &err) == RC_OK);
    mem_free(path);
    mem_free(file);
    return text;
}

static void what_changes_after_the_start_is_not_saved(void)
{
    begin();
    struct ckpt_saver *s = ckpt_saver_create(&(struct ckpt_saver_conf){.model_dir = dir});
    CHECK(ckpt_commit(writer(1), &err) == RC_OK);
    char *want = manifest(1);
    for (int fail = 2; fail >= 0; fail--) {
        struct ckpt_writer *w = writer(1);
        mem_fail_at(fail); /* a refused copy: saved on the spot */
        CHECK(ckpt_saver_start(s, w, -1, &err) == RC_OK);
        mem_fail_at(0);
        if (fail == 0) /* while the thread writes */
            disturb();
        CHECK(ckpt_saver_wait(s, &err) == RC_OK);
        CHECK(!ckpt_saver_busy(s));
        char *got = manifest(1);
        CHECK_STR(got, want);
        mem_free(got);
    }
    CHECK(ckpt_saver_start(s, writer(1), -1, &err) == RC_OK);
    CHECK(ckpt_saver_wait(s, &err) == RC_OK);
    char *got = manifest(1);
    CHECK(got && strcmp(got, want) != 0);
    mem_free(got);
    mem_free(want);
    ckpt_saver_destroy(s);
    end();
}

static void a_detached_writer_holds_its_own_rows(void)
{
    begin();
    CHECK(ckpt_commit(writer(1), &err) == RC_OK);
    char *want = manifest(1);
    struct ckpt_writer *w = writer(1);
    int64_t bytes = ckpt_copy_bytes(w);
    CHECK(bytes > 4000 && bytes < 4000 + 1000 * 48);
    CHECK(ckpt_detach(w, &err) == RC_OK);
    disturb();
    CHECK(ckpt_commit(w, &err) == RC_OK);
    char *got = manifest(1);
    CHECK_STR(got, want);
    mem_free(got);
    mem_free(want);
    end();
}

static void old_ones_are_pruned(void)
{
    begin();
    int64_t live = mem_live();
    struct ckpt_saver *s =
        ckpt_saver_create(&(struct ckpt_saver_conf){.model_dir = dir, .keep = 2});
    for (int64_t step = 1; step < 6; step++)
        CHECK(ckpt_saver_start(s, writer(step), 2, &err) == RC_OK);
    ckpt_saver_destroy(s);
    struct ckpt_list list;
    CHECK(ckpt_list(dir, &list, &err) == RC_OK);
    CHECK_INT(list.n, 3);
    CHECK(list.n == 3 && list.steps[0] == 2 && list.steps[1] == 4 && list.steps[2] == 5);
    ckpt_list_release(&list);
    ckpt_saver_destroy(NULL);
    CHECK_INT(mem_live(), live);
    end();
}

static int full(void *arg, enum fs_call call)
{
    return call == FS_WRITE ? ENOSPC : 0;
}

static void a_failure_surfaces_at_the_next_call(void)
{
    begin();
    struct ckpt_saver *s = ckpt_saver_create(&(struct ckpt_saver_conf){.model_dir = dir});
    fs_set_hook(full, NULL);
    CHECK(ckpt_saver_start(s, writer(1), -1, &err) == RC_OK);
    CHECK(ckpt_saver_wait(s, &err) == RC_IO);
    CHECK_HAS(err.msg, "model.ckpt-1' was not saved: ");
    CHECK_HAS(err.msg, "No space left on device");
    CHECK_INT(err.code, E1509);
    CHECK(ckpt_saver_wait(s, &err) == RC_OK); /* once */
    CHECK(ckpt_saver_start(s, writer(2), -1, &err) == RC_OK);
    while (ckpt_saver_busy(s))
        ;
    fs_set_hook(NULL, NULL);
    CHECK(ckpt_saver_start(s, writer(3), -1, &err) == RC_IO);
    CHECK_HAS(err.msg, "model.ckpt-2' was not saved: ");
    CHECK(ckpt_saver_wait(s, &err) == RC_OK);
    int64_t step;
    CHECK(ckpt_latest(dir, &step, &err) == RC_OK && step == 3);
    ckpt_saver_destroy(s);
    end();
}

static const struct tap_case cases[] = {
    TAP(what_changes_after_the_start_is_not_saved),
    TAP(a_detached_writer_holds_its_own_rows),
    TAP(old_ones_are_pruned),
    TAP(a_failure_surfaces_at_the_next_call),
};
TAP_MAIN(cases)
