/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots that were made on another machine, whose word is not taken: an object is kept
 * only when its content hashes to its name, and a list is believed only after
 * job_snapshot_look() went through it. Paths are relative, without "." and "..", and
 * never lead through a link listed before, so that restoring stays below its directory.
 * The same walk counts files and bytes and names the objects that are missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/name.h"
#include "job/snapshot_private.h"
#include "job/status.h"

bool job_snapshot_id_ok(const char *id)
{
    return strlen(id) == 64 && strspn(id, "0123456789abcdef") == 64;
}

char *job_snapshot_object_path(const char *objects, const char *id)
{
    return mem_printf("%s/%.2s/%s", objects, id, id + 2);
}

/* Wanted again: it is young once more. The time of a file that a store of artifacts has as well
 * (job/artifacts.h) tells when that store was asked.
 */
static void touch(const char *path, const struct stat *st)
{
    if (st->st_mode & S_IWUSR)
        utimensat(AT_FDCWD, path, NULL, 0);
}

enum rc job_snapshot_object_put(const char *objects, const char *id, const void *data,
                                size_t n, bool *added, struct err *err)
{
    char found[SHA256_TEXT_SIZE];
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, data, n);
    sha256_text(&s, found);
    if (!job_snapshot_id_ok(id) || strcmp(found, id) != 0)
        return err_coded(err, RC_INVAL, E3004,
                         "the content has the SHA-256 %s, not that of its name", found);
    char *path = job_snapshot_object_path(objects, id), *dir = fs_dirname(path);
    enum rc rc = RC_OK;
    struct stat st;
    bool new = stat(path, &st) < 0;
    if (new)
        rc = fs_mkdirs(dir, 0700, err);
    if (new && !rc)
        rc = job_file_put(path, data, n, 0600, err);
    else if (!rc)
        touch(path, &st);
    if (added)
        *added = new && !rc;
    mem_free(dir);
    mem_free(path);
    return rc;
}

enum rc job_snapshot_object_get(const char *objects, const char *id, char **data,
                                size_t *n, struct err *err)
{
    if (!job_snapshot_id_ok(id))
        return err_coded(err, RC_NOTFOUND, E3004, "no object '%.80s'", id);
    char *path = job_snapshot_object_path(objects, id);
    enum rc rc = fs_read(path, (size_t)SNAPSHOT_BYTES_MAX, data, n, err);
    mem_free(path);
    return rc;
}

enum rc job_snapshot_list_open(const char *objects, const char *id, struct doc *doc,
                               char **text, const struct node **root, struct err *err)
{
    size_t n = 0;
    enum rc rc = job_snapshot_object_get(objects, id, text, &n, err);
    if (rc == RC_NOTFOUND)
        return err_coded(err, rc, E3004, "no snapshot '%.80s'", id);
    if (rc)
        return rc;
    *root =
        n < SNAPSHOT_LIST_MAX && strlen(*text) == n ? job_json_open(*text, doc) : NULL;
    if (!*root || (*root)->kind != NODE_LIST)
        return err_coded(err, RC_FORMAT, E3004, "%s is not a list of files", id);
    return RC_OK;
}

static enum rc malformed(struct err *err)
{
    return err_coded(err, RC_FORMAT, E3004, "a snapshot's list is malformed");
}

/* A text of JSON may hold a NUL, behind which nobody looks. */
static bool holds_nul(const struct node *n, const char *key)
{
    const struct node *v = node_find(n, key);
    return v && v->kind == NODE_STR && memchr(v->text.p, '\0', v->text.n);
}

static bool parts_ok(const struct node *parts)
{
    if (parts->kind != NODE_LIST || !parts->list.n)
        return false;
    for (size_t i = 0; i < parts->list.n; i++) {
        const struct node *x = parts->list.at[i];
        if (x->kind != NODE_STR || !job_snapshot_id_ok(x->text.p))
            return false;
    }
    return true;
}

