/* SPDX-License-Identifier: Apache-2.0 */
/* Registering walks the channel as job/tree.h does, so that no link of the job leads to a
 * file of the server's, and keeps every file by content: whole up to SNAPSHOT_PART, else in
 * parts. The list has the digest and size of each file beside its objects, so that a download
 * can be checked. What the version came from is written down as JSON while the job is still
 * there: command, code, inputs, parameters, metrics.
 */
#include "job/model.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/archive.h"
#include "job/artifacts.h"
#include "job/name.h"
#include "job/remove.h"
#include "job/snapshot_private.h"
#include "job/space.h"
#include "job/state.h"
#include "job/status.h"
#include "job/storage.h"
#include "job/tree.h"
#include "text/json.h"
#include "text/json_out.h"

#define HOLES_FREE ((int64_t)1 << 30) /* bytes of holes that nobody minds */
#define HOLES_MOST 64 /* times as large as on the disk, which compression may do */

struct taking {
    const struct job_place *p;
    const char *objects;
    int64_t most;
    struct buf list;
    struct job_snapshot is;
    char *block; /* SNAPSHOT_PART bytes */
};

static void hash_of(const char *data, size_t n, char id[SHA256_TEXT_SIZE])
{
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, data, n);
    sha256_text(&s, id);
}

static enum rc keep_object(struct taking *t, const char *data, size_t n,
                           char id[SHA256_TEXT_SIZE], struct err *err)
{
    bool added = false;
    int64_t charge = job_storage_charge((int64_t)n);
    hash_of(data, n, id);
    enum rc rc = t->p->served ? job_collect_room(t->p, charge, t->most, err) : RC_OK;
    if (rc)
        return rc;
    rc = job_snapshot_object_put(t->objects, id, data, n, &added, err);
    if (!rc)
        rc = job_artifacts_send(t->p, t->p->owner, id, err);
    if (t->p->served && !added) {
        enum rc back = job_storage_count(t->p, -charge, 0, NULL);
        (void)back; /* the next collection counts anew */
    }
    return rc;
}

