/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a snapshot and putting it back. job_snapshot_take() walks the directory in the
 * order of names, copies each file that no pattern leaves out to objects/ under its
 * SHA-256, unless it is there, and writes down paths, kinds and hashes as a JSON list,
 * which becomes an object too: its hash is the snapshot's id. The same files give the
 * same id. Restoring checks each object against its name before it is written.
 */
#include "job/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "job/file.h"
#include "job/ignore.h"
#include "job/status.h"

#define DEPTH_MAX 64
#define LIST_MAX ((size_t)64 << 20)

struct taking {
    const char *objects;
    struct job_ignore ignore;
    struct job_snapshot *out;
    struct buf list; /* JSON */
};

static char *object_path(const char *objects, const char *id)
{
    return mem_printf("%s/%.2s/%s", objects, id, id + 2);
}

/* Copies `from` to where its hash says, unless it is there. */
static enum rc keep(const char *objects, const char *from, const char *id,
                    struct err *err)
{
    char *path = object_path(objects, id), *data = NULL, *dir = fs_dirname(path);
    size_t n = 0;
    enum rc rc = RC_OK;
    if (!fs_exists(path)) {
        rc = fs_mkdirs(dir, 0700, err);
        if (!rc)
            rc = fs_read(from, (size_t)SNAPSHOT_BYTES_MAX, &data, &n, err);
        if (!rc)
            rc = job_file_put(path, data, n, 0600, err);
    }
    mem_free(data);
    mem_free(dir);
    mem_free(path);
    return rc;
}

static void list_entry(struct taking *t, const char *kind, const char *value,
                       const char *rel)
{
    buf_printf(&t->list, "%s{\"%s\": ", t->list.n > 1 ? ",\n" : "", kind);
    buf_json_str(&t->list, value, strlen(value));
    buf_puts(&t->list, ", \"path\": ");
    buf_json_str(&t->list, rel, strlen(rel));
    buf_putc(&t->list, '}');
}

static enum rc take_file(struct taking *t, const char *path, const char *rel,
                         const struct stat *st, struct err *err)
{
    char id[SHA256_TEXT_SIZE];
    int64_t bytes = 0;
    struct job_snapshot *o = t->out;
    if (++o->files > SNAPSHOT_FILES_MAX)
        return err_coded(err, RC_INVAL, E3004, "more than %d files", SNAPSHOT_FILES_MAX);
    if (st->st_size > SNAPSHOT_BYTES_MAX - o->bytes)
        return err_coded(err, RC_INVAL, E3004, "more than %jd MiB, at '%s'",
                         (intmax_t)(SNAPSHOT_BYTES_MAX >> 20), rel);
    enum rc rc = sha256_file(path, id, &bytes, err);
    if (!rc)
        rc = keep(t->objects, path, id, err);
    o->bytes += bytes;
    list_entry(t, st->st_mode & 0100 ? "exec" : "file", id, rel);
    return rc;
}

static enum rc take_dir(struct taking *t, const char *path, const char *rel, int depth,
                        struct err *err);

static enum rc take_entry(struct taking *t, const char *path, const char *rel, int depth,
                          struct err *err)
{
    struct stat st;
    char target[4096];
    if (lstat(path, &st) < 0)
        return err_sys(err, errno, "cannot look at '%s'", path);
    if (job_ignore_match(&t->ignore, rel, S_ISDIR(st.st_mode)))
        return RC_OK;
    if (S_ISDIR(st.st_mode))
        return take_dir(t, path, rel, depth + 1, err);
    if (S_ISREG(st.st_mode))
        return take_file(t, path, rel, &st, err);
    if (!S_ISLNK(st.st_mode))
        return RC_OK; /* sockets and their like are nobody's program */
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    if (n < 0)
        return err_sys(err, errno, "cannot read the link '%s'", path);
    target[n] = '\0';
    list_entry(t, "link", target, rel);
    return RC_OK;
}

static enum rc take_dir(struct taking *t, const char *path, const char *rel, int depth,
                        struct err *err)
{
    struct fs_names names = {0};
    if (depth > DEPTH_MAX)
        return err_coded(err, RC_INVAL, E3004, "nested deeper than %d at '%s'", DEPTH_MAX,
                         rel);
    enum rc rc = fs_list(path, &names, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < names.n && !rc; i++) {
        char *full = fs_join(path, names.at[i]);
        char *sub = *rel ? fs_join(rel, names.at[i]) : mem_strdup(names.at[i]);
        rc = take_entry(t, full, sub, depth, err);
        mem_free(sub);
        mem_free(full);
    }
    fs_names_release(&names);
    return rc;
}

