/* SPDX-License-Identifier: Apache-2.0 */
/* Where jobs run: what this machine gives, what the jobs of each machine and backend take, and on
 * which nodes of a cluster their workers are. All of it from the record: nobody else is asked.
 * Jobs that the caller may not see are not counted, and directories of servers are told to those
 * alone who see everything.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/capacity.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "job/state.h"
#include "job/status.h"

/* The jobs of a machine in one backend. */
struct use {
    const char *machine,
        *backend; /* in the call's arena; borrowed from the list of jobs */
    int64_t waiting, running, workers;
    struct backend_queue_need need;
};

/* A worker that is somewhere. */
struct seat {
    const char *backend, *node; /* `node` in the call's arena */
    const struct store_job *job;
};

struct clusters {
    struct http_call *call;
    VEC(struct use) use;
    VEC(struct seat) seats;
};

static bool waits_for_a_place(const struct store_job *j)
{
    enum job_state s = JOB_Creating;
    bool known = job_state_find(j->state, &s);
    return known && (s == JOB_Creating || s == JOB_Queuing || s == JOB_Restarting);
}

/* "HOST:DIR", or without the directory. */
static const char *machine_of(struct http_call *c, const char *node)
{
    size_t n = http_role_sees_all(c->who.role) ? strlen(node) : strcspn(node, ":");
    return arena_strndup(&c->arena, node, n);
}

static struct use *use_of(struct clusters *l, const struct store_job *j)
{
    const char *machine = machine_of(l->call, j->node);
    for (size_t i = 0; i < l->use.n; i++)
        if (strcmp(l->use.at[i].machine, machine) == 0 &&
            strcmp(l->use.at[i].backend, j->backend) == 0)
            return &l->use.at[i];
    struct use x = {.machine = machine, .backend = j->backend};
    VEC_PUSH(&l->use, x);
    return &l->use.at[l->use.n - 1];
}

static void take_seats(struct clusters *l, const struct store_job *j)
{
    struct doc doc = {0};
    if (!strstr(j->status, "\"node\": "))
        return;
    const struct node *all = node_find(job_json_open(j->status, &doc), "workers");
    for (size_t i = 0; all && all->kind == NODE_LIST && i < all->list.n; i++) {
        const struct node *w = all->list.at[i];
        const char *node = node_get_text(w, "node", "");
        if (!*node || strcmp(node_get_text(w, "state", ""), "Running") != 0)
            continue;
        struct seat x = {
            .backend = j->backend, .node = arena_strdup(&l->call->arena, node), .job = j};
        VEC_PUSH(&l->seats, x);
    }
    if (doc.src)
        doc_release(&doc);
}

static void take_job(struct clusters *l, const struct store_job *j)
{
    struct use *u = use_of(l, j);
    if (waits_for_a_place(j)) {
        u->waiting++;
        return;
    }
    u->running++;
    u->workers += j->workers;
    u->need.cpu_milli += j->cpu_milli;
    u->need.memory += j->memory;
    u->need.gpu += j->gpu;
    take_seats(l, j);
}

static void put_need(struct json_out *o, const struct backend_queue_need *n)
{
    json_put_int(o, "cpu_milli", n->cpu_milli);
    json_put_int(o, "memory", n->memory);
    json_put_int(o, "gpu", n->gpu);
}

static void put_use(struct json_out *o, const struct clusters *l)
{
    json_open(o, "use", '[');
    for (size_t i = 0; i < l->use.n; i++) {
        const struct use *u = &l->use.at[i];
        json_open(o, NULL, '{');
        json_put_str(o, "machine", u->machine);
        json_put_str(o, "backend", u->backend);
        json_put_int(o, "waiting", u->waiting);
        json_put_int(o, "running", u->running);
        json_put_int(o, "workers", u->workers);
        put_need(o, &u->need);
        json_close(o, '}');
    }
    json_close(o, ']');
}

static int by_place(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    int d = strcmp(x->backend, y->backend);
    d = d ? d : strcmp(x->node, y->node);
    return d ? d : strcmp(x->job->id, y->job->id);
}

static bool same_node(const struct seat *a, const struct seat *b)
{
    return strcmp(a->backend, b->backend) == 0 && strcmp(a->node, b->node) == 0;
}

/* Seats are sorted: those of a node follow each other, and in them those of a job. */
static void put_nodes(struct json_out *o, struct clusters *l)
{
    if (l->seats.n)
        qsort(l->seats.at, l->seats.n, sizeof(*l->seats.at), by_place);
    json_open(o, "nodes", '[');
    for (size_t i = 0, end; i < l->seats.n; i = end) {
        const struct seat *first = &l->seats.at[i];
        for (end = i; end < l->seats.n && same_node(first, &l->seats.at[end]); end++)
            ;
        json_open(o, NULL, '{');
        json_put_str(o, "backend", first->backend);
        json_put_str(o, "node", first->node);
        json_put_int(o, "workers", (int64_t)(end - i));
        json_open(o, "jobs", '[');
        for (size_t k = i; k < end; k++)
            if (k == i || l->seats.at[k].job != l->seats.at[k - 1].job)
                json_put_str(o, NULL, l->seats.at[k].job->id);
        json_close(o, ']');
        json_close(o, '}');
    }
    json_close(o, ']');
}

/* What jobs take of this machine itself; those in clusters take theirs elsewhere. */
static void add_taken(const struct http_call *c, const struct store_jobs *jobs,
                      struct backend_queue_need *taken)
{
    for (size_t i = 0; i < jobs->n; i++) {
        const struct store_job *j = &jobs->at[i];
        if (strcmp(j->node, c->place.node) != 0 || waits_for_a_place(j) ||
            (strcmp(j->backend, "local") != 0 && strcmp(j->backend, "container") != 0))
            continue;
        taken->cpu_milli += j->cpu_milli;
        taken->memory += j->memory;
        taken->gpu += j->gpu;
    }
}

static void put_capacity(struct json_out *o, const char *dir,
                         const struct backend_queue_need *taken)
{
    struct backend_queue_need total = {.cpu_milli = 0};
    if (!backend_capacity_read(dir, &total))
        return;
    json_open(o, "capacity", '{');
    put_need(o, &total);
    json_close(o, '}');
    json_open(o, "taken", '{');
    put_need(o, taken);
    json_close(o, '}');
}

enum rc http_get_clusters(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct clusters l = {.call = c};
    struct backend_queue_need taken = {.cpu_milli = 0};
    struct store_filter f = {.states = job_live_states(), .limit = STORE_ROWS_MAX};
    enum rc rc = store_list(c->place.store, &f, &jobs, err);
    if (!rc)
        add_taken(c, &jobs, &taken);
    if (!rc && !http_role_sees_all(c->who.role)) { /* of others only the sums are told */
        store_jobs_release(&jobs);
        f.seen_by = c->who.name;
        f.seen_projects = c->who.projects;
        rc = store_list(c->place.store, &f, &jobs, err);
    }
    if (rc)
        return rc;
    for (size_t i = 0; i < jobs.n; i++)
        take_job(&l, &jobs.at[i]);
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "here", machine_of(c, c->place.node));
    put_capacity(&c->json, c->place.dir, &taken);
    put_use(&c->json, &l);
    put_nodes(&c->json, &l);
    json_put_bool(&c->json, "more", jobs.n == STORE_ROWS_MAX);
    json_close(&c->json, '}');
    VEC_RELEASE(&l.use);
    VEC_RELEASE(&l.seats);
    store_jobs_release(&jobs);
    return RC_OK;
}
