/* SPDX-License-Identifier: Apache-2.0 */
/* Mark and sweep over the contents of a jobs directory. The roots are the snapshots that the
 * jobs of this place, all schedules, models and experiments name; each owner's contents are looked at
 * by themselves. What no root reaches and nobody sent or asked for within a day goes. An
 * upload touches what it needs, so contents between upload and submission are young.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "job/collect_private.h"
#include "job/snapshot.h"
#include "job/state.h"
#include "job/status.h"
#include "job/storage.h"
#include "store/experiments.h"
#include "store/models.h"
#include "store/schedules.h"

#define PAGE 1000

void job_collect_add_root(struct job_collecting *c, const char *owner, const char *text)
{
    char *id = mem_strndup(text, strcspn(text, "/"));
    char *key = mem_printf("%s/%s", id, owner);
    if (job_snapshot_id_ok(id))
        map_put(&c->roots, str_c(key))->value = c;
    if (job_snapshot_id_ok(id) && c->in_use)
        map_put(&c->busy, str_c(key))->value = c;
    mem_free(key);
    mem_free(id);
}

static void add_uri(struct job_collecting *c, const char *owner, const struct node *n)
{
    if (n && n->kind == NODE_STR && str_starts(n->text.p, SNAPSHOT_PREFIX))
        job_collect_add_root(c, owner, n->text.p + strlen(SNAPSHOT_PREFIX));
}

void job_collect_add_spec(struct job_collecting *c, const char *owner, const char *text)
{
    struct doc doc = {0};
    const struct node *spec = job_json_open(text, &doc), *in = node_find(spec, "input");
    add_uri(c, owner, node_find(spec, "source"));
    for (size_t i = 0; in && in->kind == NODE_MAP && i < in->map.n; i++)
        add_uri(c, owner, in->map.at[i].value);
    if (doc.src)
        doc_release(&doc);
}

/* A local directory is copied at submission: the second event says under which name. */
static enum rc add_staged(struct job_collecting *c, const struct store_job *j,
                          struct err *err)
{
    struct store_events l = {0};
    enum rc rc = store_events_get(c->p->store, j->id, 0, 4, &l, err);
    for (size_t i = 0; i < l.n; i++) {
        struct doc doc = {0};
        if (strcmp(l.at[i].type, "Staged") == 0)
            job_collect_add_root(
                c, j->owner,
                node_get_text(job_json_open(l.at[i].data, &doc), "snapshot", ""));
        if (doc.src)
            doc_release(&doc);
    }
    store_events_release(&l);
    return rc;
}

enum rc job_collect_add_job(struct job_collecting *c, const struct store_job *j,
                            struct err *err)
{
    char *text = NULL;
    enum job_state state = JOB_Unknown;
    c->in_use = !job_state_find(j->state, &state) || !job_state_ended(state);
    map_put(&c->jobs, str_c(j->id))->value = c;
    enum rc rc = store_spec(c->p->store, j->id, &text, err);
    if (rc == RC_NOTFOUND)
        return RC_OK; /* deleted meanwhile */
    if (!rc) {
        job_collect_add_spec(c, j->owner, text);
        rc = add_staged(c, j, err);
    }
    c->in_use = false;
    mem_free(text);
    return rc;
}

static enum rc add_jobs(struct job_collecting *c, struct err *err)
{
    /* The store of artifacts is shared by all machines. */
    struct store_filter f = {.node = c->p->artifacts ? NULL : c->p->node,
                             .owner = c->owner,
                             .limit = PAGE,
                             .oldest_first = true};
    enum rc rc = RC_OK;
    for (size_t got = PAGE; !rc && got == PAGE;) {
        struct store_jobs jobs = {0};
        rc = store_list(c->p->store, &f, &jobs, err);
        got = rc ? 0 : jobs.n;
        for (size_t i = 0; i < got && !rc; i++)
            rc = job_collect_add_job(c, &jobs.at[i], err);
        if (got)
            f.before = jobs.at[got - 1].num;
        store_jobs_release(&jobs);
    }
    return rc;
}

