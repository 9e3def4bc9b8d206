/* SPDX-License-Identifier: Apache-2.0 */
/* Contents are named by their hash, so the two sides can only differ in what they have. Which
 * objects are in the store is told by the mode of the local file; a request is needed only for
 * what is not marked, or was last looked at long ago: the collection of the store deletes what
 * is old and not referred to, so whatever is wanted again is sent again once it is half as old
 * as that. Several requests are under way at once.
 */
#include "job/artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/vec.h"
#include "io/file.h"
#include "io/object.h"
#include "io/out.h"
#include "job/remove.h"
#include "job/snapshot_private.h"
#include "job/status.h"
#include "store/notify.h"

#define AT_ONCE 8
#define OLD_S (COLLECT_YOUNG_S / 2)
#define MARK "artifacts"
#define CLAIM_MAX 4096
#define NO_BUCKET "there is no such bucket" /* as io/object.c says it */
#define EMPTY_ID "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

char *job_artifacts_url(const struct job_place *p, const char *rest)
{
    return mem_printf("%s/%s", p->artifacts, rest);
}

enum rc job_artifacts_failed(enum rc rc, struct err *err)
{
    if (rc && err && err->code == E5510)
        return rc;
    return err_coded(err, rc, E5510, "the store of artifacts: %.400s",
                     err ? err->msg : "");
}

static char *object_url_of(const struct job_place *p, const char *owner, const char *id)
{
    return mem_printf("%s/users/%s/objects/%.2s/%s", p->artifacts, owner, id, id + 2);
}

static char *objects_of(const struct job_place *p, const char *owner)
{
    struct job_place own = *p;
    own.owner = owner;
    own.served = true;
    return job_place_objects(&own);
}

/* What is known of one object on both sides. */
struct sides {
    char *objects, *path, *url;
    bool here, marked, there;
    int64_t here_since, there_since; /* s */
};

static void sides_init(struct sides *s, const struct job_place *p, const char *owner,
                       const char *id)
{
    struct stat st;
    *s = (struct sides){.objects = objects_of(p, owner),
                        .url = object_url_of(p, owner, id)};
    s->path = job_snapshot_object_path(s->objects, id);
    s->here = stat(s->path, &st) == 0;
    s->marked = s->here && !(st.st_mode & S_IWUSR);
    s->here_since = s->here ? st.st_mtim.tv_sec : 0;
}

static void sides_release(struct sides *s)
{
    mem_free(s->objects);
    mem_free(s->path);
    mem_free(s->url);
}

static enum rc ask_store(struct sides *s, struct err *err)
{
    struct object *o = NULL;
    struct object_info info = {.modified = 0};
    struct err own = {0};
    char byte;
    size_t got = 0;
    enum rc rc = object_open(s->url, false, &o, err);
    if (rc)
        return rc;
    rc = object_get(o, 0, 1, NULL, &byte, &got, &info, &own);
    s->there = rc == RC_OK;
    s->there_since = info.modified;
    object_close(o);
    if (rc == RC_NOTFOUND && !strstr(own.msg, NO_BUCKET))
        return RC_OK;
    if (rc && err)
        *err = own;
    return rc;
}

static void mark_sent(const char *path)
{
    if (chmod(path, 0400) == 0)
        utimensat(AT_FDCWD, path, NULL, 0);
}

static enum rc send_local(const struct sides *s, const char *id, struct err *err)
{
    char *data = NULL;
    size_t n = 0;
    enum rc rc = job_snapshot_object_get(s->objects, id, &data, &n, err);
    if (!rc)
        rc = io_write(s->url, data, n, err);
    if (!rc)
        mark_sent(s->path);
    mem_free(data);
    return rc;
}

enum rc job_artifacts_read(const char *url, size_t most, char **data, size_t *n,
                           struct err *err)
{
    struct io_file *f = NULL;
    size_t got = 0;
    enum rc rc = io_open(url, IO_FRONT, &f, err);
    if (rc)
        return rc;
    *n = (size_t)io_size(f);
    *data = *n <= most ? mem_try_alloc(*n + 1, 1) : NULL;
    if (!*data)
        rc = err_set(err, RC_NOMEM, "'%.300s': no memory for %zu bytes", url, *n);
    for (size_t at = 0; !rc && at < *n; at += got) {
        rc = io_read_at(f, at, *n - at, *data + at, &got, err);
        if (!rc && !got)
            rc = err_set(err, RC_IO, "'%.300s' became shorter", url);
    }
    if (!rc)
        (*data)[*n] = '\0';
    io_close(f);
    return rc;
}

static enum rc fetch_remote(const struct sides *s, const char *id, struct err *err)
{
    char *data = NULL;
    size_t n = 0;
    enum rc rc = job_artifacts_read(s->url, SNAPSHOT_LIST_MAX, &data, &n, err);
    if (!rc)
        rc = job_snapshot_object_put(s->objects, id, data, n, NULL, err);
    if (!rc)
        mark_sent(s->path);
    mem_free(data);
    return rc;
}

