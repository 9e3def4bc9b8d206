/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "tap.h"

static char *dir; /* of the current case */
static struct err err;

static char *in_dir(const char *name)
{
    return fs_join(dir, name);
}

static void begin(void)
{
    err = (struct err){0};
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
}

static void end(void)
{
    CHECK(fs_remove_all(dir, &err) == RC_OK);
    CHECK(!fs_exists(dir));
    mem_free(dir);
}

static void what_is_written_is_read(void)
{
    begin();
    int64_t live = mem_live();
    char *path = in_dir("a.txt"), *data = NULL;
    size_t n = 0;
    struct stat st;
    umask(077);
    CHECK(fs_write(path, "ab\0c", 4, 0644, &err) == RC_OK);
    umask(022);
    CHECK(fs_read(path, 4, &data, &n, &err) == RC_OK);
    CHECK_INT(n, 4);
    CHECK(data && memcmp(data, "ab\0c", 5) == 0);
    CHECK(stat(path, &st) == 0);
    CHECK_INT(st.st_mode & 07777, 0644);
    mem_free(data);
    CHECK(fs_write(path, "", 0, 0600, &err) == RC_OK);
    CHECK(fs_read(path, 0, &data, &n, &err) == RC_OK);
    CHECK_STR(data, "");
    CHECK_INT(n, 0);
    mem_free(data);
    mem_free(path);
    CHECK_INT(mem_live(), live);
    end();
}

static void reading_has_a_ceiling(void)
{
    begin();
    char *path = in_dir("a"), *data = NULL, *want;
    size_t n = 7;
    CHECK(fs_write(path, "12345", 5, 0600, &err) == RC_OK);
    CHECK(fs_read(path, 4, &data, &n, &err) == RC_INVAL);
    want = mem_printf("file '%s': larger than 4 bytes", path);
    CHECK_STR(err.msg, want);
    CHECK(data == NULL && n == 7);
    CHECK(fs_read("/dev/zero", 100000, &data, &n, &err) == RC_INVAL);
    CHECK_STR(err.msg, "file '/dev/zero': larger than 100000 bytes");
    CHECK(fs_read("/proc/self/status", 1 << 20, &data, &n, &err) == RC_OK);
    CHECK(n > 100);
    mem_free(data);
    mem_free(want);
    mem_free(path);
    end();
}

