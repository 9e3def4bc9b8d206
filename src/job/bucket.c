/* SPDX-License-Identifier: Apache-2.0 */
/* A copy is planned first, as a list of pairs with their sizes, so that it can be told how
 * far it is; then several threads take pairs from the list. A local file that is there already
 * with the size of its source is left alone, which makes a second try short. Keys that would
 * leave the directory (empty parts, "..") are refused.
 */
#include "job/bucket.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "io/file.h"
#include "io/object.h"
#include "io/out.h"
#include "job/tree.h"

#define AT_ONCE 8 /* files on their way */
#define BLOCK ((size_t)4 << 20)
#define ITEMS_MAX 5000000

bool job_bucket_is(const char *uri)
{
    return object_is_url(uri);
}

enum rc job_bucket_plain(const char *uri, struct arena *a, const char **out,
                         struct err *err)
{
    const char *query = strchr(uri, '?'), *slash = strchr(strstr(uri, "://") + 3, '/');
    if (!str_starts(uri, "oss://") || !query || !slash || slash > query) {
        *out = uri;
        return RC_OK;
    }
    struct str rest = str_c(query + 1), part, name, host = {0};
    while (rest.n && str_split(&rest, '&', &part))
        if (str_split(&part, '=', &name) &&
            (str_is(name, "endpoint") || str_is(name, "host")))
            host = part;
    if (!host.n) { /* roles and the like are the cloud's business */
        *out = arena_strndup(a, uri, (size_t)(query - uri));
        return RC_OK;
    }
    char *text = arena_strndup(a, host.p, host.n);
    if (!str_ends(text, ".aliyuncs.com"))
        return err_coded(err, RC_UNSUPPORTED, E3006,
                         "'%.200s': set OSS_ENDPOINT for a server of your own", uri);
    *out = arena_printf(a, "%.*s.%s%.*s", (int)(slash - uri), uri, text,
                        (int)(query - slash), slash);
    return RC_OK;
}

struct probe {
    const char *key;
    bool object, below;
};

static enum rc see_object(void *arg, const char *key, uint64_t size, struct err *err)
{
    struct probe *p = arg;
    p->object = strcmp(key, p->key) == 0;
    return RC_CANCELED; /* the first is enough: keys are sorted */
}

static enum rc see_any(void *arg, const char *key, uint64_t size, struct err *err)
{
    struct probe *p = arg;
    p->below = true;
    return RC_CANCELED;
}

static enum rc list(struct object *o, const char *prefix, object_list_fn *each, void *arg,
                    struct err *err)
{
    enum rc rc = object_list(o, prefix, each, arg, err);
    return rc == RC_CANCELED ? RC_OK : rc;
}

static enum rc nothing_there(const char *uri, struct err *err)
{
    return err_coded(err, RC_NOTFOUND, E3005,
                     "'%.300s': there is no such object, and none below it", uri);
}

enum rc job_bucket_find(const char *uri, struct arena *a, const char **out,
                        struct err *err)
{
    struct object *o = NULL;
    enum rc rc = object_open(uri, true, &o, err);
    if (rc)
        return rc;
    const char *key = object_key(o);
    bool is_prefix = !*key || str_ends(key, "/");
    struct probe p = {.key = key};
    if (!is_prefix)
        rc = list(o, key, see_object, &p, err);
    if (!rc && !p.object) {
        const char *dir = is_prefix ? key : arena_printf(a, "%s/", key);
        rc = list(o, dir, see_any, &p, err);
    }
    if (!rc && !p.object && !p.below)
        rc = nothing_there(uri, err);
    if (!rc)
        *out = p.object || str_ends(uri, "/") ? arena_strdup(a, uri)
                                              : arena_printf(a, "%s/", uri);
    object_close(o);
    return rc;
}

enum rc job_bucket_reach(const char *uri, struct err *err)
{
    struct object *o = NULL;
    struct probe p = {.key = ""};
    struct err own = {0};
    enum rc rc = object_open(uri, true, &o, err);
    if (rc)
        return rc;
    rc = list(o, object_key(o), see_any, &p, &own);
    object_close(o);
    if (rc && own.code == E1606) /* one may be allowed to write but not to list */
        return RC_OK;
    if (rc && err)
        *err = own;
    return rc;
}

/* Every part between slashes must be a name. */
static bool is_path(const char *key)
{
    struct str rest = str_c(key), part;
    while (str_split(&rest, '/', &part))
        if (!part.n || str_is(part, ".") || str_is(part, ".."))
            return false;
    return true;
}

