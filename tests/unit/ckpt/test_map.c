/* SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/map.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static struct err err;

static enum rc read_text(const char *text, size_t n, struct ckpt_map *m)
{
    char *dir = NULL;
    err = (struct err){0};
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
    char *path = fs_join(dir, "map.txt");
    CHECK(fs_write(path, text, n, 0600, &err) == RC_OK);
    enum rc rc = ckpt_map_read(path, m, &err);
    /* Messages without the changing directory. */
    char *at = strstr(err.msg, dir);
    if (at)
        memmove(at, at + strlen(dir) + 1, strlen(at + strlen(dir)));
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(path);
    mem_free(dir);
    return rc;
}

static void names_are_found_whole_and_by_what_they_belong_to(void)
{
    int64_t live = mem_live();
    struct ckpt_map m;
    const char *rest, *text = "a.w\told.w\r\n\n  b   c \n\t\nlast\tx";
    CHECK(read_text(text, strlen(text), &m) == RC_OK);
    CHECK_INT(m.lines.n, 3);
    CHECK_STR(ckpt_map_find(&m, "a.w", &rest)->old, "old.w");
    CHECK_STR(rest, "");
    CHECK_STR(ckpt_map_find(&m, "a.w.momentum1", &rest)->old, "old.w");
    CHECK_STR(rest, ".momentum1");
    CHECK(ckpt_map_find(&m, "a.wide", &rest) == NULL);
    CHECK(ckpt_map_find(&m, "a", &rest) == NULL);
    CHECK(ckpt_map_find(&m, "", &rest) == NULL);
    CHECK_INT(ckpt_map_find(&m, "last", &rest)->line, 5);
    CHECK_INT(ckpt_map_find(&m, "b.c.d", &rest)->line, 3);
    ckpt_map_release(&m);
    CHECK_INT(mem_live(), live);
}

static void faults_have_line_numbers(void)
{
    static const struct {
        const char *text, *msg;
    } bad[] = {
        {"a\tb\nc\n", "file 'map.txt': line 2: 'c' stands alone, a second name must "
                      "follow it"},
        {"\na b c\n", "file 'map.txt': line 2: 'c' follows two names, a line holds no "
                      "more"},
        {"a\tb\n\na\tc\n", "file 'map.txt': line 3: 'a' was given in line 1 before"},
        {"a\tb\nx\xff\ty\n", "file 'map.txt': line 2: not text in UTF-8"},
    };
    int64_t live = mem_live();
    struct ckpt_map m;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK(read_text(bad[i].text, strlen(bad[i].text), &m) == RC_FORMAT);
        CHECK_STR(err.msg, bad[i].msg);
        CHECK_INT(err.code, E1511);
    }
    CHECK(read_text("a\0b c", 5, &m) == RC_FORMAT);
    CHECK_STR(err.msg, "file 'map.txt': line 1: not text in UTF-8");
    CHECK(ckpt_map_read("/no/such", &m, &err) == RC_NOTFOUND);
    CHECK_INT(mem_live(), live);
}

static const struct tap_case cases[] = {
    TAP(names_are_found_whole_and_by_what_they_belong_to),
    TAP(faults_have_line_numbers),
};
TAP_MAIN(cases)
