/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/snapshot.h"
#include "job/space.h"
#include "job/storage.h"
#include "job/tree.h"
#include "tap.h"

static void a_large_file_is_cut_and_comes_back(void)
{
    char *dir;
    struct job_snapshot a, look;
    struct err err = {0};
    size_t n = 2 * SNAPSHOT_PART + 5, missing = 0;
    char *bytes = mem_alloc(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    CHECK(fs_temp_dir("ty-upload", &dir, NULL) == RC_OK);
    char *big = fs_join(dir, "big"), *objects = fs_join(dir, "o"),
         *to = fs_join(dir, "to"), *back = fs_join(to, "big");
    CHECK(fs_write(big, bytes, n, 0644, NULL) == RC_OK);
    CHECK_INT(job_snapshot_take_data(objects, big, &a, &err), RC_OK);
    CHECK_INT(a.files, 1);
    CHECK_INT(a.bytes, (int64_t)n);
    CHECK_INT(job_snapshot_look(objects, a.id, &look, NULL, &missing, &err), RC_OK);
    CHECK_INT(missing, 0);
    CHECK_INT(look.bytes, (int64_t)n);
    CHECK_INT(job_snapshot_restore(objects, a.id, to, NULL, &err), RC_OK);
    struct fs_map m;
    CHECK_INT(fs_map(back, &m, &err), RC_OK);
    CHECK_INT(m.n, n);
    CHECK(memcmp(m.data, bytes, n) == 0);
    fs_unmap(&m);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    char *all[] = {big, objects, to, back, dir, bytes};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        mem_free(all[i]);
}

static void a_file_that_changes_while_it_is_sent_is_noticed(void)
{
    char *dir, *data = NULL;
    struct job_snapshot_list l;
    struct err err = {0};
    size_t n = 0;
    CHECK(fs_temp_dir("ty-upload", &dir, NULL) == RC_OK);
    char *file = fs_join(dir, "f");
    CHECK(fs_write(file, "before", 6, 0644, NULL) == RC_OK);
    CHECK_INT(job_snapshot_list_make(dir, true, &l, &err), RC_OK);
    CHECK_INT(l.pieces.n, 1);
    const char *id = l.pieces.at[0].key;
    CHECK_INT(job_snapshot_piece_read(&l, id, &data, &n, &err), RC_OK);
    CHECK_INT(n, 6);
    mem_free(data);
    CHECK(fs_write(file, "behind", 6, 0644, NULL) == RC_OK);
    CHECK_INT(job_snapshot_piece_read(&l, id, &data, &n, &err), RC_INVAL);
    CHECK_HAS(err.msg, "changed while it was read");
    CHECK(fs_write(file, "be", 2, 0644, NULL) == RC_OK);
    CHECK_INT(job_snapshot_piece_read(&l, id, &data, &n, &err), RC_INVAL);
    CHECK_HAS(err.msg, "became shorter");
    job_snapshot_list_release(&l);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(file);
    mem_free(dir);
}

/* The snapshot of `files` files that are all the object `id`, and one of `parts` parts. */
static void list_often(const char *objects, const char *id, int files, int parts,
                       char out[SHA256_TEXT_SIZE])
{
    struct buf b;
    struct sha256 h;
    buf_init(&b, SNAPSHOT_LIST_MAX);
    buf_puts(&b, "[");
    for (int i = 0; i < files; i++)
        buf_printf(&b, "{\"file\": \"%s\", \"path\": \"f%d\"}, ", id, i);
    buf_puts(&b, "{\"parts\": [");
    for (int i = 0; i < parts; i++)
        buf_printf(&b, "%s\"%s\"", i ? ", " : "", id);
    buf_puts(&b, "], \"path\": \"parts\"}]");
    sha256_init(&h);
    sha256_add(&h, buf_str(&b), b.n);
    sha256_text(&h, out);
    CHECK(job_snapshot_object_put(objects, out, buf_str(&b), b.n, NULL, NULL) == RC_OK);
    buf_release(&b);
}

static void contents_that_are_named_often_count_as_often(void)
{
    enum { MIB = 1 << 20 };
    char *dir, one[SHA256_TEXT_SIZE], list[SHA256_TEXT_SIZE], *bytes = mem_calloc(1, MIB);
    struct err err = {0};
    struct job_snapshot s;
    struct sha256 h;
    CHECK(fs_temp_dir("ty-upload", &dir, NULL) == RC_OK);
    char *objects = fs_join(dir, "o"), *to = fs_join(dir, "to");
    sha256_init(&h);
    sha256_add(&h, bytes, MIB);
    sha256_text(&h, one);
    CHECK(job_snapshot_object_put(objects, one, bytes, MIB, NULL, NULL) == RC_OK);

    list_often(objects, one, 10, 20, list);
    CHECK_INT(job_snapshot_need(objects, list, false, &s, &err), RC_OK);
    CHECK_INT(s.bytes, 30 * MIB);
    CHECK_INT(s.sent, MIB);
    list_often(objects, one, 300, 300, list);
    CHECK_INT(job_snapshot_need(objects, list, false, &s, &err), RC_INVAL);
    CHECK_HAS(err.msg, "more than 512 MiB");
    CHECK_INT(job_snapshot_need(objects, list, true, &s, &err), RC_OK);
    list_often(objects, one, 500, 600, list);
    CHECK_INT(job_snapshot_need(objects, list, true, &s, &err), RC_INVAL);
    CHECK_HAS(err.msg, "1 MiB that were sent would become files of 1100 MiB");

    /* And none is put down where the disk would get too full. */
    CHECK_INT(job_space_keep(dir, INT64_MAX / 2, &err), RC_OK);
    CHECK_INT(job_snapshot_restore(objects, list, to, dir, &err), RC_IO);
    CHECK_INT(err.code, E3108);
    CHECK_INT(job_space_of(to), SPACE_FILE_LEAST); /* the first, without contents */
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    char *all[] = {objects, to, dir, bytes};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        mem_free(all[i]);
}

static void the_limit_of_a_user_is_counted(void)
{
    char *dir;
    struct err err = {0};
    CHECK(fs_temp_dir("ty-upload", &dir, NULL) == RC_OK);
    struct job_place p = {.dir = dir, .owner = "ann", .served = true};
    CHECK_INT(job_storage_count(&p, 60, 100, &err), RC_OK);
    CHECK_INT(job_storage_count(&p, 41, 100, &err), RC_INVAL);
    CHECK_INT(err.code, E5501);
    CHECK_INT(job_storage_counted(&p), 60);
    CHECK_INT(job_storage_count(&p, -50, 100, &err), RC_OK);
    CHECK_INT(job_storage_count(&p, 90, 100, &err), RC_OK);
    CHECK_INT(job_storage_counted(&p), 100);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(dir);
}

struct seen {
    char names[200];
};

static enum rc see(void *arg, const char *rel, int fd, const struct stat *st,
                   struct err *err)
{
    struct seen *s = arg;
    strcat(s->names, rel);
    strcat(s->names, " ");
    return RC_OK;
}

static void links_are_never_followed(void)
{
    char *dir;
    struct seen s = {""};
    CHECK(fs_temp_dir("ty-tree", &dir, NULL) == RC_OK);
    char *sub = fs_join(dir, "a/b"), *file = fs_join(sub, "f"), *out = fs_join(dir, "l"),
         *up = fs_join(dir, "a/up"), *pipe = fs_join(dir, "a/p");
    CHECK(fs_mkdirs(sub, 0755, NULL) == RC_OK);
    CHECK(fs_write(file, "x", 1, 0644, NULL) == RC_OK);
    CHECK(symlink("/etc/passwd", out) == 0 && symlink("b", up) == 0);
    CHECK(mkfifo(pipe, 0600) == 0);
    static const char *const bad[] = {"l",    "a/up/f", "a/p",    "a",    "",
                                      ".",    "..",     "a/../l", "/etc", "a//b",
                                      "a/b/", "none",   "a/b/f/x"};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(job_tree_open(dir, bad[i], false, NULL), -1);
        CHECK(job_tree_read(dir, bad[i], 100, &n) == NULL);
        CHECK(!job_tree_has(dir, bad[i], false));
    }
    char *text = job_tree_read(dir, "a/b/f", 1, &n);
    CHECK_STR(text, "x");
    CHECK(n == 1 && job_tree_read(dir, "a/b/f", 0, &n) == NULL);
    CHECK(job_tree_has(dir, "a/b", true) && !job_tree_has(dir, "a/up", true));
    mem_free(text);
    int fd = job_tree_open(dir, "a/b/f", false, NULL);
    CHECK(fd >= 0);
    close(fd);
    fd = job_tree_open(dir, "a", true, NULL);
    CHECK(fd >= 0);
    CHECK_INT(job_tree_walk(fd, see, &s, NULL), RC_OK);
    CHECK_STR(s.names, "b/f ");
    close(fd);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    char *all[] = {sub, file, out, up, pipe, dir};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        mem_free(all[i]);
}

static const struct tap_case cases[] = {
    TAP(a_large_file_is_cut_and_comes_back),
    TAP(a_file_that_changes_while_it_is_sent_is_noticed),
    TAP(contents_that_are_named_often_count_as_often),
    TAP(the_limit_of_a_user_is_counted),
    TAP(links_are_never_followed),
};

int main(int argc, char **argv)
{
    return tap_run(cases, ARRAY_LEN(cases), argc, argv);
}
