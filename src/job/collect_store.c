/* SPDX-License-Identifier: Apache-2.0 */
/* The collection of a server with a store of artifacts. The lists of all roots are fetched, so
 * that what is needed is known; a store that is away ends the collection before anything was
 * deleted. Then, for each user, old objects of the store that nothing reaches go, and of the
 * local copies all that no job under way needs and nobody used for a day: what is needed later
 * is fetched again. Copies that were never sent, from before the store was configured, are sent
 * first.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "job/archive.h"
#include "job/artifacts.h"
#include "job/collect_private.h"
#include "job/storage.h"

struct owner_sweep {
    struct job_collecting *c;
    const char *owner;
    char *objects;
    struct map live, busy;
    struct map
        released; /* ids; the time of a copy tells, that in the store never changes */
    struct arena arena;
    VEC(const char *) old; /* keys of the store that may go */
    VEC(int64_t) old_bytes;
    VEC(int64_t) old_until; /* times (s); unless they are younger by then */
    int64_t kept;           /* bytes of the store that stay */
};

static bool is_root(const struct owner_sweep *s, const char *id)
{
    char *key = mem_printf("%s/%s", id, s->owner);
    bool found = map_find(&s->c->roots, str_c(key)) != NULL;
    mem_free(key);
    return found;
}

static enum rc fetch_lists(const struct owner_sweep *s, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < s->c->roots.n && !rc; i++) {
        const char *key = s->c->roots.at[i].key;
        if (strcmp(key + COLLECT_ID + 1, s->owner) != 0)
            continue;
        char *id = mem_strndup(key, COLLECT_ID);
        rc = job_artifacts_fetch(s->c->p, s->owner, id, err);
        mem_free(id);
    }
    return rc;
}

/* ".../objects/ab/cdef": "abcdef" in `a`, NULL when it is something else. */
static const char *id_of_key(struct arena *a, const char *key)
{
    size_t n = strlen(key);
    const char *end = n > 65 ? key + n - 65 : NULL;
    if (!end || end[2] != '/' || end[-1] != '/')
        return NULL;
    return arena_printf(a, "%.2s%s", end, end + 3);
}

static enum rc see_object(void *arg, const struct object_entry *e, struct err *err)
{
    struct owner_sweep *s = arg;
    const char *id = id_of_key(&s->arena, e->key);
    bool released = id && map_find(&s->released, str_c(id));
    if (!id || map_find(&s->live, str_c(id)) ||
        (e->modified > s->c->oldest && !released)) {
        s->kept += job_storage_charge((int64_t)e->size);
        return RC_OK;
    }
    VEC_PUSH(&s->old, arena_strdup(&s->arena, e->key));
    VEC_PUSH(&s->old_bytes, (int64_t)e->size);
    VEC_PUSH(&s->old_until, released ? INT64_MAX : s->c->oldest);
    return RC_OK;
}

static enum rc sweep_store(struct owner_sweep *s, struct err *err)
{
    struct job_collecting *c = s->c;
    char *rest = mem_printf("users/%s/objects/", s->owner);
    enum rc rc = job_artifacts_each(c->p, rest, false, see_object, s, err);
    for (size_t i = 0; i < s->old.n && !rc; i++) {
        bool gone = c->dry;
        if (!c->dry)
            rc = job_artifacts_delete_old(c->p, s->old.at[i], s->old_until.at[i], &gone,
                                          err);
        c->out->objects += gone;
        c->out->object_bytes += gone ? s->old_bytes.at[i] : 0;
        if (!gone || c->dry)
            s->kept += job_storage_charge(s->old_bytes.at[i]);
    }
    mem_free(rest);
    return rc;
}

/* One local copy. Lists stay as long as something names them: they are read again soon. */
static enum rc sweep_copy(struct owner_sweep *s, const char *path, const char *id,
                          struct err *err)
{
    struct stat st;
    enum rc rc = RC_OK;
    bool here = lstat(path, &st) == 0;
    if (here && st.st_mtim.tv_sec == COLLECT_RELEASED)
        map_put(&s->released, str_c(id))->value = s;
    if (!here || st.st_mtim.tv_sec > s->c->oldest || s->c->dry ||
        map_find(&s->busy, str_c(id)) || is_root(s, id))
        return RC_OK;
    if (map_find(&s->live, str_c(id)))
        rc = job_artifacts_send(s->c->p, s->owner, id, err);
    if (!rc)
        unlink(path);
    return rc;
}