static void missing_files_are_notfound(void)
{
    char *data = NULL;
    size_t n;
    struct fs_map map = {0};
    CHECK(fs_read("/no/such", 10, &data, &n, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "file '/no/such': cannot open: No such file or directory");
    CHECK(fs_map("/no/such", &map, &err) == RC_NOTFOUND);
    CHECK(map.data == NULL);
    CHECK(fs_write("/no/such", "", 0, 0600, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "file '/no/such': cannot create: No such file or directory");
    CHECK(fs_read("/tmp", 10, &data, &n, &err) == RC_IO);
    CHECK_STR(err.msg, "file '/tmp': cannot read: Is a directory");
}

static void shortage_of_memory_is_reported(void)
{
    char *data = NULL;
    size_t n;
    int64_t live = mem_live(), at = 1;
    enum rc rc;
    do { /* a stream without a known size makes the buffer grow */
        mem_fail_at(at++);
        rc = fs_read("/dev/zero", 1 << 20, &data, &n, &err);
        mem_fail_at(0);
        CHECK(rc == RC_NOMEM || rc == RC_INVAL);
        CHECK_INT(mem_live(), live);
    } while (rc == RC_NOMEM);
    CHECK(at > 4);
}

/* The hook counts calls, acts on the n-th, and looks at the file each time. */
struct watch {
    const char *path, *before, *after;
    int64_t at, seen;
    int action; /* an errno or FS_SHORT */
    bool renamed, hit;
    enum fs_call hit_call;
};

static bool holds(const char *path, const char *text)
{
    FILE *f = fopen(path, "re");
    char got[64] = "";
    size_t n = f ? fread(got, 1, sizeof(got) - 1, f) : 0;
    if (f)
        fclose(f);
    return f && n == strlen(text) && strcmp(got, text) == 0;
}

static int look(void *arg, enum fs_call call)
{
    struct watch *w = arg;
    CHECK(holds(w->path, w->before) || (w->renamed && holds(w->path, w->after)));
    int action = ++w->seen == w->at ? w->action : 0;
    if (w->seen == w->at) {
        w->hit = true;
        w->hit_call = call;
    }
    w->renamed |= call == FS_RENAME && action <= 0;
    return action;
}

static void there_is_always_a_complete_file(void)
{
    static const int actions[] = {ENOSPC, EIO, FS_SHORT};
    begin();
    char *path = in_dir("state");
    for (size_t k = 0; k < ARRAY_LEN(actions); k++) {
        for (int64_t at = 1;; at++) {
            CHECK(fs_write(path, "old text", 8, 0600, &err) == RC_OK);
            int64_t live = mem_live();
            struct watch w = {.path = path,
                              .before = "old text",
                              .after = "new, longer text",
                              .at = at,
                              .action = actions[k]};
            fs_set_hook(look, &w);
            enum rc rc = fs_write(path, w.after, strlen(w.after), 0600, &err);
            fs_set_hook(NULL, NULL);
            CHECK_INT(mem_live(), live);
            struct fs_names names;
            CHECK(fs_list(dir, &names, &err) == RC_OK);
            CHECK_INT(names.n, 1); /* no temporary file stays */
            fs_names_release(&names);
            CHECK(holds(path, rc && !w.renamed ? w.before : w.after));
            if (!w.hit) {
                CHECK(rc == RC_OK);
                CHECK(at > 8);
                break;
            }
            CHECK(rc == (actions[k] == FS_SHORT ? RC_OK : RC_IO));
        }
    }
    mem_free(path);
    end();
}

static void refusals_say_what_failed(void)
{
    static const char *const words[] = {
        [FS_OPEN] = "cannot create: ",
        [FS_CHMOD] = "cannot set mode 0600: ",
        [FS_WRITE] = "cannot write: ",
        [FS_SYNC] = "cannot sync: ",
        [FS_CLOSE] = "cannot close: ",
        [FS_RENAME] = "' to it: ",
        [FS_SYNC_DIR] = "cannot sync its directory '",
    };
    begin();
    char *path = in_dir("state");
    CHECK(fs_write(path, "old", 3, 0600, &err) == RC_OK);
    for (int64_t at = 1; at <= 8; at++) {
        if (at == 7)
            continue; /* opens the directory: the same words as syncing it */
        struct watch w = {
            .path = path, .before = "old", .after = "new", .at = at, .action = ENOSPC};
        fs_set_hook(look, &w);
        CHECK(fs_write(path, "new", 3, 0600, &err) == RC_IO);
        fs_set_hook(NULL, NULL);
        CHECK(w.hit_call <= FS_SYNC_DIR && w.hit_call != FS_READ);
        CHECK_HAS(err.msg, words[w.hit_call]);
        CHECK_HAS(err.msg, "No space left on device");
        CHECK_HAS(err.msg, path);
    }
    mem_free(path);
    end();
}

static int always_short(void *arg, enum fs_call call)
{
    return call == FS_READ ? FS_SHORT : 0;
}

static int no_read(void *arg, enum fs_call call)
{
    return call == FS_READ ? EIO : 0;
}

static void short_reads_are_put_together(void)
{
    begin();
    char *path = in_dir("a"), *data = NULL;
    size_t n = 0;
    CHECK(fs_write(path, "hello", 5, 0600, &err) == RC_OK);
    fs_set_hook(always_short, NULL);
    CHECK(fs_read(path, 100, &data, &n, &err) == RC_OK);
    CHECK_STR(data, "hello");
    mem_free(data);
    data = NULL;
    fs_set_hook(no_read, NULL);
    CHECK(fs_read(path, 100, &data, &n, &err) == RC_IO);
    CHECK_HAS(err.msg, "cannot read: Input/output error");
    CHECK(data == NULL);
    fs_set_hook(NULL, NULL);
    mem_free(path);
    end();
}

static int no_sync_dir(void *arg, enum fs_call call)
{
    return call == FS_SYNC_DIR ? EIO : 0;
}

static int no_rename(void *arg, enum fs_call call)
{
    return call == FS_RENAME ? EXDEV : 0;
}

static void a_directory_is_moved_or_exchanged(void)
{
    begin();
    char *a = in_dir("a"), *b = in_dir("b"), *file = in_dir("a/x"),
         *moved = in_dir("b/x");
    CHECK(fs_mkdirs(a, 0700, &err) == RC_OK);
    CHECK(fs_write(file, "1", 1, 0600, &err) == RC_OK);
    fs_set_hook(no_rename, NULL);
    CHECK(fs_move(a, b, &err) == RC_IO);
    CHECK_HAS(err.msg, "cannot rename '");
    CHECK(fs_exists(file) && !fs_exists(b));
    fs_set_hook(NULL, NULL);
    CHECK(fs_move(a, b, &err) == RC_OK);
    CHECK(!fs_exists(a) && holds(moved, "1"));
    CHECK(fs_mkdirs(a, 0700, &err) == RC_OK);
    CHECK(fs_write(file, "2", 1, 0600, &err) == RC_OK);
    fs_set_hook(no_sync_dir, NULL);
    CHECK(fs_move(a, b, &err) == RC_IO); /* moved all the same */
    CHECK_HAS(err.msg, "cannot sync its directory");
    fs_set_hook(NULL, NULL);
    CHECK(holds(moved, "2") && holds(file, "1"));
    CHECK(fs_move("/no/such", b, &err) == RC_NOTFOUND);
    mem_free(a);
    mem_free(b);
    mem_free(file);
    mem_free(moved);
    end();
}

static int no_room(void *arg, enum fs_call call)
{
    return call == FS_WRITE ? ENOSPC : 0;
}

static int one_byte(void *arg, enum fs_call call)
{
    return call == FS_WRITE ? FS_SHORT : 0;
}

static void others_write_their_part_of_a_file(void)
{
    begin();
    char *path = in_dir("a.txt"), *data = NULL;
    size_t n = 0;
    struct fs_file *f = NULL;
    struct fs_part *p = NULL;
    CHECK(fs_create(path, 0644, &f, &err) == RC_OK);
    CHECK(fs_append(f, "ab", 2, &err) == RC_OK);
    CHECK(fs_part_open(fs_file_temp(f), &p, &err) == RC_OK);
    fs_set_hook(one_byte, NULL);
    CHECK(fs_part_write(p, 3, "def", 3, &err) == RC_OK);
    CHECK(fs_part_write(p, 2, "c", 1, &err) == RC_OK);
    fs_set_hook(no_room, NULL);
    CHECK(fs_part_write(p, 2, "c", 1, &err) == RC_IO);
    fs_set_hook(NULL, NULL);
    CHECK_HAS(err.msg, "cannot write: No space left on device");
    CHECK(fs_part_close(p, true, &err) == RC_OK);
    CHECK(fs_part_close(NULL, true, &err) == RC_OK);
    CHECK(fs_file_skip(f, 4, &err) == RC_OK);
    CHECK(fs_append(f, "g", 1, &err) == RC_OK);
    CHECK(fs_commit(f, &err) == RC_OK);
    CHECK(fs_read(path, 100, &data, &n, &err) == RC_OK);
    CHECK_STR(data, "abcdefg");
    mem_free(data);
    mem_free(path);
    path = in_dir("nothing");
    CHECK(fs_part_open(path, &p, &err) == RC_NOTFOUND);
    mem_free(path);
    end();
}

static void an_abandoned_file_leaves_nothing(void)
{
    begin();
    int64_t live = mem_live();
    char *path = in_dir("big");
    struct fs_file *f = NULL;
    struct fs_names names;
    CHECK(fs_create(path, 0600, &f, &err) == RC_OK);
    CHECK(fs_append(f, "part 1,", 7, &err) == RC_OK);
    CHECK(!fs_exists(path));
    fs_abandon(f);
    fs_abandon(NULL);
    CHECK(fs_list(dir, &names, &err) == RC_OK);
    CHECK_INT(names.n, 0);
    fs_names_release(&names);
    CHECK(fs_create(path, 0600, &f, &err) == RC_OK);
    CHECK(fs_append(f, "part 1,", 7, &err) == RC_OK);
    CHECK(fs_append(f, "part 2", 6, &err) == RC_OK);
    CHECK(pwrite(fs_file_fd(f), "P", 1, 0) == 1);
    CHECK(fs_commit(f, &err) == RC_OK);
    CHECK(holds(path, "Part 1,part 2"));
    mem_free(path);
    CHECK_INT(mem_live(), live);
    end();
}

static void directories_are_made_listed_and_removed(void)
{
    begin();
    char *deep = in_dir("x//y/z/"), *file = in_dir("x/b"), *other = in_dir("x/a"),
         *x = in_dir("x");
    struct fs_names names;
    CHECK(fs_mkdirs(deep, 0755, &err) == RC_OK);
    CHECK(fs_mkdirs(deep, 0755, &err) == RC_OK);
    CHECK(fs_is_dir(deep));
    CHECK(fs_write(file, "", 0, 0600, &err) == RC_OK);
    CHECK(fs_write(other, "", 0, 0600, &err) == RC_OK);
    CHECK(fs_list(x, &names, &err) == RC_OK);
    CHECK_INT(names.n, 3);
    CHECK_STR(names.at[0], "a");
    CHECK_STR(names.at[1], "b");
    CHECK_STR(names.at[2], "y");
    fs_names_release(&names);
    fs_names_release(&names);
    CHECK(fs_list(file, &names, &err) == RC_IO);
    CHECK_HAS(err.msg, "x/b': Not a directory");
    CHECK(fs_mkdirs(file, 0755, &err) == RC_IO);
    CHECK_HAS(err.msg, "cannot make directory '");
    CHECK_HAS(err.msg, "x/b': File exists");
    CHECK(!fs_is_dir(file) && fs_exists(file));
    CHECK(fs_remove_all(x, &err) == RC_OK);
    CHECK(fs_remove_all(x, &err) == RC_OK);
    CHECK(!fs_exists(x));
    mem_free(deep);
    mem_free(file);
    mem_free(other);
    mem_free(x);
    end();
}

/* Deeper than there are descriptors or names of that length, and beside it what a move up
 * to the root would meet.
 */
static void a_deep_tree_is_removed(void)
{
    begin();
    char *x = in_dir("x"), *taken = in_dir("x/.ty-deep-0/f");
    char *home = getcwd(NULL, 0);
    CHECK(fs_mkdirs(x, 0755, &err) == RC_OK && chdir(x) == 0);
    for (int i = 0; i < 3000; i++) {
        CHECK(mkdir("d", 0700) == 0 && mkdir("e", 0500) == 0);
        CHECK(chdir("d") == 0);
    }
    CHECK(fs_write("f", "x", 1, 0600, &err) == RC_OK);
    CHECK(chdir(home) == 0);
    char *beside = fs_dirname(taken);
    CHECK(fs_mkdirs(beside, 0755, &err) == RC_OK);
    CHECK(fs_write(taken, "x", 1, 0600, &err) == RC_OK);
    CHECK(fs_remove_all(x, &err) == RC_OK);
    CHECK(!fs_exists(x));
    free(home);
    mem_free(beside);
    mem_free(taken);
    mem_free(x);
    end();
}

/* Root may do all of it anyway: then this only shows that modes change nothing else. */
static void modes_do_not_keep_the_owner_out(void)
{
    begin();
    struct stat st;
    char *top = in_dir("top"), *deep = in_dir("top/a/b"), *a = in_dir("top/a"),
         *file = in_dir("top/a/b/f"), *link = in_dir("top/link"), *keep = in_dir("keep");
    CHECK(fs_mkdirs(deep, 0755, &err) == RC_OK);
    CHECK(fs_write(file, "x", 1, 0600, &err) == RC_OK);
    CHECK(fs_write(keep, "x", 1, 0600, &err) == RC_OK);
    CHECK(symlink(keep, link) == 0 && chmod(keep, 0) == 0);
    CHECK(chmod(file, 0) == 0 && chmod(deep, 0) == 0 && chmod(a, 0500) == 0);
    int at = fs_open_own(AT_FDCWD, deep, O_DIRECTORY);
    CHECK(at >= 0);
    CHECK(fstat(at, &st) == 0 && (st.st_mode & 0700) == 0700);
    int fd = fs_open_own(at, "f", 0);
    CHECK(fd >= 0);
    close(fd);
    close(at);
    CHECK(fs_open_own(AT_FDCWD, link, 0) < 0);
    CHECK_INT(errno, ELOOP);
    CHECK(fs_open_own(AT_FDCWD, file, O_DIRECTORY) < 0);
    CHECK_INT(errno, ENOTDIR);
    CHECK(chmod(file, 0) == 0 && chmod(deep, 0) == 0 && chmod(a, 0) == 0);
    CHECK(fs_remove_all(top, &err) == RC_OK);
    CHECK(!fs_exists(top));
    CHECK(stat(keep, &st) == 0 && (st.st_mode & 0777) == 0);
    mem_free(keep);
    mem_free(link);
    mem_free(file);
    mem_free(a);
    mem_free(deep);
    mem_free(top);
    end();
}

static void removal_does_not_follow_links(void)
{
    begin();
    char *keep = in_dir("keep"), *inside = in_dir("keep/file"), *gone = in_dir("gone"),
         *link_dir = in_dir("gone/dir"), *link_top = in_dir("top");
    CHECK(fs_mkdirs(keep, 0755, &err) == RC_OK && fs_mkdirs(gone, 0755, &err) == RC_OK);
    CHECK(fs_write(inside, "x", 1, 0600, &err) == RC_OK);
    CHECK(symlink(keep, link_dir) == 0 && symlink(keep, link_top) == 0);
    CHECK(fs_remove_all(gone, &err) == RC_OK);
    CHECK(fs_remove_all(link_top, &err) == RC_OK);
    CHECK(!fs_exists(gone) && !fs_exists(link_top));
    CHECK(fs_exists(inside));
    mem_free(keep);
    mem_free(inside);
    mem_free(gone);
    mem_free(link_dir);
    mem_free(link_top);
    end();
}

static void paths_are_taken_apart(void)
{
    static const struct {
        const char *path, *dir, *base;
    } want[] = {
        {"a/b", "a", "b"}, {"a/b/", "a", "b"}, {"a", ".", "a"},
        {"/a", "/", "a"},  {"/", "/", "/"},    {"//a//b", "//a", "b"},
        {"", ".", ""},     {"a//", ".", "a"},  {"/x/y.z/w", "/x/y.z", "w"},
    };
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        char *d = fs_dirname(want[i].path), *b = fs_basename(want[i].path);
        CHECK_STR(d, want[i].dir);
        CHECK_STR(b, want[i].base);
        mem_free(d);
        mem_free(b);
    }
    static const char *const joins[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"}, {"", "b", "b"}};
    for (size_t i = 0; i < ARRAY_LEN(joins); i++) {
        char *j = fs_join(joins[i][0], joins[i][1]);
        CHECK_STR(j, joins[i][2]);
        mem_free(j);
    }
}

static void files_are_mapped(void)
{
    begin();
    char *path = in_dir("m");
    struct fs_map map = {0};
    CHECK(fs_write(path, "hello", 5, 0600, &err) == RC_OK);
    CHECK(fs_map(path, &map, &err) == RC_OK);
    CHECK(map.n == 5 && memcmp(map.data, "hello", 5) == 0);
    fs_unmap(&map);
    fs_unmap(&map);
    CHECK(fs_write(path, "", 0, 0600, &err) == RC_OK);
    CHECK(fs_map(path, &map, &err) == RC_OK);
    CHECK(map.n == 0 && map.data != NULL);
    fs_unmap(&map);
    CHECK(fs_map(dir, &map, &err) == RC_INVAL);
    CHECK_HAS(err.msg, "not a regular file");
    mem_free(path);
    end();
}

static void space_is_known(void)
{
    int64_t available = -1, total = -1;
    CHECK(fs_space("/", &available, &total, &err) == RC_OK);
    CHECK(available >= 0 && total >= available);
    CHECK(fs_space("/no/such", &available, &total, &err) == RC_NOTFOUND);
    CHECK(fs_files("/", &available, &total, &err) == RC_OK);
    CHECK(available >= 0 && total >= available);
    CHECK(fs_files("/no/such", &available, &total, &err) == RC_NOTFOUND);
}

static void temporary_directories_honour_tmpdir(void)
{
    begin();
    char *path = NULL;
    setenv("TMPDIR", "/no/such", 1);
    CHECK(fs_temp_dir("x", &path, &err) == RC_NOTFOUND);
    CHECK_HAS(err.msg, "cannot make directory '/no/such/x-");
    setenv("TMPDIR", dir, 1);
    CHECK(fs_temp_dir("x", &path, &err) == RC_OK);
    CHECK(path && str_starts(path, dir) && fs_is_dir(path));
    mem_free(path);
    unsetenv("TMPDIR");
    end();
}

static const struct tap_case cases[] = {
    TAP(what_is_written_is_read),
    TAP(reading_has_a_ceiling),
    TAP(missing_files_are_notfound),
    TAP(shortage_of_memory_is_reported),
    TAP(there_is_always_a_complete_file),
    TAP(refusals_say_what_failed),
    TAP(short_reads_are_put_together),
    TAP(a_directory_is_moved_or_exchanged),
    TAP(others_write_their_part_of_a_file),
    TAP(an_abandoned_file_leaves_nothing),
    TAP(directories_are_made_listed_and_removed),
    TAP(removal_does_not_follow_links),
    TAP(modes_do_not_keep_the_owner_out),
    TAP(a_deep_tree_is_removed),
    TAP(paths_are_taken_apart),
    TAP(files_are_mapped),
    TAP(space_is_known),
    TAP(temporary_directories_honour_tmpdir),
};
TAP_MAIN(cases)
