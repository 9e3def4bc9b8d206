/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the store become groups of the queue: one per quota, one for everybody else who
 * has jobs. Use of the past is read once a minute at most, since it is a sum over many rows;
 * what runs now is added at each look.
 */
#include "backend/share.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "store/projects.h"

#define DAY_NS (INT64_C(86400) * 1000000000)
#define USED_NS (INT64_C(60) * 1000000000) /* how long a look at the past is good */

static const char *const holding[] = {"EnvPreparing", "Running",  "Restarting",
                                      "Suspended",    "Stopping", "Unknown"};
#define HOLDING "EnvPreparing,Running,Restarting,Suspended,Stopping,Unknown"

bool backend_share_holds(const struct store_job *j)
{
    if (j->attempt <= 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(holding); i++)
        if (strcmp(j->state, holding[i]) == 0)
            return true;
    return false;
}

struct backend_queue_job backend_share_job(const struct store_job *j)
{
    const struct backend_ops *ops = backend_find(j->backend);
    return (struct backend_queue_job){
        .id = j->id,
        .owner = j->owner,
        .project = j->project,
        .priority = j->priority,
        .num = j->num,
        .since = j->started ? j->started : j->created,
        .timeout_s = j->timeout_s,
        /* No text holds these: quotes are escaped. */
        .preemptible = strstr(j->status, "\"preemptible\": true") != NULL,
        .leaving = strstr(j->status, "\"preempting\": true") != NULL,
        .away = ops && ops->own_queue,
        .need = {j->cpu_milli, j->memory, j->gpu}};
}

static struct backend_queue_group *group_of(struct backend_queue_group *at, size_t n,
                                            const char *name, bool project)
{
    for (size_t i = 0; i < n; i++)
        if (at[i].project == project && strcmp(at[i].name, name) == 0)
            return &at[i];
    return NULL;
}

static double part(int64_t used, int64_t total)
{
    return total > 0 ? (double)used / (double)total : 0;
}

/* The largest part of any resource, of `seconds` of the whole machine. */
static double dominant(const struct store_usage *u,
                       const struct backend_queue_need *total, double seconds)
{
    double cpu = part(u->cpu_milli_s, total->cpu_milli);
    double gpu = part(u->gpu_s, total->gpu);
    double memory = part(u->memory_mib_s, total->memory >> 20);
    return fmax(cpu, fmax(gpu, memory)) / seconds;
}

static void add_use(struct backend_share *s, const struct store_usages *l, bool project,
                    const struct backend_queue_need *total, double weight, double seconds)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct store_usage *u = &l->at[i];
        struct backend_queue_group *g = group_of(s->used.at, s->used.n, u->name, project);
        if (!g) {
            struct backend_queue_group fresh = {.name = arena_strdup(&s->recent, u->name),
                                                .project = project};
            VEC_PUSH(&s->used, fresh);
            g = &s->used.at[s->used.n - 1];
        }
        g->recent += weight * dominant(u, total, seconds);
    }
}

/* Seven days, each with half the weight of the one behind it, looked at in three pieces;
 * the weights add up to 1.
 */
static const struct {
    int from, to; /* days ago */
    double weight;
} pieces[] = {{0, 1, 64.0 / 127}, {1, 3, 48.0 / 127}, {3, 7, 15.0 / 127}};

static enum rc read_use(struct backend_share *s, struct store *store,
                        const struct backend_queue_need *total, int64_t now,
                        struct err *err)
{
    enum rc rc = RC_OK;
    arena_release(&s->recent);
    s->used.n = 0;
    for (size_t i = 0; i < 2 * ARRAY_LEN(pieces) && !rc; i++) {
        struct store_usages l = {0};
        int from = pieces[i / 2].from, to = pieces[i / 2].to;
        bool project = i % 2 == 1;
        rc = store_usage_get(store, project ? STORE_BY_PROJECT : STORE_BY_OWNER,
                             now - to * DAY_NS, now - from * DAY_NS, &l, err);
        if (!rc)
            add_use(s, &l, project, total, pieces[i / 2].weight,
                    (double)(to - from) * 86400);
        store_usages_release(&l);
    }
    s->used_at = rc ? 0 : now;
    return rc;
}