static enum rc settle_one(const struct job_place *p, const char *owner, const char *id,
                          struct err *err)
{
    struct sides s;
    int64_t old = (int64_t)time(NULL) - OLD_S;
    enum rc rc = RC_OK;
    sides_init(&s, p, owner, id);
    if (strcmp(id, EMPTY_ID) == 0) { /* stores do not agree about ranges of nothing */
        rc = s.here ? RC_OK : job_snapshot_object_put(s.objects, id, "", 0, NULL, err);
        sides_release(&s);
        return rc;
    }
    if (!s.here || !s.marked || s.here_since < old)
        rc = ask_store(&s, err);
    else
        s.there = true;
    if (!rc && !s.here && s.there)
        rc = fetch_remote(&s, id, err);
    bool aged = s.there_since && s.there_since < old;
    if (!rc && (s.here ? !s.there || aged : s.there && aged))
        rc = send_local(&s, id, err);
    else if (!rc && s.here && (!s.marked || s.here_since < old))
        mark_sent(s.path);
    sides_release(&s);
    return rc ? job_artifacts_failed(rc, err) : RC_OK;
}

enum rc job_artifacts_send(const struct job_place *p, const char *owner, const char *id,
                           struct err *err)
{
    return p->artifacts ? settle_one(p, owner, id, err) : RC_OK;
}

enum rc job_artifacts_fetch(const struct job_place *p, const char *owner, const char *id,
                            struct err *err)
{
    struct sides s;
    if (!p->artifacts)
        return RC_OK;
    sides_init(&s, p, owner, id);
    bool here = s.here;
    sides_release(&s);
    return here ? RC_OK : settle_one(p, owner, id, err);
}

struct settling {
    const struct job_place *p;
    const char *owner;
    struct arena arena;
    VEC(const char *) ids;
    pthread_mutex_t lock; /* guards what follows */
    enum rc rc;           /* of the first failure */
    struct err err;
};

static enum rc note_id(void *arg, const char *id, struct err *err)
{
    struct settling *s = arg;
    VEC_PUSH(&s->ids, arena_strdup(&s->arena, id));
    return RC_OK;
}

static bool failed_already(struct settling *s)
{
    pthread_mutex_lock(&s->lock);
    bool failed = s->rc != RC_OK;
    pthread_mutex_unlock(&s->lock);
    return failed;
}

static void settle_chunk(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct settling *s = arg;
    for (int64_t i = begin; i < end && !failed_already(s); i++) {
        struct err err = {0};
        enum rc rc = settle_one(s->p, s->owner, s->ids.at[i], &err);
        pthread_mutex_lock(&s->lock);
        if (rc && !s->rc) {
            s->rc = rc;
            s->err = err;
        }
        pthread_mutex_unlock(&s->lock);
    }
}

static enum rc settle_all(struct settling *s, struct err *err)
{
    struct pool *pool = NULL;
    enum rc rc = pool_create(AT_ONCE, &pool, err);
    if (rc)
        return rc;
    pthread_mutex_init(&s->lock, NULL);
    pool_for(pool, (int64_t)s->ids.n, 1, settle_chunk, s);
    pool_destroy(pool);
    pthread_mutex_destroy(&s->lock);
    if (s->rc && err)
        *err = s->err;
    return s->rc;
}

enum rc job_artifacts_settle(const struct job_place *p, const char *owner, const char *id,
                             struct err *err)
{
    struct settling s = {.p = p, .owner = owner};
    if (!p->artifacts || !job_snapshot_id_ok(id))
        return RC_OK; /* whoever uses it says what is wrong with the name */
    enum rc rc = settle_one(p, owner, id, err);
    if (rc)
        return rc;
    char *objects = objects_of(p, owner);
    if (job_snapshot_each(objects, id, note_id, &s, NULL))
        s.ids.n = 0; /* no list: whoever uses it says so */
    mem_free(objects);
    if (s.ids.n)
        rc = settle_all(&s, err);
    VEC_RELEASE(&s.ids);
    arena_release(&s.arena);
    return rc;
}

struct sharing {
    const struct job_place *p;
    const char *owner, *from, *to;
};

/* A copy, not a link: the mark of a file holds for one owner. */
static enum rc share_one(void *arg, const char *id, struct err *err)
{
    const struct sharing *s = arg;
    char *data = NULL;
    size_t n = 0;
    enum rc rc = job_snapshot_object_get(s->from, id, &data, &n, err);
    if (!rc)
        rc = job_snapshot_object_put(s->to, id, data, n, NULL, err);
    if (!rc)
        rc = settle_one(s->p, s->owner, id, err);
    mem_free(data);
    return rc;
}

enum rc job_artifacts_share(const struct job_place *p, const char *from, const char *to,
                            const char *id, struct err *err)
{
    char *there = objects_of(p, from), *here = objects_of(p, to);
    struct sharing s = {.p = p, .owner = to, .from = there, .to = here};
    enum rc rc = job_artifacts_settle(p, from, id, err);
    if (!rc && !p->artifacts)
        rc = job_snapshot_share(there, here, id, err);
    else if (!rc && strcmp(from, to) != 0)
        rc = job_snapshot_each(there, id, share_one, &s, err);
    mem_free(here);
    mem_free(there);
    return rc;
}