enum rc job_snapshot_entry_read(const struct node *n, struct job_snapshot_entry *out,
                                struct err *err)
{
    const char *file = node_get_text(n, "file", NULL),
               *exec = node_get_text(n, "exec", NULL);
    const struct node *parts = node_find(n, "parts"),
                      *exec_parts = node_find(n, "exec_parts");
    struct job_snapshot_entry e = {.path = node_get_text(n, "path", NULL),
                                   .link = node_get_text(n, "link", NULL),
                                   .parts = parts ? parts : exec_parts,
                                   .id = file ? file : exec,
                                   .exec = exec || exec_parts};
    int kinds = (file != NULL) + (exec != NULL) + (parts != NULL) + (exec_parts != NULL) +
                (e.link != NULL);
    if (!e.path || kinds != 1 || (e.id && !job_snapshot_id_ok(e.id)) ||
        (e.parts && !parts_ok(e.parts)) || holds_nul(n, "path") || holds_nul(n, "link") ||
        holds_nul(n, "file") || holds_nul(n, "exec"))
        return malformed(err);
    *out = e;
    return RC_OK;
}

size_t job_snapshot_entry_parts(const struct job_snapshot_entry *e)
{
    return e->parts ? e->parts->list.n : e->id ? 1 : 0;
}

const char *job_snapshot_entry_part(const struct job_snapshot_entry *e, size_t i)
{
    return e->parts ? e->parts->list.at[i]->text.p : e->id;
}

struct looking {
    const char *objects;
    struct map links; /* paths that are links */
    struct map seen;  /* objects: int64_t, how large */
    struct arena arena;
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
    struct stat st = {.st_size = 0};
    if (e->value) {
        l->out->bytes += *(const int64_t *)e->value;
        return;
    }
    int64_t *size = arena_alloc(&l->arena, sizeof(*size));
    e->value = size;
    char *path = job_snapshot_object_path(l->objects, id);
    if (stat(path, &st) == 0) {
        *size = st.st_size;
        l->out->bytes += *size;
        l->out->sent += *size;
        touch(path, &st);
    } else {
        if (l->missing && l->n_missing < SNAPSHOT_MISSING_MAX) {
            buf_puts(l->missing, l->n_missing ? ", " : "");
            buf_json_str(l->missing, id, strlen(id));
        }
        l->n_missing++;
    }
    mem_free(path);
}

static enum rc look_entry(struct looking *l, const struct node *n, struct err *err)
{
    struct job_snapshot_entry e;
    enum rc rc = job_snapshot_entry_read(n, &e, err);
    if (rc)
        return rc;
    if (!path_ok(l, e.path))
        return err_coded(err, RC_FORMAT, E3004, "'%.200s' is not a path in a snapshot",
                         e.path);
    if (!job_name_is_plain(e.path))
        return job_snapshot_bad_name(e.path, err);
    if (++l->out->files > SNAPSHOT_DATA_FILES_MAX)
        return err_coded(err, RC_INVAL, E3004, "more than %d files",
                         SNAPSHOT_DATA_FILES_MAX);
    if (e.link)
        map_put(&l->links, str_c(e.path))->value = l;
    for (size_t i = 0; i < job_snapshot_entry_parts(&e); i++)
        look_for(l, job_snapshot_entry_part(&e, i));
    return RC_OK;
}

enum rc job_snapshot_look(const char *objects, const char *id, struct job_snapshot *out,
                          struct buf *missing, size_t *n_missing, struct err *err)
{
    struct job_snapshot found = {.files = 0};
    struct looking l = {.objects = objects, .out = &found, .missing = missing};
    struct doc doc = {0};
    const struct node *list = NULL;
    char *text = NULL;
    enum rc rc = job_snapshot_list_open(objects, id, &doc, &text, &list, err);
    for (size_t i = 0; !rc && i < list->list.n; i++)
        rc = look_entry(&l, list->list.at[i], err);
    if (doc.src)
        doc_release(&doc);
    map_release(&l.links);
    map_release(&l.seen);
    arena_release(&l.arena);
    mem_free(text);
    if (rc)
        return rc;
    memcpy(found.id, id, sizeof(found.id));
    *out = found;
    if (n_missing)
        *n_missing = l.n_missing;
    return RC_OK;
}