static struct backend_queue_group from_row(struct backend_share *s,
                                           const struct store_project *p)
{
    bool user = p->name[0] == SHARE_USER;
    return (struct backend_queue_group){
        .name = arena_strdup(&s->arena, p->name + user),
        .project = !user,
        .most = {p->cpu_milli, p->memory, p->gpu},
        .most_running = p->running,
        .weight = p->weight,
    };
}

/* Everybody who has jobs and no quota of their own gets the one for all. */
static void add_anybody(struct backend_share *s, const struct backend_queue_group *all,
                        const struct store_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        if (!group_of(s->groups.at, s->groups.n, jobs->at[i].owner, false)) {
            struct backend_queue_group g = *all;
            g.name = arena_strdup(&s->arena, jobs->at[i].owner);
            VEC_PUSH(&s->groups, g);
        }
}

static void add_recent(struct backend_share *s)
{
    for (size_t i = 0; i < s->used.n; i++) {
        const struct backend_queue_group *u = &s->used.at[i];
        struct backend_queue_group *g =
            group_of(s->groups.at, s->groups.n, u->name, u->project);
        if (g) {
            g->recent = u->recent;
            continue;
        }
        struct backend_queue_group fresh = {.name = u->name,
                                            .project = u->project,
                                            .most = {-1, -1, -1},
                                            .most_running = -1,
                                            .weight = QUEUE_WEIGHT,
                                            .recent = u->recent};
        VEC_PUSH(&s->groups, fresh);
    }
}

enum rc backend_share_refresh(struct backend_share *s, struct store *store,
                              const struct backend_queue_need *total,
                              const struct store_jobs *jobs, int64_t now, struct err *err)
{
    struct store_projects l = {0};
    enum rc rc = RC_OK;
    if (!s->used_at || now < s->used_at || now - s->used_at > USED_NS)
        rc = read_use(s, store, total, now, err);
    if (!rc)
        rc = store_project_get(store, NULL, &l, err);
    if (rc)
        return rc;
    struct backend_queue_group all = {.name = NULL};
    arena_release(&s->arena);
    s->groups.n = 0;
    s->limited = false;
    for (size_t i = 0; i < l.n; i++) {
        struct backend_queue_group g = from_row(s, &l.at[i]);
        s->limited |= g.most.cpu_milli >= 0 || g.most.memory >= 0 || g.most.gpu >= 0 ||
                      g.most_running >= 0;
        if (strcmp(l.at[i].name, SHARE_ANYBODY) == 0)
            all = g;
        else
            VEC_PUSH(&s->groups, g);
    }
    if (all.name)
        add_anybody(s, &all, jobs);
    add_recent(s);
    store_projects_release(&l);
    return RC_OK;
}

void backend_share_release(struct backend_share *s)
{
    VEC_RELEASE(&s->groups);
    VEC_RELEASE(&s->used);
    arena_release(&s->arena);
    arena_release(&s->recent);
    *s = (struct backend_share){.limited = false};
}

enum rc backend_share_elsewhere_read(struct store *store, const char *node,
                                     struct backend_share_elsewhere *out, struct err *err)
{
    struct backend_share_elsewhere e = {.rows = {.n = 0}};
    struct store_filter f = {.states = HOLDING};
    enum rc rc = store_list(store, &f, &e.rows, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < e.rows.n; i++)
        if (backend_share_holds(&e.rows.at[i]) && strcmp(e.rows.at[i].node, node) != 0)
            VEC_PUSH(&e.at, backend_share_job(&e.rows.at[i]));
    *out = e;
    return RC_OK;
}

void backend_share_elsewhere_release(struct backend_share_elsewhere *e)
{
    VEC_RELEASE(&e->at);
    store_jobs_release(&e->rows);
}