static enum rc add_others(struct job_collecting *c, struct err *err)
{
    struct store_schedules schedules = {0};
    struct store_models models = {0};
    struct store_experiments tuned = {0};
    enum rc rc = store_schedule_get(c->p->store, NULL, &schedules, err);
    if (!rc)
        rc = store_model_get(c->p->store, NULL, 0, &models, err);
    if (!rc)
        rc = store_experiment_get(c->p->store, NULL, &tuned, err);
    for (size_t i = 0; i < schedules.n; i++)
        job_collect_add_spec(c, schedules.at[i].owner, schedules.at[i].spec);
    for (size_t i = 0; i < models.n; i++)
        job_collect_add_root(c, models.at[i].owner, models.at[i].snapshot);
    for (size_t i = 0; i < tuned.n; i++)
        if (str_starts(tuned.at[i].snapshot, SNAPSHOT_PREFIX))
            job_collect_add_root(c, tuned.at[i].owner,
                                 tuned.at[i].snapshot + strlen(SNAPSHOT_PREFIX));
    store_experiments_release(&tuned);
    store_schedules_release(&schedules);
    store_models_release(&models);
    return rc;
}

enum rc job_collect_add_all(struct job_collecting *c, struct err *err)
{
    enum rc rc = add_jobs(c, err);
    return rc ? rc : add_others(c, err);
}

void job_collect_release(struct job_collecting *c)
{
    map_release(&c->roots);
    map_release(&c->busy);
    map_release(&c->jobs);
}

static enum rc mark(void *arg, const char *id, struct err *err)
{
    struct map *live = arg;
    map_put(live, str_c(id))->value = live;
    return RC_OK;
}

/* Objects below one directory that the roots of its owner reach; NULL: of anybody. */
void job_collect_mark(const struct map *roots, const char *owner, const char *objects,
                      struct map *live)
{
    for (size_t i = 0; i < roots->n; i++) {
        const char *key = roots->at[i].key;
        if (owner && strcmp(key + COLLECT_ID + 1, owner) != 0)
            continue;
        char *id = mem_strndup(key, COLLECT_ID);
        char *path = mem_printf("%s/%.2s/%s", objects, id, id + 2);
        if (fs_exists(path) && job_snapshot_each(objects, id, mark, live, NULL))
            map_put(live, str_c(id))->value = live; /* a list that is no list */
        mem_free(path);
        mem_free(id);
    }
}

static int64_t sweep_file(struct job_collecting *c, const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return 0;
    if (st.st_mtim.tv_sec > c->oldest)
        return job_storage_charge(st.st_size);
    c->out->objects++;
    c->out->object_bytes += st.st_nlink > 1 ? 0 : st.st_size;
    return c->dry || unlink(path) < 0 ? job_storage_charge(st.st_size) : 0;
}

static int64_t file_size(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 ? job_storage_charge(st.st_size) : 0;
}

/* objects/ab: bytes that stay. */
static int64_t sweep_dir(struct job_collecting *c, const char *objects, const char *ab,
                         const struct map *live)
{
    struct fs_names names = {0};
    char *dir = fs_join(objects, ab);
    int64_t kept = 0;
    if (fs_list(dir, &names, NULL))
        names = (struct fs_names){0};
    for (size_t i = 0; i < names.n; i++) {
        char *path = fs_join(dir, names.at[i]), *id = mem_printf("%s%s", ab, names.at[i]);
        bool needed = map_find(live, str_c(id)) != NULL;
        kept += needed ? file_size(path) : sweep_file(c, path);
        mem_free(id);
        mem_free(path);
    }
    fs_names_release(&names);
    mem_free(dir);
    return kept;
}

