/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/guard.h"
#include "io/out.h"
#include "tap.h"

static char *dir; /* of the case */

static char *put(const char *name)
{
    char *path = fs_join(dir, name);
    CHECK(fs_write(path, "x", 1, 0644, NULL) == RC_OK);
    return path;
}

static void try_links_and_dots_are_the_same_file(void)
{
    char *in = put("in"), *hard = fs_join(dir, "hard"), *soft = fs_join(dir, "soft");
    char *dots = mem_printf("%s/../%s/in", dir, dir + 5);
    struct fs_names inputs = {.at = &in, .n = 1};
    CHECK(link(in, hard) == 0 && symlink("in", soft) == 0);
    const char *const same[] = {in, hard, soft, dots};
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        struct err err = {0};
        CHECK(io_guard_file(same[i], &inputs, true, &err) == RC_INVAL);
        CHECK(err.code == E0009);
    }
    mem_free(in);
    mem_free(hard);
    mem_free(soft);
    mem_free(dots);
}

static void try_what_exists_needs_overwrite(void)
{
    char *old = put("old"), *fresh = fs_join(dir, "fresh");
    struct err err = {0};
    CHECK(io_guard_file(fresh, NULL, false, &err) == RC_OK);
    CHECK(io_guard_file(old, NULL, true, &err) == RC_OK);
    CHECK(io_guard_file(old, NULL, false, &err) == RC_INVAL);
    CHECK(err.code == E0008);
    mem_free(old);
    mem_free(fresh);
}

static void try_a_directory_with_an_input_is_refused(void)
{
    char *sub = fs_join(dir, "d/e"), *other = fs_join(dir, "de");
    CHECK(fs_mkdirs(sub, 0755, NULL) == RC_OK && fs_mkdirs(other, 0755, NULL) == RC_OK);
    char *in = put("d/e/in"), *d = fs_join(dir, "d");
    struct fs_names inputs = {.at = &in, .n = 1};
    struct err err = {0};
    CHECK(io_guard_dir(d, &inputs, &err) == RC_INVAL && err.code == E0009);
    CHECK(io_guard_dir(other, &inputs, &err) == RC_OK);
    mem_free(sub);
    mem_free(other);
    mem_free(in);
    mem_free(d);
}

static void try_a_pipe_stays_a_pipe(void)
{
    char *path = fs_join(dir, "pipe");
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(io_is_direct(path) && io_is_direct("-") && !io_is_direct(dir));
    CHECK(io_guard_file(path, NULL, false, NULL) == RC_OK);
    mem_free(path);
}

/* Inputs of tomorrow: what lies in a directory that is read as a whole. */
static void try_an_output_among_inputs_is_refused(void)
{
    struct err err = {0};
    char *in = fs_join(dir, "in"), *deep = fs_join(in, "new/out.parquet");
    char *beside = fs_join(dir, "out.parquet"),
         *list = mem_printf("%s/x.csv,%s", dir, in);
    CHECK(fs_mkdirs(in, 0755, NULL) == RC_OK);
    CHECK(io_guard_outside(deep, list, &err) == RC_INVAL);
    CHECK(err.code == E0009 && strstr(err.msg, "would be an input the next time"));
    CHECK(io_guard_outside(beside, list, &err) == RC_OK);
    CHECK(io_guard_outside("-", in, &err) == RC_OK);
    mem_free(in);
    mem_free(deep);
    mem_free(beside);
    mem_free(list);
}

static void in_a_directory(void (*body)(void))
{
    CHECK(fs_temp_dir("guard", &dir, NULL) == RC_OK);
    body();
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

#define CASE(name)                  \
    static void name(void)          \
    {                               \
        in_a_directory(try_##name); \
    }
CASE(links_and_dots_are_the_same_file)
CASE(what_exists_needs_overwrite)
CASE(a_directory_with_an_input_is_refused)
CASE(a_pipe_stays_a_pipe)
CASE(an_output_among_inputs_is_refused)

static const struct tap_case cases[] = {
    TAP(links_and_dots_are_the_same_file),     TAP(what_exists_needs_overwrite),
    TAP(a_directory_with_an_input_is_refused), TAP(a_pipe_stays_a_pipe),
    TAP(an_output_among_inputs_is_refused),
};
TAP_MAIN(cases)
