/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping a snapshot and putting it back. A list is made first (snapshot_list.c); then every
 * object that is not there yet is written under its SHA-256, the list last. Restoring checks
 * each object against its name before it is written.
 */
#include "job/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/snapshot_private.h"
#include "job/space.h"

static enum rc keep_pieces(const char *objects, const struct job_snapshot_list *l,
                           struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < l->pieces.n && !rc; i++) {
        const char *id = l->pieces.at[i].key;
        char *path = job_snapshot_object_path(objects, id), *data = NULL;
        size_t n = 0;
        if (!fs_exists(path))
            rc = job_snapshot_piece_read(l, id, &data, &n, err);
        if (!rc && data)
            rc = job_snapshot_object_put(objects, id, data, n, NULL, err);
        mem_free(data);
        mem_free(path);
    }
    return rc;
}

static enum rc take(const char *objects, const char *source, bool data,
                    struct job_snapshot *out, struct err *err)
{
    struct job_snapshot_list l;
    enum rc rc = job_snapshot_list_make(source, data, &l, err);
    if (!rc)
        rc = keep_pieces(objects, &l, err);
    if (!rc)
        rc = job_snapshot_object_put(objects, l.is.id, buf_str(&l.text), l.text.n, NULL,
                                     err);
    if (!rc)
        *out = l.is;
    job_snapshot_list_release(&l);
    return rc;
}

enum rc job_snapshot_take(const char *objects, const char *source,
                          struct job_snapshot *out, struct err *err)
{
    return take(objects, source, false, out, err);
}

enum rc job_snapshot_take_data(const char *objects, const char *source,
                               struct job_snapshot *out, struct err *err)
{
    return take(objects, source, true, out, err);
}

/* Where the contents come from, and whose disk they go to. */
struct restoring {
    const char *objects, *to, *room;
};

static enum rc check_room(const struct restoring *r, size_t n, struct err *err)
{
    struct buf why;
    enum rc rc = RC_OK;
    buf_init(&why, 1000);
    if (r->room && job_space_short(r->room, (int64_t)n, &why))
        rc = err_coded(err, RC_IO, E3108, "%.400s", buf_str(&why));
    buf_release(&why);
    return rc;
}

static enum rc append_object(const struct restoring *r, const char *id, int fd,
                             const char *path, struct err *err)
{
    char *data = NULL, found[SHA256_TEXT_SIZE];
    struct sha256 s;
    size_t n = 0, done = 0;
    enum rc rc = job_snapshot_object_get(r->objects, id, &data, &n, err);
    if (rc)
        return rc;
    sha256_init(&s);
    sha256_add(&s, data, n);
    sha256_text(&s, found);
    rc = strcmp(found, id) == 0
             ? check_room(r, n, err)
             : err_coded(err, RC_FORMAT, E3004, "object %s was changed", id);
    while (!rc && done < n) {
        ssize_t put = write(fd, data + done, n - done);
        if (put < 0 && errno != EINTR)
            rc = err_sys(err, errno, "cannot write '%s'", path);
        done += put > 0 ? (size_t)put : 0;
    }
    mem_free(data);
    return rc;
}

static enum rc restore_file(const struct restoring *r, const struct job_snapshot_entry *e,
                            const char *path, struct err *err)
{
    enum rc rc = RC_OK;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, e->exec ? 0755 : 0644);
    if (fd < 0)
        return err_sys(err, errno, "cannot write '%s'", path);
    for (size_t i = 0; i < job_snapshot_entry_parts(e) && !rc; i++)
        rc = append_object(r, job_snapshot_entry_part(e, i), fd, path, err);
    if (close(fd) < 0 && !rc)
        rc = err_sys(err, errno, "cannot write '%s'", path);
    return rc;
}

static enum rc restore_entry(const struct restoring *r, const struct node *n,
                             struct err *err)
{
    struct job_snapshot_entry e;
    enum rc rc = job_snapshot_entry_read(n, &e, err);
    if (rc)
        return rc;
    char *path = fs_join(r->to, e.path), *dir = fs_dirname(path);
    rc = fs_mkdirs(dir, 0755, err);
    if (!rc && e.link) {
        unlink(path);
        if (symlink(e.link, path) < 0)
            rc = err_sys(err, errno, "cannot link '%s'", path);
    } else if (!rc) {
        rc = restore_file(r, &e, path, err);
    }
    mem_free(dir);
    mem_free(path);
    return rc;
}

enum rc job_snapshot_restore(const char *objects, const char *id, const char *to,
                             const char *room, struct err *err)
{
    struct restoring r = {.objects = objects, .to = to, .room = room};
    struct doc doc = {0};
    const struct node *list = NULL;
    char *text = NULL;
    enum rc rc = job_snapshot_list_open(objects, id, &doc, &text, &list, err);
    if (!rc)
        rc = fs_mkdirs(to, 0755, err);
    for (size_t i = 0; !rc && i < list->list.n; i++)
        rc = restore_entry(&r, list->list.at[i], err);
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    return rc;
}
