/* SPDX-License-Identifier: Apache-2.0 */
#include "data/files.h"
#include "rows_of.h"

static void touch(const char *dir, const char *name)
{
    struct err err = {0};
    char *path = fs_join(dir, name), *parent = fs_dirname(path);
    OK(fs_mkdirs(parent, 0777, &err));
    OK(fs_write(path, "x", 1, 0644, &err));
    mem_free(parent);
    mem_free(path);
}

/* `input` with D for the directory; the result with the directory cut off. */
static void check_expands(const char *dir, const char *input, const char *want)
{
    struct err err = {0};
    struct fs_names names = {0};
    struct buf full, got;
    buf_init(&full, 1 << 16);
    buf_init(&got, 1 << 16);
    for (const char *p = input; *p; p++)
        if (*p == 'D')
            buf_puts(&full, dir);
        else
            buf_putc(&full, *p);
    enum rc rc = files_expand(buf_str(&full), &names, &err);
    for (size_t i = 0; i < names.n; i++)
        buf_printf(&got, "%s%s", i ? " " : "", names.at[i] + strlen(dir) + 1);
    for (const char *p = rc ? err.msg : ""; *p; p++) {
        bool at_dir = str_starts(p, dir);
        buf_putc(&got, at_dir ? 'D' : *p);
        p += at_dir ? strlen(dir) - 1 : 0;
    }
    CHECK_STR(buf_str(&got), want);
    fs_names_release(&names);
    buf_release(&full);
    buf_release(&got);
}

static void paths_stand_for_files(void)
{
    static const struct {
        const char *input, *want;
    } cases[] = {
        {"D/a.csv", "a.csv"},
        {"D", "a,b.csv a.csv b.csv sub/c.csv sub/deep/d.csv"},
        {"D/", "a,b.csv a.csv b.csv sub/c.csv sub/deep/d.csv"},
        {"D/*.csv", "a,b.csv a.csv b.csv"},
        {"D/?.csv", "a.csv b.csv"},
        {"D/[b-z].csv", "b.csv"},
        {"D/*/*.csv", "sub/c.csv"},
        {"D/**/*.csv", "a,b.csv a.csv b.csv sub/c.csv sub/deep/d.csv"},
        {"D/**/d.csv", "sub/deep/d.csv"},
        {"D/sub/**", "sub/c.csv sub/deep/d.csv"},
        {"D/b.csv,D/a.csv", "b.csv a.csv"},
        {"D/b.csv, D/*.csv ,", "b.csv a,b.csv a.csv"},
        {"D/a,b.csv", "a,b.csv"},
        {"D/x*.csv", "no file matches 'D/x*.csv'"},
        {"D/x.csv", "'D/x.csv' does not exist"},
        {"D/a.csv,D/x.csv", "'D/x.csv' does not exist"},
        {"D/empty", "directory 'D/empty' holds no data files"},
        {" , ", "the input path is empty"},
    };
    struct err err = {0};
    char *dir = rows_dir(), *empty = fs_join(dir, "empty");
    static const char *const files[] = {"b.csv",     "a.csv",          "a,b.csv",
                                        "sub/c.csv", "sub/deep/d.csv", ".hidden.csv",
                                        "_SUCCESS",  "_tmp/e.csv"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        touch(dir, files[i]);
    OK(fs_mkdirs(empty, 0777, &err));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_expands(dir, cases[i].input, cases[i].want);
    mem_free(empty);
    rows_drop(dir);
}

static const struct tap_case cases[] = {
    TAP(paths_stand_for_files),
};
TAP_MAIN(cases)