/* Up to a part; less only at the end. */
static ssize_t read_part(int fd, char *to)
{
    size_t done = 0;
    while (done < SNAPSHOT_PART) {
        ssize_t n = read(fd, to + done, SNAPSHOT_PART - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static enum rc take_file(void *arg, const char *rel, int fd, const struct stat *st,
                         struct err *err)
{
    struct taking *t = arg;
    struct sha256 whole;
    char id[SHA256_TEXT_SIZE], all[SHA256_TEXT_SIZE];
    int64_t bytes = 0;
    ssize_t n = 0;
    bool many = st->st_size > (int64_t)SNAPSHOT_PART;
    enum rc rc = RC_OK;
    if (!job_name_is_plain(rel))
        return job_snapshot_bad_name(rel, err);
    if (++t->is.files > SNAPSHOT_DATA_FILES_MAX)
        return err_coded(err, RC_INVAL, E5502, "more than %d files",
                         SNAPSHOT_DATA_FILES_MAX);
    sha256_init(&whole);
    buf_printf(&t->list, "%s{\"%s\": %s", t->list.n > 1 ? ",\n" : "",
               many ? "parts" : "file", many ? "[" : "");
    do {
        n = read_part(fd, t->block);
        if (n < 0)
            return err_sys(err, errno, "cannot read '%s'", rel);
        if (n == 0 && bytes > 0)
            break;
        sha256_add(&whole, t->block, (size_t)n);
        rc = keep_object(t, t->block, (size_t)n, id, err);
        buf_printf(&t->list, "%s\"%s\"", bytes ? ", " : "", id);
        bytes += n;
    } while (!rc && many && n == (ssize_t)SNAPSHOT_PART);
    sha256_text(&whole, all);
    buf_printf(&t->list,
               "%s, \"bytes\": %jd, \"sha256\": \"%s\", \"path\": ", many ? "]" : "",
               (intmax_t)bytes, all);
    buf_json_str(&t->list, rel, strlen(rel));
    buf_putc(&t->list, '}');
    t->is.bytes += bytes;
    return rc;
}

struct weight {
    int64_t bytes, held; /* as read; on the disk */
};

static enum rc weigh_file(void *arg, const char *rel, int fd, const struct stat *st,
                          struct err *err)
{
    struct weight *w = arg;
    w->bytes += st->st_size;
    w->held += (int64_t)st->st_blocks * 512;
    return RC_OK;
}

/* Before anything is read: a user's files may not take more time than they take room. */
static enum rc check_weight(const struct taking *t, int fd, struct err *err)
{
    struct weight w = {0};
    enum rc rc = t->p->served ? job_tree_walk(fd, weigh_file, &w, err) : RC_OK;
    if (!rc && t->most > 0 && w.bytes > t->most) {
        char size[24], most[24];
        job_space_words(w.bytes, size);
        job_space_words(t->most, most);
        return err_coded(err, RC_INVAL, E5501, "%s are more than %s may store: %s", size,
                         t->p->owner, most);
    }
    if (!rc && w.bytes - HOLES_FREE > w.held * HOLES_MOST)
        return err_coded(err, RC_INVAL, E5505,
                         "the files have %jd bytes, of which %jd are on the disk",
                         (intmax_t)w.bytes, (intmax_t)w.held);
    return rc;
}

/* Walks the channel where it lies: in the job's tree, or fetched from the store. */
static enum rc take_files(struct taking *t, const char *root, const char *rel,
                          struct err *err)
{
    int fd = job_tree_open(root, rel, true, NULL);
    if (fd < 0)
        return RC_OK;
    enum rc rc = check_weight(t, fd, err);
    if (!rc)
        rc = job_tree_walk(fd, take_file, t, err);
    close(fd);
    return rc;
}

static enum rc take_archived(struct taking *t, const char *job, const char *channel,
                             struct err *err)
{
    char *root = mem_printf("%s/fetched/%s.%d.%jx", t->p->dir, job, (int)getpid(),
                            (uintmax_t)clock_mono_ns()),
         *to = fs_join(root, channel);
    enum rc rc = job_archive_restore(t->p, job, channel, to, err);
    if (!rc)
        rc = take_files(t, root, channel, err);
    enum rc gone = fs_remove_all(root, NULL);
    (void)gone; /* the next collection tries again */
    mem_free(to);
    mem_free(root);
    return rc;
}

static enum rc take_local(struct taking *t, const char *job, const char *channel,
                          struct err *err)
{
    char *dir = job_place_dir(t->p, job), *rel = mem_printf("ml/output/%s", channel);
    int lock = fs_is_dir(dir) ? job_archive_lock(t->p, job, true) : -1;
    enum rc rc = take_files(t, dir, rel, err);
    if (lock >= 0)
        close(lock);
    mem_free(rel);
    mem_free(dir);
    return rc;
}

static enum rc take_channel(struct taking *t, const char *job, const char *channel,
                            struct err *err)
{
    buf_putc(&t->list, '[');
    enum rc rc = take_local(t, job, channel, err);
    if (!rc && !t->is.files && t->p->artifacts)
        rc = take_archived(t, job, channel, err);
    buf_puts(&t->list, "]\n");
    if (!rc && !t->is.files)
        rc =
            err_coded(err, RC_NOTFOUND, E5502,
                      "job %s has no files in the output channel '%.100s'", job, channel);
    if (!rc)
        rc = buf_check(&t->list, err);
    if (!rc)
        rc = keep_object(t, buf_str(&t->list), t->list.n, t->is.id, err);
    return rc;
}

/* "ctr:3" where the contents of an input are those of a model: of the version that the
 * submitter named (`asked`, "" for none), as several may have the same contents.
 */
static void put_model_of(struct json_out *o, const struct store_models *all,
                         const char *owner, const char *uri, const char *asked)
{
    char *found = NULL;
    for (size_t i = 0; str_starts(uri, SNAPSHOT_PREFIX) && i < all->n; i++) {
        const struct store_model *m = &all->at[i];
        bool theirs = strcmp(m->owner, owner) != 0 && !*m->project;
        if (strncmp(uri + strlen(SNAPSHOT_PREFIX), m->snapshot, strlen(m->snapshot)) != 0)
            continue;
        char *name = mem_printf("%s:%jd", m->name, (intmax_t)m->version);
        if (strcmp(name, asked) == 0 || (!theirs && !found)) {
            mem_free(found);
            found = mem_strdup(name);
        }
        bool sure = strcmp(name, asked) == 0;
        mem_free(name);
        if (sure)
            break;
    }
    if (found)
        json_put_str(o, "model", found);
    mem_free(found);
}

static void put_inputs(const struct job_place *p, const struct node *spec,
                       struct json_out *o)
{
    const struct node *inputs = node_find(spec, "input"),
                      *extra = node_find(spec, "extra");
    struct store_models all = {0};
    if (store_model_get(p->store, NULL, 0, &all, NULL))
        all = (struct store_models){0};
    json_open(o, "inputs", '[');
    for (size_t i = 0; inputs && inputs->kind == NODE_MAP && i < inputs->map.n; i++) {
        const struct node_entry *e = &inputs->map.at[i];
        char *name = mem_strndup(e->key.p, e->key.n);
        const char *uri = e->value->kind == NODE_STR ? e->value->text.p : "";
        json_open(o, NULL, '{');
        json_put_str(o, "name", name);
        json_put_str(o, "from", uri);
        char *key = mem_printf(MODEL_EXTRA "%s", name);
        put_model_of(o, &all, p->owner, uri,
                     extra && extra->kind == NODE_MAP ? node_get_text(extra, key, "")
                                                      : "");
        mem_free(key);
        json_close(o, '}');
        mem_free(name);
    }
    json_close(o, ']');
    store_models_release(&all);
}

static void put_field(struct json_out *o, const struct node *spec, const char *field)
{
    const struct node *n = node_find(spec, field);
    struct buf b;
    if (!n)
        return;
    buf_init(&b, (size_t)1 << 20);
    json_print(n, 0, &b);
    if (buf_check(&b, NULL) == RC_OK)
        json_put_raw(o, field, buf_str(&b));
    buf_release(&b);
}

static void put_metrics(const struct job_place *p, const char *id, struct json_out *o)
{
    struct store_points l = {0};
    if (store_points_last(p->store, id, &l, NULL))
        return;
    json_open(o, "metrics", '{');
    for (size_t i = 0; i < l.n; i++)
        if (!str_starts(l.at[i].name, "sys/") && l.at[i].value - l.at[i].value == 0)
            json_put_num(o, l.at[i].name, l.at[i].value);
    json_close(o, '}');
    store_points_release(&l);
}

/* Where the version comes from. */
static enum rc write_lineage(const struct job_place *p, const struct store_job *j,
                             struct buf *out, struct err *err)
{
    static const char *const fields[] = {"command", "image", "source", "data", "hp"};
    struct doc doc = {0};
    char *text = NULL;
    enum rc rc = store_spec(p->store, j->id, &text, err);
    if (rc)
        return rc;
    const struct node *spec = job_json_open(text, &doc);
    struct json_out o = {.out = out};
    json_open(&o, NULL, '{');
    json_put_str(&o, "job", j->id);
    json_put_str(&o, "job_name", j->name);
    json_put_str(&o, "job_owner", j->owner);
    json_put_time(&o, "started", j->started);
    json_put_time(&o, "finished", j->finished);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        put_field(&o, spec, fields[i]);
    put_inputs(p, spec, &o);
    put_metrics(p, j->id, &o);
    json_close(&o, '}');
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    return buf_check(out, err);
}

static enum rc check_ended(const struct store_job *j, struct err *err)
{
    enum job_state state = JOB_Unknown;
    if (job_state_find(j->state, &state) && job_state_ended(state))
        return RC_OK;
    return err_coded(err, RC_INVAL, E3014,
                     "job %s is %s; its outputs get a name when it has ended", j->id,
                     j->state);
}

enum rc job_model_register(const struct job_place *p, const struct store_job *j,
                           const struct job_model_new *n, int64_t *version,
                           struct err *err)
{
    char *objects = job_place_objects(p);
    struct taking t = {.p = p, .objects = objects, .most = n->most};
    struct buf lineage;
    buf_init(&t.list, SNAPSHOT_LIST_MAX);
    buf_init(&lineage, (size_t)4 << 20);
    t.block = mem_alloc(SNAPSHOT_PART);
    enum rc rc = check_ended(j, err);
    if (!rc)
        rc = take_channel(&t, j->id, n->channel, err);
    if (!rc)
        rc = write_lineage(p, j, &lineage, err);
    if (!rc) {
        struct store_model m = {.name = n->name,
                                .owner = p->owner,
                                .project = j->project,
                                .job = j->id,
                                .channel = n->channel,
                                .snapshot = t.is.id,
                                .node = p->node,
                                .files = t.is.files,
                                .bytes = t.is.bytes,
                                .lineage = buf_str(&lineage),
                                .note = n->note ? n->note : "",
                                .created = clock_wall_ns()};
        rc = store_model_create(p->store, &m, version, err);
    }
    mem_free(t.block);
    buf_release(&lineage);
    buf_release(&t.list);
    mem_free(objects);
    return rc;
}

bool job_model_here(const struct job_place *p, const struct store_model *m)
{
    char *objects = job_place_snapshot(p, m->owner, m->snapshot);
    char *list = job_snapshot_object_path(objects, m->snapshot);
    enum rc rc = job_artifacts_fetch(p, m->owner, m->snapshot, NULL);
    bool here = !rc && fs_exists(list);
    mem_free(list);
    mem_free(objects);
    return here;
}

bool job_model_parse(const char *text, struct arena *a, const char **name,
                     int64_t *version)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    *version = -1;
    if (colon && strcmp(colon + 1, "latest") != 0 &&
        (!str_to_i64(str_c(colon + 1), version) || *version < 1))
        return false;
    *name = arena_strndup(a, text, n);
    return n > 0 && n <= 128 && !strchr(*name, '/') && (*name)[0] != '.';
}

/* Calls for each entry of the list until one is taken. */
typedef bool entry_fn(void *arg, const struct node *n,
                      const struct job_snapshot_entry *e);

static enum rc each_entry(const char *objects, const char *id, entry_fn *fn, void *arg,
                          struct err *err)
{
    struct doc doc = {0};
    const struct node *list = NULL;
    char *text = NULL;
    bool over = false;
    enum rc rc = job_snapshot_list_open(objects, id, &doc, &text, &list, err);
    for (size_t i = 0; !rc && !over && i < list->list.n; i++) {
        struct job_snapshot_entry e;
        rc = job_snapshot_entry_read(list->list.at[i], &e, err);
        if (!rc)
            over = fn(arg, list->list.at[i], &e);
    }
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    return rc;
}

struct listing {
    struct job_outputs *out;
    const struct store_model *m;
};

static bool list_entry(void *arg, const struct node *n,
                       const struct job_snapshot_entry *e)
{
    struct listing *l = arg;
    struct arena *a = &l->out->arena;
    struct job_output o = {.channel = arena_strdup(a, l->m->channel),
                           .path = arena_strdup(a, e->path),
                           .bytes = node_get_int(n, "bytes", 0),
                           .sha256 = arena_strdup(a, node_get_text(n, "sha256", "")),
                           .where = ""};
    VEC_PUSH(&l->out->list, o);
    return false;
}

enum rc job_model_files(const struct job_place *p, const struct store_model *m,
                        struct job_outputs *out, struct err *err)
{
    struct job_outputs files = {.list = {0}};
    struct listing l = {.out = &files, .m = m};
    char *objects = job_place_snapshot(p, m->owner, m->snapshot);
    enum rc rc = job_artifacts_fetch(p, m->owner, m->snapshot, err);
    if (!rc)
        rc = each_entry(objects, m->snapshot, list_entry, &l, err);
    mem_free(objects);
    if (rc)
        job_outputs_release(&files);
    else
        *out = files;
    return rc;
}

struct job_model_file {
    const char *wanted; /* while it is looked for */
    char *objects;
    char *artifacts, *dir, *owner; /* artifacts NULL: all of it lies here */
    struct arena arena;
    VEC(const char *) parts;
    int64_t bytes;
    const char *sha256;
    bool found;
};

static bool find_entry(void *arg, const struct node *n,
                       const struct job_snapshot_entry *e)
{
    struct job_model_file *f = arg;
    if (strcmp(e->path, f->wanted) != 0 || e->link)
        return false;
    for (size_t i = 0; i < job_snapshot_entry_parts(e); i++)
        VEC_PUSH(&f->parts, arena_strdup(&f->arena, job_snapshot_entry_part(e, i)));
    f->bytes = node_get_int(n, "bytes", 0);
    f->sha256 = arena_strdup(&f->arena, node_get_text(n, "sha256", ""));
    f->found = true;
    return true;
}

enum rc job_model_file_open(const struct job_place *p, const struct store_model *m,
                            const char *path, struct job_model_file **out,
                            struct err *err)
{
    struct job_model_file *f = mem_calloc(1, sizeof(*f));
    f->objects = job_place_snapshot(p, m->owner, m->snapshot);
    f->wanted = path;
    f->artifacts = p->artifacts ? mem_strdup(p->artifacts) : NULL;
    f->dir = mem_strdup(p->dir);
    f->owner = mem_strdup(m->owner);
    enum rc rc = job_artifacts_fetch(p, m->owner, m->snapshot, err);
    if (!rc)
        rc = each_entry(f->objects, m->snapshot, find_entry, f, err);
    f->wanted = NULL;
    if (!rc && !f->found)
        rc = err_coded(err, RC_NOTFOUND, E5502, "model %s:%jd has no file '%.300s'",
                       m->name, (intmax_t)m->version, path);
    if (rc)
        job_model_file_close(f);
    else
        *out = f;
    return rc;
}

int64_t job_model_file_size(const struct job_model_file *f)
{
    return f->bytes;
}

const char *job_model_file_sha256(const struct job_model_file *f)
{
    return f->sha256;
}

ssize_t job_model_file_read(const struct job_model_file *f, int64_t at, char *to,
                            size_t n)
{
    size_t part = (size_t)(at / (int64_t)SNAPSHOT_PART);
    if (at >= f->bytes || part >= f->parts.n)
        return 0;
    struct job_place p = {.artifacts = f->artifacts, .dir = f->dir};
    char *path = job_snapshot_object_path(f->objects, f->parts.at[part]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && job_artifacts_fetch(&p, f->owner, f->parts.at[part], NULL) == RC_OK)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    mem_free(path);
    if (fd < 0)
        return -1;
    ssize_t got = pread(fd, to, n, at % (int64_t)SNAPSHOT_PART);
    close(fd);
    return got == 0 ? -1 : got; /* an object that is shorter than it was */
}

void job_model_file_close(struct job_model_file *f)
{
    if (!f)
        return;
    VEC_RELEASE(&f->parts);
    arena_release(&f->arena);
    mem_free(f->objects);
    mem_free(f->artifacts);
    mem_free(f->dir);
    mem_free(f->owner);
    mem_free(f);
}
