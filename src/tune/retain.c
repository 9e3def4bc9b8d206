/* SPDX-License-Identifier: Apache-2.0 */
/* As for jobs, experiments are looked at from the latest to the oldest, so that numbers and
 * sizes keep the latest. The log is read only of those that are to go: one that was cut off in
 * the middle of its work, by a machine that stopped, can still be continued and stays.
 */
#include "tune/retain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/experiments.h"
#include "store/retention.h"
#include "tune/experiment.h"
#include "tune/manager.h"

enum rc tune_remove(const char *home, const char *dir, const char *id, struct err *err)
{
    char *link = fs_join(home, id), *latest = fs_join(home, "_latest");
    struct stat st;
    enum rc rc = fs_remove_all(dir, err);
    if (!rc && lstat(link, &st) == 0 && S_ISLNK(st.st_mode))
        rc = fs_remove_all(link, err);
    if (!rc && lstat(latest, &st) == 0 && !fs_exists(latest))
        rc = fs_remove_all(latest, err);
    mem_free(latest);
    mem_free(link);
    return rc;
}

struct folder {
    char *dir; /* owned; where it really is */
    struct exp_peek is;
    int64_t changed; /* s */
};
struct folders {
    VEC(struct folder) all;
};

static int latest_first(const void *a, const void *b)
{
    const struct folder *x = a, *y = b;
    if (x->changed != y->changed)
        return x->changed > y->changed ? -1 : 1;
    return strcmp(x->is.id, y->is.id);
}

static void add_folder(struct folders *l, const char *path)
{
    struct folder f = {.changed = 0};
    struct stat st;
    char *real = realpath(path, NULL);
    if (!real || experiment_peek(real, &f.is, NULL)) {
        free(real);
        return;
    }
    char *log = fs_join(real, "log.jsonl");
    f.changed = stat(log, &st) == 0 ? st.st_mtim.tv_sec : f.is.created / 1000;
    f.dir = mem_strdup(real);
    mem_free(log);
    free(real);
    VEC_PUSH(&l->all, f);
}

static void find_folders(const char *home, struct folders *out)
{
    struct fs_names names = {0};
    if (!home || !fs_is_dir(home) || fs_list(home, &names, NULL))
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *path = fs_join(home, names.at[i]);
        if (names.at[i][0] != '_' && names.at[i][0] != '.')
            add_folder(out, path);
        mem_free(path);
    }
    fs_names_release(&names);
    if (out->all.n > 1)
        qsort(out->all.at, out->all.n, sizeof(*out->all.at), latest_first);
}

static void release_folders(struct folders *l)
{
    for (size_t i = 0; i < l->all.n; i++)
        mem_free(l->all.at[i].dir);
    VEC_RELEASE(&l->all);
}

static bool has_folder(const struct folders *l, const char *id)
{
    for (size_t i = 0; i < l->all.n; i++)
        if (strcmp(l->all.at[i].is.id, id) == 0)
            return true;
    return false;
}

static bool is_noted(const struct store_experiments *l, const struct exp_peek *x)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->at[i].id, x->id) == 0 && strcmp(l->at[i].owner, x->owner) == 0 &&
            strcmp(l->at[i].snapshot, x->source) == 0)
            return true;
    return false;
}

enum rc tune_note_code(struct store *s, const char *node, const char *home,
                       struct err *err)
{
    struct folders here = {0};
    struct store_experiments noted = {0};
    if (!home || !fs_is_dir(home))
        return RC_OK;
    enum rc rc = store_experiment_get(s, node, &noted, err);
    find_folders(home, &here);
    for (size_t i = 0; i < here.all.n && !rc; i++) {
        const struct exp_peek *x = &here.all.at[i].is;
        struct store_experiment row = {x->id, node, x->owner, x->source};
        if (*x->owner && *x->source && !is_noted(&noted, x))
            rc = store_experiment_put(s, &row, err);
    }
    for (size_t i = 0; i < noted.n && !rc; i++) {
        char *dir = fs_join(home, noted.at[i].id);
        if (!fs_exists(dir) && !has_folder(&here, noted.at[i].id))
            rc = store_experiment_delete(s, noted.at[i].id, node, err);
        mem_free(dir);
    }
    release_folders(&here);
    store_experiments_release(&noted);
    return rc;
}

