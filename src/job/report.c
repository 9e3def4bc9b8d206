/* SPDX-License-Identifier: Apache-2.0 */
#include "job/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "job/state.h"
#include "job/storage.h"
#include "store/models.h"

#define PAGE 1000

struct reporting {
    const struct job_place *p;
    struct job_report *out;
    struct map index; /* name: place of the row plus one */
    bool by_project;
};

static struct job_report_row *row_of(struct reporting *r, const char *name)
{
    struct map_entry *e = map_put(&r->index, str_c(name));
    if (!e->value) {
        struct job_report_row row = {.name = arena_strdup(&r->out->arena, name)};
        VEC_PUSH(&r->out->rows, row);
        e->value = (void *)(uintptr_t)r->out->rows.n;
    }
    return &r->out->rows.at[(uintptr_t)e->value - 1];
}

static void add_job(struct reporting *r, const struct store_job *j)
{
    enum job_state state = JOB_Unknown;
    bool ended = job_state_find(j->state, &state) && job_state_ended(state);
    struct job_report_row *row = row_of(r, r->by_project ? j->project : j->owner);
    row->jobs++;
    row->job_bytes += job_space_of_job(r->p, j->id, ended);
}

static enum rc add_jobs(struct reporting *r, struct err *err)
{
    struct store_filter f = {.node = r->p->node, .limit = PAGE};
    enum rc rc = RC_OK;
    for (size_t got = PAGE; !rc && got == PAGE;) {
        struct store_jobs jobs = {0};
        rc = store_list(r->p->store, &f, &jobs, err);
        got = rc ? 0 : jobs.n;
        for (size_t i = 0; i < got; i++)
            add_job(r, &jobs.at[i]);
        if (got)
            f.before = jobs.at[got - 1].num;
        store_jobs_release(&jobs);
    }
    return rc;
}

static void add_users(struct reporting *r)
{
    struct fs_names names = {0};
    char *users = fs_join(r->p->dir, "users");
    if (r->by_project || fs_list(users, &names, NULL))
        names = (struct fs_names){0};
    for (size_t i = 0; i < names.n; i++) {
        struct job_place own = *r->p;
        own.owner = names.at[i];
        row_of(r, names.at[i])->stored_bytes = job_storage_counted(&own);
    }
    fs_names_release(&names);
    mem_free(users);
}

static enum rc add_models(struct reporting *r, struct err *err)
{
    struct store_models l = {0};
    enum rc rc = store_model_get(r->p->store, NULL, 0, &l, err);
    for (size_t i = 0; i < l.n; i++)
        if (strcmp(l.at[i].node, r->p->node) == 0)
            row_of(r, r->by_project ? l.at[i].project : l.at[i].owner)->models++;
    store_models_release(&l);
    return rc;
}

static int by_size(const void *a, const void *b)
{
    const struct job_report_row *x = a, *y = b;
    int64_t p = x->job_bytes + x->stored_bytes + x->experiment_bytes,
            q = y->job_bytes + y->stored_bytes + y->experiment_bytes;
    return p != q ? (p < q) - (p > q) : strcmp(x->name, y->name);
}

void job_report_sort(struct job_report *r)
{
    if (r->rows.n)
        qsort(r->rows.at, r->rows.n, sizeof(*r->rows.at), by_size);
}

struct job_report_row *job_report_row_of(struct job_report *r, const char *name)
{
    for (size_t i = 0; i < r->rows.n; i++)
        if (strcmp(r->rows.at[i].name, name) == 0)
            return &r->rows.at[i];
    struct job_report_row row = {.name = arena_strdup(&r->arena, name)};
    VEC_PUSH(&r->rows, row);
    return &r->rows.at[r->rows.n - 1];
}

enum rc job_report_read(const struct job_place *p, bool by_project,
                        struct job_report *out, struct err *err)
{
    struct job_report made = {.here_bytes = 0};
    struct reporting r = {.p = p, .out = &made, .by_project = by_project};
    char *objects = fs_join(p->dir, "objects");
    enum rc rc = job_space_read(p->dir, &made.disk, err);
    if (!rc)
        rc = add_jobs(&r, err);
    if (!rc)
        rc = add_models(&r, err);
    if (!rc) {
        add_users(&r);
        made.here_bytes = job_space_of(objects);
        job_report_sort(&made);
    }
    mem_free(objects);
    map_release(&r.index);
    if (rc)
        job_report_release(&made);
    else
        *out = made;
    return rc;
}

void job_report_release(struct job_report *r)
{
    VEC_RELEASE(&r->rows);
    arena_release(&r->arena);
    *r = (struct job_report){.here_bytes = 0};
}