struct removing {
    struct arena arena;
    VEC(const char *) keys;
};

static enum rc note_key(void *arg, const struct object_entry *e, struct err *err)
{
    struct removing *r = arg;
    VEC_PUSH(&r->keys, arena_strdup(&r->arena, e->key));
    return RC_OK;
}

/* The address of a key of the same bucket; the caller's. */
static char *key_url(const struct job_place *p, const char *key)
{
    const char *at = strstr(p->artifacts, "://") + 3, *slash = strchr(at, '/');
    size_t bucket = slash ? (size_t)(slash - p->artifacts) : strlen(p->artifacts);
    return mem_printf("%.*s/%s", (int)bucket, p->artifacts, key);
}

static enum rc delete_key(const struct job_place *p, const char *key, struct err *err)
{
    struct object *o = NULL;
    char *url = key_url(p, key);
    enum rc rc = object_open(url, false, &o, err);
    if (!rc)
        rc = object_delete(o, err);
    object_close(o);
    mem_free(url);
    return rc;
}

enum rc job_artifacts_each(const struct job_place *p, const char *rest, bool folded,
                           object_entry_fn *each, void *arg, struct err *err)
{
    struct object *o = NULL;
    char *url = job_artifacts_url(p, rest);
    enum rc rc = object_open(url, true, &o, err);
    if (!rc)
        rc = object_entries(o, object_key(o), folded, each, arg, err);
    object_close(o);
    mem_free(url);
    return rc ? job_artifacts_failed(rc, err) : RC_OK;
}

enum rc job_artifacts_remove(const struct job_place *p, const char *rest, struct err *err)
{
    struct removing r = {.keys = {0}};
    if (!p->artifacts)
        return RC_OK;
    enum rc rc = job_artifacts_each(p, rest, false, note_key, &r, err);
    for (size_t i = 0; i < r.keys.n && !rc; i++) {
        rc = delete_key(p, r.keys.at[i], err);
        if (rc)
            job_artifacts_failed(rc, err);
    }
    VEC_RELEASE(&r.keys);
    arena_release(&r.arena);
    return rc;
}

enum rc job_artifacts_delete_old(const struct job_place *p, const char *key,
                                 int64_t oldest, bool *gone, struct err *err)
{
    struct sides s = {.url = key_url(p, key)};
    enum rc rc = ask_store(&s, err); /* somebody may have wanted it since it was listed */
    *gone = !rc && s.there && s.there_since <= oldest;
    if (*gone)
        rc = delete_key(p, key, err);
    sides_release(&s);
    return rc ? job_artifacts_failed(rc, err) : RC_OK;
}

/* The number by which one store of jobs is known from another. */
static enum rc store_number(struct store *s, int64_t *out, struct err *err)
{
    enum rc rc = store_mark_get(s, MARK, out, err);
    if (rc || *out > 0)
        return rc;
    if (getrandom(out, sizeof(*out), 0) != (ssize_t)sizeof(*out))
        return err_sys(err, errno, "cannot get random numbers");
    *out = (*out & INT64_MAX) | 1;
    rc = store_mark_first(s, MARK, *out, err);
    return rc ? rc : store_mark_get(s, MARK, out, err);
}

static enum rc check_claim(const struct job_place *p, const char *text, int64_t number,
                           struct err *err)
{
    struct doc doc = {0};
    int64_t found = node_get_int(job_json_open(text, &doc), "store", 0);
    if (doc.src)
        doc_release(&doc);
    if (found == number)
        return RC_OK;
    return err_coded(err, RC_INVAL, E5511,
                     "'%.300s' holds the artifacts of another store; give each store of "
                     "jobs a prefix of its own",
                     p->artifacts);
}

enum rc job_artifacts_claim(const struct job_place *p, struct err *err)
{
    int64_t number = 0;
    char *url = job_artifacts_url(p, "trainyard.json"), *text = NULL;
    size_t n = 0;
    struct err own = {0};
    enum rc rc = store_number(p->store, &number, err);
    if (rc) {
        mem_free(url);
        return rc;
    }
    rc = job_artifacts_read(url, CLAIM_MAX, &text, &n, &own);
    if (!rc) {
        rc = check_claim(p, text, number, err);
    } else if (rc == RC_NOTFOUND && !strstr(own.msg, NO_BUCKET)) {
        char *mine = mem_printf("{\"store\": %jd}\n", (intmax_t)number);
        rc = io_write(url, mine, strlen(mine), err);
        mem_free(mine);
        if (rc)
            job_artifacts_failed(rc, err);
    } else if (rc) {
        if (err)
            *err = own;
        job_artifacts_failed(rc, err);
    }
    mem_free(text);
    mem_free(url);
    return rc;
}