struct fetching {
    struct job_bucket_plan *plan;
    const char *base; /* "s3://bucket/" */
    const char *dir;
    size_t cut;       /* bytes of a key before what is below the prefix */
    const char *only; /* the object that is meant, or NULL */
    size_t found;
};

static enum rc add_object(void *arg, const char *key, uint64_t size, struct err *err)
{
    struct fetching *f = arg;
    struct job_bucket_plan *p = f->plan;
    if (f->only && strcmp(key, f->only) != 0)
        return RC_CANCELED;
    const char *rel = key + f->cut;
    if (!*rel || str_ends(rel, "/"))
        return RC_OK; /* what some tools put where a directory would be */
    if (!is_path(rel))
        return err_coded(err, RC_INVAL, E3016, "'%s%.300s'", f->base, key);
    if (p->list.n >= ITEMS_MAX)
        return err_coded(err, RC_INVAL, E3016, "more than %d objects below '%s'",
                         ITEMS_MAX, f->base);
    struct job_bucket_item item = {.from = arena_printf(&p->arena, "%s%s", f->base, key),
                                   .to = arena_printf(&p->arena, "%s/%s", f->dir, rel),
                                   .bytes = (int64_t)size};
    VEC_PUSH(&p->list, item);
    p->bytes += item.bytes;
    f->found++;
    return RC_OK;
}

enum rc job_bucket_plan_fetch(struct job_bucket_plan *p, const char *uri, const char *dir,
                              bool required, struct err *err)
{
    struct object *o = NULL;
    enum rc rc = object_open(uri, true, &o, err);
    if (rc)
        return rc;
    const char *key = object_key(o), *name = strrchr(key, '/');
    bool is_prefix = !*key || str_ends(key, "/");
    struct fetching f = {.plan = p,
                         .base = arena_strndup(&p->arena, uri, strlen(uri) - strlen(key)),
                         .dir = arena_strdup(&p->arena, dir),
                         .cut = is_prefix ? strlen(key)
                                : name    ? (size_t)(name + 1 - key)
                                          : 0,
                         .only = is_prefix ? NULL : key};
    rc = list(o, key, add_object, &f, err);
    object_close(o);
    if (!rc && required && !f.found)
        rc = nothing_there(uri, err);
    return rc;
}

struct sending {
    struct job_bucket_plan *plan;
    const char *root, *rel, *uri;
};

static enum rc add_file(void *arg, const char *rel, int fd, const struct stat *st,
                        struct err *err)
{
    struct sending *s = arg;
    struct arena *a = &s->plan->arena;
    if (s->plan->list.n >= ITEMS_MAX)
        return err_coded(err, RC_INVAL, E3016, "more than %d files in '%s'", ITEMS_MAX,
                         s->rel);
    struct job_bucket_item item = {.root = s->root,
                                   .from = arena_printf(a, "%s/%s", s->rel, rel),
                                   .to = arena_printf(a, "%s%s", s->uri, rel),
                                   .bytes = st->st_size};
    VEC_PUSH(&s->plan->list, item);
    s->plan->bytes += item.bytes;
    return RC_OK;
}

enum rc job_bucket_plan_send(struct job_bucket_plan *p, const char *root, const char *rel,
                             const char *uri, struct err *err)
{
    struct sending s = {.plan = p,
                        .root = arena_strdup(&p->arena, root),
                        .rel = arena_strdup(&p->arena, rel),
                        .uri = str_ends(uri, "/") ? arena_strdup(&p->arena, uri)
                                                  : arena_printf(&p->arena, "%s/", uri)};
    int fd = job_tree_open(root, rel, true, NULL);
    if (fd < 0)
        return err_sys(err, errno, "'%s/%s'", root, rel);
    enum rc rc = job_tree_walk(fd, add_file, &s, err);
    close(fd);
    return rc;
}

void job_bucket_plan_release(struct job_bucket_plan *p)
{
    VEC_RELEASE(&p->list);
    arena_release(&p->arena);
    *p = (struct job_bucket_plan){.bytes = 0};
}

struct copying {
    const struct job_bucket_plan *plan;
    job_bucket_tell_fn *tell;
    void *arg;
    pthread_mutex_t lock; /* guards what follows */
    struct job_bucket_state state;
    enum rc rc; /* of the first failure */
    struct err err;
};