static enum rc sweep_copies(struct owner_sweep *s, const char *ab, struct err *err)
{
    struct fs_names names = {0};
    char *dir = fs_join(s->objects, ab);
    enum rc rc = RC_OK;
    if (fs_list(dir, &names, NULL))
        names = (struct fs_names){0};
    for (size_t i = 0; i < names.n && !rc; i++) {
        char *path = fs_join(dir, names.at[i]), *id = mem_printf("%s%s", ab, names.at[i]);
        rc = sweep_copy(s, path, id, err);
        mem_free(id);
        mem_free(path);
    }
    fs_names_release(&names);
    mem_free(dir);
    return rc;
}

static enum rc sweep_here(struct owner_sweep *s, struct err *err)
{
    struct fs_names names = {0};
    enum rc rc = RC_OK;
    if (fs_list(s->objects, &names, NULL))
        return RC_OK;
    for (size_t i = 0; i < names.n && !rc; i++)
        rc = sweep_copies(s, names.at[i], err);
    fs_names_release(&names);
    return rc;
}

enum rc job_collect_store_user(struct job_collecting *c, const char *owner,
                               struct err *err)
{
    struct job_place own = *c->p;
    own.owner = owner;
    own.served = true;
    struct owner_sweep s = {.c = c, .owner = owner, .objects = job_place_objects(&own)};
    enum rc rc = fetch_lists(&s, err);
    if (!rc) {
        job_collect_mark(&c->roots, owner, s.objects, &s.live);
        job_collect_mark(&c->busy, owner, s.objects, &s.busy);
        rc = sweep_here(&s, err);
    }
    if (!rc)
        rc = sweep_store(&s, err);
    if (!rc && !c->dry)
        rc = job_storage_count(&own, s.kept - job_storage_counted(&own), 0, err);
    map_release(&s.live);
    map_release(&s.busy);
    map_release(&s.released);
    VEC_RELEASE(&s.old);
    VEC_RELEASE(&s.old_bytes);
    VEC_RELEASE(&s.old_until);
    arena_release(&s.arena);
    mem_free(s.objects);
    return rc;
}

struct names {
    struct map all;
};

/* "prefix/users/ann/": "ann" */
static enum rc see_folder(void *arg, const struct object_entry *e, struct err *err)
{
    struct names *n = arg;
    char *name = e->folded ? fs_basename(e->key) : NULL;
    if (name)
        map_put(&n->all, str_c(name))->value = n;
    mem_free(name);
    return RC_OK;
}

static enum rc sweep_owners(struct job_collecting *c, struct err *err)
{
    struct names n = {.all = {0}};
    struct fs_names here = {0};
    char *users = fs_join(c->p->dir, "users");
    enum rc rc = job_artifacts_each(c->p, "users/", true, see_folder, &n, err);
    if (fs_list(users, &here, NULL))
        here = (struct fs_names){0};
    for (size_t i = 0; i < here.n; i++)
        map_put(&n.all, str_c(here.at[i]))->value = &n;
    for (size_t i = 0; i < n.all.n && !rc; i++)
        rc = job_collect_store_user(c, n.all.at[i].key, err);
    fs_names_release(&here);
    map_release(&n.all);
    mem_free(users);
    return rc;
}

/* The record is asked again: a job may have come and ended since it was read. */
static enum rc sweep_outputs(struct job_collecting *c, struct err *err)
{
    struct names n = {.all = {0}};
    enum rc rc = job_artifacts_each(c->p, "jobs/", true, see_folder, &n, err);
    for (size_t i = 0; i < n.all.n && !rc; i++) {
        const char *id = n.all.at[i].key;
        int64_t seq = 0;
        if (!job_id_ok(id) || map_find(&c->jobs, str_c(id)) ||
            store_seq(c->p->store, id, &seq, NULL) != RC_NOTFOUND)
            continue;
        c->out->orphans++;
        if (!c->dry)
            rc = job_archive_remove(c->p, id, err);
    }
    map_release(&n.all);
    return rc;
}

enum rc job_collect_store(struct job_collecting *c, struct err *err)
{
    enum rc rc = sweep_owners(c, err);
    return rc ? rc : sweep_outputs(c, err);
}