static int64_t sweep_objects(struct job_collecting *c, const char *owner,
                             const char *objects)
{
    struct fs_names names = {0};
    struct map live = {0};
    int64_t kept = 0;
    if (fs_list(objects, &names, NULL))
        return 0;
    job_collect_mark(&c->roots, owner, objects, &live);
    for (size_t i = 0; i < names.n; i++)
        kept += sweep_dir(c, objects, names.at[i], &live);
    map_release(&live);
    fs_names_release(&names);
    return kept;
}

void job_collect_user(struct job_collecting *c, const char *name)
{
    struct job_place own = *c->p;
    own.owner = name;
    own.served = true;
    char *objects = job_place_objects(&own);
    int64_t before = job_storage_counted(&own), kept = sweep_objects(c, name, objects);
    enum rc rc = c->dry ? RC_OK : job_storage_count(&own, kept - before, 0, NULL);
    (void)rc; /* the next collection counts again */
    mem_free(objects);
}

static void sweep_users(struct job_collecting *c)
{
    struct fs_names names = {0};
    char *users = fs_join(c->p->dir, "users");
    if (fs_list(users, &names, NULL))
        names = (struct fs_names){0};
    for (size_t i = 0; i < names.n; i++)
        job_collect_user(c, names.at[i]);
    fs_names_release(&names);
    mem_free(users);
}

/* Directories of jobs that are in no record: a submission or a deletion died half-way. */
static void sweep_jobs(struct job_collecting *c)
{
    struct fs_names names = {0};
    char *jobs = fs_join(c->p->dir, "jobs");
    if (fs_list(jobs, &names, NULL))
        names = (struct fs_names){0};
    for (size_t i = 0; i < names.n; i++) {
        struct stat st;
        char *path = fs_join(jobs, names.at[i]);
        if (job_id_ok(names.at[i]) && !map_find(&c->jobs, str_c(names.at[i])) &&
            lstat(path, &st) == 0 && st.st_mtim.tv_sec <= c->oldest) {
            c->out->orphans++;
            enum rc rc = c->dry ? RC_OK : fs_remove_all(path, NULL);
            (void)rc; /* the next collection tries again */
        }
        mem_free(path);
    }
    fs_names_release(&names);
    mem_free(jobs);
}

enum rc job_collect(const struct job_place *p, int64_t young_s, bool dry,
                    struct job_removed *out, struct err *err)
{
    struct job_collecting c = {
        .p = p, .oldest = (int64_t)time(NULL) - young_s, .dry = dry, .out = out};
    enum rc rc = job_collect_add_all(&c, err);
    if (!rc) {
        char *objects = fs_join(p->dir, "objects");
        sweep_objects(&c, NULL, objects);
        if (p->artifacts)
            rc = job_collect_store(&c, err);
        else
            sweep_users(&c);
        sweep_jobs(&c);
        mem_free(objects);
    }
    job_collect_release(&c);
    return rc;
}

struct giving_up {
    const char *objects;
    const struct map *live;
    int64_t bytes; /* that are free then */
};

static enum rc give_up(void *arg, const char *id, struct err *err)
{
    struct giving_up *g = arg;
    char *path = mem_printf("%s/%.2s/%s", g->objects, id, id + 2);
    int64_t size = file_size(path);
    if (!map_find(g->live, str_c(id)) && unlink(path) == 0)
        g->bytes += size;
    mem_free(path);
    return RC_OK;
}

enum rc job_collect_upload(const struct job_place *p, const char *id, struct err *err)
{
    struct job_collecting c = {.p = p, .owner = p->owner};
    struct map live = {0};
    char *objects = job_place_objects(p);
    struct giving_up g = {.objects = objects, .live = &live};
    enum rc rc = job_collect_add_all(&c, err);
    if (!rc) {
        job_collect_mark(&c.roots, p->owner, objects, &live);
        if (job_snapshot_each(objects, id, give_up, &g, NULL))
            rc = give_up(&g, id, err); /* a list that is no list */
    }
    if (!rc)
        rc = job_storage_count(p, -g.bytes, 0, err);
    map_release(&live);
    job_collect_release(&c);
    mem_free(objects);
    return rc;
}