/* What a policy has kept so far of one user or project. */
struct tune_tally {
    const struct store_retention *policy;
    int64_t number, bytes;
};

struct tune_retaining {
    struct store_retentions policies;
    struct map tallies;
    struct arena arena;
    int64_t now; /* s */
};

static const struct store_retention *find_policy(const struct tune_retaining *r,
                                                 const char *name)
{
    for (size_t i = 0; i < r->policies.n; i++)
        if (strcmp(r->policies.at[i].name, name) == 0)
            return &r->policies.at[i];
    return NULL;
}

static struct tune_tally *tally_of(struct tune_retaining *r, const char *key,
                                   const char *policy)
{
    struct map_entry *e = map_put(&r->tallies, str_c(key));
    if (!e->value) {
        struct tune_tally *t = arena_alloc(&r->arena, sizeof(*t));
        *t = (struct tune_tally){.policy = find_policy(r, policy)};
        e->value = t;
    }
    return e->value;
}

/* Counts the experiment; true when the policy keeps it. */
static bool keeps(const struct tune_retaining *r, struct tune_tally *t,
                  const struct folder *f)
{
    const struct store_retention *x = t->policy;
    if (!x)
        return true;
    int64_t bytes = x->bytes >= 0 ? job_space_of(f->dir) : 0;
    bool old = x->age_s >= 0 && r->now - f->changed > x->age_s;
    bool many = x->jobs >= 0 && t->number >= x->jobs;
    bool large = x->bytes >= 0 && bytes > x->bytes - t->bytes;
    if (old || many || large)
        return false;
    t->number++;
    t->bytes += bytes;
    return true;
}

static bool all_keep(struct tune_retaining *r, const struct folder *f)
{
    char *user = mem_printf(TUNE_POLICY "user:%s", f->is.owner),
         *project = mem_printf(TUNE_POLICY "project:%s", f->is.project),
         *other = mem_printf("default of %s", f->is.owner);
    bool own = find_policy(r, user) != NULL;
    bool kept = keeps(
        r, own ? tally_of(r, user, user) : tally_of(r, other, TUNE_POLICY "default"), f);
    if (*f->is.project)
        kept &= keeps(r, tally_of(r, project, project), f);
    mem_free(other);
    mem_free(project);
    mem_free(user);
    return kept;
}

static bool has_ended(const char *dir)
{
    struct experiment *e = NULL;
    bool ended =
        experiment_open(dir, &e, NULL) == RC_OK &&
        (e->status == EXP_DONE || e->status == EXP_STOPPED || e->status == EXP_ERROR);
    experiment_close(e);
    return ended;
}

enum rc tune_retain(struct store *s, const char *home, int64_t now_ns, tune_busy_fn *busy,
                    void *arg, bool dry, struct tune_removed *out, struct err *err)
{
    struct tune_retaining r = {.now = now_ns / 1000000000};
    struct folders l = {.all = {0}};
    enum rc rc = store_retention_get(s, NULL, &r.policies, err);
    if (!rc && r.policies.n)
        find_folders(home, &l);
    for (size_t i = 0; i < l.all.n && !rc; i++) {
        const struct folder *f = &l.all.at[i];
        if (all_keep(&r, f) || (busy && busy(arg, f->dir)) ||
            tune_manager_alive(f->dir) || !has_ended(f->dir))
            continue;
        out->experiments++;
        out->bytes += job_space_of(f->dir);
        if (!dry)
            rc = tune_remove(home, f->dir, f->is.id, err);
    }
    release_folders(&l);
    store_retentions_release(&r.policies);
    map_release(&r.tallies);
    arena_release(&r.arena);
    return rc;
}

void tune_report_room(const char *home, bool by_project, struct job_report *r)
{
    struct folders l = {.all = {0}};
    find_folders(home, &l);
    for (size_t i = 0; i < l.all.n; i++) {
        const struct exp_peek *is = &l.all.at[i].is;
        struct job_report_row *row =
            job_report_row_of(r, by_project ? is->project : is->owner);
        row->experiments++;
        row->experiment_bytes += job_space_of(l.all.at[i].dir);
    }
    release_folders(&l);
    job_report_sort(r);
}
