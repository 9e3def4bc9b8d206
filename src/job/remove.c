/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting jobs, one by one or by policy. The record goes first, then the directory: a
 * process that dies between the two leaves a directory that the next collection finds. A
 * policy looks at the jobs of its user or project from the latest to the oldest, so that
 * counts and sizes keep the latest ones.
 */
#include "job/remove.h"

#include <string.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "job/archive.h"
#include "job/collect_private.h"
#include "job/space.h"
#include "job/state.h"
#include "store/retention.h"

#define PAGE 1000
#define KEEP_LABEL "keep"

static bool has_ended(const struct store_job *j)
{
    enum job_state state = JOB_Unknown;
    return job_state_find(j->state, &state) && job_state_ended(state);
}

static enum rc remove_ended(const struct job_place *p, const struct store_job *j,
                            struct err *err)
{
    struct job_collecting named = {.p = p};
    enum rc rc = job_collect_add_job(&named, j, err);
    if (!rc)
        rc = store_delete(p->store, j->id, j->seq, err);
    if (!rc)
        job_collect_let_go_roots(&named);
    job_collect_release(&named);
    if (rc)
        return rc;
    char *dir = job_place_dir(p, j->id);
    enum rc gone = fs_remove_all(dir, NULL);
    enum rc away = job_archive_remove(p, j->id, NULL);
    (void)gone; /* the next collection tries both again */
    (void)away;
    mem_free(dir);
    return RC_OK;
}

enum rc job_delete(const struct job_place *p, const char *id, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = store_get(p->store, id, &jobs, err);
    if (rc)
        return rc;
    const struct store_job *j = &jobs.at[0];
    if (!has_ended(j))
        rc = err_coded(err, RC_INVAL, E3014, "job %s is %s; stop it first", id, j->state);
    else if (strcmp(j->node, p->node) != 0)
        rc = err_coded(err, RC_INVAL, E3014, "job %s ran at %s, where its files are", id,
                       j->node);
    if (!rc)
        rc = remove_ended(p, j, err);
    store_jobs_release(&jobs);
    return rc;
}

/* What a policy has kept so far of one user or project. */
struct tally {
    const struct store_retention *policy;
    int64_t jobs, bytes;
};

struct retaining {
    const struct job_place *p;
    struct store_retentions policies;
    struct map tallies; /* policy's name, or "default:USER": struct tally */
    struct map kept;    /* ids with the label */
    struct arena arena;
    int64_t now;
    bool dry;
    struct job_removed *out;
};

static const struct store_retention *find_policy(const struct retaining *r,
                                                 const char *name)
{
    for (size_t i = 0; i < r->policies.n; i++)
        if (strcmp(r->policies.at[i].name, name) == 0)
            return &r->policies.at[i];
    return NULL;
}

static struct tally *tally_of(struct retaining *r, const char *key, const char *policy)
{
    struct map_entry *e = map_put(&r->tallies, str_c(key));
    if (!e->value) {
        struct tally *t = arena_alloc(&r->arena, sizeof(*t));
        *t = (struct tally){.policy = find_policy(r, policy)};
        e->value = t;
    }
    return e->value;
}

/* Counts the job; true when the policy keeps it. */
static bool keeps(const struct retaining *r, struct tally *t, const struct store_job *j)
{
    const struct store_retention *x = t->policy;
    if (!x)
        return true;
    bool old = x->age_s >= 0 && (r->now - j->finished) / 1000000000 > x->age_s;
    bool many = x->jobs >= 0 && t->jobs >= x->jobs;
    int64_t bytes = x->bytes >= 0 ? job_space_of_job(r->p, j->id, true) : 0;
    bool large = x->bytes >= 0 && bytes > x->bytes - t->bytes;
    if (old || many || large)
        return false;
    t->jobs++;
    t->bytes += bytes;
    return true;
}

static bool all_keep(struct retaining *r, const struct store_job *j)
{
    char *user = mem_printf("user:%s", j->owner),
         *project = mem_printf("project:%s", j->project),
         *other = mem_printf("default:%s", j->owner);
    bool kept = map_find(&r->kept, str_c(j->id)) != NULL;
    bool own = find_policy(r, user) != NULL;
    bool fine =
        keeps(r, own ? tally_of(r, user, user) : tally_of(r, other, "default"), j);
    if (*j->project)
        fine &= keeps(r, tally_of(r, project, project), j);
    mem_free(other);
    mem_free(project);
    mem_free(user);
    return kept || fine;
}

static enum rc retain_one(struct retaining *r, const struct store_job *j, struct err *err)
{
    if (!has_ended(j) || all_keep(r, j))
        return RC_OK;
    r->out->jobs++;
    r->out->job_bytes += job_space_of_job(r->p, j->id, true);
    enum rc rc = r->dry ? RC_OK : remove_ended(r->p, j, err);
    return rc == RC_CANCELED ? RC_OK : rc; /* somebody else was faster */
}

static enum rc retain_pages(struct retaining *r, struct err *err)
{
    struct store_filter f = {.node = r->p->node, .limit = PAGE};
    enum rc rc = RC_OK;
    for (size_t got = PAGE; !rc && got == PAGE;) {
        struct store_jobs jobs = {0};
        rc = store_list(r->p->store, &f, &jobs, err);
        got = rc ? 0 : jobs.n;
        for (size_t i = 0; i < got && !rc; i++)
            rc = retain_one(r, &jobs.at[i], err);
        if (got)
            f.before = jobs.at[got - 1].num;
        store_jobs_release(&jobs);
    }
    return rc;
}

static enum rc find_kept(struct retaining *r, struct err *err)
{
    struct store_filter f = {.node = r->p->node, .label_key = KEEP_LABEL};
    struct store_jobs jobs = {0};
    enum rc rc = store_list(r->p->store, &f, &jobs, err);
    for (size_t i = 0; i < jobs.n; i++)
        map_put(&r->kept, str_c(jobs.at[i].id))->value = r;
    store_jobs_release(&jobs);
    return rc;
}

enum rc job_retain(const struct job_place *p, int64_t now, bool dry,
                   struct job_removed *out, struct err *err)
{
    struct retaining r = {.p = p, .now = now, .dry = dry, .out = out};
    enum rc rc = store_retention_get(p->store, NULL, &r.policies, err);
    if (!rc && r.policies.n)
        rc = find_kept(&r, err);
    if (!rc && r.policies.n)
        rc = retain_pages(&r, err);
    store_retentions_release(&r.policies);
    map_release(&r.tallies);
    map_release(&r.kept);
    arena_release(&r.arena);
    return rc;
}