static enum rc keep_list(struct taking *t, struct err *err)
{
    struct sha256 s;
    enum rc rc = buf_check(&t->list, err);
    if (rc)
        return rc;
    sha256_init(&s);
    sha256_add(&s, buf_str(&t->list), t->list.n);
    sha256_text(&s, t->out->id);
    char *path = object_path(t->objects, t->out->id), *dir = fs_dirname(path);
    if (!fs_exists(path)) {
        rc = fs_mkdirs(dir, 0700, err);
        if (!rc)
            rc = job_file_put(path, buf_str(&t->list), t->list.n, 0600, err);
    }
    mem_free(dir);
    mem_free(path);
    return rc;
}

enum rc job_snapshot_take(const char *objects, const char *source,
                          struct job_snapshot *out, struct err *err)
{
    struct job_snapshot result = {.files = 0};
    struct taking t = {.objects = objects, .out = &result};
    enum rc rc = RC_OK;
    if (!fs_is_dir(source))
        return err_coded(err, RC_NOTFOUND, E3004, "source '%s' is not a directory",
                         source);
    buf_init(&t.list, LIST_MAX);
    buf_putc(&t.list, '[');
    rc = job_ignore_open(source, &t.ignore, err);
    if (!rc)
        rc = take_dir(&t, source, "", 0, err);
    buf_puts(&t.list, "]\n");
    if (!rc)
        rc = keep_list(&t, err);
    job_ignore_release(&t.ignore);
    buf_release(&t.list);
    if (rc) {
        if (err && err->code == E_NONE)
            err->code = E3004;
        return err_wrap(err, rc, "source '%s'", source);
    }
    *out = result;
    return RC_OK;
}

static enum rc put_file(const char *objects, const char *id, const char *path,
                        mode_t mode, struct err *err)
{
    char *from = object_path(objects, id), *data = NULL;
    char found[SHA256_TEXT_SIZE];
    struct sha256 s;
    size_t n = 0;
    enum rc rc = fs_read(from, (size_t)SNAPSHOT_BYTES_MAX, &data, &n, err);
    if (!rc) {
        sha256_init(&s);
        sha256_add(&s, data, n);
        sha256_text(&s, found);
        if (strcmp(found, id) != 0)
            rc = err_coded(err, RC_FORMAT, E3004, "object %s was changed", id);
    }
    if (!rc) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
        if (fd < 0 || write(fd, data, n) != (ssize_t)n)
            rc = err_sys(err, errno, "cannot write '%s'", path);
        if (fd >= 0)
            close(fd);
    }
    mem_free(data);
    mem_free(from);
    return rc;
}

static enum rc put_entry(const char *objects, const struct node *e, const char *to,
                         struct err *err)
{
    const char *rel = node_get_text(e, "path", NULL);
    const char *file = node_get_text(e, "file", NULL),
               *exec = node_get_text(e, "exec", NULL);
    const char *link = node_get_text(e, "link", NULL);
    if (!rel || (!file && !exec && !link))
        return err_coded(err, RC_FORMAT, E3004, "a snapshot's list is malformed");
    char *path = fs_join(to, rel), *dir = fs_dirname(path);
    enum rc rc = fs_mkdirs(dir, 0755, err);
    if (!rc && link) {
        unlink(path);
        if (symlink(link, path) < 0)
            rc = err_sys(err, errno, "cannot link '%s'", path);
    } else if (!rc) {
        rc = put_file(objects, file ? file : exec, path, exec ? 0755 : 0644, err);
    }
    mem_free(dir);
    mem_free(path);
    return rc;
}

enum rc job_snapshot_restore(const char *objects, const char *id, const char *to,
                             struct err *err)
{
    struct doc doc = {0};
    char *path = object_path(objects, id), *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, LIST_MAX, &text, &n, err);
    mem_free(path);
    if (!rc)
        rc = fs_mkdirs(to, 0755, err);
    if (rc) {
        mem_free(text);
        return rc;
    }
    const struct node *list = job_json_open(text, &doc);
    if (!list || list->kind != NODE_LIST)
        rc = err_coded(err, RC_FORMAT, E3004, "the list of snapshot %s is malformed", id);
    for (size_t i = 0; !rc && i < list->list.n; i++)
        rc = put_entry(objects, list->list.at[i], to, err);
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    return rc;
}