/* False: somebody else failed, there is no point in going on. */
static bool advance(struct copying *c, int64_t files, int64_t bytes)
{
    pthread_mutex_lock(&c->lock);
    c->state.files += files;
    c->state.bytes += bytes;
    bool go_on = c->rc == RC_OK;
    if (go_on && c->tell)
        c->tell(c->arg, &c->state);
    pthread_mutex_unlock(&c->lock);
    return go_on;
}

static void give_up(struct copying *c, enum rc rc, const struct err *err)
{
    pthread_mutex_lock(&c->lock);
    if (!c->rc) {
        c->rc = rc;
        c->err = *err;
    }
    pthread_mutex_unlock(&c->lock);
}

static bool is_there(const struct job_bucket_item *item)
{
    struct stat st;
    return !job_bucket_is(item->to) && stat(item->to, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_size == item->bytes;
}

static enum rc pass_blocks(struct copying *c, struct io_file *in, struct io_out *out,
                           void *block, struct err *err)
{
    uint64_t size = io_size(in), at = 0;
    enum rc rc = RC_OK;
    while (at < size && !rc) {
        size_t got = 0;
        uint64_t next = at + BLOCK;
        io_want(in, next, next < size ? 4 * BLOCK : 0);
        rc = io_read_at(in, at, BLOCK, block, &got, err);
        if (!rc && !got)
            rc = err_set(err, RC_IO, "it became shorter while it was read");
        if (!rc)
            rc = io_append(out, block, got, err);
        at += got;
        if (!rc && !advance(c, 0, (int64_t)got))
            rc = RC_CANCELED;
    }
    return rc;
}

static enum rc open_source(const struct job_bucket_item *item, struct io_file **out,
                           struct err *err)
{
    char path[64];
    if (!item->root)
        return io_open(item->from, IO_FRONT, out, err);
    int fd = job_tree_open(item->root, item->from, false, NULL);
    if (fd < 0)
        return err_sys(err, errno, "'%s/%s'", item->root, item->from);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    enum rc rc = io_open(path, IO_FRONT, out, err);
    close(fd);
    return rc;
}

static enum rc copy_one(struct copying *c, const struct job_bucket_item *item,
                        struct err *err)
{
    struct io_file *in = NULL;
    struct io_out *out = NULL;
    enum rc rc = RC_OK;
    if (is_there(item)) {
        advance(c, 0, item->bytes);
        return RC_OK;
    }
    void *block = mem_try_alloc(BLOCK, 1);
    if (!block)
        return err_set(err, RC_NOMEM, "out of memory");
    if (!job_bucket_is(item->to)) {
        char *dir = fs_dirname(item->to);
        rc = fs_mkdirs(dir, 0755, err);
        mem_free(dir);
    }
    /* Servers do not agree about a range of nothing. */
    bool empty = !item->root && job_bucket_is(item->from) && item->bytes == 0;
    if (!rc && !empty)
        rc = open_source(item, &in, err);
    if (!rc)
        rc = io_create(item->to, &out, err);
    if (!rc && !empty)
        rc = pass_blocks(c, in, out, block, err);
    if (!rc)
        rc = io_commit(out, err);
    else
        io_abandon(out);
    io_close(in);
    mem_free(block);
    return rc;
}

static void copy_chunk(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct copying *c = arg;
    for (int64_t i = begin; i < end; i++) {
        struct err err = {0};
        if (!advance(c, 0, 0))
            return;
        enum rc rc = copy_one(c, &c->plan->list.at[i], &err);
        if (rc)
            give_up(c, rc, &err);
        else
            advance(c, 1, 0);
    }
}

enum rc job_bucket_copy(const struct job_bucket_plan *p, job_bucket_tell_fn *tell,
                        void *arg, struct err *err)
{
    struct pool *pool = NULL;
    struct copying c = {.plan = p,
                        .tell = tell,
                        .arg = arg,
                        .state = {.of_files = (int64_t)p->list.n, .of_bytes = p->bytes}};
    enum rc rc =
        pool_create(p->list.n < AT_ONCE ? (int)p->list.n + 1 : AT_ONCE, &pool, err);
    if (rc)
        return rc;
    pthread_mutex_init(&c.lock, NULL);
    pool_for(pool, (int64_t)p->list.n, 1, copy_chunk, &c);
    pool_destroy(pool);
    pthread_mutex_destroy(&c.lock);
    if (c.rc && err)
        *err = c.err;
    return c.rc;
}
