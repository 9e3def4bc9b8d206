/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots that were made on another machine, whose word is not taken: an object is kept
 * only when its content hashes to its name, and a list is believed only after
 * job_snapshot_look() went through it. Paths are relative, without "." and "..", and
 * never lead through a link listed before, so that restoring stays below its directory.
 * The same walk counts files and bytes and names the objects that are missing.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/snapshot.h"
#include "job/status.h"

#define LIST_MAX ((size_t)64 << 20)

bool job_snapshot_id_ok(const char *id)
{
    return strlen(id) == 64 && strspn(id, "0123456789abcdef") == 64;
}

static char *object_path(const char *objects, const char *id)
{
    return mem_printf("%s/%.2s/%s", objects, id, id + 2);
}

enum rc job_snapshot_object_put(const char *objects, const char *id, const void *data,
                                size_t n, struct err *err)
{
    char found[SHA256_TEXT_SIZE];
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, data, n);
    sha256_text(&s, found);
    if (!job_snapshot_id_ok(id) || strcmp(found, id) != 0)
        return err_coded(err, RC_INVAL, E3004,
                         "the content has the SHA-256 %s, not that of its name", found);
    char *path = object_path(objects, id), *dir = fs_dirname(path);
    enum rc rc = RC_OK;
    if (!fs_exists(path)) {
        rc = fs_mkdirs(dir, 0700, err);
        if (!rc)
            rc = job_file_put(path, data, n, 0600, err);
    }
    mem_free(dir);
    mem_free(path);
    return rc;
}

enum rc job_snapshot_object_get(const char *objects, const char *id, char **data,
                                size_t *n, struct err *err)
{
    if (!job_snapshot_id_ok(id))
        return err_coded(err, RC_NOTFOUND, E3004, "no object '%.80s'", id);
    char *path = object_path(objects, id);
    enum rc rc = fs_read(path, (size_t)SNAPSHOT_BYTES_MAX, data, n, err);
    mem_free(path);
    return rc;
}

struct looking {
    const char *objects;
    struct map links; /* paths that are links */
    struct map seen;  /* objects */
    struct job_snapshot *out;
    struct buf *missing;
    size_t n_missing;
};

/* Relative, plain, and no part of it a link of the same list. */
static bool path_ok(struct looking *l, const char *path)
{
    struct str rest = str_c(path), part;
    if (!*path || strlen(path) > 4000)
        return false;
    while (str_split(&rest, '/', &part)) {
        if (!part.n || str_is(part, ".") || str_is(part, ".."))
            return false;
        if (map_find(&l->links, str_of(path, (size_t)(part.p + part.n - path))))
            return false;
    }
    return path[strlen(path) - 1] != '/';
}

static void look_for(struct looking *l, const char *id)
{
    struct map_entry *e = map_put(&l->seen, str_c(id));
    struct stat st;
    if (e->value)
        return;
    e->value = l;
    char *path = object_path(l->objects, id);
    if (stat(path, &st) == 0) {
        l->out->bytes += st.st_size;
    } else {
        if (l->missing) {
            buf_puts(l->missing, l->n_missing ? ", " : "");
            buf_json_str(l->missing, id, strlen(id));
        }
        l->n_missing++;
    }
    mem_free(path);
}

static enum rc look_entry(struct looking *l, const struct node *e, struct err *err)
{
    const char *path = node_get_text(e, "path", NULL);
    const char *file = node_get_text(e, "file", NULL),
               *exec = node_get_text(e, "exec", NULL),
               *link = node_get_text(e, "link", NULL);
    int kinds = (file != NULL) + (exec != NULL) + (link != NULL);
    const char *id = file ? file : exec;
    if (!path || kinds != 1 || (id && !job_snapshot_id_ok(id)))
        return err_coded(err, RC_FORMAT, E3004, "a snapshot's list is malformed");
    if (!path_ok(l, path))
        return err_coded(err, RC_FORMAT, E3004, "'%.200s' is no path of a snapshot",
                         path);
    if (++l->out->files > SNAPSHOT_FILES_MAX)
        return err_coded(err, RC_INVAL, E3004, "more than %d files", SNAPSHOT_FILES_MAX);
    if (link)
        map_put(&l->links, str_c(path))->value = l;
    else
        look_for(l, id);
    return RC_OK;
}

enum rc job_snapshot_look(const char *objects, const char *id, struct job_snapshot *out,
                          struct buf *missing, size_t *n_missing, struct err *err)
{
    struct job_snapshot found = {.files = 0};
    struct looking l = {.objects = objects, .out = &found, .missing = missing};
    struct doc doc = {0};
    char *text = NULL;
    size_t n = 0;
    enum rc rc = job_snapshot_object_get(objects, id, &text, &n, err);
    if (rc) {
        if (err && rc == RC_NOTFOUND)
            err_coded(err, rc, E3004, "no snapshot '%.80s'", id);
        return rc;
    }
    const struct node *list =
        n < LIST_MAX && strlen(text) == n ? job_json_open(text, &doc) : NULL;
    if (!list || list->kind != NODE_LIST)
        rc = err_coded(err, RC_FORMAT, E3004, "%s is no list of files", id);
    for (size_t i = 0; !rc && i < list->list.n; i++)
        rc = look_entry(&l, list->list.at[i], err);
    if (!rc && found.bytes > SNAPSHOT_BYTES_MAX)
        rc = err_coded(err, RC_INVAL, E3004, "more than %jd MiB",
                       (intmax_t)(SNAPSHOT_BYTES_MAX >> 20));
    if (doc.src)
        doc_release(&doc);
    map_release(&l.links);
    map_release(&l.seen);
    mem_free(text);
    if (rc)
        return rc;
    memcpy(found.id, id, sizeof(found.id));
    *out = found;
    if (n_missing)
        *n_missing = l.n_missing;
    return RC_OK;
}