bool job_snapshot_is_empty(const char *id)
{
    struct sha256 h;
    char text[SHA256_TEXT_SIZE];
    sha256_init(&h);
    sha256_add(&h, SNAPSHOT_EMPTY_LIST, strlen(SNAPSHOT_EMPTY_LIST));
    sha256_text(&h, text);
    return strcmp(id, text) == 0;
}

/* A few bytes that are named very often fill a disk. */
static enum rc check_growth(const struct job_snapshot *s, struct err *err)
{
    if (s->bytes <= SNAPSHOT_REPEAT_FREE || s->bytes / SNAPSHOT_REPEAT_MOST <= s->sent)
        return RC_OK;
    return err_coded(
        err, RC_INVAL, E3004,
        "the list names the same contents again and again: %jd MiB that were "
        "sent would become files of %jd MiB, more than %d times as much",
        (intmax_t)(s->sent >> 20), (intmax_t)(s->bytes >> 20), SNAPSHOT_REPEAT_MOST);
}

enum rc job_snapshot_need(const char *objects, const char *id, bool data,
                          struct job_snapshot *out, struct err *err)
{
    size_t missing = 0;
    enum rc rc = job_snapshot_look(objects, id, out, NULL, &missing, err);
    if (!rc && missing)
        rc = err_coded(err, RC_NOTFOUND, E3004, "%zu files of '%s%s' were not sent",
                       missing, SNAPSHOT_PREFIX, id);
    if (rc)
        return rc;
    if (data)
        return check_growth(out, err);
    if (out->files > SNAPSHOT_FILES_MAX)
        return err_coded(err, RC_INVAL, E3004, "more than %d files", SNAPSHOT_FILES_MAX);
    if (out->bytes > SNAPSHOT_BYTES_MAX)
        return err_coded(err, RC_INVAL, E3004, "more than %jd MiB",
                         (intmax_t)(SNAPSHOT_BYTES_MAX >> 20));
    return RC_OK;
}

enum rc job_snapshot_each(const char *objects, const char *id, job_snapshot_each_fn *each,
                          void *arg, struct err *err)
{
    struct doc doc = {0};
    const struct node *list = NULL;
    char *text = NULL;
    enum rc rc = job_snapshot_list_open(objects, id, &doc, &text, &list, err);
    for (size_t i = 0; !rc && i < list->list.n; i++) {
        struct job_snapshot_entry e = {0};
        rc = job_snapshot_entry_read(list->list.at[i], &e, err);
        for (size_t k = 0; !rc && k < job_snapshot_entry_parts(&e); k++)
            rc = each(arg, job_snapshot_entry_part(&e, k), err);
    }
    if (!rc)
        rc = each(arg, id, err);
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    return rc;
}

struct sharing {
    const char *from, *to;
};

static enum rc copy_object(const char *from, const char *to, const char *id,
                           struct err *err)
{
    char *data = NULL;
    size_t n = 0;
    enum rc rc = job_snapshot_object_get(from, id, &data, &n, err);
    if (!rc)
        rc = job_snapshot_object_put(to, id, data, n, NULL, err);
    mem_free(data);
    return rc;
}

static enum rc share_one(void *arg, const char *id, struct err *err)
{
    const struct sharing *s = arg;
    char *from = job_snapshot_object_path(s->from, id),
         *to = job_snapshot_object_path(s->to, id), *dir = fs_dirname(to);
    enum rc rc = fs_mkdirs(dir, 0700, err);
    if (!rc && link(from, to) < 0 && errno != EEXIST)
        rc = copy_object(s->from, s->to, id, err);
    mem_free(dir);
    mem_free(to);
    mem_free(from);
    return rc;
}

enum rc job_snapshot_share(const char *from, const char *to, const char *id,
                           struct err *err)
{
    struct sharing s = {.from = from, .to = to};
    return strcmp(from, to) == 0 ? RC_OK
                                 : job_snapshot_each(from, id, share_one, &s, err);
}
