/* SPDX-License-Identifier: Apache-2.0 */
/* How much a job has written: what counts, and a look that does not wait. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/disk.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static char *top;
static struct err err;

static void begin(void)
{
    CHECK(fs_temp_dir("trainyard-disk", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    CHECK(fs_mkdirs("ml/output/model", 0755, &err) == RC_OK);
    CHECK(fs_mkdirs("ml/usercode", 0755, &err) == RC_OK);
    CHECK(mkdir("tmp", 0700) == 0 && mkdir("logs", 0700) == 0);
}

static void end(void)
{
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

static void put(const char *path, size_t n)
{
    char *data = mem_calloc(1, n);
    memset(data, 'x', n);
    CHECK(fs_write(path, data, n, 0600, &err) == RC_OK);
    mem_free(data);
}

#define MEGABYTE ((int64_t)1 << 20)
/* Directories and the blocks that a file system adds are a small part of it. */
#define CHECK_MEGABYTES(sum, n) \
    CHECK((sum) >= (n)*MEGABYTE && (sum) < (n)*MEGABYTE + MEGABYTE / 2)

static void what_the_job_can_write_to_counts(void)
{
    begin();
    int64_t none = backend_disk_sum(top);
    CHECK(none < MEGABYTE / 2);
    put("ml/output/model/m", (size_t)MEGABYTE);
    put("ml/usercode/code", (size_t)MEGABYTE);
    put("tmp/t", (size_t)MEGABYTE);
    CHECK(mkdir("venv", 0700) == 0);
    put("venv/v", (size_t)MEGABYTE);
    put("logs/worker", (size_t)MEGABYTE); /* has a limit of its own */
    CHECK_MEGABYTES(backend_disk_sum(top), 4);
    end();
}

static void a_sparse_file_counts_as_its_blocks(void)
{
    begin();
    put("tmp/sparse", 1);
    CHECK(truncate("tmp/sparse", 100 * MEGABYTE) == 0);
    CHECK(backend_disk_sum(top) < MEGABYTE);
    end();
}

static void links_are_not_followed(void)
{
    begin();
    put("logs/large", (size_t)(2 * MEGABYTE));
    CHECK(symlink("../logs", "tmp/dir") == 0 && symlink("../logs/large", "tmp/f") == 0);
    CHECK(symlink(".", "ml/output/model/self") == 0);
    CHECK(backend_disk_sum(top) < MEGABYTE);
    CHECK(rename("tmp", "away") == 0 && symlink("logs", "tmp") == 0);
    CHECK(backend_disk_sum(top) < MEGABYTE); /* the directory itself may be one, too */
    end();
}

static void a_directory_that_nobody_may_read_counts(void)
{
    begin();
    CHECK(fs_mkdirs("tmp/hidden/deep", 0700, &err) == RC_OK);
    put("tmp/hidden/deep/f", (size_t)(2 * MEGABYTE));
    CHECK(chmod("tmp/hidden/deep", 0) == 0 && chmod("tmp/hidden", 0) == 0 &&
          chmod("tmp", 0) == 0);
    CHECK_MEGABYTES(backend_disk_sum(top), 2);
    end();
}

static void nothing_is_there(void)
{
    CHECK_INT(backend_disk_sum("/nowhere/at/all"), 0);
}

/* As a supervisor asks: again and again, never waiting. */
static int64_t wait_for_look(struct backend_disk_look *l)
{
    int64_t sum = -1;
    for (int i = 0; i < 500 && sum < 0; i++) {
        sum = backend_disk_look(l, top, NULL, 0);
        if (sum < 0)
            poll(NULL, 0, 10);
    }
    return sum;
}

static void a_look_answers_later_and_starts_again_in_time(void)
{
    struct backend_disk_look l = {.pid = 0, .at = clock_mono_ns() - 60 * CLOCK_SECOND};
    begin();
    put("tmp/t", (size_t)MEGABYTE);
    CHECK_MEGABYTES(wait_for_look(&l), 1);
    CHECK_INT(l.pid, 0);
    CHECK_INT(backend_disk_look(&l, top, NULL, 0), -1); /* it is not time yet */
    CHECK_INT(l.pid, 0);
    put("tmp/u", (size_t)MEGABYTE);
    l.at -= 60 * CLOCK_SECOND;
    CHECK_MEGABYTES(wait_for_look(&l), 2);
    end();
}

static void a_look_can_be_given_up(void)
{
    struct backend_disk_look l = {.pid = 0, .at = clock_mono_ns() - 60 * CLOCK_SECOND};
    begin();
    CHECK_INT(backend_disk_look(&l, "/", NULL, 0), -1);
    CHECK(l.pid > 0);
    backend_disk_look_end(&l);
    backend_disk_look_end(&l);
    CHECK_INT(l.pid, 0);
    end();
}

/* Makes `n` directories, each in the one before, and stays in the last. */
static void go_down(const char *from, int n)
{
    CHECK(chdir(from) == 0);
    for (int i = 0; i < n; i++)
        CHECK(mkdir("d", 0700) == 0 && chdir("d") == 0);
}

static void depth_hides_nothing(void)
{
    begin();
    int64_t none = backend_disk_sum(top);
    go_down("ml/output/model", 700);
    put("f", (size_t)(8 * MEGABYTE));
    int64_t sum = backend_disk_sum(top) - none;
    CHECK(sum >= 8 * MEGABYTE && sum < 16 * MEGABYTE);
    end(); /* which removes it */
}

static void too_many_deep_directories_are_over_every_limit(void)
{
    char name[16];
    begin();
    go_down("tmp", 200);
    for (int i = 0; i < 600; i++) {
        snprintf(name, sizeof(name), "%d", i);
        CHECK(mkdir(name, 0700) == 0);
    }
    CHECK(backend_disk_sum(top) == DISK_BEYOND);
    end();
}

static const struct tap_case cases[] = {
    TAP(what_the_job_can_write_to_counts),
    TAP(a_sparse_file_counts_as_its_blocks),
    TAP(links_are_not_followed),
    TAP(a_directory_that_nobody_may_read_counts),
    TAP(nothing_is_there),
    TAP(a_look_answers_later_and_starts_again_in_time),
    TAP(a_look_can_be_given_up),
    TAP(depth_hides_nothing),
    TAP(too_many_deep_directories_are_over_every_limit),
};
TAP_MAIN(cases)
